package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// stopping starts a run that is held up when its program was asked to stop, and when its
// pause is committed.
type stopping struct {
	*stage
	run      *interpreter.Run
	stopped  chan struct{} // the program has stopped
	goOn     chan struct{} // lets the executor return
	keeping  chan struct{} // the keeper was called
	keepGoOn chan struct{}
}

func newStopping(t *testing.T) *stopping {
	s := &stopping{stage: newStage(t), stopped: make(chan struct{}), goOn: make(chan struct{}),
		keeping: make(chan struct{}), keepGoOn: make(chan struct{})}
	s.apply(set("a", bridge("ask"), bridge("act", external, approval())))
	s.pauser.stopped = func(executors.Run) *executors.Outcome {
		close(s.stopped)
		<-s.goOn
		return nil
	}
	s.keeper.hook = func(pause.Record) error {
		close(s.keeping)
		<-s.keepGoOn
		return nil
	}
	var err error
	s.run, err = s.stage.run(interpreter.StartRequest{}, waves(
		[]executors.Question{question("c1", "ask", `[]`), question("c2", "act", `[1]`)}))
	must(t, err)
	<-s.stopped
	return s
}

// free lets a stopping run go on, for good.
func (s *stopping) free() {
	s.pauser.mu.Lock()
	s.pauser.stopped = nil
	s.pauser.mu.Unlock()
	s.keeper.mu.Lock()
	s.keeper.hook = nil
	s.keeper.mu.Unlock()
}

// watched is a context that says when a caller begins to wait for its end.
type watched struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}

// No more runs are stopped and kept at once than Config.Pausing. One that is cancelled makes
// room too.
func TestRunsStopInTurn(t *testing.T) {
	const room = 2
	s := newStage(t, func(c *interpreter.Config) { c.Pausing = room })
	s.apply(set("a", bridge("ask")))
	var in atomic.Int64
	began, goOn := make(chan string, 16), make(chan struct{})
	s.pauser.stopped = func(r executors.Run) *executors.Outcome {
		if n := in.Add(1); n > room {
			t.Errorf("%d at once", n)
		}
		began <- r.ID
		<-goOn
		return nil
	}
	s.keeper.hook = func(pause.Record) error {
		in.Add(-1)
		return nil
	}
	runs := map[string]*interpreter.Run{}
	for range cap(began) {
		run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "ask", `[]`)}))
		must(t, err)
		runs[run.View().ID] = run
	}
	for _, run := range runs {
		for len(run.View().Pending) == 0 {
			runtime.Gosched()
		}
	}
	first := <-began
	runs[first].Cancel(t.Context(), "uid:1", "enough")
	in.Add(-1)
	close(goOn)
	for id, run := range runs {
		if v := s.end(run); v.State != executors.StatePaused && id != first || id == first &&
			v.State != executors.StateCancelled {
			t.Errorf("run %s: %s %+v", id, v.State, v.Error)
		}
	}
	if s.keeper.kept != len(runs)-1 || in.Load() != 0 {
		t.Errorf("%d kept, %d under way", s.keeper.kept, in.Load())
	}
}

