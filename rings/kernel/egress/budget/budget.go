// Package budget counts what a holder uses of a rule, against its limits. It knows
// neither connections nor rules; package egress alone calls it.
package budget

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Direction is one of the two that bytes are counted in.
type Direction bool

// The directions, as a guest sees them.
const (
	Up   Direction = true
	Down Direction = false
)

// Tally is what was used of one rule. It outlives a policy that changes: the same
// rule goes on where it was. The zero Tally has no limits. It is safe for
// concurrent use.
type Tally struct {
	mu         sync.Mutex
	limits     profiles.EgressLimits
	by         profiles.Rule // of a layer above; zero: the entry's own
	generation int64         // of the limits
	up, down   int64
	open       int64
	// PerMinute is held against the last minute, of which the earlier part is taken
	// to have been even: begun counts since minute, before in the minute before it.
	minute        time.Time
	begun, before int64
}

// Limit sets the limits that hold from now on, as a generation of the policy has
// them. Those of an earlier one than it knows, which somebody decided by while it
// changed, it does not take.
func (t *Tally) Limit(l profiles.EgressLimits, generation int64) {
	t.Bind(Bound{Limits: l}, generation)
}

// Bind is Limit with who sets the limits.
func (t *Tally) Bind(b Bound, generation int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if generation >= t.generation {
		t.limits, t.by, t.generation = b.Limits, b.By, generation
	}
}

func (t *Tally) of(d Direction) (used *int64, most int64) {
	if d == Up {
		return &t.up, t.limits.UpBytes
	}
	return &t.down, t.limits.DownBytes
}

func (t *Tally) take(d Direction, n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	used, most := t.of(d)
	if most > 0 {
		n = int(max(0, min(int64(n), most-*used)))
	}
	*used += int64(n)
	return n
}

func (t *Tally) back(d Direction, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	used, _ := t.of(d)
	*used -= int64(n)
}

// List is the tallies that something counts against.
type List []*Tally

// Take takes n bytes from each, or what the strictest gives.
func (l List) Take(d Direction, n int) int {
	for i, t := range l {
		got := t.take(d, n)
		l[:i].Back(d, n-got)
		n = got
	}
	return n
}

// Back gives n bytes back to each.
func (l List) Back(d Direction, n int) {
	if n == 0 {
		return
	}
	for _, t := range l {
		t.back(d, n)
	}
}

// Spent says what of a rule is used up; the zero Spent says that nothing is.
type Spent struct {
	Why string
	By  profiles.Rule // of the layer above that it is the budget of; zero: the entry's own
}

// Admit counts one more connection, where connection is set, and one more of what
// PerMinute bounds, where counted is; neither where something is used up.
func (l List) Admit(now time.Time, connection, counted bool) Spent {
	for i, t := range l {
		if why := t.admit(now, connection, counted); why.Why != "" {
			for _, before := range l[:i] {
				before.undo(connection, counted)
			}
			return why
		}
	}
	return Spent{}
}

// Spent says which of the limits lets no more bytes pass.
func (l List) Spent(d Direction) Spent {
	for _, t := range l {
		if s := t.spent(d); s.Why != "" {
			return s
		}
	}
	return Spent{}
}

// Moved changes the number of open connections of each.
func (l List) Moved(n int64) {
	for _, t := range l {
		t.mu.Lock()
		t.open += n
		t.mu.Unlock()
	}
}

func (t *Tally) admit(now time.Time, connection, counted bool) Spent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if connection && t.limits.Connections > 0 && t.open >= t.limits.Connections {
		return t.saysLocked("%s allows %d connections at once", t.limits.Connections)
	}
	for _, d := range []Direction{Up, Down} {
		if s := t.spentLocked(d); s.Why != "" {
			return s
		}
	}
	if counted {
		last := t.lastMinuteLocked(now)
		if t.limits.PerMinute > 0 && last >= t.limits.PerMinute {
			return t.saysLocked("%s allows %d a minute", t.limits.PerMinute)
		}
		t.begun++
	}
	if connection {
		t.open++
	}
	return Spent{}
}

// undo takes back what admit counted.
func (t *Tally) undo(connection, counted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if connection {
		t.open--
	}
	if counted {
		t.begun = max(0, t.begun-1)
	}
}

func (t *Tally) spent(d Direction) Spent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spentLocked(d)
}

func (t *Tally) spentLocked(d Direction) Spent {
	switch used, most := t.of(d); {
	case most <= 0 || *used < most:
		return Spent{}
	case d == Up:
		return t.saysLocked("the %[2]d bytes that %[1]s allows to be sent are used up", most)
	default:
		return t.saysLocked("the %[2]d bytes that %[1]s allows to be received are used up", most)
	}
}

// saysLocked names who allows no more: the rule, or the layer above with its place.
func (t *Tally) saysLocked(format string, most int64) Spent {
	who := "the rule"
	if t.by != (profiles.Rule{}) {
		who = fmt.Sprintf("%s (%s:%d), for all that lies within its entry together,", cmp.Or(t.by.Layer, "the policy"), t.by.File, t.by.Line)
	}
	return Spent{Why: fmt.Sprintf(format, who, most), By: t.by}
}

func (t *Tally) lastMinuteLocked(now time.Time) int64 {
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

// Strictest gives the stricter one of each limit; 0 is none.
func Strictest(a, b profiles.EgressLimits) profiles.EgressLimits {
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
