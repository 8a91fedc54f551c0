package proxy

import (
	"time"

	"github.com/ringd/ringd/profiles"
)

// recordedRefusals is how many refusals of a holder are recorded one by one in a
// minute. What comes on top is counted.
const recordedRefusals = 100

// refusals bounds what a holder that is refused writes into the log.
type refusals struct {
	since   time.Time
	n       int
	counted map[counted]int64
	timer   *time.Timer
}

type counted struct {
	door string
	code profiles.Code
}

// refuse puts a refusal on record, and gives it as an error.
func (g *Guest) refuse(ev Event) *profiles.Denial {
	e := g.egress
	holder := g.event()
	ev.Agent, ev.Executor, ev.Run = holder.Agent, holder.Executor, holder.Run
	if ev.Generation == 0 && g.holder.Generation != nil {
		ev.Generation = g.holder.Generation()
	}
	e.observe(Figure{Door: ev.Door, Verdict: ev.Decision.Verdict, Code: ev.Decision.Code})
	now := e.cfg.Now()
	g.mu.Lock()
	r := &g.refusals
	if past := now.Sub(r.since); past < 0 || past >= time.Minute {
		r.since, r.n = now, 0
	}
	r.n++
	alone := r.n <= recordedRefusals
	if !alone {
		if r.counted == nil {
			r.counted = map[counted]int64{}
		}
		r.counted[counted{ev.Door, ev.Decision.Code}]++
		g.flushLaterLocked()
	}
	g.mu.Unlock()
	if alone {
		// It is refused whether it can be recorded or not.
		_ = e.cfg.Record(ev)
	}
	return denial(ev.Decision)
}

// flushLaterLocked has what is counted on record within a minute.
func (g *Guest) flushLaterLocked() {
	if g.refusals.timer != nil || g.closed {
		return
	}
	g.refusals.timer = time.AfterFunc(time.Minute, func() {
		if g.begin() {
			g.flush()
			g.work.Done()
		}
	})
}

// flush puts on record how many refusals, and allowed requests and connections, were
// not.
func (g *Guest) flush() {
	g.mu.Lock()
	list, timer := g.refusals.counted, g.refusals.timer
	g.refusals.counted, g.refusals.timer = nil, nil
	allowed := g.takeAllowedLocked()
	g.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	for k, n := range list {
		ev := g.event()
		if g.holder.Generation != nil {
			ev.Generation = g.holder.Generation()
		}
		ev.Door, ev.Count = k.door, n
		ev.Decision = profiles.Decision{Code: k.code, Reason: "more refusals like those on record before"}
		_ = g.egress.cfg.Record(ev)
	}
	for _, ev := range allowed {
		_ = g.egress.cfg.Record(ev)
	}
}
