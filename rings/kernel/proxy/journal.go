package proxy

import (
	"net/netip"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

const (
	// recordedRefusals is how many denials of a holder are recorded singly in a minute. Further ones are
	// counted.
	recordedRefusals = 100
	// recordedAlike is how many allowed requests, or connections, of one kind are recorded singly in a
	// minute. Further ones are counted.
	recordedAlike = 100
	// maxKinds is the largest number of kinds of a holder that are counted. Events of further kinds are
	// recorded singly.
	maxKinds = 256
)

// journal limits what a guest can write to the log. Beyond the first events in a minute they are only
// counted, and the count is recorded within a minute.
type journal struct {
	guest *Guest

	mu       sync.Mutex
	closed   bool
	since    time.Time // start of the minute for recorded denials
	n        int
	refusals map[refusalKind]int64 // without a record of their own
	allowed  map[eventKind]*counted
	timer    *time.Timer // of the next flush
}

type refusalKind struct {
	listener string
	code     profiles.Code
}

// eventKind holds the fields that events must share to be counted together: everything that is visible in the
// log except the time.
type eventKind struct {
	listener, method, path, sni, credential, end string

	dest       egress.Dest
	rule       profiles.Rule
	exception  string
	generation int64
}

// counted is the number of events of one kind that have no record of their own.
type counted struct {
	since time.Time
	n     int
	sum   Event // of those without a record; Count is their number
}

func kindOf(ev Event) eventKind {
	k := eventKind{listener: ev.Listener, method: ev.Method, path: ev.Path, sni: ev.SNI, credential: ev.Credential,
		end:  ev.End,
		dest: ev.Dest, exception: ev.Decision.Exception, generation: ev.Generation}
	if ev.Decision.Rule != nil {
		k.rule = *ev.Decision.Rule
	}
	return k
}

// event returns an event with the data of the holder.
func (j *journal) event() Event {
	holder := &j.guest.holder
	ev := Event{Agent: holder.Agent, Executor: holder.Executor}
	if holder.Run != nil {
		ev.Run = holder.Run()
	}
	return ev
}

// of returns ev with the data of the holder.
func (j *journal) of(ev Event) Event {
	holder := j.event()
	ev.Agent, ev.Executor, ev.Run = holder.Agent, holder.Executor, holder.Run
	return ev
}

func (j *journal) generation() int64 {
	if j.guest.holder.Generation == nil {
		return 0
	}
	return j.guest.holder.Generation()
}

// record records an allowed request, before it is dialed.
func (j *journal) record(ev Event) error {
	ev = j.of(ev)
	e := j.guest.egress
	if j.isRecorded(ev, recordedAlike) {
		if err := e.cfg.Record(ev); err != nil {
			return err
		}
	}
	e.observe(Figure{Listener: ev.Listener, Verdict: ev.Decision.Verdict, Code: ev.Decision.Code})
	return nil
}

// refuse records a denial and returns it as an error.
func (j *journal) refuse(ev Event) *profiles.Denial {
	ev = j.of(ev)
	if ev.Generation == 0 {
		ev.Generation = j.generation()
	}
	e := j.guest.egress
	e.observe(Figure{Listener: ev.Listener, Verdict: ev.Decision.Verdict, Code: ev.Decision.Code})
	now := e.cfg.Now()
	j.mu.Lock()
	if past := now.Sub(j.since); past < 0 || past >= time.Minute {
		j.since, j.n = now, 0
	}
	j.n++
	alone := j.n <= recordedRefusals
	if !alone {
		if j.refusals == nil {
			j.refusals = map[refusalKind]int64{}
		}
		j.refusals[refusalKind{ev.Listener, ev.Decision.Code}]++
		j.flushLaterLocked()
	}
	j.mu.Unlock()
	if alone {
		// The denial stands even if it cannot be recorded.
		_ = e.cfg.Record(ev)
	}
	return denial(ev.Decision)
}

// isRecorded reports whether an event gets a record of its own, like the first of its kind in a minute. Other
// events are counted.
func (j *journal) isRecorded(ev Event, first int) bool {
	k, now := kindOf(ev), j.guest.egress.cfg.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed { // no flush would write the count
		return true
	}
	c := j.allowed[k]
	if c == nil {
		if len(j.allowed) >= maxKinds {
			j.forgetLocked(now)
		}
		if len(j.allowed) >= maxKinds {
			return true
		}
		if j.allowed == nil {
			j.allowed = map[eventKind]*counted{}
		}
		c = &counted{since: now}
		j.allowed[k] = c
	}
	if past := now.Sub(c.since); past < 0 || past >= time.Minute {
		c.since, c.n = now, 0
	}
	if c.n++; c.n <= first {
		return true
	}
	ev.Connection, ev.Answers, ev.Dial = "", nil, netip.AddrPort{} // they belong to one connection
	ev.Count, ev.Up, ev.Down, ev.Took = c.sum.Count+1, c.sum.Up+ev.Up, c.sum.Down+ev.Down, c.sum.Took+ev.Took
	c.sum = ev
	j.flushLaterLocked()
	return false
}

// forgetLocked drops kinds without a pending count.
func (j *journal) forgetLocked(now time.Time) {
	for k, c := range j.allowed {
		if past := now.Sub(c.since); c.sum.Count == 0 && (past < 0 || past >= time.Minute) {
			delete(j.allowed, k)
		}
	}
}

// flushLaterLocked schedules a flush within a minute.
func (j *journal) flushLaterLocked() {
	if j.timer != nil || j.closed {
		return
	}
	j.timer = time.AfterFunc(time.Minute, func() {
		if j.guest.begin() {
			j.flush()
			j.guest.work.Done()
		}
	})
}

// close stops the counting. Counted events wait for a last flush.
func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
}

// flush records the counts of denials, allowed requests and connections without a record of their own.
func (j *journal) flush() {
	j.mu.Lock()
	list, timer := j.refusals, j.timer
	j.refusals, j.timer = nil, nil
	var allowed []Event
	for _, c := range j.allowed {
		if c.sum.Count > 0 {
			allowed = append(allowed, c.sum)
			c.sum = Event{}
		}
	}
	j.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	e := j.guest.egress
	for k, n := range list {
		ev := j.event()
		ev.Generation, ev.Listener, ev.Count = j.generation(), k.listener, n
		ev.Decision = profiles.Decision{Code: k.code, Reason: "more refusals like those on record before"}
		_ = e.cfg.Record(ev)
	}
	for _, ev := range allowed {
		_ = e.cfg.Record(ev)
	}
}
