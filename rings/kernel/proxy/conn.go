package proxy

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// conn is one connection, from before its dial until its end is recorded. As long as it is in the list of its
// guest, each Recheck decides it again.
type conn struct {
	guest      *Guest
	id         uint64
	listener   string
	began      time.Time
	up, down   atomic.Int64
	tallies    atomic.Pointer[tallies]
	several    atomic.Bool // several rules grant requests on it, so each request is compared with the tallies
	summed     atomic.Bool // its decision has no record of its own
	generation int64       // the generation that decided

	mu       sync.Mutex
	request  request
	upstream *net.TCPConn // nil before it is dialed
	client   net.Conn     // reset together with upstream; may be nil
	cancel   context.CancelFunc
	served   bool // a goroutine waits for its end and finishes it
	over     bool
	end      ending
	finished bool
	decision profiles.Decision
}

// ending is the end of a connection.
type ending struct {
	how      string
	decision *profiles.Decision // the denial that ended it, or nil
	after    int64              // the generation that cut it
}

// admit registers a new connection before it is decided, so that a concurrent policy change includes it.
func (g *Guest) admit(spec dialSpec, cancel context.CancelFunc) (*conn, error) {
	e := g.egress
	c := &conn{guest: g, id: e.count.Add(1), listener: spec.listener, began: e.cfg.Now(), client: spec.client,
		cancel: cancel, served: true}
	c.request = request{dest: spec.dest, via: spec.via, reads: spec.reads, method: spec.method, path: spec.path,
		overrides: spec.overrides}
	refuse := func(d profiles.Decision) error {
		return g.journal.refuse(Event{Listener: spec.listener, Dest: spec.dest, Method: spec.method, Path: spec.path,
			Decision: d})
	}
	if spec.client == nil { // a client was counted when it was accepted
		if full := e.crowdedReason(g.holder.Agent); full != "" {
			return nil, refuse(refusal(egress.Budget, full))
		}
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrClosed
	}
	if len(g.conns)+g.reading >= e.cfg.Connections {
		g.mu.Unlock()
		return nil, refuse(e.fullDenial())
	}
	g.work.Add(1)
	g.conns[c] = struct{}{}
	g.mu.Unlock()
	return c, nil
}

// fullDenial is the denial of a connection above the limits.
func (e *Egress) fullDenial() profiles.Decision {
	return refusal(egress.Budget, "as many connections are open as one run or guest may have: "+
		strconv.Itoa(e.cfg.Connections))
}

// drop removes a connection that was not dialed and needs no further record.
func (c *conn) drop() {
	c.mu.Lock()
	c.over, c.finished = true, true
	c.mu.Unlock()
	c.leave()
	c.guest.work.Done()
}

// leave frees the slot of a connection.
func (c *conn) leave() {
	c.hold(nil)
	c.guest.mu.Lock()
	delete(c.guest.conns, c)
	c.guest.mu.Unlock()
}

// cut ends a connection at once, on both sides. After it returns, no byte passes. It returns false if the
// connection had already ended.
func (c *conn) cut(e ending) bool {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return false
	}
	c.over, c.end = true, e
	up, client, cancel, served := c.upstream, c.client, c.cancel, c.served
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	if up != nil {
		resetConn(up)
	}
	if client != nil {
		resetConn(client)
	}
	if !served {
		c.finish()
	}
	return true
}

// close ends a connection that its owner no longer needs. An earlier ending stays the recorded one.
func (c *conn) close(how string) {
	c.mu.Lock()
	if !c.over {
		c.over, c.end = true, ending{how: how}
	}
	up := c.upstream
	c.mu.Unlock()
	if up != nil {
		_ = up.Close()
	}
	c.finish()
}

// finish records the end of a connection, once.
func (c *conn) finish() {
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return
	}
	c.finished = true
	ev := c.eventLocked()
	dialed := c.upstream != nil
	ev.End = c.end.how
	if c.end.decision != nil {
		ev.Decision = *c.end.decision
	}
	if c.end.how == EndCut {
		ev.Before, ev.Generation = ev.Generation, c.end.after
	}
	c.mu.Unlock()
	c.leave()
	e := c.guest.egress
	ev.Up, ev.Down, ev.Took = c.up.Load(), c.down.Load(), e.cfg.Now().Sub(c.began)
	// The end has already happened, so an error of Record is ignored. The log itself refuses everything after
	// it fails.
	if !c.summed.Load() || ev.End == EndCut || c.guest.journal.isRecorded(ev, 0) {
		_ = e.cfg.Record(ev)
	}
	f := Figure{Listener: c.listener, Verdict: ev.Decision.Verdict, Code: ev.Decision.Code, End: ev.End, Up: ev.Up,
		Down: ev.Down}
	if dialed {
		f.Open = -1
	}
	e.observe(f)
	c.guest.work.Done()
}

// eventLocked returns an event with the data of the connection.
func (c *conn) eventLocked() Event {
	ev := c.guest.journal.event()
	ev.Generation, ev.Connection, ev.Listener, ev.Dest = c.generation, c.name(), c.listener, c.request.dest
	ev.Method, ev.Path, ev.SNI, ev.Decision = c.request.method, c.request.path, c.request.sni, c.decision
	if c.request.pinned.IsValid() {
		ev.Dial = netip.AddrPortFrom(c.request.pinned, c.request.target().Port)
	}
	return ev
}

func (c *conn) name() string { return c.guest.egress.prefix + strconv.FormatUint(c.id, 36) }

// current returns a copy of the request, and whether the connection is still open.
func (c *conn) current() (request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request, !c.over
}

// usedUp returns the ending for a connection whose rule allows no more bytes.
func (c *conn) usedUp() ending {
	used := usageSpent{Why: "the bytes that the rule allows are used up"}
	if list := c.tallies.Load(); list != nil {
		used = cmp.Or(list.Spent(Up), list.Spent(Down), used)
	}
	return ending{how: EndBudget, decision: spent(used)}
}

// upMeter and downMeter count the two directions of a connection.
type (
	upMeter   conn
	downMeter conn
)

func (m *upMeter) Bounded() bool  { return m.tallies.Load() != nil }
func (m *upMeter) Take(n int) int { return take(&m.up, m.tallies.Load(), Up, n) }
func (m *upMeter) Back(n int)     { back(&m.up, m.tallies.Load(), Up, n) }

func (m *downMeter) Bounded() bool  { return m.tallies.Load() != nil }
func (m *downMeter) Take(n int) int { return take(&m.down, m.tallies.Load(), Down, n) }
func (m *downMeter) Back(n int)     { back(&m.down, m.tallies.Load(), Down, n) }

func take(sum *atomic.Int64, list *tallies, d direction, n int) int {
	if list != nil {
		n = list.Take(d, n)
	}
	sum.Add(int64(n))
	return n
}

func back(sum *atomic.Int64, list *tallies, d direction, n int) {
	sum.Add(int64(-n))
	if list != nil {
		list.Back(d, n)
	}
}
