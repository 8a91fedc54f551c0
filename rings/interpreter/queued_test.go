package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// turned makes one question for each of the arguments, in turns.
func turned(bridge string, args ...string) (qs []executors.Question) {
	for _, a := range args {
		qs = append(qs, ask(bridge, a))
	}
	return inTurns(qs)
}

// A schema that is in force at a pause binds the calls that are queued there, too.
func TestQueuedSchemaOfPause(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	p := s.pausedRun(waves(turned("ask", `[1]`, `[2]`, `["bad"]`)))
	s.apply(set("b", bridge("ask", atOnce(1, 100), arguments(`{"type":"integer"}`))))
	v := s.resume(p, value("c1", `1`))
	if v.State != executors.StatePaused {
		t.Fatalf("%s %+v", v.State, v.Error)
	}
	p = s.keeper.pause(t, "r1")
	v = s.resume(p, value("c2", `1`))
	if v.State == executors.StatePaused {
		t.Errorf("c3, whose argument no policy in force allows, is open: %s", v.Pending[0].Args)
	}
}

// The same with one pause: the push comes while the run stops.
func TestQueuedSchemaWhileStopping(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	b := set("b", bridge("ask", atOnce(1, 100), arguments(`{"type":"integer"}`)))
	s.pauser.stopped = func(executors.Run) *executors.Outcome { s.apply(b); return nil }
	p := s.pausedRun(waves(turned("ask", `[1]`, `["bad"]`)))
	s.unstop()
	v := s.resume(p, value("c1", `1`))
	if len(v.Pending) > 0 {
		t.Errorf("under a policy that asks for an integer the harness gets %s", v.Pending[0].Args)
	}
}

// If the policy in force refuses a queued call, the refusal names that policy.
func TestQueuedRefusalNamesItsPolicy(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	p := s.pausedRun(waves(turned("ask", `[1]`, `["bad"]`)))
	s.apply(set("b", bridge("ask", atOnce(1, 100), arguments(`{"type":"integer"}`))))
	v := s.resume(p, value("c1", `1`))
	if len(v.Denials) != 1 || v.Denials[0].Revision != "b" || v.Denials[0].Code != profiles.CodeBridgeRevoked {
		t.Errorf("denials %+v", v.Denials)
	}
}

func (s *stage) unstop() {
	s.pauser.mu.Lock()
	defer s.pauser.mu.Unlock()
	s.pauser.stopped = nil
}

// The number of calls in a policy that was in force at a pause binds the queued calls, too.
func TestQueuedCallsOfPause(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	few := limits(func(l *profiles.BridgeLimits) { l.Concurrent, l.CallsPerRun, l.Queue = 1, 1, 100 })
	b := set("b", bridge("ask", few))
	s.pauser.stopped = func(executors.Run) *executors.Outcome { s.apply(b); return nil }
	p := s.pausedRun(waves(turned("ask", `[1]`, `[2]`)))
	s.unstop()
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	v := s.resume(p, value("c1", `1`))
	if len(v.Pending) > 0 {
		t.Errorf("policy b binds the run, which allows one call: the second one is open")
	}
}

// A lockdown while the run stops: the queued calls are refused afterwards, as the open one is.
func TestQueuedLockdownOfPause(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	s.pauser.stopped = func(executors.Run) *executors.Outcome { s.apply(nil); return nil }
	p := s.pausedRun(waves(turned("ask", `[1]`, `[2]`)))
	s.unstop()
	s.apply(set("a", bridge("ask", atOnce(1, 100))))
	v := s.resume(p, value("c1", `1`))
	if len(v.Pending) > 0 {
		t.Errorf("c2, which the record says is revoked, is open; c1 is not")
	}
}

// No subagent can be started for a queued call, and the parent can pause again.
func TestQueuedCallHasNoSubagents(t *testing.T) {
	s := newStage(t, func(c *interpreter.Config) { c.Providers["team"] = contract.Harness{} })
	one := limits(func(l *profiles.BridgeLimits) { l.Concurrent, l.Queue = 1, 100 })
	s.slow = func(ctx context.Context) { <-ctx.Done() }
	s.apply(set("a", bridge("ask"), bridge("slow"), bridge("team", spawner(3, 2, 50), one)))
	p := s.pausedRun(waves(turned("team", `[[1,2]]`, `[[1,2]]`, `[[1,2]]`)))
	_, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	hang := waves([]executors.Question{question("c1", "slow", `[]`)})
	child, err := s.child("r1", "c3", hang)
	if !errors.Is(err, contract.ErrParent) {
		t.Errorf("a child of a queued call: %v", err)
	}
	v := s.resume(p, value("c1", `1`))
	if v.State != executors.StatePaused {
		t.Errorf("the parent could not pause again: %+v", v.Error)
	}
	if child != nil {
		child.Cancel(t.Context(), "uid:1", "enough")
		s.end(child)
	}
}

