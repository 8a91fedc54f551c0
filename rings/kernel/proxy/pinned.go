package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// stagger is the delay before the next address is tried in parallel.
const stagger = 250 * time.Millisecond

// errPinned is wrapped by the error of a dial whose socket would connect to another address than the decided
// one.
var errPinned = errors.New("the socket connects to another address than the one that was decided on")

// dialWait delays the dial of an address. Its error is that of ctx.
type dialWait func(ctx context.Context, at netip.AddrPort) error

// dialPinned connects to one of the decided candidates and to nothing else. It tries them in order, each
// after a delay in parallel with the ones before it, and returns the first connection. guard checks each
// socket's address; its error is wrapped. A socket is created after wait returns nil for its address. start
// starts goroutines, all of which have ended when dialPinned returns. Without candidates it fails.
func dialPinned(ctx context.Context, start func(func()), candidates []netip.AddrPort, wait dialWait,
	guard func(netip.AddrPort) error) (*net.TCPConn, netip.AddrPort, error) {
	switch len(candidates) {
	case 0:
		return nil, netip.AddrPort{}, errors.New("dial: no address")
	case 1:
		conn, err := pinned(ctx, candidates[0], wait, guard)
		return conn, candidates[0], err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := race{results: make(chan dialed, len(candidates))}
	next := func() {
		at := candidates[0]
		candidates = candidates[1:]
		r.running++
		start(func() {
			conn, err := pinned(ctx, at, wait, guard)
			r.results <- dialed{conn, at, err}
		})
	}
	next()
	later := time.NewTimer(stagger)
	defer later.Stop()
	for r.running > 0 {
		select {
		case d := <-r.results:
			if r.ended(d) {
				cancel()
			}
		case <-later.C:
		}
		if r.won.conn == nil && len(candidates) > 0 && ctx.Err() == nil {
			next()
			later.Reset(stagger)
		}
	}
	return r.won.conn, r.won.at, r.won.err
}

type dialed struct {
	conn *net.TCPConn
	at   netip.AddrPort
	err  error
}

// race runs dials in parallel.
type race struct {
	results chan dialed
	running int
	won     dialed // or the first error
}

// ended handles one result. It returns true if the result has won.
func (r *race) ended(d dialed) bool {
	r.running--
	switch {
	case d.err != nil:
		if r.won.conn == nil && r.won.err == nil {
			r.won.err = d.err
		}
		return false
	case r.won.conn != nil:
		_ = d.conn.Close()
		return false
	default:
		r.won = d
		return true
	}
}

// pinned dials one address.
func pinned(ctx context.Context, at netip.AddrPort, wait dialWait, guard func(netip.AddrPort) error) (
	*net.TCPConn, error) {
	if err := wait(ctx, at); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	d := net.Dialer{ControlContext: control(at, guard)}
	// DialTCP would bind the socket before it connects, which needs a port that is free towards every
	// address.
	conn, err := d.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	c, ok := conn.(*net.TCPConn)
	if !ok {
		conn.Close()
		return nil, errors.New("dial: not a connection of TCP")
	}
	return c, nil
}

// control checks the address of a socket just before it connects: it must be the decided one, and the guard
// must allow it.
func control(at netip.AddrPort, guard func(netip.AddrPort) error) func(
	context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) != at {
			return errPinned
		}
		return guard(at)
	}
}

// ownAddresses lists the daemon's addresses. An entry with only a port means all addresses of this host.
type ownAddresses []netip.AddrPort

// Has reports whether an address is in the list. In doubt it returns true.
func (o ownAddresses) Has(a netip.AddrPort) bool {
	return slices.ContainsFunc(o, func(own netip.AddrPort) bool {
		return own.Port() == a.Port() && (own.Addr().Unmap() == a.Addr() || own.Addr().IsUnspecified() &&
			local(a.Addr()))
	})
}

// local reports whether an address belongs to this host.
func local(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(list, func(n net.Addr) bool {
		at, ok := n.(*net.IPNet)
		if !ok {
			return true
		}
		b, ok := netip.AddrFromSlice(at.IP)
		return !ok || b.Unmap() == a
	})
}
