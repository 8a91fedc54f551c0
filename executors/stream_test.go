package executors

// In the package, because message kinds and fields are not exported: the test
// has to write frames that no exported function would.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type rw struct {
	io.Reader
	io.Writer
}

func reader(side Side, b []byte) *Stream { return NewStream(rw{bytes.NewReader(b), io.Discard}, side) }

func samples() []Message {
	return []Message{
		Hello{Version: 1, Settings: []byte(`{"a":1}`)},
		Start{Options: []byte(`{}`), Source: []byte("1+1")},
		Reply{Call: 1, Value: []byte(`{"x":[1,2]}`)},
		Reply{Call: 1 << 40, Name: "CapabilityDenied", Message: "no"},
		Pause{Seen: 3, Asked: 1 << 30},
		Restore{Options: []byte(`{}`), Source: []byte("1+1"), Asked: 7, Bytes: 300},
		Load{Bytes: []byte("snapshot")},
		Ready{Version: 1, Executor: "js", Digest: "sha256:00"},
		Restored{},
		Restored{Failure: "another engine"},
		Part{Bytes: []byte{0, 1, 2}},
		Ready{Version: 1, Unavailable: "make engine"},
		Ask{Call: 300, Bridge: "tools.search", Args: []byte(`["q"]`)},
		Line{Level: "warn", Text: "héllo\x00"},
		Idle{Seen: 7},
		Result{End: End{State: StateDone, PeakBytes: 5, Again: true}, Value: []byte("2")},
		Result{End: End{State: StateFailed, Error: &ProgramError{
			Name: "E", Message: "m", Frames: []Frame{{File: "a", Line: 1, Column: 2}}}}},
	}
}

// sideOf is the side that reads m.
func sideOf(m Message) Side {
	if m.kind() < 128 {
		return GuestSide
	}
	return HostSide
}

func encode(t testing.TB, list ...Message) []byte {
	var out bytes.Buffer
	s := NewStream(rw{nil, &out}, HostSide)
	for _, m := range list {
		if err := s.Put(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestStreamRoundTrip(t *testing.T) {
	for _, m := range samples() {
		got, err := reader(sideOf(m), encode(t, m)).Read()
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		if d := cmp.Diff(m, got, cmp.Transformer("empty", func(b []byte) string { return string(b) })); d != "" {
			t.Errorf("%T: -want +got\n%s", m, d)
		}
	}
}

func TestStreamRefuses(t *testing.T) {
	frame := func(k kind, body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		return append(append(b, byte(k)), body...)
	}
	for _, tt := range []struct {
		name string
		side Side
		in   []byte
		want string
	}{
		{"unknown kind", HostSide, frame(99, ""), "unknown frame 99"},
		{"a frame of the other direction", HostSide, frame(kindStart, "\x00\x00"), "unknown frame 2"},
		{"the guest reads no guest frame", GuestSide, frame(kindAsk, "\x01\x00\x00"), "unknown frame 130"},
		{"oversized, by the promise alone", HostSide, []byte{0xff, 0xff, 0xff, 0xff, byte(kindAsk)}, "frame of 4294967295 bytes"},
		{"truncated head", HostSide, []byte{0, 0}, "truncated"},
		{"truncated body", HostSide, frame(kindIdle, "\x01")[:5], "truncated"},
		{"empty body", HostSide, frame(kindIdle, ""), "malformed"},
		{"unknown field", HostSide, frame(kindIdle, "\x01\x01"), "1 bytes after"},
		{"field longer than the frame", HostSide, frame(kindAsk, "\x01\x7fx"), "malformed"},
		{"field of 2^63 bytes", HostSide, frame(kindAsk, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "malformed"},
		{"long form of a number", HostSide, frame(kindIdle, "\x81\x00"), "malformed"},
		{"bridge name too long", HostSide, frame(kindAsk, "\x01\x81\x02"+strings.Repeat("a", 257)+"\x00"), "malformed"},
		{"part without bytes", HostSide, frame(kindPart, "\x00"), "malformed"},
		{"part that is too long", HostSide, frame(kindPart, "\x81\x80\x10"+strings.Repeat("a", PartBytes+1)), "malformed"},
		{"a part of the other direction", HostSide, frame(kindLoad, "\x01x"), "unknown frame 6"},
		{"load without bytes", GuestSide, frame(kindLoad, "\x00"), "malformed"},
		{"a snapshot over its limit", GuestSide, frame(kindRestore, "\x00\x00\x01\x81\x80\x80\x20"), "malformed"},
		{"pause without a count", GuestSide, frame(kindPause, "\x01"), "malformed"},
		{"endless failure", HostSide, frame(kindRestored, "\x81\x20"+strings.Repeat("a", 4097)), "malformed"},
		{"result head is not JSON", HostSide, frame(kindResult, "\x01x\x00"), "malformed"},
		{"result head with an unknown field", HostSide, frame(kindResult, "\x07"+`{"x":1}`+"\x00"), "malformed"},
		{"result head with text behind", HostSide, frame(kindResult, "\x04"+`{}{}`+"\x00"), "malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := reader(tt.side, tt.in).Read()
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, %v; want an ErrProtocol with %q", m, err, tt.want)
			}
		})
	}
}

func TestStreamEndsBetweenFrames(t *testing.T) {
	s := reader(HostSide, encode(t, Idle{Seen: 1}))
	if _, err := s.Read(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); !errors.Is(err, io.EOF) || errors.Is(err, ErrProtocol) {
		t.Fatalf("got %v, want io.EOF", err)
	}
}

func TestPutRefusesWhatNoFrameHolds(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(rw{nil, &out}, HostSide)
	if err := s.Put(Reply{Call: 1, Value: make([]byte, MaxFrameBytes)}); err == nil {
		t.Fatal("an oversized frame was taken")
	}
	if err := s.Send(Idle{Seen: 3}); err != nil {
		t.Fatal(err)
	}
	got, err := reader(HostSide, out.Bytes()).Read()
	if err != nil || got != (Idle{Seen: 3}) {
		t.Fatalf("got %v, %v: something of the refused frame was sent", got, err)
	}
}

// What is read must be what would be written: no two texts mean the same.
func fuzzSide(f *testing.F, side Side) {
	for _, m := range samples() {
		f.Add(encode(f, m))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := reader(side, in)
		for range 64 {
			m, err := s.Read()
			if err != nil {
				return
			}
			if sideOf(m) != side {
				t.Fatalf("side %d read %T", side, m)
			}
			again, err := reader(side, encode(t, m)).Read()
			if err != nil {
				t.Fatalf("%#v does not read back: %v", m, err)
			}
			if d := cmp.Diff(m, again, cmp.Transformer("empty", func(b []byte) string { return string(b) })); d != "" {
				t.Fatal(d)
			}
		}
	})
}

func FuzzFromGuest(f *testing.F) { fuzzSide(f, HostSide) }
func FuzzFromHost(f *testing.F)  { fuzzSide(f, GuestSide) }

func BenchmarkStream(b *testing.B) {
	ask := encode(b, Ask{Call: 1, Bridge: "tools.search", Args: []byte(`[{"q":"x"}]`)}, Idle{Seen: 0})
	b.ReportAllocs()
	src := bytes.NewReader(nil)
	s := NewStream(rw{src, io.Discard}, HostSide)
	for b.Loop() {
		src.Reset(ask)
		for range 2 {
			if _, err := s.Read(); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Send(Reply{Call: 1, Value: []byte(`{"ok":true}`)}); err != nil {
			b.Fatal(err)
		}
	}
}
