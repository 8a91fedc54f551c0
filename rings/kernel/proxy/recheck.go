package proxy

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Recheck decides every connection again by the policies in force, and cuts exactly those that are no longer
// allowed. Call it after the result of Holder.Deciders has changed. When it returns, no byte passes on the
// cut connections.
func (e *Egress) Recheck() {
	e.walk.Lock()
	defer e.walk.Unlock()
	e.mu.Lock()
	guests := slices.Collect(maps.Keys(e.guests))
	e.mu.Unlock()
	now := e.cfg.Now()
	for _, g := range guests {
		g.recheck(now)
	}
}

// cutTogether is how many connections one goroutine cuts. A cut waits for the goroutine that uses the
// connection.
const cutTogether = 32

func (g *Guest) recheck(now time.Time) {
	g.mu.Lock()
	conns := slices.Collect(maps.Keys(g.conns))
	g.timed = deciders{} // a timer that has fired is no longer set
	g.mu.Unlock()
	if len(conns) == 0 {
		return
	}
	d := g.deciders()
	known := map[request]profiles.Connection{}
	decide := func(q request) profiles.Connection {
		decision, ok := known[q]
		if !ok {
			decision = d.decide(q, g.egress.own, now)
			known[q] = decision
		}
		return decision
	}
	var lost []*conn
	for _, c := range conns {
		q, live := c.current()
		switch {
		case !live:
		case decide(q).Allowed():
			c.recheck(d, decide(q))
		default:
			lost = append(lost, c)
		}
	}
	var work sync.WaitGroup
	for some := range slices.Chunk(lost, max(cutTogether, (len(lost)+3)/4)) {
		work.Add(1)
		g.egress.cfg.Go(func() {
			defer work.Done()
			for _, c := range some {
				q, _ := c.current()
				decision, ok := known[q]
				if !ok { // another request is in flight now
					decision = d.decide(q, g.egress.own, now)
				}
				if !decision.Allowed() {
					c.recheck(d, decision)
				}
			}
		})
	}
	work.Wait()
	g.expires(d, now)
}

// recheck cuts the connection if it is now denied. Otherwise it applies the limits in force. It returns
// whether the connection is kept.
func (c *conn) recheck(d deciders, decision profiles.Connection) bool {
	if !decision.Allowed() {
		why := decision.Decision()
		c.cut(ending{how: EndCut, decision: &why, after: d.generation})
		return false
	}
	c.several.Store(decision.Several())
	c.applyLimits(d.generation, limits(decision))
	return true
}

// applyLimits applies the limits in force to an open connection.
func (c *conn) applyLimits(generation int64, list []bound) {
	was := c.tallies.Load()
	if was == nil && len(list) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	next := c.guest.budgets.tally(generation, list)
	if was != nil && slices.Equal(*was, next) {
		return
	}
	next.Moved(1)
	c.hold(next)
}

// expiry calls Recheck when the next rule expires on which an open connection depends.
type expiry struct {
	fire func()

	mu      sync.Mutex
	timer   *time.Timer
	at      time.Time
	stopped bool
}

// longestWait limits the delay of an expiry after a change of the system clock.
const longestWait = time.Minute

// arm schedules the next expiry, unless an earlier one is scheduled.
func (x *expiry) arm(at, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped || x.timer != nil && !x.at.After(at) {
		return
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	x.at = at
	x.timer = time.AfterFunc(min(max(at.Sub(now), time.Millisecond), longestWait), func() {
		x.mu.Lock()
		x.timer = nil
		x.mu.Unlock()
		x.fire()
	})
}

func (x *expiry) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopped = true
	if x.timer != nil {
		x.timer.Stop()
	}
}

// expires schedules the expiry for a connection that d has decided.
func (g *Guest) expires(d deciders, now time.Time) {
	g.mu.Lock()
	known := len(g.timed.list) > 0 && g.timed.same(d)
	g.timed = d
	g.mu.Unlock()
	if known {
		return
	}
	for _, decider := range d.list {
		if at, ok := decider.EgressList().NextExpiry(now); ok {
			g.egress.expiry.arm(at, now)
		}
	}
}

// Listed reports whether every policy covers a name on some port. It makes no lookup.
func (g *Guest) Listed(name string) bool {
	d, now := g.deciders(), g.egress.cfg.Now()
	for _, decider := range d.list {
		if !decider.EgressList().Listed(name, now) {
			return false
		}
	}
	return len(d.list) > 0
}