func TestWhileARunStops(t *testing.T) {
	t.Run("answers and approvals wait, and go the store's way", func(t *testing.T) {
		s := newStopping(t)
		errs := make(chan error, 3)
		for _, ask := range []func(context.Context) error{
			func(ctx context.Context) error {
				return s.run.Answer(ctx, contract.Reply{Call: "c1", Value: json.RawMessage(`1`)})
			},
			func(ctx context.Context) error { return s.run.Approved(ctx, approve("c2")) },
			func(ctx context.Context) error { return s.run.Revoke(ctx, []string{"bridge:act"}) },
		} {
			waits := &watched{Context: t.Context(), asked: make(chan struct{})}
			go func() { errs <- ask(waits) }()
			select {
			case <-waits.asked:
			case err := <-errs:
				t.Fatalf("it did not wait: %v", err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.run.Answer(gone, contract.Reply{Call: "c1", Value: json.RawMessage(`1`)}); !errors.Is(
			err, context.Canceled) {
			t.Error(err)
		}
		select {
		case err := <-errs:
			t.Errorf("something was settled while the run stopped: %v", err)
		default:
		}
		close(s.goOn)
		<-s.keeping
		close(s.keepGoOn)
		for range 3 {
			if err := <-errs; !errors.Is(err, contract.ErrPaused) {
				t.Error(err)
			}
		}
		if v := s.end(s.run); v.State != executors.StatePaused || s.echo.count() != 0 {
			t.Errorf("%s, %d acts", v.State, s.echo.count())
		}
		if err := s.run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`1`)}); !errors.Is(
			err, contract.ErrPaused) {
			t.Error(err)
		}
		if p := s.keeper.pause(t, "r1"); len(p.Revoked) != 0 || len(p.Calls) != 2 {
			t.Errorf("pause %+v", p)
		}
	})
	t.Run("a cancelled run is not kept", func(t *testing.T) {
		s := newStopping(t)
		s.run.Cancel(t.Context(), "uid:1", "enough")
		close(s.goOn)
		v := s.end(s.run)
		if v.State != executors.StateCancelled || s.keeper.kept != 0 {
			t.Errorf("%s, %d kept", v.State, s.keeper.kept)
		}
		if log := pick(s.log.entries(), "close"); len(log) != 2 || !strings.Contains(log[0], "unrun") {
			t.Errorf("journal %q", log)
		}
	})
	t.Run("a pause that is being committed is not cancelled", func(t *testing.T) {
		s := newStopping(t)
		close(s.goOn)
		<-s.keeping
		s.run.Cancel(t.Context(), "uid:1", "enough")
		close(s.keepGoOn)
		if v := s.end(s.run); v.State != executors.StatePaused || s.keeper.kept != 1 {
			t.Errorf("%s, %d kept", v.State, s.keeper.kept)
		}
		if _, ok := s.audit.find(contract.RunCancelled); ok {
			t.Error("a run that is paused was recorded as cancelled")
		}
	})
	t.Run("a push that revokes counts at the resume", func(t *testing.T) {
		s := newStopping(t)
		s.apply(set("b", bridge("ask")))
		s.apply(set("c", bridge("ask"), bridge("act", external, approval())))
		s.apply(set("d", bridge("ask")))
		close(s.goOn)
		<-s.keeping
		close(s.keepGoOn)
		s.end(s.run)
		p := s.keeper.pause(t, "r1")
		if len(p.Profiles) != 2 || p.Profiles[1].Revision != "d" {
			t.Errorf("bound by %d policies", len(p.Profiles))
		}
		s.apply(set("e", bridge("ask"), bridge("act", external, approval())))
		s.free()
		s.resume(p, value("c1", `1`), approve("c2"))
		if got := s.got("r1", "c2"); got.Error == nil || got.Error.Name != "CapabilityRevoked" || s.echo.count() != 0 {
			t.Errorf("%+v, %d acts", got, s.echo.count())
		}
	})
	t.Run("closed meanwhile, every open call is revoked", func(t *testing.T) {
		s := newStopping(t)
		s.apply(nil)
		close(s.goOn)
		<-s.keeping
		close(s.keepGoOn)
		s.end(s.run)
		p := s.keeper.pause(t, "r1")
		s.apply(set("a", bridge("ask"), bridge("act", external, approval())))
		s.free()
		s.resume(p, value("c1", `1`), approve("c2"))
		for _, id := range []string{"c1", "c2"} {
			if got := s.got("r1", id); got.Error == nil || got.Error.Name != "CapabilityRevoked" {
				t.Errorf("%s: %+v", id, got)
			}
		}
	})
	t.Run("the ring closes", func(t *testing.T) {
		s := newStopping(t)
		closed := make(chan error, 1)
		go func() { closed <- s.ring.Close() }()
		for {
			if _, err := s.ring.Prepare(t.Context(), set("x")); errors.Is(err, interpreter.ErrClosed) {
				break
			}
		}
		close(s.goOn)
		v := s.end(s.run)
		if err := <-closed; err != nil || v.State != executors.StateCancelled && v.State != executors.StatePaused {
			t.Errorf("%s %v", v.State, err)
		}
	})
	t.Run("the ring closes while the pause is committed", func(t *testing.T) {
		s := newStopping(t)
		close(s.goOn)
		<-s.keeping
		closed := make(chan error, 1)
		go func() { closed <- s.ring.Close() }()
		close(s.keepGoOn)
		if v := s.end(s.run); v.State != executors.StatePaused {
			t.Errorf("%s %+v", v.State, v.Error)
		}
		must(t, <-closed)
	})
}

