package interpreter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// inOrder makes a program that asks the questions at once, in turns as a link gives them, and answers where the
// answers can be read.
func inOrder(qs []executors.Question) (program, []executors.Answer) {
	got := make([]executors.Answer, len(qs))
	return func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		var all sync.WaitGroup
		for i, q := range inTurns(qs) {
			all.Go(func() {
				if a, err := h.Ask(ctx, q); err == nil {
					got[i] = a
				}
			})
		}
		all.Wait()
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`"ok"`)}, nil
	}, got
}

// inTurns gives questions their names and their turns, as a link does.
func inTurns(qs []executors.Question) []executors.Question {
	var turn *executors.Turn
	qs = slices.Clone(qs)
	for i := range qs {
		turn = turn.After()
		qs[i].Call, qs[i].Turn = fmt.Sprintf("c%d", i+1), turn
	}
	return qs
}

func times(n int, q executors.Question) []executors.Question {
	return slices.Repeat([]executors.Question{q}, n)
}

// counted is a provider that knows how many of its calls ran at once.
type counted struct {
	now, most atomic.Int64
	wait      func(id string)
}

func (p *counted) Call(_ context.Context, c contract.Call) (json.RawMessage, error) {
	n := p.now.Add(1)
	for most := p.most.Load(); n > most && !p.most.CompareAndSwap(most, n); most = p.most.Load() {
	}
	defer p.now.Add(-1)
	if p.wait != nil {
		p.wait(c.ID)
	}
	return json.RawMessage(`"` + c.ID + `"`), nil
}

func counting(p *counted) func(*interpreter.Config) {
	return func(c *interpreter.Config) { c.Providers["many"] = p }
}

func atOnce(concurrent, queue int64) func(*profiles.Bridge) {
	return limits(func(l *profiles.BridgeLimits) { l.Concurrent, l.CallsPerRun, l.Queue = concurrent, 1000, queue })
}

// Of 500 calls at once with four places each is answered; no more than four run at a time; they begin, and are on
// record, in the order in which the program made them.
func TestFullBridgeWaits(t *testing.T) {
	p := &counted{wait: func(string) { time.Sleep(100 * time.Microsecond) }}
	w := newWorld(t, counting(p))
	w.apply(set("a", bridge("many", atOnce(4, 1000))))
	prog, got := inOrder(times(500, ask("many", `[]`)))
	v := w.end(w.start(prog))
	if v.State != executors.StateDone || len(v.Denials) > 0 || p.most.Load() != 4 {
		t.Fatalf("%s %+v, %d refusals, %d at once", v.State, v.Error, len(v.Denials), p.most.Load())
	}
	made, begun, queued := []string{}, []string{}, 0
	for _, r := range w.audit.records {
		if r.Kind != contract.CallOpened && r.Kind != contract.CallQueued {
			continue
		}
		if !slices.Contains(made, r.Call) {
			made = append(made, r.Call)
		}
		if r.Kind == contract.CallQueued {
			queued++
		} else {
			begun = append(begun, r.Call)
		}
	}
	for i, a := range got {
		id := fmt.Sprintf("c%d", i+1)
		if a.Error != nil || string(a.Value) != `"`+id+`"` || made[i] != id || begun[i] != id {
			t.Fatalf("call %d: %s %+v, on record as %s and %s", i+1, a.Value, a.Error, made[i], begun[i])
		}
	}
	if queued < 400 || v.Usage.Calls["many"] != 500 {
		t.Errorf("%d were queued, usage %v", queued, v.Usage.Calls)
	}
}

