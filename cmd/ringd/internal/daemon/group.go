package daemon

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// Group owns every goroutine of the process that rings, executors and the
// daemon ask for. The zero Group is ready. It is safe for concurrent use.
type Group struct {
	// Logger, when set, gets one line for a panic.
	Logger *slog.Logger
	// Panicked, when set, is called after a panic, on its goroutine, with what
	// was thrown. The daemon sets it to become closed.
	Panicked func(v any)

	wg sync.WaitGroup
}

// Go runs f on a goroutine that Wait waits for. A panic in f ends f only: what
// f was to do is not done, and Panicked hears of it.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		defer g.caught()
		f()
	})
}

func (g *Group) caught() {
	v := recover()
	if v == nil {
		return
	}
	if g.Logger != nil {
		g.Logger.Error("goroutine panicked", "panic", v, "stack", string(debug.Stack()))
	}
	if g.Panicked != nil {
		g.Panicked(v)
	}
}

// Wait returns when every goroutine has ended. Whoever starts more of them has
// stopped before.
func (g *Group) Wait() { g.wg.Wait() }
