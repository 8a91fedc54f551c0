package budget

import (
	"slices"
	"sync"
)

// Turns bounds how many do something at once; the others wait in order. It is
// safe for concurrent use.
type Turns struct {
	mu    sync.Mutex
	room  int
	taken map[any]bool
	waits []turn
}

// turn is one that waits.
type turn struct {
	who   any
	begin func()
}

// NewTurns has room for n, at least one.
func NewTurns(n int) *Turns { return &Turns{room: max(n, 1), taken: map[any]bool{}} }

// Take calls begin when there is room for who: at once, or from within the End
// that makes room. begin must not wait for anything. Who takes one turn at a time.
func (t *Turns) Take(who any, begin func()) {
	t.mu.Lock()
	if len(t.taken) >= t.room {
		t.waits = append(t.waits, turn{who, begin})
		t.mu.Unlock()
		return
	}
	t.taken[who] = true
	t.mu.Unlock()
	begin()
}

// End ends the turn of who, or its wait. It does nothing for one that has neither.
func (t *Turns) End(who any) {
	t.mu.Lock()
	if !t.taken[who] {
		t.waits = slices.DeleteFunc(t.waits, func(w turn) bool { return w.who == who })
		t.mu.Unlock()
		return
	}
	delete(t.taken, who)
	var next turn
	if len(t.waits) > 0 {
		next = t.waits[0]
		t.waits = slices.Delete(t.waits, 0, 1)
		t.taken[next.who] = true
	}
	t.mu.Unlock()
	if next.begin != nil {
		next.begin()
	}
}
