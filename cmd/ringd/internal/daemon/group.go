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
	wg     sync.WaitGroup
}

// Go runs f on a goroutine that Wait waits for. A panic in f ends f only. This is
// the boundary of a run: the interpreter ring ends a run, closed, while the panic
// passes through it.
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
}

// Wait returns when every goroutine has ended. Whoever starts more of them has
// stopped before.
func (g *Group) Wait() { g.wg.Wait() }
