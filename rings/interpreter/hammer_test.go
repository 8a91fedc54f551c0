package interpreter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// Generations are swapped while runs call, answer and cancel. No act begins after its run
// has ended, none begins for a call that was asked after its bridge was taken away, and no
// run sees a mixture: sets alternate between a bridge that only even revisions grant and one
// that only odd ones do.
func TestHammer(t *testing.T) {
	const runs, perRun, swaps = 60, 40, 400
	var over sync.Map // runs that have ended
	var late, mixed atomic.Int64
	act := provide(func(_ context.Context, c contract.Call) (json.RawMessage, error) {
		if _, ended := over.Load(c.Run); ended {
			late.Add(1)
		}
		return c.Args, nil
	})
	w := newWorld(t, func(c *interpreter.Config) { c.Default = act })
	sets := []*profiles.Set{
		set("even", bridge("both", external), bridge("even"), bridge("ask"), bridge("spawn", spawner(4, 2, 50))),
		set("odd", bridge("both"), bridge("odd"), bridge("ask"), bridge("spawn", spawner(2, 1, 20))),
	}
	w.apply(sets[0])
	var wg, starters sync.WaitGroup
	swapped := make(chan struct{})
	wg.Go(func() {
		defer close(swapped)
		for i := range swaps {
			w.apply(sets[i%2])
		}
		w.apply(set("none"))
	})
	p := func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
		foreign := map[string]string{"even": "odd", "odd": "even"}[r.Revision]
		var inner sync.WaitGroup
		for i := range perRun {
			inner.Go(func() {
				name := []string{"both", "even", "odd", "ask", "spawn"}[i%5]
				id := fmt.Sprintf("c%d", i)
				if name == "ask" {
					defer h.Idle([]string{id})
				}
				a, err := h.Ask(ctx, question(id, name, `[{"n":1}]`))
				if err == nil && a.Error == nil && name == foreign {
					mixed.Add(1)
				}
			})
		}
		inner.Wait()
		return executors.Outcome{State: executors.StateDone}, nil
	}
	for i := range runs {
		starters.Go(func() {
			run, err := w.tryStart(interpreter.StartRequest{}, p)
			if err != nil {
				return // the last set grants it, too; only Close refuses
			}
			var tail sync.WaitGroup
			tail.Go(func() { // people answer, twice
				var seen int64
				for {
					list, err := run.Events(t.Context(), seen)
					if err != nil || len(list) == 0 {
						return
					}
					seen = list[len(list)-1].Seq
					for _, p := range run.View().Pending {
						for range 2 {
							_ = run.Answer(t.Context(), contract.Reply{Call: p.ID, Value: json.RawMessage(`1`)})
						}
					}
				}
			})
			if i%3 == 0 {
				tail.Go(func() { run.Cancel(t.Context(), "uid:1", "hammer") })
			}
			<-run.Done()
			over.Store(run.ID(), true)
			tail.Wait()
		})
	}
	starters.Wait()
	<-swapped
	wg.Wait()
	if late.Load() != 0 || mixed.Load() != 0 {
		t.Errorf("%d acts after an end, %d of a foreign generation", late.Load(), mixed.Load())
	}
	before := w.echo.count()
	q, got := calls(ask("both", `[]`))
	w.end(w.start(q))
	if (*got)[0].Error == nil || w.echo.count() != before {
		t.Errorf("the last set grants nothing: %+v", (*got)[0])
	}
}
