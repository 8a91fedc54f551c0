// Package budget counts what a holder uses of a rule, against its limits. It knows
// neither connections nor rules; package egress alone calls it.
package budget

import (
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
	generation int64 // of the limits
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if generation >= t.generation {
		t.limits, t.generation = l, generation
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

// Admit counts one more connection, where connection is set, and one more of what
// PerMinute bounds, where counted is. Why says what is used up, in which case
// neither was counted as a connection.
func (l List) Admit(now time.Time, connection, counted bool) (why string) {
	for i, t := range l {
		if why := t.admit(now, connection, counted); why != "" {
			if connection {
				l[:i].Moved(-1)
			}
			return why
		}
	}
	return ""
}

// Moved changes the number of open connections of each.
func (l List) Moved(n int64) {
	for _, t := range l {
		t.mu.Lock()
		t.open += n
		t.mu.Unlock()
	}
}

func (t *Tally) admit(now time.Time, connection, counted bool) (why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case connection && t.limits.Connections > 0 && t.open >= t.limits.Connections:
		return fmt.Sprintf("the rule allows %d connections at once", t.limits.Connections)
	case t.limits.UpBytes > 0 && t.up >= t.limits.UpBytes:
		return fmt.Sprintf("the %d bytes that the rule allows to be sent are used up", t.limits.UpBytes)
	case t.limits.DownBytes > 0 && t.down >= t.limits.DownBytes:
		return fmt.Sprintf("the %d bytes that the rule allows to be received are used up", t.limits.DownBytes)
	}
	if counted {
		last := t.lastMinuteLocked(now)
		if t.limits.PerMinute > 0 && last >= t.limits.PerMinute {
			return fmt.Sprintf("the rule allows %d a minute", t.limits.PerMinute)
		}
		t.begun++
	}
	if connection {
		t.open++
	}
	return ""
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
