package proxy

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
)

// direction is the direction of bytes that are counted.
type direction bool

// The directions, as a guest sees them.
const (
	Up   direction = true
	Down direction = false
)

// usageTally counts the use of one rule against its limits. It survives policy changes: the count of an
// unchanged rule continues. The zero usageTally has no limits. It is safe for concurrent use.
type usageTally struct {
	mu         sync.Mutex
	limits     profiles.EgressLimits
	by         profiles.Rule // the rule of a layer above; zero: the entry's own limits
	generation int64         // of the limits
	up, down   int64
	open       int64
	// PerMinute limits a sliding minute. The previous minute is assumed to be evenly spread: begun is the
	// count since minute, before that of the minute before it.
	minute        time.Time
	begun, before int64
}

// Limit sets the limits of a generation of the policy. It ignores limits of an older generation than the
// current one, which a concurrent decision may still use.
func (t *usageTally) Limit(l profiles.EgressLimits, generation int64) {
	t.Bind(bound{Limits: l}, generation)
}

// Bind is Limit with the rule that sets the limits.
func (t *usageTally) Bind(b bound, generation int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if generation >= t.generation {
		t.limits, t.by, t.generation = b.Limits, b.By, generation
	}
}

func (t *usageTally) of(d direction) (used *int64, most int64) {
	if d == Up {
		return &t.up, t.limits.UpBytes
	}
	return &t.down, t.limits.DownBytes
}

func (t *usageTally) take(d direction, n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	used, most := t.of(d)
	if most > 0 {
		n = int(max(0, min(int64(n), most-*used)))
	}
	*used += int64(n)
	return n
}

func (t *usageTally) back(d direction, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	used, _ := t.of(d)
	*used -= int64(n)
}

// tallies are the tallies that a connection or request counts against.
type tallies []*usageTally

// Take takes up to n bytes from each tally, and returns how many the strictest one allows.
func (l tallies) Take(d direction, n int) int {
	for i, t := range l {
		got := t.take(d, n)
		l[:i].Back(d, n-got)
		n = got
	}
	return n
}

// Back returns n bytes to each tally.
func (l tallies) Back(d direction, n int) {
	if n == 0 {
		return
	}
	for _, t := range l {
		t.back(d, n)
	}
}

// usageSpent names the limit that is used up. The zero usageSpent means none.
type usageSpent struct {
	Why string
	By  profiles.Rule // the rule of the layer above that has the budget; zero: the entry's own limits
}

// Admit counts one more connection if connection is true, and one more use against PerMinute if counted is
// true. It counts neither if a limit is used up.
func (l tallies) Admit(now time.Time, connection, counted bool) usageSpent {
	for i, t := range l {
		if why := t.admit(now, connection, counted); why.Why != "" {
			for _, before := range l[:i] {
				before.undo(connection, counted)
			}
			return why
		}
	}
	return usageSpent{}
}

// Spent returns the limit that allows no more bytes.
func (l tallies) Spent(d direction) usageSpent {
	for _, t := range l {
		if s := t.spent(d); s.Why != "" {
			return s
		}
	}
	return usageSpent{}
}

// Moved changes the number of open connections of each tally.
func (l tallies) Moved(n int64) {
	for _, t := range l {
		t.mu.Lock()
		t.open += n
		t.mu.Unlock()
	}
}

func (t *usageTally) admit(now time.Time, connection, counted bool) usageSpent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if connection && t.limits.Connections > 0 && t.open >= t.limits.Connections {
		return t.spentByLocked("%s allows %d connections at once", t.limits.Connections)
	}
	for _, d := range []direction{Up, Down} {
		if s := t.spentLocked(d); s.Why != "" {
			return s
		}
	}
	if counted {
		last := t.lastMinuteLocked(now)
		if t.limits.PerMinute > 0 && last >= t.limits.PerMinute {
			return t.spentByLocked("%s allows %d a minute", t.limits.PerMinute)
		}
		t.begun++
	}
	if connection {
		t.open++
	}
	return usageSpent{}
}

// undo reverts what Admit counted.
func (t *usageTally) undo(connection, counted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if connection {
		t.open--
	}
	if counted {
		t.begun = max(0, t.begun-1)
	}
}

func (t *usageTally) spent(d direction) usageSpent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spentLocked(d)
}

func (t *usageTally) spentLocked(d direction) usageSpent {
	switch used, most := t.of(d); {
	case most <= 0 || *used < most:
		return usageSpent{}
	case d == Up:
		return t.spentByLocked("the %[2]d bytes that %[1]s allows to be sent are used up", most)
	default:
		return t.spentByLocked("the %[2]d bytes that %[1]s allows to be received are used up", most)
	}
}

// spentByLocked names the rule that allows no more: that of the entry, or of the layer above with its position.
func (t *usageTally) spentByLocked(format string, most int64) usageSpent {
	who := "the rule"
	if t.by != (profiles.Rule{}) {
		who = fmt.Sprintf("%s (%s:%d), shared by everything within its entry,", cmp.Or(t.by.Layer, "the policy"),
			t.by.File, t.by.Line)
	}
	return usageSpent{Why: fmt.Sprintf(format, who, most), By: t.by}
}

func (t *usageTally) lastMinuteLocked(now time.Time) int64 {
	past := now.Sub(t.minute)
	switch {
	case past < 0 || past >= 2*time.Minute:
		t.minute, t.begun, t.before = now, 0, 0
	case past >= time.Minute:
		t.minute, t.begun, t.before = t.minute.Add(time.Minute), 0, t.begun
	}
	left := time.Minute - now.Sub(t.minute)
	return t.begun + (t.before*int64(left)+int64(time.Minute)-1)/int64(time.Minute)
}

// strictestLimits returns the stricter value of each limit. 0 means no limit.
func strictestLimits(a, b profiles.EgressLimits) profiles.EgressLimits {
	least := func(a, b int64) int64 {
		if a == 0 || b == 0 {
			return max(a, b)
		}
		return min(a, b)
	}
	return profiles.EgressLimits{
		UpBytes: least(a.UpBytes, b.UpBytes), DownBytes: least(a.DownBytes, b.DownBytes),
		Connections: least(a.Connections, b.Connections), PerMinute: least(a.PerMinute, b.PerMinute),
	}
}