// A bridge whose queue is full, or that has none, refuses the last calls of a wave, always the same ones.
func TestFullBridgeRefuses(t *testing.T) {
	for _, c := range []struct {
		queue int64
		text  string
	}{
		{0, "may have 2 open calls at once (call c3)"},
		{3, "may have 2 open calls at once, and 3 more may wait (call c6)"},
	} {
		for range 50 {
			hold := make(chan struct{})
			p := &counted{wait: func(string) { <-hold }}
			w := newWorld(t, counting(p))
			w.apply(set("a", bridge("many", atOnce(2, c.queue))))
			prog, got := inOrder(times(8, ask("many", `[]`)))
			run := w.start(prog)
			w.awaitQueued(int(c.queue))
			for end := time.Now().Add(time.Minute); w.refusedCalls() < 6-int(c.queue); runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d calls are refused", w.refusedCalls())
				}
			}
			close(hold)
			v := w.end(run)
			for i, a := range got {
				refused := int64(i) >= 2+c.queue
				if (a.Error != nil) != refused || refused && a.Error.Name != profiles.ErrorBudgetExceeded {
					t.Fatalf("queue %d, call %d: %s %+v", c.queue, i+1, a.Value, a.Error)
				}
			}
			first := got[2+c.queue].Error
			if !strings.Contains(first.Message, c.text) || v.Denials[0].Code != profiles.CodeBridgeConcurrent {
				t.Fatalf("%+v %+v", first, v.Denials)
			}
		}
	}
}

// If a wave has more calls than a run may make, its last calls are refused.
func TestBudgetsRefuseTheLast(t *testing.T) {
	for range 100 {
		w := newWorld(t)
		w.apply(set("a", bridge("search", limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 3 }))))
		prog, got := inOrder(times(5, ask("search", `[]`)))
		w.end(w.start(prog))
		for i, a := range got {
			if (a.Error == nil) != (i < 3) {
				t.Fatalf("call %d: %+v", i+1, a.Error)
			}
		}
	}
}

// A push that lowers the limit holds for the calls that wait, and one that raises it again lets more of them begin.
func TestPushChangesPlaces(t *testing.T) {
	goOn, began := make(chan struct{}), make(chan string, 100)
	p := &counted{wait: func(id string) { began <- id; <-goOn }}
	w := newWorld(t, counting(p))
	w.apply(set("a", bridge("many", atOnce(4, 100))))
	prog, got := inOrder(times(30, ask("many", `[]`)))
	run := w.start(prog)
	for range 4 {
		<-began
	}
	w.awaitQueued(26)
	w.apply(set("b", bridge("many", atOnce(2, 100))))
	for range 4 { // those that have their places
		goOn <- struct{}{}
	}
	<-began
	<-began
	p.most.Store(0)
	for range 5 {
		goOn <- struct{}{}
		<-began
	}
	if most := p.most.Load(); most != 2 || len(began) > 0 {
		t.Fatalf("%d at once with two places", most)
	}
	w.apply(set("a", bridge("many", atOnce(4, 100))))
	<-began // without any call having ended
	<-began
	close(goOn)
	v := w.end(run)
	for i, a := range got {
		if a.Error != nil {
			t.Fatalf("call %d: %+v", i+1, a.Error)
		}
	}
	if most := p.most.Load(); v.State != executors.StateDone || most != 4 {
		t.Errorf("%s, %d at once", v.State, most)
	}
}

// awaitQueued waits until so many calls are queued.
func (w *world) awaitQueued(n int) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); w.queuedCalls() < n; runtime.Gosched() {
		if time.Now().After(end) {
			w.t.Fatalf("%d calls are queued, not %d", w.queuedCalls(), n)
		}
	}
}

// queuedCalls is how many records of queued calls there are.
func (w *world) queuedCalls() int { return w.records(contract.CallQueued, "queued") }

func (w *world) refusedCalls() int { return w.records(contract.CallDecided, "refused") }

func (w *world) records(kind contract.Kind, state string) (n int) {
	w.audit.mu.Lock()
	defer w.audit.mu.Unlock()
	for _, r := range w.audit.records {
		if r.Kind == kind && r.State == state {
			n++
		}
	}
	return n
}

