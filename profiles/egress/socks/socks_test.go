package socks_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringd/ringd/profiles/egress/socks"
)

func TestReadGreeting(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		n        int
		want     error
	}{
		{"nothing yet", "", 0, socks.ErrMore},
		{"version", "\x05", 0, socks.ErrMore},
		{"some methods", "\x05\x02\x00", 0, socks.ErrMore},
		{"no authentication", "\x05\x01\x00", 3, nil},
		{"among others, and the request at once", "\x05\x03\x02\x01\x00\x05\x01", 5, nil},
		{"only a password", "\x05\x01\x02", 3, socks.ErrMethod},
		{"none acceptable", "\x05\x01\xff", 3, socks.ErrMethod},
		{"no methods", "\x05\x00", 2, socks.ErrMethod},
		{"no methods, and a zero behind", "\x05\x00\x00", 2, socks.ErrMethod},
		{"SOCKS4", "\x04\x01\x00\x50", 0, socks.ErrVersion},
		{"HTTP", "CONNECT", 0, socks.ErrVersion},
		{"the most there can be", "\x05\xff" + strings.Repeat("\x01", 254) + "\x00", 257, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := socks.ReadGreeting([]byte(tt.in))
			if n != tt.n || !errors.Is(err, tt.want) && err != tt.want {
				t.Errorf("got %d, %v, want %d, %v", n, err, tt.n, tt.want)
			}
		})
	}
}

var requests = []struct {
	name, in string
	want     socks.Request
	err      error
}{
	{"name", "\x05\x01\x00\x03\x05a.com\x01\xbb", socks.Request{Domain: "a.com", Port: 443}, nil},
	{"name as it stands there", "\x05\x01\x00\x03\x06A.coM.\x01\xbb", socks.Request{Domain: "A.coM.", Port: 443}, nil},
	{"address as a name", "\x05\x01\x00\x03\x09127.0.0.1\x01\xbb", socks.Request{Domain: "127.0.0.1", Port: 443}, nil},
	{"IPv4", "\x05\x01\x00\x01\x5d\xb8\xd7\x0e\x01\xbb", socks.Request{Addr: netip.MustParseAddr("93.184.215.14"), Port: 443}, nil},
	{"IPv6", "\x05\x01\x00\x04\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x50", socks.Request{Addr: netip.MustParseAddr("2001:db8::1"), Port: 80}, nil},
	{"mapped", "\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x00\x50", socks.Request{Addr: netip.MustParseAddr("::ffff:127.0.0.1"), Port: 80}, nil},
	{"BIND", "\x05\x02\x00\x03\x05a.com\x01\xbb", socks.Request{}, socks.ErrCommand},
	{"UDP", "\x05\x03\x00\x01\x5d\xb8\xd7\x0e\x01\xbb", socks.Request{}, socks.ErrCommand},
	{"RESOLVE of Tor", "\x05\xf0\x00\x03\x05a.com\x01\xbb", socks.Request{}, socks.ErrCommand},
	{"command 0", "\x05\x00\x00\x03\x05a.com\x01\xbb", socks.Request{}, socks.ErrCommand},
	{"SOCKS4", "\x04\x01\x00\x50\x5d\xb8\xd7\x0e\x00", socks.Request{}, socks.ErrVersion},
	{"SOCKS4a", "\x04\x01\x00\x50\x00\x00\x00\x01\x00a.com\x00", socks.Request{}, socks.ErrVersion},
	{"reserved byte", "\x05\x01\x01\x03\x05a.com\x01\xbb", socks.Request{}, socks.ErrForm},
	{"type 0", "\x05\x01\x00\x00\x05a.com\x01\xbb", socks.Request{}, socks.ErrType},
	{"type 2", "\x05\x01\x00\x02\x05a.com\x01\xbb", socks.Request{}, socks.ErrType},
	{"type 255", "\x05\x01\x00\xff\x05a.com\x01\xbb", socks.Request{}, socks.ErrType},
	{"port 0", "\x05\x01\x00\x03\x05a.com\x00\x00", socks.Request{}, socks.ErrForm},
	{"address and port 0", "\x05\x01\x00\x01\x5d\xb8\xd7\x0e\x00\x00", socks.Request{}, socks.ErrForm},
	{"no name", "\x05\x01\x00\x03\x00\x01\xbb", socks.Request{}, socks.ErrDomain},
	{"NUL", "\x05\x01\x00\x03\x07a\x00.com.\x01\xbb", socks.Request{}, socks.ErrDomain},
	{"NUL at the end", "\x05\x01\x00\x03\x06a.com\x00\x01\xbb", socks.Request{}, socks.ErrDomain},
	{"space", "\x05\x01\x00\x03\x06a .com\x01\xbb", socks.Request{}, socks.ErrDomain},
	{"line break", "\x05\x01\x00\x03\x07a.com\r\n\x01\xbb", socks.Request{}, socks.ErrDomain},
	{"DEL", "\x05\x01\x00\x03\x06a.com\x7f\x01\xbb", socks.Request{}, socks.ErrDomain},
	{"UTF-8", "\x05\x01\x00\x03\x06\xc3\xbc.com\x01\xbb", socks.Request{}, socks.ErrDomain},
}

