package proxy

import (
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/listener"
)

// Guest holds the listeners and connections of one holder. It is safe for concurrent use.
type Guest struct {
	egress   *Egress
	holder   Holder
	work     sync.WaitGroup // goroutines and connections
	journal  journal
	budgets  budgets
	gateways gateways
	names    fakeAddresses

	mu        sync.Mutex
	closed    bool
	conns     map[*conn]struct{}
	clients   map[net.Conn]struct{} // of its listeners, until a tunnel takes them over
	listeners map[io.Closer]struct{}
	undecided int      // undecided clients
	reading   int      // clients whose requests are read
	timed     deciders // the deciders for which the expiry timer is set
}

func newGuest(e *Egress, h Holder) *Guest {
	g := &Guest{egress: e, holder: h, conns: map[*conn]struct{}{}, clients: map[net.Conn]struct{}{},
		listeners: map[io.Closer]struct{}{}}
	g.journal.guest, g.gateways.guest, g.budgets.now = g, g, e.cfg.Now
	return g
}

// Close closes the listeners of the guest, cuts its connections, and returns when all of them have ended and
// are recorded. It may be called twice.
func (g *Guest) Close() {
	g.mu.Lock()
	g.closed = true
	cut := slices.Collect(maps.Keys(g.conns))
	for l := range g.listeners {
		l.Close()
	}
	g.mu.Unlock()
	g.journal.close()
	for _, c := range cut {
		c.cut(ending{how: EndClosed})
	}
	g.mu.Lock()
	for c := range g.clients {
		resetConn(c)
	}
	g.mu.Unlock()
	g.work.Wait()
	g.gateways.close()
	g.journal.flush()
	g.egress.mu.Lock()
	delete(g.egress.guests, g)
	g.egress.mu.Unlock()
}

// begin counts one more piece of work. It returns false if the guest is closed.
func (g *Guest) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Add(1)
	return true
}

// openCount returns the number of connections of a guest, including undecided clients.
func (g *Guest) openCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns) + len(g.clients)
}

// ServeProxy serves a proxy for the guest on a listener: CONNECT and plain HTTP, and SOCKS5, distinguished by
// the first byte. The guest owns the listener from now on. ServeProxy returns at once; [Guest.Close] ends it.
func (g *Guest) ServeProxy(l net.Listener) error { return g.serve(l, (*client).proxy) }

// serve accepts connections and passes each to handle, which closes it or hands it to a conn.
func (g *Guest) serve(l net.Listener, handle func(*client)) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		l.Close()
		return ErrClosed
	}
	accepting := listener.New(l, "guest", g.egress.cfg.Logger)
	g.listeners[accepting] = struct{}{}
	g.work.Add(1)
	g.mu.Unlock()
	g.egress.cfg.Go(func() {
		defer g.work.Done()
		for {
			conn, err := accepting.Accept()
			if err != nil {
				_ = accepting.Close() // stop accepting
				return
			}
			g.accepted(conn, handle)
		}
	})
	return nil
}

// accepted passes a connection to handle, unless too many are open or undecided.
func (g *Guest) accepted(conn net.Conn, handle func(*client)) {
	stream, ok := conn.(relayStream)
	full := g.egress.crowdedReason(g.holder.Agent)
	g.mu.Lock()
	if full == "" && g.undecided >= g.egress.cfg.Undecided {
		full = "more connections wait for a decision than one run or guest may have"
	}
	if !ok || g.closed || full != "" {
		closed := g.closed
		g.mu.Unlock()
		resetConn(conn)
		if ok && !closed {
			_ = g.journal.refuse(Event{Decision: refusal(egress.Budget, full)})
		}
		return
	}
	g.undecided++
	g.clients[conn] = struct{}{}
	g.work.Add(1)
	g.mu.Unlock()
	c := &client{guest: g, conn: stream, waiting: true}
	g.egress.cfg.Go(func() {
		defer g.work.Done()
		defer c.leave()
		handle(c)
	})
}

// retryPause is how long a packet listener waits after a read error.
const retryPause = 50 * time.Millisecond

// pauseRead waits a little after a read error. It returns false if the guest is closed.
func (g *Guest) pauseRead() bool {
	wait := time.NewTimer(retryPause)
	defer wait.Stop()
	<-wait.C
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed
}