// A revocation, a push without the bridge, and the end of the run empty the queue: no call of it begins any more.
func TestQueueIsEmptied(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(*world, *interpreter.Run)
		error string
	}{
		"revoked": {func(w *world, r *interpreter.Run) { must(w.t, r.Revoke(w.t.Context(), []string{"bridge:many"})) },
			profiles.ErrorCapabilityRevoked},
		"pushed":    {func(w *world, _ *interpreter.Run) { w.apply(set("b")) }, profiles.ErrorCapabilityRevoked},
		"cancelled": {func(w *world, r *interpreter.Run) { r.Cancel(w.t.Context(), "uid:1", "enough") }, ""},
		"fewer": {func(w *world, _ *interpreter.Run) {
			w.apply(set("b", bridge("many", limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 5 }))))
		}, profiles.ErrorCapabilityRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			goOn, began := make(chan struct{}), make(chan string, 100)
			p := &counted{wait: func(id string) { began <- id; <-goOn }}
			w := newWorld(t, counting(p))
			w.apply(set("a", bridge("many", atOnce(2, 100))))
			prog, got := inOrder(times(20, ask("many", `[]`)))
			run := w.start(prog)
			<-began
			<-began
			w.awaitQueued(18)
			c.do(w, run)
			close(goOn)
			w.end(run)
			if len(began) > 0 {
				t.Errorf("%s began afterwards", <-began)
			}
			for i, a := range got[2:] {
				if c.error != "" && (a.Error == nil || a.Error.Name != c.error) {
					t.Errorf("call %d: %+v", i+3, a.Error)
				}
			}
		})
	}
}

// A pause keeps the queue. The harness sees the calls whose turn it is alone; each answer makes room for the next.
func TestPauseKeepsTheQueue(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", atOnce(4, 100))))
	p := s.pausedRun(waves(inTurns(times(10, ask("ask", `[]`)))))
	s.checkOpen(p, []string{"c1", "c2", "c3", "c4"}, 10)
	for round := 0; ; round++ {
		var settled []contract.Settlement
		for _, c := range p.Calls {
			settled = append(settled, value(c.ID, `"`+c.ID+`"`))
		}
		v := s.resume(p, settled...)
		if v.State == executors.StateDone {
			break
		}
		if v.State != executors.StatePaused || round > 5 {
			t.Fatalf("round %d: %s %+v", round, v.State, v.Error)
		}
		p = s.keeper.pause(t, "r1")
		s.checkOpen(p, [][]string{{"c5", "c6", "c7", "c8"}, {"c9", "c10"}}[round], 10)
	}
	for i := range 10 {
		id := fmt.Sprintf("c%d", i+1)
		if a := s.got("r1", id); a.Error != nil || string(a.Value) != `"`+id+`"` {
			t.Errorf("%s: %s %+v", id, a.Value, a.Error)
		}
	}
}

// The calls of a program that cannot be paused wait in the same order: the harness has two of them at a time.
func TestHeldProgramWaits(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask", atOnce(2, 100))))
	q := ask("ask", `[]`)
	q.Hold = func(bool) {}
	prog, got := inOrder(times(5, q))
	run := w.start(prog)
	for i := 1; i <= 5; i++ {
		var ids []string
		want := []string{fmt.Sprintf("c%d", i), fmt.Sprintf("c%d", i+1)}[:min(2, 6-i)]
		for end := time.Now().Add(time.Minute); !slices.Equal(ids, want); runtime.Gosched() {
			if ids = nil; time.Now().After(end) {
				t.Fatalf("%v", run.View().Pending)
			}
			for _, p := range run.View().Pending {
				ids = append(ids, p.ID)
			}
		}
		must(t, run.Answer(t.Context(), contract.Reply{Call: ids[0], Value: json.RawMessage(fmt.Sprint(i))}))
	}
	w.end(run)
	for i, a := range got {
		if string(a.Value) != fmt.Sprint(i+1) {
			t.Errorf("call %d: %s %+v", i+1, a.Value, a.Error)
		}
	}
}

// checkOpen compares the calls of a pause that wait for an answer; those after them are queued, up to the last.
func (s *stage) checkOpen(p pause.Record, want []string, last int64) {
	s.t.Helper()
	var open []string
	next := int64(0)
	for _, c := range p.Calls {
		open = append(open, c.ID)
		next, _ = pause.Number(c.ID)
	}
	if !slices.Equal(open, want) {
		s.t.Fatalf("open %v, want %v", open, want)
	}
	for _, c := range p.Queued {
		n, _ := pause.Number(c.ID)
		if next++; n != next {
			s.t.Fatalf("queued %s, want c%d", c.ID, next)
		}
	}
	if next != last {
		s.t.Fatalf("the queue ends at c%d", next)
	}
}
