package budget

import (
	"slices"
	"sync"
)

// Turns limits how many runs do something at once. The others wait in order. It is safe for
// concurrent use.
type Turns struct {
	mu    sync.Mutex // guards what follows
	room  int
	taken map[any]bool
	queue []turn
}

// turn is one entry of the queue.
type turn struct {
	who   any
	begin func()
}

// NewTurns has room for n, at least for one.
func NewTurns(n int) *Turns { return &Turns{room: max(n, 1), taken: map[any]bool{}} }

// Take calls begin once there is room for who: at once, or within the End that makes room.
// begin must not wait for anything. who takes one turn at a time.
func (t *Turns) Take(who any, begin func()) {
	t.mu.Lock()
	if len(t.taken) >= t.room {
		t.queue = append(t.queue, turn{who, begin})
		t.mu.Unlock()
		return
	}
	t.taken[who] = true
	t.mu.Unlock()
	begin()
}

// End ends the turn of who, or takes it off the queue. It does nothing if who has no turn
// and does not wait.
func (t *Turns) End(who any) {
	t.mu.Lock()
	if !t.taken[who] {
		t.queue = slices.DeleteFunc(t.queue, func(w turn) bool { return w.who == who })
		t.mu.Unlock()
		return
	}
	delete(t.taken, who)
	var next turn
	if len(t.queue) > 0 {
		next = t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		t.taken[next.who] = true
	}
	t.mu.Unlock()
	if next.begin != nil {
		next.begin()
	}
}
