package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// subagents makes the bridge "spawn" start a run for each call, and returns the program of
// the runs.
func subagents(w **world, p *program, started *atomic.Int64) func(*interpreter.Config) {
	return func(c *interpreter.Config) {
		c.Providers["spawn"] = provide(func(ctx context.Context, call contract.Call) (json.RawMessage, error) {
			run, err := (*w).tryStart(interpreter.StartRequest{Parent: &pause.Parent{Run: call.Run, Call: call.ID}}, *p)
			if err != nil {
				return nil, err
			}
			started.Add(1)
			select {
			case <-run.Done():
				return json.RawMessage(fmt.Sprintf(`"%s"`, run.View().State)), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
}

// Every agent starts two more, each of which does the same. The depth and the total of the
// tree are limited for all of them.
func TestTreeLimits(t *testing.T) {
	tests := []struct {
		name         string
		depth, total int64
		want         int64
	}{
		{"depth", 2, 1000, 2 + 4},
		{"total", 50, 5, 5},
		{"none", 0, 1000, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var w *world
			var started atomic.Int64
			var p program = func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
				for i := range 2 {
					_, _ = h.Ask(ctx, question(fmt.Sprintf("c%d", i), "spawn", `[{"task":"x"}]`))
				}
				return executors.Outcome{State: executors.StateDone}, nil
			}
			w = newWorld(t, subagents(&w, &p, &started))
			w.apply(set("a", bridge("spawn", spawner(1, test.depth, test.total))))
			w.end(w.start(p))
			if started.Load() != test.want {
				t.Errorf("%d subagents, want %d", started.Load(), test.want)
			}
		})
	}
}

func TestParentMustBeAnOpenCall(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{})
	w := newWorld(t, func(c *interpreter.Config) {
		c.Providers["spawn"] = provide(func(ctx context.Context, _ contract.Call) (json.RawMessage, error) {
			close(begun)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, nil
		})
	})
	w.apply(set("a", bridge("spawn", spawner(2, 3, 10)), bridge("ask")))
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		go func() { _, _ = h.Ask(ctx, question("c2", "ask", `[]`)) }()
		_, _ = h.Ask(ctx, question("c1", "spawn", `[[1,2]]`))
		<-ctx.Done()
		return executors.Outcome{State: executors.StateCancelled}, nil
	})
	<-begun
	for len(run.View().Pending) == 0 {
		if _, err := run.Events(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	block := func(ctx context.Context, _ executors.Run, _ executors.Host) (executors.Outcome, error) {
		<-ctx.Done()
		return executors.Outcome{State: executors.StateCancelled}, nil
	}
	child := func(run, call string) (*interpreter.Run, error) {
		return w.tryStart(interpreter.StartRequest{Parent: &pause.Parent{Run: run, Call: call}}, block)
	}
	for name, p := range map[string][2]string{"run": {"nobody", "c1"}, "call": {"r1", "c9"},
		"not a spawning bridge": {"r1", "c2"}} {
		if _, err := child(p[0], p[1]); !errors.Is(err, contract.ErrParent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var children []*interpreter.Run
	for range 2 {
		c, err := child("r1", "c1")
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	if _, err := child("r1", "c1"); !errors.Is(err, contract.ErrParent) {
		t.Errorf("a third child of a call for two: %v", err)
	}
	// A push that tightens counts for subagents, too.
	run.Cancel(t.Context(), "uid:1", "enough")
	if _, err := child("r1", "c1"); err == nil {
		t.Error("a child of a run that has ended")
	}
	for _, c := range children {
		if v := w.end(c); v.State != executors.StateCancelled {
			t.Errorf("child %s", v.State)
		}
	}
	close(release)
	w.end(run)
}

func TestDepthIsCheckedAtTheStartToo(t *testing.T) {
	var w *world
	var denied error
	leaf := func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		_, _ = h.Ask(ctx, question("c1", "spawn", `[1]`))
		return executors.Outcome{State: executors.StateDone}, nil
	}
	w = newWorld(t, func(c *interpreter.Config) {
		c.Providers["spawn"] = provide(func(_ context.Context, call contract.Call) (json.RawMessage, error) {
			// The push between admission and start allows no depth.
			_, denied = w.tryStart(interpreter.StartRequest{
				Agent: "other", Parent: &pause.Parent{Run: call.Run, Call: call.ID}}, leaf)
			return nil, nil
		})
	})
	w.apply(set("a", bridge("spawn", spawner(2, 1, 10))))
	w.end(w.start(leaf))
	var d *profiles.Denial
	if !errors.As(denied, &d) || d.Decision.Code != profiles.CodeUnknownAgent {
		t.Errorf("child of an unknown agent: %v", denied)
	}
}