// A large call that is queued is taken, so that more is read from the guest.
func TestQueuedTaken(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask", atOnce(1, 100))))
	taken := make(chan string, 10)
	hold := make(chan struct{})
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		var all sync.WaitGroup
		for _, q := range turned("ask", `[1]`, `[2]`) {
			id := q.Call
			q.Hold = func(bool) {}
			q.Taken = sync.OnceFunc(func() { taken <- id })
			all.Go(func() { _, _ = h.Ask(ctx, q) })
		}
		<-hold
		all.Wait()
		return executors.Outcome{State: executors.StateDone}, nil
	})
	w.awaitQueued(1)
	if one := <-taken; one != "c1" {
		t.Error(one)
	}
	select {
	case <-taken:
	case <-time.After(time.Second):
		t.Error("c2 is queued and not taken")
	}
	run.Cancel(t.Context(), "uid:1", "enough")
	close(hold)
	w.end(run)
}

// A queued call that was stopped does not count as one that waits, even if its goroutine has not run since.
func TestQueuedStoppedWhilePausing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	k := &keeper{pauses: map[string][]byte{}, views: map[string]contract.View{}}
	w := newWorld(t, func(c *interpreter.Config) { c.Keeper = k })
	w.apply(set("a", bridge("ask", atOnce(1, 100))))
	host := make(chan executors.Host, 1)
	next := make(chan struct{})
	var third error
	var second executors.Answer
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		qs := turned("ask", `[1]`, `["bad"]`, `[3]`)
		answered := make(chan struct{})
		go func() { _, _ = h.Ask(ctx, qs[0]) }()
		go func() { second, _ = h.Ask(ctx, qs[1]); close(answered) }()
		host <- h
		<-answered
		// the program goes on with its error, and makes another call
		_, third = h.Ask(ctx, qs[2])
		close(next)
		<-ctx.Done()
		return executors.Outcome{State: executors.StateCancelled}, nil
	})
	h := <-host
	w.awaitQueued(1)
	for range 100 {
		runtime.Gosched()
	}
	w.apply(set("b", bridge("ask", atOnce(1, 100), arguments(`{"type":"integer"}`))))
	h.Idle([]string{"c1", "c2"})
	select {
	case <-next:
	case <-time.After(2 * time.Second):
	}
	if v := run.View(); third != nil {
		t.Errorf("the run was closed: %+v, second call %+v", v.Error, second.Error)
	}
	run.Cancel(t.Context(), "uid:1", "enough")
	w.end(run)
}

// The program ends with calls that it does not wait for. None of the queued ones may begin then.
func TestQueuedDeadGuest(t *testing.T) {
	var mu sync.Mutex
	begun := 0
	p := provide(func(ctx context.Context, _ contract.Call) (json.RawMessage, error) {
		mu.Lock()
		begun++
		mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for range 20 {
		w := newWorld(t, func(c *interpreter.Config) { c.Providers["many"] = p })
		w.apply(set("a", bridge("many", external, atOnce(4, 1000))))
		run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			asks, cancel := context.WithCancel(ctx)
			var all sync.WaitGroup
			for _, q := range inTurns(times(900, ask("many", `[]`))) {
				all.Go(func() { _, _ = h.Ask(asks, q) })
			}
			w.awaitQueued(896)
			cancel()
			all.Wait()
			return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`)}, nil
		})
		w.end(run)
	}
	if begun > 80 {
		t.Errorf("%d queued calls began after the end of their program", begun-80)
	}
}

// The rule of two asks about a queued call at its turn, once all three powers were touched meanwhile.
func TestQueuedRuleOfTwo(t *testing.T) {
	hold := make(chan struct{})
	s := newStage(t, func(c *interpreter.Config) {
		c.Providers["send"] = provide(func(context.Context, contract.Call) (json.RawMessage, error) {
			<-hold
			return nil, nil
		})
	})
	one := limits(func(l *profiles.BridgeLimits) { l.Concurrent, l.Queue = 1, 100 })
	s.apply(powered(rule("enforce", require), func(a *profiles.Agent) {
		a.Bridges["send"] = bridge("send", external, one)
	}))
	qs := turned("send", `[1]`, `[2]`, `[3]`, `[4]`)
	qs[2].Bridge, qs[3].Bridge = "mail", "web"
	run, err := s.run(interpreter.StartRequest{}, waves(qs))
	must(t, err)
	s.awaitQueued(1)
	for end := time.Now().Add(5 * time.Second); s.echo.count() < 2 && time.Now().Before(end); runtime.Gosched() {
	}
	close(hold)
	v := s.end(run)
	if v.State != executors.StatePaused || len(v.Pending) != 1 || v.Pending[0].ID != "c2" || v.Pending[0].Because == "" {
		t.Fatalf("%s %+v %+v", v.State, v.Error, v.Pending)
	}
	if v = s.resume(s.keeper.pause(t, "r1"), approve("c2")); v.State != executors.StateDone {
		t.Errorf("%s %+v", v.State, v.Error)
	}
}
