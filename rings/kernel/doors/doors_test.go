package doors_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/doors"
	"github.com/ringd/ringd/rings/kernel/egress"
	"github.com/ringd/ringd/rings/kernel/order"
)

// listen is a socket on loopback, as an init hands it over.
func listen(t *testing.T) (netip.AddrPort, *os.File) {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr).AddrPort(), f
}

// connect asks a proxy for a target and gives the status of its answer.
func connect(t *testing.T, proxy netip.AddrPort, to string) int {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", proxy.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", to); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode
}

// A guest that serves a run reaches what its agent's profile and all that binds
// the run allow, and nothing once the run is over.
func TestRunsBindTheirGuest(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	target, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	e, err := egress.New(egress.Config{Go: func(f func()) { wg.Go(f) }, Now: time.Now,
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no names here") },
		Record:  func(egress.Event) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	at := target.Addr().(*net.TCPAddr)
	listed := profiles.Agent{Name: "a", Egress: profiles.Egress{Mode: profiles.EgressAllowlist,
		Allow: []profiles.EgressRule{{Host: "127.0.0.1", Ports: []int{at.Port}}}}}
	allows := profiles.NewDecider(listed, "sha256:1", profiles.Environment{})
	denied := listed
	denied.Egress.Deny = []profiles.EgressRule{{Host: "127.0.0.1", AnyPort: true}}
	denies := profiles.NewDecider(denied, "sha256:1", profiles.Environment{})

	var mu sync.Mutex
	serves, bound := "", []*profiles.Decider(nil)
	proxy, f := listen(t)
	d, err := doors.Open(doors.Config{
		Egress: e, Agent: "a", Executor: "shell",
		Run: func() string { mu.Lock(); defer mu.Unlock(); return serves },
		Runs: func(run string) []*profiles.Decider {
			mu.Lock()
			defer mu.Unlock()
			if run != "r1" {
				return nil
			}
			return bound
		},
	}, &doors.Sockets{Listeners: []order.Listener{{Kind: order.ListenProxy, Port: proxy.Port()}}, Files: []*os.File{f}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := connect(t, proxy, at.String()); got != http.StatusForbidden {
		t.Errorf("before any set: %d", got)
	}
	d.Follow(&profiles.Set{Format: profiles.Format, Revision: "sha256:1", Agents: map[string]profiles.Agent{"a": listed}})
	for _, tt := range []struct {
		what   string
		serves string
		bound  []*profiles.Decider
		want   int
	}{
		{"no run yet", "", nil, http.StatusOK},
		{"a run that may", "r1", []*profiles.Decider{allows}, http.StatusOK},
		{"a run that lost the host", "r1", []*profiles.Decider{denies, allows}, http.StatusForbidden},
		{"a run that is closed", "r1", []*profiles.Decider{allows, nil}, http.StatusForbidden},
		{"a run that is over", "r1", nil, http.StatusForbidden},
		{"another run", "r2", []*profiles.Decider{allows}, http.StatusForbidden},
	} {
		mu.Lock()
		serves, bound = tt.serves, tt.bound
		mu.Unlock()
		if got := connect(t, proxy, at.String()); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.what, got, tt.want)
		}
	}
}
