package proxy

import (
	"slices"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Recheck decides every connection again, by what is in force now, and cuts those
// that no longer pass and no other. Call it after what Holder.Deciders gives has
// changed. When it returns, nothing passes any more that it cut.
func (e *Egress) Recheck() {
	e.walk.Lock()
	defer e.walk.Unlock()
	e.mu.Lock()
	guests := make([]*Guest, 0, len(e.guests))
	for g := range e.guests {
		guests = append(guests, g)
	}
	e.mu.Unlock()
	now := e.cfg.Now()
	for _, g := range guests {
		g.recheck(now)
	}
}

// outcome is what is in force for one claim.
type outcome struct {
	limits   []bound
	several  bool
	decision *profiles.Decision // that refuses; nil: none does
}

// cutTogether is how many connections are cut one after the other; a cut waits for
// who uses the connection.
const cutTogether = 32

func (g *Guest) recheck(now time.Time) {
	g.mu.Lock()
	links := make([]*link, 0, len(g.links))
	for l := range g.links {
		links = append(links, l)
	}
	g.timed = standing{} // a timer that has fired waits for nothing
	g.mu.Unlock()
	if len(links) == 0 {
		return
	}
	s := g.standing()
	known := map[claim]outcome{}
	var lost []*link
	for _, l := range links {
		c, live := l.current()
		if !live {
			continue
		}
		o, ok := known[c]
		if !ok {
			o = g.outcome(s, c, now)
			known[c] = o
		}
		if o.decision != nil {
			lost = append(lost, l)
			continue
		}
		l.several.Store(o.several)
		l.rehold(s, o.limits)
	}
	var work sync.WaitGroup
	for some := range slices.Chunk(lost, max(cutTogether, (len(lost)+3)/4)) {
		work.Add(1)
		g.egress.cfg.Go(func() {
			defer work.Done()
			for _, l := range some {
				c, _ := l.current()
				o, ok := known[c]
				if !ok {
					o = g.outcome(s, c, now) // it went on to something else meanwhile
				}
				if o.decision != nil {
					l.cut(ending{how: EndCut, decision: o.decision, after: s.generation})
				}
			}
		})
	}
	work.Wait()
	g.expires(s, now)
}

func (g *Guest) outcome(s standing, c claim, now time.Time) outcome {
	matches, dec := s.allows(c, g.egress.own, now)
	if dec.Verdict != profiles.Allow {
		return outcome{decision: &dec}
	}
	return outcome{limits: s.limits(matches), several: several(matches)}
}

// rehold counts an open link against the limits that hold now.
func (l *link) rehold(s standing, list []bound) {
	was := l.tallies.Load()
	if was == nil && len(list) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished {
		return
	}
	next := l.guest.tally(s, list)
	if was != nil && slices.Equal(*was, next) {
		return
	}
	next.Moved(1)
	l.hold(next)
}

// expiry calls Recheck when the next rule expires that a connection stands on.
type expiry struct {
	fire func()

	mu      sync.Mutex
	timer   *time.Timer
	at      time.Time
	stopped bool
}

// A clock that was set does not make an expiry later than this.
const longestWait = time.Minute

// arm sets the next expiry, unless an earlier one is set.
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

// expires arms the expiry for a connection that was decided by s.
func (g *Guest) expires(s standing, now time.Time) {
	g.mu.Lock()
	known := len(g.timed.deciders) > 0 && g.timed.same(s)
	g.timed = s
	g.mu.Unlock()
	if known {
		return
	}
	for _, d := range s.deciders {
		if at, ok := d.EgressList().NextExpiry(now); ok {
			g.egress.expiry.arm(at, now)
		}
	}
}

// Listed says whether some rule covers a name, on whichever port. Nothing is
// looked up.
func (g *Guest) Listed(name string) bool {
	s, now := g.standing(), g.egress.cfg.Now()
	for _, d := range s.deciders {
		if !d.EgressList().Listed(name, now) {
			return false
		}
	}
	return len(s.deciders) > 0
}
