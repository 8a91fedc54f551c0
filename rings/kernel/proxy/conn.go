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

// conn is one connection, from before its dial until its end is recorded. While it is among
// the connections of its guest, a Recheck finds it.
type conn struct {
	guest      *Guest
	id         uint64
	listener   string
	began      time.Time
	up, down   atomic.Int64
	tallies    atomic.Pointer[tallies]
	several    atomic.Bool // rules grant requests on it: each request is compared with tallies
	summed     atomic.Bool // its decision has no record of its own
	generation int64       // that decided

	mu       sync.Mutex
	request  request
	upstream *net.TCPConn // nil while it is dialed
	client   net.Conn     // reset with upstream; may be nil
	cancel   context.CancelFunc
	served   bool // a goroutine waits for its end, and finishes it
	over     bool
	end      ending
	finished bool
	decision profiles.Decision
}

// ending is how a connection ended.
type ending struct {
	how      string
	decision *profiles.Decision // that ended it; nil if none did
	after    int64              // the generation that cut it
}

// admit registers a new connection before anything is decided about it, so that a policy that
// changes from now on finds it.
func (g *Guest) admit(spec dialSpec, cancel context.CancelFunc) (*conn, error) {
	e := g.egress
	c := &conn{guest: g, id: e.count.Add(1), listener: spec.listener, began: e.cfg.Now(), client: spec.client,
		cancel: cancel, served: true}
	c.request = request{dest: spec.dest, via: spec.via, reads: spec.reads, method: spec.method, path: spec.path,
		says: spec.says}
	refuse := func(d profiles.Decision) error {
		return g.journal.refuse(Event{Listener: spec.listener, Dest: spec.dest, Method: spec.method, Path: spec.path,
			Decision: d})
	}
	if spec.client == nil { // a client was counted as it was accepted
		if full := e.crowded(g.holder.Agent); full != "" {
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
		return nil, refuse(e.full())
	}
	g.work.Add(1)
	g.conns[c] = struct{}{}
	g.mu.Unlock()
	return c, nil
}

// full is the decision for one connection too many.
func (e *Egress) full() profiles.Decision {
	return refusal(egress.Budget, "as many connections are open as one holder may have: "+
		strconv.Itoa(e.cfg.Connections))
}

// drop removes a connection that was not dialed and of which nothing more is recorded.
func (c *conn) drop() {
	c.mu.Lock()
	c.over, c.finished = true, true
	c.mu.Unlock()
	c.leave()
	c.guest.work.Done()
}

// leave makes room for another connection.
func (c *conn) leave() {
	c.hold(nil)
	c.guest.mu.Lock()
	delete(c.guest.conns, c)
	c.guest.mu.Unlock()
}

// cut ends a connection at once, on both sides. No byte passes on it when cut returns. It
// returns false if the connection had ended already.
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

// close ends a connection that its owner no longer needs. If it ended before, that ending is
// recorded.
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
	// An end has happened, whether it can be recorded or not: the log itself refuses
	// everything after it once it cannot write.
	if !c.summed.Load() || ev.End == EndCut || c.guest.journal.alone(ev, 0) {
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

// eventLocked is what is known of the connection.
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

// current is a copy of the request, and whether the connection is still open.
func (c *conn) current() (request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.request, !c.over
}

// usedUp is the end of a connection on which a rule lets no more bytes pass.
func (c *conn) usedUp() ending {
	used := usageSpent{Why: "the bytes that the rule allows are used up"}
	if list := c.tallies.Load(); list != nil {
		used = cmp.Or(list.Spent(Up), list.Spent(Down), used)
	}
	return ending{how: EndBudget, decision: spent(used)}
}

// upMeter and downMeter are the two directions of a connection.
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
