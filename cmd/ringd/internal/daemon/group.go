package daemon

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// Group owns every goroutine that the rings, the executors and the daemon start. The zero Group is ready. It
// is safe for concurrent use.
type Group struct {
	// Logger gets one line for each panic. It may be nil.
	Logger *slog.Logger
	wg     sync.WaitGroup
}

// Go runs f on a goroutine that Wait waits for. A panic in f ends only f. This is the boundary of a run: the
// interpreter ring ends the run, denied, while the panic passes through it.
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

// Wait returns when every goroutine has ended. No caller may start another one meanwhile.
func (g *Group) Wait() { g.wg.Wait() }
