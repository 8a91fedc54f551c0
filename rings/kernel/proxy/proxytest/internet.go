package proxytest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Internet is a fake internet for tests. It has the addresses of host names, and records every lookup,
// connection and packet. It is safe for concurrent use.
type Internet struct {
	t testing.TB

	mu       sync.Mutex
	names    map[string][]netip.Addr
	lookups  []string
	arrivals []Arrival
	changed  chan struct{} // closed and replaced at each change
}

// Arrival is a connection or a packet that reached a sink.
type Arrival struct {
	Network string         // tcp or udp
	To      netip.AddrPort // the original destination
	Data    string         // the received bytes so far
	Over    bool           // it has ended
}

// New returns an internet without names and sinks. Everything that is opened on it closes at the end of the
// test.
func New(t testing.TB) *Internet {
	t.Helper()
	return &Internet{t: t, names: map[string][]netip.Addr{}, changed: make(chan struct{})}
}

// Name replaces the addresses of a name. Without addresses, a lookup reports that the name does not exist.
func (i *Internet) Name(name string, addresses ...string) {
	i.t.Helper()
	list := make([]netip.Addr, 0, len(addresses))
	for _, a := range addresses {
		list = append(list, netip.MustParseAddr(a))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.names[name] = list
}

// Resolve implements proxy.Config.Resolve. It accepts only absolute names in lower case.
func (i *Internet) Resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lookups = append(i.lookups, name)
	short, absolute := strings.CutSuffix(name, ".")
	if !absolute || strings.ToLower(name) != name {
		return nil, fmt.Errorf("look up %q: not an absolute name in lower case", name)
	}
	list := i.names[short]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return slices.Clone(list), nil
}

// Lookups lists the names that Resolve was called with.
func (i *Internet) Lookups() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.lookups)
}

// Listen listens on one address (198.51.100.1:443, [2001:db8::1]:443) or, without a host, on a port of every
// address (:443).
func (i *Internet) Listen(address string) net.Listener {
	i.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(i.t.Context(), "tcp", address)
	if err != nil {
		i.t.Fatalf("listen on %s: %v", address, err)
	}
	i.t.Cleanup(func() { _ = l.Close() })
	return l
}

// Sink records every connection to these TCP ports, on every address without a listener of its own: its
// original destination and its bytes. If answer is not empty, it is sent after the first bytes, and the
// connection continues.
func (i *Internet) Sink(answer string, ports ...uint16) {
	i.t.Helper()
	for _, port := range ports {
		l := i.Listen(fmt.Sprintf(":%d", port))
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				to, _ := netip.ParseAddrPort(c.LocalAddr().String())
				// Record it here and not in the reader, so that the order of arrival is kept.
				n := i.arrive(Arrival{Network: "tcp", To: netip.AddrPortFrom(to.Addr().Unmap(), to.Port())})
				go i.swallow(c, n, answer)
			}
		}()
	}
}

// Datagrams records every UDP packet to these ports of every address.
func (i *Internet) Datagrams(ports ...uint16) {
	i.t.Helper()
	for _, port := range ports {
		c, err := (&net.ListenConfig{}).ListenPacket(i.t.Context(), "udp", fmt.Sprintf(":%d", port))
		if err != nil {
			i.t.Fatalf("listen on port %d: %v", port, err)
		}
		i.t.Cleanup(func() { _ = c.Close() })
		go func() {
			b := make([]byte, 64<<10)
			for {
				n, _, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				to := netip.AddrPortFrom(netip.IPv6Unspecified(), port)
				i.arrive(Arrival{Network: "udp", To: to, Data: string(b[:n]), Over: true})
			}
		}()
	}
}

const mostKept = 1 << 20

func (i *Internet) swallow(c net.Conn, n int, answer string) {
	b := make([]byte, 32<<10)
	for first := true; ; first = false {
		got, err := c.Read(b)
		i.more(n, string(b[:got]), err != nil)
		if err != nil {
			_ = c.Close()
			return
		}
		if first && answer != "" {
			_, _ = c.Write([]byte(answer)) // a client that is gone needs none
		}
	}
}

func (i *Internet) arrive(a Arrival) (index int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.arrivals = append(i.arrivals, a)
	i.changedLocked()
	return len(i.arrivals) - 1
}

func (i *Internet) more(index int, data string, over bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	a := &i.arrivals[index]
	if len(a.Data) < mostKept {
		a.Data += data
	}
	a.Over = a.Over || over
	i.changedLocked()
}

func (i *Internet) changedLocked() {
	close(i.changed)
	i.changed = make(chan struct{})
}

// Arrivals lists everything that has arrived so far, the earliest first.
func (i *Internet) Arrivals() []Arrival {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.arrivals)
}

// Settle waits until all arrivals after the first `from` have ended. Then Arrivals has all their bytes.
func (i *Internet) Settle(from int) {
	i.t.Helper()
	i.wait("the end of what has arrived", func() bool {
		return !slices.ContainsFunc(i.arrivals[from:], func(a Arrival) bool { return !a.Over })
	})
}

// Await waits for an arrival for which wanted returns true, and returns it.
func (i *Internet) Await(what string, wanted func(Arrival) bool) (found Arrival) {
	i.t.Helper()
	i.wait(what, func() bool {
		n := slices.IndexFunc(i.arrivals, wanted)
		if n >= 0 {
			found = i.arrivals[n]
		}
		return n >= 0
	})
	return found
}

// errLate ends a wait that took too long.
var errLate = errors.New("it did not come")

// wait waits until done returns true. It calls done with the lock held.
func (i *Internet) wait(what string, done func() bool) {
	i.t.Helper()
	ctx, cancel := context.WithTimeoutCause(i.t.Context(), 20*time.Second, errLate)
	defer cancel()
	for {
		i.mu.Lock()
		over, changed := done(), i.changed
		i.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			i.t.Fatalf("%s: %v; arrived: %v", what, context.Cause(ctx), i.Arrivals())
		}
	}
}
