package proxy

import (
	"net/netip"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// recordedAlike is how many allowed requests, or connections, of one kind are recorded
// one by one in a minute. What comes on top is counted.
const recordedAlike = 100

// mostAlike bounds the kinds of a holder that are counted; those beyond are recorded
// one by one.
const mostAlike = 256

// alike is what events of one kind have in common: nothing is counted together of
// which the log would tell two things apart but the time.
type alike struct {
	door, method, path, sni, credential, end string

	dest       egress.Dest
	rule       profiles.Rule
	exception  string
	generation int64
}

// more are the events of one kind, of which those beyond recordedAlike have no records
// of their own.
type more struct {
	since time.Time
	n     int
	sum   Event // of those without: its Count is how many
}

func kind(ev Event) alike {
	k := alike{door: ev.Door, method: ev.Method, path: ev.Path, sni: ev.SNI, credential: ev.Credential, end: ev.End,
		dest: ev.Dest, exception: ev.Decision.Exception, generation: ev.Generation}
	if ev.Decision.Rule != nil {
		k.rule = *ev.Decision.Rule
	}
	return k
}

// alone reports whether an event is to be recorded by itself, as the first of its kind
// in a minute are; one that is not is counted, and on record within a minute.
func (g *Guest) alone(ev Event, first int) bool {
	k, now := kind(ev), g.egress.cfg.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed { // nobody would write the count
		return true
	}
	m := g.allowed[k]
	if m == nil {
		if len(g.allowed) >= mostAlike {
			g.forgetLocked(now)
		}
		if len(g.allowed) >= mostAlike {
			return true
		}
		if g.allowed == nil {
			g.allowed = map[alike]*more{}
		}
		m = &more{since: now}
		g.allowed[k] = m
	}
	if past := now.Sub(m.since); past < 0 || past >= time.Minute {
		m.since, m.n = now, 0
	}
	if m.n++; m.n <= first {
		return true
	}
	ev.Connection, ev.Answers, ev.Dial = "", nil, netip.AddrPort{} // of one of them
	ev.Count, ev.Up, ev.Down, ev.Took = m.sum.Count+1, m.sum.Up+ev.Up, m.sum.Down+ev.Down, m.sum.Took+ev.Took
	m.sum = ev
	g.flushLaterLocked()
	return false
}

// forgetLocked drops the kinds that have nothing to tell any more.
func (g *Guest) forgetLocked(now time.Time) {
	for k, m := range g.allowed {
		if past := now.Sub(m.since); m.sum.Count == 0 && (past < 0 || past >= time.Minute) {
			delete(g.allowed, k)
		}
	}
}

// takeAllowedLocked is what was counted and has no record yet.
func (g *Guest) takeAllowedLocked() (sums []Event) {
	for _, m := range g.allowed {
		if m.sum.Count > 0 {
			sums = append(sums, m.sum)
			m.sum = Event{}
		}
	}
	return sums
}