// A pause that cannot be kept ends the run, closed, and with its calls.
func TestPauseThatCannotBeKept(t *testing.T) {
	tests := []struct {
		name  string
		fault func(s *stage)
		state executors.State
		err   string
	}{
		{"keeper", func(s *stage) { s.keeper.hook = func(pause.Record) error { return errors.New("disk full") } }, executors.StateFailed, "PauseUnavailable"},
		{"keeper panics", func(s *stage) { s.keeper.hook = func(pause.Record) error { panic("boom") } }, executors.StateFailed, "Closed"},
		{"record", func(s *stage) {
			s.audit.onRecord(func(r contract.Record) error {
				if r.Kind == contract.RunPaused {
					return errors.New("disk full")
				}
				return nil
			})
		}, executors.StateFailed, "Closed"},
		{"record panics", func(s *stage) {
			s.audit.onRecord(func(r contract.Record) error {
				if r.Kind == contract.RunPaused {
					panic("boom")
				}
				return nil
			})
		}, executors.StateFailed, "Closed"},
		{"too large", func(s *stage) {
			s.pauser.stopped = func(executors.Run) *executors.Outcome {
				return &executors.Outcome{State: executors.StateLimit,
					Error: &executors.ProgramError{Name: "SnapshotTooLarge"}}
			}
		}, executors.StateLimit, "SnapshotTooLarge"},
		{"no snapshot", func(s *stage) {
			s.pauser.stopped = func(executors.Run) *executors.Outcome {
				return &executors.Outcome{State: executors.StatePaused, Engine: engine}
			}
		}, executors.StateFailed, "Closed"},
		{"no engine", func(s *stage) {
			s.pauser.stopped = func(executors.Run) *executors.Outcome {
				return &executors.Outcome{State: executors.StatePaused, Snapshot: []byte("x")}
			}
		}, executors.StateFailed, "Closed"},
		{"done instead", func(s *stage) {
			s.pauser.stopped = func(executors.Run) *executors.Outcome {
				return &executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`)}
			}
		}, executors.StateDone, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(set("a", bridge("ask"), bridge("act", external, approval())))
			test.fault(s)
			run, err := s.run(interpreter.StartRequest{}, waves(
				[]executors.Question{question("c1", "ask", `[]`), question("c2", "act", `[]`)}))
			must(t, err)
			v := s.end(run)
			name := ""
			if v.Error != nil {
				name = v.Error.Name
			}
			if v.State != test.state || name != test.err || len(s.keeper.pauses) != 0 {
				t.Errorf("%s %+v", v.State, v.Error)
			}
			if _, live := s.ring.Run("r1"); live {
				t.Error("still live")
			}
			if log := pick(s.log.entries(), "close"); len(log) != 2 {
				t.Errorf("journal %q", s.log.entries())
			}
		})
	}
}

// A panic at the very end of a run still ends it.
func TestPanicAtTheEnd(t *testing.T) {
	s := newStage(t)
	s.apply(set("a"))
	s.audit.onRecord(func(r contract.Record) error {
		if r.Kind == contract.RunEnded {
			panic("boom")
		}
		return nil
	})
	run, err := s.run(interpreter.StartRequest{}, script{})
	must(t, err)
	if v := s.end(run); v.State != executors.StateFailed || v.Error.Name != "Closed" {
		t.Errorf("%s %+v", v.State, v.Error)
	}
}

// An executor that stops a program without being asked, or that lets it ask while it stops,
// ends the run.
func TestExecutorOutOfOrder(t *testing.T) {
	policy := set("a", bridge("ask"), bridge("free"))
	tests := map[string]program{
		"paused unasked": func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: executors.StatePaused, Snapshot: []byte("x"), Engine: engine}, nil
		},
		"asks while it stops": func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
			asks, cancel := context.WithCancelCause(ctx)
			back := make(chan error, 1)
			go func() { _, err := h.Ask(asks, question("c1", "ask", `[]`)); back <- err }()
			h.Idle([]string{"c1"})
			<-r.Pause
			if _, err := h.Ask(asks, question("c2", "free", `[]`)); err == nil {
				t.Error("a call was answered while the program stopped")
			}
			cancel(executors.ErrPaused)
			<-back
			return executors.Outcome{State: executors.StatePaused, Snapshot: []byte("x"), Engine: engine}, nil
		},
		"stops an act": func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			asks, cancel := context.WithCancelCause(ctx)
			cancel(executors.ErrPaused)
			_, _ = h.Ask(asks, question("c1", "ask", `[]`))
			return executors.Outcome{State: executors.StatePaused, Snapshot: []byte("x"), Engine: engine}, nil
		},
	}
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			k := &keeper{pauses: map[string][]byte{}, views: map[string]contract.View{}}
			w := newWorld(t, func(c *interpreter.Config) { c.Keeper = k })
			w.apply(policy)
			v := w.end(w.start(p))
			if v.State != executors.StateFailed || v.Error.Name != "Closed" || k.kept != 0 || w.echo.count() != 0 {
				t.Errorf("%s %+v, %d kept, %d acts", v.State, v.Error, k.kept, w.echo.count())
			}
		})
	}
}

// Grants narrow a run, also after a resume.
func TestGrants(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask"), bridge("free"), bridge("other")))
	grants := &profiles.Grants{Bridges: map[string]profiles.GrantOfBridge{
		"ask": {}, "free": {Calls: num(1), Arguments: json.RawMessage(`{"type":"integer"}`)}}}
	run, err := s.run(interpreter.StartRequest{Grants: grants}, waves(
		[]executors.Question{question("c1", "other", `[1]`)}, []executors.Question{question("c2", "free", `["x"]`)},
		[]executors.Question{question("c3", "ask", `[]`)},
		[]executors.Question{question("c4", "free", `[1]`)}, []executors.Question{question("c5", "free", `[1]`)},
		[]executors.Question{question("c6", "other", `[1]`)}))
	must(t, err)
	s.end(run)
	s.resume(s.keeper.pause(t, "r1"), value("c3", `1`))
	for id, want := range map[string]string{"c1": "CapabilityDenied", "c2": "ArgumentError", "c4": "",
		"c5": "BudgetExceeded", "c6": "CapabilityDenied"} {
		got := s.got("r1", id)
		if (want == "") != (got.Error == nil) || want != "" && got.Error.Name != want {
			t.Errorf("%s: %+v, want %q", id, got, want)
		}
	}
	if _, err := s.run(interpreter.StartRequest{Grants: &profiles.Grants{Hosts: []string{"not a host!"}}},
		script{}); !errors.Is(err, profiles.ErrGrants) {
		t.Error(err)
	}
}

// The deadline of its grants ends a run, and is the end of its pauses.
func TestDeadline(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask")))
	at := s.now().Add(-1)
	run, err := s.run(interpreter.StartRequest{Grants: &profiles.Grants{Deadline: &at}},
		waves([]executors.Question{question("c1", "ask", `[]`)}))
	must(t, err)
	if v := s.end(run); v.State != executors.StateDenied && s.got(run.ID(), "c1").Error == nil {
		t.Errorf("after its deadline: %s %+v", v.State, v.Error)
	}
	at = s.now().Add(3_600_000_000_000)
	run, err = s.run(interpreter.StartRequest{Grants: &profiles.Grants{Deadline: &at}},
		waves([]executors.Question{question("c1", "ask", `[]`)}))
	must(t, err)
	s.end(run)
	if p := s.keeper.pause(t, run.ID()); !p.Expires.Equal(at) {
		t.Errorf("expires %v, want %v", p.Expires, at)
	}
}

// A grant that is taken from a run is gone: its open calls are stopped, no other begins, and
// it does not come back after a pause.
func TestRevoke(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask"), bridge("act", external, approval()), bridge("free"), bridge("slow")))
	busy := make(chan struct{})
	s.slow = func(context.Context) { <-busy }
	run, err := s.run(interpreter.StartRequest{}, waves(
		[]executors.Question{question("c1", "act", `[]`), question("c2", "slow", `[]`)},
		[]executors.Question{question("c3", "act", `[]`)},
		[]executors.Question{question("c4", "ask", `[]`)},
		[]executors.Question{question("c5", "act", `[]`), question("c6", "free", `[]`)}))
	must(t, err)
	waitsFor(t, run, "c1", "approver")
	for _, bad := range []string{"bridge:nope", "import:x", "host:", "shell", ""} {
		if err := run.Revoke(t.Context(), []string{bad}); !errors.Is(err, binding.ErrGrant) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := run.Revoke(t.Context(), nil); !errors.Is(err, binding.ErrGrant) {
		t.Error(err)
	}
	must(t, run.Revoke(t.Context(), []string{"bridge:act", "host:api.example.com"}))
	if err := run.Approved(t.Context(), approve("c1")); err == nil {
		t.Error("a call whose grant was taken was approved")
	}
	close(busy)
	if v := s.end(run); v.State != executors.StatePaused {
		t.Fatalf("%s %+v", v.State, v.Error)
	}
	p := s.keeper.pause(t, "r1")
	if len(p.Revoked) != 2 {
		t.Errorf("pause has %v", p.Revoked)
	}
	p.Revoked = append(p.Revoked, "bridge:free") // as a daemon does for a paused run
	s.resume(p, value("c4", `1`))
	for _, id := range []string{"c1", "c3", "c5", "c6"} {
		if got := s.got("r1", id); got.Error == nil || got.Error.Name != "CapabilityRevoked" {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if s.echo.count() != 0 {
		t.Errorf("%d acts", s.echo.count())
	}
	if err := run.Revoke(t.Context(), []string{"bridge:ask"}); !errors.Is(err, contract.ErrPaused) {
		t.Error(err)
	}
}

// A push that revokes a call while the program is about to stop does not reach the program
// before it goes on.
func TestRevokedOnTheWayToAPause(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask"), bridge("act", external, approval())))
	s.pauser.asked = func() { s.apply(set("b")) }
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`), question("c2", "act", `[]`)}))
	s.pauser.asked = nil
	s.resume(p, value("c1", `1`), approve("c2"))
	for _, id := range []string{"c1", "c2"} {
		if got := s.got("r1", id); got.Error == nil || got.Error.Name != "CapabilityRevoked" || s.echo.count() != 0 {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// A policy that was in force at a pause binds its calls although another is in force now:
// here it asked for an approval.
func TestPolicyOfThePauseBindsItsCalls(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask")))
	s.pauser.asked = func() { s.apply(set("b", bridge("ask", approval()))) }
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
	s.pauser.asked = nil
	s.apply(set("c", bridge("ask")))
	s.resume(p, value("c1", `1`))
	if got := s.got("r1", "c1"); got.Error == nil || got.Error.Name != "CapabilityRevoked" {
		t.Errorf("%+v", got)
	}
}

// Calls that were open at a pause keep their places, whatever a push has lowered the limit to meanwhile.
func TestOpenCallsKeepTheirPlaces(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask"), bridge("act", external, approval())))
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`), question("c2", "ask", `[]`),
		question("c3", "act", `[]`), question("c4", "act", `[]`)}))
	one := limits(func(l *profiles.BridgeLimits) { l.Concurrent = 1 })
	s.apply(set("b", bridge("ask", one), bridge("act", external, approval(), one)))
	s.resume(p, value("c1", `1`), value("c2", `1`), approve("c3"), approve("c4"))
	for _, id := range []string{"c1", "c2", "c3", "c4"} {
		if a := s.got("r1", id); a.Error != nil {
			t.Errorf("%s: %+v", id, a.Error)
		}
	}
}

// An executor that returns before its questions have ended loses none of them.
func TestHastyExecutor(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask"), bridge("act", external, approval())))
	s.pauser.hasty = true
	for range 200 {
		p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`), question("c2", "act", `[]`),
			question("c3", "ask", `[]`)}))
		if len(p.Calls) != 3 {
			t.Fatalf("%d calls", len(p.Calls))
		}
	}
}

// A thousand paused runs leave nothing alive.
func TestPausedRunsCostNothing(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask")))
	before := runtime.NumGoroutine()
	for i := range 1000 {
		s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
		if _, live := s.ring.Run(fmt.Sprintf("r%d", i+1)); live {
			t.Fatal("a paused run is live")
		}
	}
	s.wg.Wait()
	if after := runtime.NumGoroutine(); after > before+5 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
