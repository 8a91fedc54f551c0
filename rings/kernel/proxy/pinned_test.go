package proxy

// The test is inside: nobody else can make a socket connect elsewhere.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// The socket connects to the address that was decided on and no other, and where
// the guard lets it.
func TestControl(t *testing.T) {
	at := netip.MustParseAddrPort("93.184.216.34:443")
	yes := func(netip.AddrPort) error { return nil }
	no := errors.New("no")
	for _, tt := range []struct {
		name, address string
		guard         func(netip.AddrPort) error
		want          error
	}{
		{"the address", "93.184.216.34:443", yes, nil},
		{"mapped", "[::ffff:93.184.216.34]:443", yes, nil},
		{"another address", "93.184.216.35:443", yes, errPinned},
		{"another port", "93.184.216.34:80", yes, errPinned},
		{"a name", "a.example:443", yes, errPinned},
		{"nothing", "", yes, errPinned},
		{"a guard that refuses", "93.184.216.34:443", func(netip.AddrPort) error { return no }, no},
	} {
		if err := control(at, tt.guard)(t.Context(), "tcp4", tt.address, nil); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func atOnce(context.Context, netip.AddrPort) error { return nil }

// The guard is asked by the dial itself, about each address, and nothing that it
// refuses is connected to.
func TestDial(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open, _ := netip.ParseAddrPort(l.Addr().String())
	closed := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), open.Port())
	var work sync.WaitGroup
	defer work.Wait()
	for _, tt := range []struct {
		name       string
		candidates []netip.AddrPort
		refused    netip.AddrPort
		asked      int
		ok         bool
	}{
		{"one", []netip.AddrPort{open}, netip.AddrPort{}, 1, true},
		{"one that is refused", []netip.AddrPort{open}, open, 1, false},
		{"the second", []netip.AddrPort{closed, open}, netip.AddrPort{}, 2, true},
		{"the second, refused", []netip.AddrPort{closed, open}, open, 2, false},
		{"the second, as the first is refused", []netip.AddrPort{closed, open}, closed, 2, true},
		{"none answers", []netip.AddrPort{closed, closed, closed}, netip.AddrPort{}, 3, false},
		{"none", nil, netip.AddrPort{}, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var asked int
			no := errors.New("no")
			conn, at, err := dialPinned(t.Context(), work.Go, tt.candidates, atOnce, func(a netip.AddrPort) error {
				mu.Lock()
				defer mu.Unlock()
				asked++
				if a == tt.refused {
					return no
				}
				return nil
			})
			if (err == nil) != tt.ok || (conn != nil) != tt.ok {
				t.Fatalf("%v, %v", conn, err)
			}
			if conn != nil {
				if conn.RemoteAddr().String() != open.String() || at != open {
					t.Errorf("reached %s, says %s", conn.RemoteAddr(), at)
				}
				conn.Close()
			}
			if len(tt.candidates) == 1 && tt.refused.IsValid() && !errors.Is(err, no) {
				t.Errorf("the guard's error is not in %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if asked != tt.asked {
				t.Errorf("the guard was asked %d times, want %d", asked, tt.asked)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := dialPinned(ended, work.Go, []netip.AddrPort{closed, open}, atOnce,
		func(netip.AddrPort) error { return nil }); err == nil {
		t.Error("a context that has ended dials")
	}
}