// TestReadRequest reads each whole, with bytes behind it, and every part: what is
// refused is so for good, and nothing is accepted before its last byte.
func TestReadRequest(t *testing.T) {
	for _, tt := range requests {
		t.Run(tt.name, func(t *testing.T) {
			for n := range len(tt.in) + 1 {
				got, m, err := socks.ReadRequest([]byte(tt.in[:n]))
				if n < len(tt.in) && errors.Is(err, socks.ErrMore) {
					continue
				}
				check(t, got, tt.want, err, tt.err)
				if err == nil && m != len(tt.in) {
					t.Errorf("accepted %d of %d bytes", m, len(tt.in))
				}
			}
			got, m, err := socks.ReadRequest([]byte(tt.in + "\x16\x03\x01"))
			check(t, got, tt.want, err, tt.err)
			if err == nil && m != len(tt.in) || err != nil && m != 0 {
				t.Errorf("took %d of %d bytes", m, len(tt.in))
			}
		})
	}
}

func check(t *testing.T, got, want socks.Request, err, wanted error) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if err != wanted && !errors.Is(err, wanted) {
		t.Errorf("got %v, want %v", err, wanted)
	}
}

func TestReplies(t *testing.T) {
	for err, want := range map[socks.Error]socks.Reply{
		socks.ErrCommand: socks.NotCommand, socks.ErrType: socks.NotAddress, socks.ErrDomain: socks.NotAllowed,
		socks.ErrForm: socks.Failed,
	} {
		if err.Reply() != want {
			t.Errorf("%v has reply %d, want %d", err, err.Reply(), want)
		}
	}
	got := string(socks.AppendReply(socks.AppendMethod(socks.AppendMethod(nil, true), false), socks.NotAllowed))
	if want := "\x05\x00\x05\xff\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzRequest: what is accepted is what was sent, written again.
func FuzzRequest(f *testing.F) {
	for _, tt := range requests {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, _ = socks.ReadGreeting(in)
		r, n, err := socks.ReadRequest(in)
		if err != nil {
			if n != 0 || r != (socks.Request{}) {
				t.Fatalf("%v, and gives %d, %v", err, n, r)
			}
			if errors.Is(err, socks.ErrMore) && len(in) >= socks.MaxSize {
				t.Fatal("wants more than there can be")
			}
			return
		}
		out := []byte{5, 1, 0}
		switch {
		case r.Addr.Is4():
			out = append(append(out, 1), r.Addr.AsSlice()...)
		case r.Addr.Is6():
			out = append(append(out, 4), r.Addr.AsSlice()...)
		default:
			out = append(append(out, 3, byte(len(r.Domain))), r.Domain...)
		}
		out = append(out, byte(r.Port>>8), byte(r.Port))
		if string(out) != string(in[:n]) {
			t.Fatalf("%q was read as %q", in[:n], out)
		}
	})
}
