package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// conditions are the codes of a status.
func conditions(s *daemontest.Stack, t *testing.T) []string {
	t.Helper()
	var out []string
	for _, c := range s.Daemon.Status(t.Context()).Conditions {
		out = append(out, c.Code)
	}
	return out
}

// wantConditions checks the codes of the status, and readiness.
func wantConditions(t *testing.T, s *daemontest.Stack, ready bool, want ...string) {
	t.Helper()
	if got := conditions(s, t); !slices.Equal(got, want) {
		t.Errorf("conditions are %q, want %q", got, want)
	}
	if got := s.Daemon.Status(t.Context()).Ready; got != ready {
		t.Errorf("ready is %v, want %v", got, ready)
	}
}

// run starts a program and waits for it.
func run(t *testing.T, s *daemontest.Stack, program string) (wire.Run, error) {
	t.Helper()
	return s.Daemon.StartRun(t.Context(), daemontest.Me(), request(program, wire.MaxWaitMillis))
}

func request(program string, wait int64) wire.RunRequest {
	return wire.RunRequest{Executor: "js", Program: wire.Program{Source: program}, WaitMillis: wait}
}

// start starts a program and does not wait.
func start(t *testing.T, s *daemontest.Stack, program string) wire.Run {
	t.Helper()
	r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request(program, 0))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// code is the code of a denial.
func code(err error) profiles.Code {
	var d *profiles.Denial
	if errors.As(err, &d) {
		return d.Decision.Code
	}
	return ""
}

func wantDenied(t *testing.T, s *daemontest.Stack, want profiles.Code) {
	t.Helper()
	if r, err := run(t, s, "1+1"); code(err) != want {
		t.Errorf("a run gives %q, %v; want a denial %s", r.State, err, want)
	}
}

func wantRuns(t *testing.T, s *daemontest.Stack, generation int64) {
	t.Helper()
	r, err := run(t, s, "1+1")
	if err != nil || r.State != "done" || r.Attestation.Generation != generation {
		t.Errorf("a run gives %q under generation %d, %v; want done under %d", r.State, r.Attestation.Generation, err,
			generation)
	}
}

func TestNoPolicyDeniesEverything(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	wantConditions(t, s, false, wire.ConditionNoPolicy)
	wantDenied(t, s, profiles.CodeNoPolicy)
	got, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "",
		[]json.RawMessage{json.RawMessage(`{"bridge":{"name":"log"}}`)})
	if err != nil || got[0].Verdict != profiles.Deny || got[0].Code != profiles.CodeNoPolicy {
		t.Errorf("decide gives %v, %v", got, err)
	}
	if got := s.Records(t, audit.RunRefused); len(got) != 1 || got[0].Decision.Code != profiles.CodeNoPolicy {
		t.Errorf("records of the refusal: %+v", got)
	}
	s.Apply(t, "one log")
	wantConditions(t, s, true)
	wantRuns(t, s, 1)
}

func TestApplySameRevisionIsNothingToDo(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	first := s.Daemon.Status(t.Context())
	s.Apply(t, "one log")
	if n := s.Compiler.Count(); n != 1 {
		t.Errorf("the same push was compiled %d times", n)
	}
	s.Apply(t, "one   log") // other text, same set
	second := s.Daemon.Status(t.Context())
	if second.Generation != 1 || second.Revision != first.Revision || second.LastPush.Result != wire.PushUnchanged {
		t.Errorf("status after a push of the same revision: %+v", second)
	}
	if n := len(s.Records(t, audit.PushApplied)); n != 1 {
		t.Errorf("%d activations are recorded, want 1", n)
	}
	s.Apply(t, "two log")
	if third := s.Daemon.Status(t.Context()); third.Generation != 2 || third.Revision == first.Revision {
		t.Errorf("status after a new push: %+v", third)
	}
}

func TestRefusedPushKeepsTheLastGenerationUntilItIsStale(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	live := start(t, s, "wave ask")
	for range 3 {
		if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("broken log act")); !errors.Is(
			err, policy.ErrRejected) {
			t.Fatalf("a broken push gives %v", err)
		}
	}
	if log := s.Logged.String(); !strings.Contains(log, `:3:5: unknown_field: spec.netwrok: no such field"`) {
		t.Errorf("the log does not have the first finding: %s", log)
	}
	wantConditions(t, s, true, wire.ConditionPushRejected)
	wantRuns(t, s, 1)
	st := s.Daemon.Status(t.Context())
	if len(st.LastPush.Findings) != 2 || st.LastPush.Findings[0].Line != 3 || st.LastPush.Findings[0].Hint == "" ||
		st.LastPush.Findings[1].Severity != "warning" {
		t.Errorf("findings: %+v", st.LastPush.Findings)
	}
	if want := s.Clock.Now().Add(10 * time.Minute); st.Closes == nil || !st.Closes.Equal(want) {
		t.Errorf("closes %v, want %v", st.Closes, want)
	}
	if n := len(s.Records(t, audit.PushRejected)); n != 1 {
		t.Errorf("%d refusals are recorded for one push, want 1", n)
	}
	s.Clock.Waits(9 * time.Minute)
	s.Clock.Advance(10*time.Minute - time.Second)
	wantRuns(t, s, 1)
	turned := s.Daemon.Status(t.Context()).Revision
	s.Clock.Advance(time.Second)
	if now, err := s.Daemon.Turned(t.Context(), turned, time.Hour); err != nil || now != "" {
		t.Fatalf("revision after the limit is %q, %v", now, err)
	}
	wantConditions(t, s, false, wire.ConditionPushRejected, wire.ConditionStale)
	wantDenied(t, s, profiles.CodeClosed)
	if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), live.ID, wire.Answers{
		Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}}); err == nil {
		t.Error("a call of a live run was answered while everything is closed")
	}
	if got := s.Records(t, audit.GenerationEnded); len(got) != 1 || got[0].Generation != 1 {
		t.Errorf("records of the end: %+v", got)
	}
	s.Apply(t, "one log") // the same text as before: a new activation
	wantConditions(t, s, true)
	wantRuns(t, s, 2)
}

func TestStalenessZeroClosesAtOnce(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Staleness: daemontest.Never})
	s.Apply(t, "one log")
	wantRuns(t, s, 1)
	if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("broken")); !errors.Is(err, policy.ErrRejected) {
		t.Fatal(err)
	}
	wantDenied(t, s, profiles.CodeClosed)
}

// spyRing counts commits and may fail.
type spyRing struct {
	fail    error
	parts   []interpreter.ExecutorStatus
	commits atomic.Int64
	closed  atomic.Bool
}

func (r *spyRing) Name() string { return "spy" }
func (r *spyRing) Prepare(_ context.Context, set *profiles.Set) (func(), error) {
	if r.fail != nil && set != nil && len(set.Agents) > 0 {
		return nil, r.fail
	}
	return func() { r.commits.Add(1) }, nil
}
func (r *spyRing) Status() []interpreter.ExecutorStatus { return r.parts }
func (r *spyRing) Close() error                         { r.closed.Store(true); return nil }

func TestRejectingExecutorIsClosedAndNothingCommits(t *testing.T) {
	spy := &spyRing{}
	s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
	s.Apply(t, "one log")
	live := start(t, s, "spin")
	s.Executor.Reject(errors.New("cannot enforce this"))
	if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("two log")); !errors.Is(err, policy.ErrRejected) {
		t.Fatalf("apply gives %v", err)
	}
	if n := spy.commits.Load(); n != 1 {
		t.Errorf("the other ring committed %d times, want 1", n)
	}
	wantConditions(t, s, true, wire.ConditionExecutorClosed, wire.ConditionPushRejected)
	wantDenied(t, s, profiles.CodeClosed)
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), live.ID, time.Minute)
	if err != nil || got.State != "cancelled" {
		t.Errorf("the live run is %q, %v; want cancelled", got.State, err)
	}
	for _, e := range s.Daemon.Status(t.Context()).Executors {
		want := map[string]string{"js": wire.PartClosed, "python": wire.PartUnavailable,
			"shell": wire.PartReady}[e.Name]
		if e.State != want || (e.Reason == "") != (want == wire.PartReady) {
			t.Errorf("executor %+v, want %s, with a reason unless it is ready", e, want)
		}
	}
	if got := s.Records(t, audit.ExecutorClosed); len(got) != 1 || got[0].Capability != "executor:js" {
		t.Errorf("records: %+v", got)
	}
	s.Executor.Reject(nil)
	s.Apply(t, "two log")
	wantConditions(t, s, true)
	wantRuns(t, s, 2)
}

func TestClosedExecutorOpensWithTheOldPushToo(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	sink := s.Daemon.Sink()
	if err := sink.Apply(t.Context(), daemontest.Push("one log")); err != nil {
		t.Fatal(err)
	}
	s.Executor.Reject(errors.New("cannot enforce this"))
	for range 3 {
		if err := sink.Apply(t.Context(), daemontest.Push("two log")); err == nil {
			t.Error("a push that could not be prepared is not asked for again")
		}
	}
	if n := len(s.Records(t, audit.ExecutorClosed)); n != 1 {
		t.Errorf("one closing is recorded %d times", n)
	}
	wantDenied(t, s, profiles.CodeClosed)
	s.Executor.Reject(nil)
	if err := sink.Apply(t.Context(), daemontest.Push("one log")); err != nil { // taken back
		t.Fatal(err)
	}
	wantConditions(t, s, true)
	wantRuns(t, s, 2)
}

// TestClosedByAPushThatIsGone: an executor is closed as long as the push is there that it
// cannot take, and opens with the generation in force when another one is refused, or
// none is there. It stays closed where that generation cannot be taken up either.
func TestClosedByAPushThatIsGone(t *testing.T) {
	reject := errors.New("cannot enforce this")
	apply := func(ctx context.Context, sink syncer.Sink, p syncer.Push) { _ = sink.Apply(ctx, p) } // refused
	current := func(ctx context.Context, sink syncer.Sink, p syncer.Push) { sink.Current(ctx, p.Digest) }
	for _, tc := range []struct {
		name string
		goes func(context.Context, syncer.Sink)
		back func(context.Context, syncer.Sink, syncer.Push)
		want []string
	}{
		{"another that does not compile", func(ctx context.Context, sink syncer.Sink) {
			_ = sink.Apply(ctx, daemontest.Push("broken")) // refused
		}, apply, []string{wire.ConditionPushRejected}},
		{"no push", func(ctx context.Context, sink syncer.Sink) {
			sink.Reject(ctx, errors.New("no policy in the folder"))
		}, current, []string{wire.ConditionPushRejected}},
		{"no folder", func(ctx context.Context, sink syncer.Sink) {
			sink.Lost(ctx, errors.New("no such folder"))
		}, current, []string{wire.ConditionPushRejected, wire.ConditionSyncLost}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			sink := s.Daemon.Sink()
			if err := sink.Apply(t.Context(), daemontest.Push("one log")); err != nil {
				t.Fatal(err)
			}
			two := daemontest.Push("two log")
			s.Executor.Reject(reject)
			if err := sink.Apply(t.Context(), two); err == nil {
				t.Error("a push that could not be prepared is not asked for again")
			}
			wantDenied(t, s, profiles.CodeClosed)
			if c := s.Daemon.Status(t.Context()).Conditions; !slices.ContainsFunc(c, func(c wire.Condition) bool {
				return c.Code == wire.ConditionExecutorClosed &&
					strings.Contains(c.Message, "closed by push "+two.Digest[:19]+", which is refused")
			}) {
				t.Errorf("not said whose it is: %+v", c)
			}
			s.Executor.Reject(nil)
			tc.goes(t.Context(), sink)
			wantConditions(t, s, true, tc.want...)
			wantRuns(t, s, 1)
			if got := s.Records(t, audit.ExecutorOpened); len(got) != 1 || got[0].Generation != 1 {
				t.Errorf("records: %+v", got)
			}
			if g := s.Daemon.Status(t.Context()).Generation; g != 1 {
				t.Errorf("generation %d", g)
			}
			// It is back, and closes again.
			s.Executor.Reject(reject)
			tc.back(t.Context(), sink, two)
			wantDenied(t, s, profiles.CodeClosed)
			// What cannot take the generation in force stays closed, whoever pushes what.
			for range 2 {
				tc.goes(t.Context(), sink)
				wantDenied(t, s, profiles.CodeClosed)
			}
			s.Executor.Reject(nil)
			tc.goes(t.Context(), sink)
			wantDenied(t, s, profiles.CodeClosed)
			if err := sink.Apply(t.Context(), daemontest.Push("three log")); err != nil {
				t.Fatal(err)
			}
			wantConditions(t, s, true)
			wantRuns(t, s, 2)
		})
	}
}

func TestRingThatCannotPrepareClosesEveryExecutor(t *testing.T) {
	spy := &spyRing{}
	s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
	s.Apply(t, "one log")
	spy.fail = errors.New("no room for the new mounts")
	if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("two log")); !errors.Is(err, policy.ErrRejected) {
		t.Fatalf("apply gives %v", err)
	}
	wantConditions(t, s, false, wire.ConditionExecutorClosed, wire.ConditionPushRejected)
	wantDenied(t, s, profiles.CodeClosed)
	if got := s.Daemon.Status(t.Context()).Generation; got != 1 {
		t.Errorf("generation %d is in force, want 1", got)
	}
}

// TestReopenedByTheSameContent: what a lift could not bring back is asked for again, and
// needs no other push and no restart.
func TestReopenedByTheSameContent(t *testing.T) {
	spy := &spyRing{}
	s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
	sink, push := s.Daemon.Sink(), daemontest.Push("one log")
	if err := sink.Apply(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	s.Lock.Begin(t.Context(), "uid:1", "x")
	spy.fail = errors.New("no room for the mounts")
	if err := s.Lock.Lift(t.Context(), "uid:1", "over"); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, s, false, wire.ConditionExecutorClosed)
	wantDenied(t, s, profiles.CodeClosed)
	for range 3 {
		sink.Current(t.Context(), push.Digest)
	}
	wantDenied(t, s, profiles.CodeClosed)
	if n := len(s.Records(t, audit.ExecutorClosed)); n != 1 {
		t.Errorf("one closing is recorded %d times", n)
	}
	spy.fail = nil
	sink.Current(t.Context(), push.Digest)
	wantConditions(t, s, true)
	wantRuns(t, s, 2)
}

// onceRing cannot take one set.
type onceRing struct{ spyRing }

func (r *onceRing) Prepare(ctx context.Context, set *profiles.Set) (func(), error) {
	commit, err := r.spyRing.Prepare(ctx, set)
	if err != nil {
		r.fail = nil
	}
	return commit, err
}

// What a push did to a ring while a lockdown was lifted keeps everything closed, as it
// does without one.
func TestLiftWithAPushThatARingCannotTake(t *testing.T) {
	spy := &onceRing{}
	s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
	s.Apply(t, "one log")
	s.Lock.Begin(t.Context(), "uid:1", "x")
	if err := s.Daemon.Sink().Apply(t.Context(), daemontest.Push("two log")); err != nil {
		t.Fatal(err)
	}
	spy.fail = errors.New("no room for the mounts")
	if err := s.Lock.Lift(t.Context(), "uid:1", "over"); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, s, false, wire.ConditionExecutorClosed, wire.ConditionPushRejected)
	wantDenied(t, s, profiles.CodeClosed)
}

func TestRestartNeededIsShown(t *testing.T) {
	spy := &spyRing{parts: []interpreter.ExecutorStatus{
		{Name: "python", State: wire.PartRestartNeeded, Reason: "mounts of run r1"}}}
	s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
	s.Apply(t, "one log")
	wantConditions(t, s, true, wire.ConditionRestartNeeded)
	got := s.Records(t, audit.RestartNeeded)
	if len(got) != 1 || got[0].Capability != "executor:python" || got[0].Detail["reason"] != "mounts of run r1" ||
		got[0].Generation == 0 || got[0].State != wire.PartRestartNeeded {
		t.Errorf("records %+v", got)
	}
	spy.parts = nil
	s.Apply(t, "two log")
	if got := s.Records(t, audit.RestartNeeded); len(got) != 1 {
		t.Errorf("nothing needs a restart, and the records are %+v", got)
	}
}

// statedRing is a ring that tells how it is itself.
type statedRing struct {
	spyRing
	state, reason string
}

func (r *statedRing) State() (state, reason string) { return r.state, r.reason }

func TestStateOfARing(t *testing.T) {
	for _, tt := range []struct {
		state, want string
		conditions  []string
	}{
		{wire.PartReady, wire.PartReady, nil},
		{wire.PartPlain, wire.PartPlain, nil},
		{wire.PartRestartNeeded, wire.PartRestartNeeded, []string{wire.ConditionRestartNeeded}},
		{wire.PartClosed, wire.PartClosed, nil},
		{"splendid", wire.PartClosed, nil},
		{"", wire.PartClosed, nil},
	} {
		t.Run(tt.state, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{
				&statedRing{state: tt.state, reason: "run r1"}}})
			part := func() wire.Part {
				for _, p := range s.Daemon.Status(t.Context()).Rings {
					if p.Name == "spy" {
						return p
					}
				}
				return wire.Part{}
			}
			if p := part(); p.State != wire.PartClosed || p.Reason != "nothing is in force" {
				t.Errorf("before a policy: %+v", p)
			}
			s.Apply(t, "one log")
			if p := part(); p.State != tt.want || p.Reason != "run r1" {
				t.Errorf("got %+v, want %s", p, tt.want)
			}
			wantConditions(t, s, true, tt.conditions...)
		})
	}
}

func TestNothingCommitsWithoutItsRecord(t *testing.T) {
	for _, what := range []string{"audit push_applied synced", "store PutGeneration"} {
		t.Run(what, func(t *testing.T) {
			spy := &spyRing{}
			s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
			s.Apply(t, "one log")
			s.Faults.On(func(at string) error {
				if at == what {
					return errors.New("no space left on device")
				}
				return nil
			})
			err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("two act"))
			if !errors.Is(err, records.ErrUnavailable) {
				t.Fatalf("apply gives %v", err)
			}
			st := s.Daemon.Status(t.Context())
			if st.Generation != 1 || spy.commits.Load() != 1 {
				t.Errorf("generation %d after %d commits: the push took force without its record", st.Generation,
					spy.commits.Load())
			}
			if !slices.Contains(conditions(s, t), wire.ConditionPushRejected) {
				t.Errorf("conditions: %v", st.Conditions)
			}
			// A log that says that it was applied says that it was not, too.
			if recs := s.Records(t, audit.PushApplied, audit.PushRejected); strings.HasPrefix(what, "store ") &&
				(len(recs) != 3 || recs[2].Kind != audit.PushRejected ||
					!strings.Contains(recs[2].Detail["reason"], "generation 2")) {
				t.Errorf("records: %+v", recs)
			}
		})
	}
}

func TestAuditFailureStopsEverything(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one act log ask")
	live := start(t, s, "wave ask")
	waitPaused(t, s, live.ID)
	s.Faults.On(func(at string) error {
		if strings.HasPrefix(at, "audit ") {
			return errors.New("input/output error")
		}
		return nil
	})
	if _, err := run(t, s, "call act"); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("a run gives %v", err)
	}
	s.Faults.On(nil) // the disk is well again; the log is not trusted before a restart
	if _, err := run(t, s, "call act"); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("a run after the fault gives %v", err)
	}
	if _, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "",
		[]json.RawMessage{json.RawMessage(`{}`)}); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("decide gives %v", err)
	}
	if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), live.ID,
		wire.Answers{Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}}); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("an answer gives %v", err)
	}
	if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("two act")); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("a push gives %v", err)
	}
	if got := s.Acts.Calls(); len(got) != 0 {
		t.Errorf("%d acts happened without a record", len(got))
	}
	if st := s.Daemon.Status(t.Context()); st.Ready || !slices.Contains(
		conditions(s, t), wire.ConditionAuditUnavailable) {
		t.Errorf("status: %+v", st)
	}
}

// waitPaused waits until a run is paused.
func waitPaused(t *testing.T, s *daemontest.Stack, id string) wire.Run {
	t.Helper()
	r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, time.Minute)
	if err != nil || r.State != "paused" {
		t.Fatalf("the run is %q, %v; want paused", r.State, err)
	}
	return r
}

func TestSyncLostAndFoundAgain(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	sink := s.Daemon.Sink()
	push := daemontest.Push("one log")
	if err := sink.Apply(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("stat /etc/ringd: no such file or directory")
	sink.Lost(t.Context(), gone)
	sink.Lost(t.Context(), gone)
	wantConditions(t, s, true, wire.ConditionSyncLost)
	wantRuns(t, s, 1)
	s.Clock.Waits(9 * time.Minute)
	s.Clock.Advance(10 * time.Minute)
	if now, err := s.Daemon.Turned(t.Context(), s.Daemon.Status(t.Context()).Revision, 0); err != nil {
		t.Fatal(now, err)
	}
	waitFor(t, s, "")
	wantConditions(t, s, false, wire.ConditionStale, wire.ConditionSyncLost)
	wantDenied(t, s, profiles.CodeClosed)
	sink.Current(t.Context(), push.Digest) // back, and as it was
	wantConditions(t, s, true)
	wantRuns(t, s, 2)
	if n := len(s.Records(t, audit.PushRejected)); n != 1 {
		t.Errorf("%d records of the loss, want 1", n)
	}
}

// waitFor waits until the revision is in force; "" is none.
func waitFor(t *testing.T, s *daemontest.Stack, want string) {
	t.Helper()
	for {
		now := s.Daemon.Status(t.Context()).Revision
		if now == want {
			return
		}
		if _, err := s.Daemon.Turned(t.Context(), now, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTornPushIsForgivenWhenItIsWhole(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	sink := s.Daemon.Sink()
	push := daemontest.Push("one log")
	if err := sink.Apply(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	sink.Reject(t.Context(), errors.New("policy.yaml: the content changes while it is read"))
	wantConditions(t, s, true, wire.ConditionPushRejected)
	sink.Current(t.Context(), push.Digest)
	wantConditions(t, s, true)

	broken := daemontest.Push("broken")
	if err := sink.Apply(t.Context(), broken); err != nil {
		t.Errorf("a push that does not compile is asked for again: %v", err)
	}
	sink.Current(t.Context(), broken.Digest)
	wantConditions(t, s, true, wire.ConditionPushRejected)
	sink.Lost(t.Context(), errors.New("gone"))
	sink.Current(t.Context(), broken.Digest) // back, and as bad as before
	wantConditions(t, s, true, wire.ConditionPushRejected)
	s.Compiler.Before(func(string) error { return errors.New("fork: resource temporarily unavailable") })
	if err := sink.Apply(t.Context(), daemontest.Push("two log")); err == nil {
		t.Error("a push that could not be compiled is not asked for again")
	}
}

// TestBusyHost: a host without time for the compiler says so, and the push is
// asked for again instead of being refused for good.
func TestBusyHost(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	sink, push := s.Daemon.Sink(), daemontest.Push("two log")
	s.Compiler.Before(func(string) error {
		return schema.Diagnostics{
			{Pos: schema.Pos{File: "policy.yaml", Line: 1, Column: 1}, Code: worker.CodeBusy, Msg: "the host is busy"}}
	})
	if err := sink.Apply(t.Context(), push); err == nil {
		t.Error("a push that a busy host did not compile is not asked for again")
	}
	wantConditions(t, s, true, wire.ConditionPushRejected)
	if last := s.Daemon.Status(t.Context()).LastPush; last == nil || !strings.Contains(last.Message, "too busy") ||
		len(last.Findings) != 1 {
		t.Errorf("status says %+v", last)
	}
	s.Compiler.Before(nil)
	if err := sink.Apply(t.Context(), push); err != nil {
		t.Error(err)
	}
	wantConditions(t, s, true)
	if last := s.Daemon.Status(t.Context()).LastPush; last == nil || last.Result != wire.PushApplied {
		t.Errorf("status says %+v", last)
	}
}

// TestHostThatCannotLook: a ring that could not look at the host refuses nothing for
// good and closes nothing, and the push is asked for again. Its twin, which rejects the
// set, closes every executor.
func TestHostThatCannotLook(t *testing.T) {
	for _, short := range []bool{true, false} {
		spy := &spyRing{}
		s := daemontest.New(t, daemontest.Config{Rings: []policy.Ring{spy}})
		s.Apply(t, "one log")
		sink, push := s.Daemon.Sink(), daemontest.Push("two log")
		spy.fail = &executors.Unavailable{Text: "python3 does not start: no more processes", Short: short}
		if err := sink.Apply(t.Context(), push); err == nil {
			t.Error("the push is not asked for again")
		}
		if closed := len(s.Records(t, audit.ExecutorClosed)) > 0; closed == short {
			t.Errorf("short %v: closed %v", short, closed)
		}
		spy.fail = nil
		if err := sink.Apply(t.Context(), push); err != nil {
			t.Error(err)
		}
		wantConditions(t, s, true)
	}
}

// waitingContext tells when somebody waits for its end: whoever has come to that has its
// place among those that wait.
type waitingContext struct {
	context.Context
	waits chan<- struct{}
}

func (c waitingContext) Done() <-chan struct{} {
	select {
	case c.waits <- struct{}{}:
	default: // again
	}
	return c.Context.Done()
}

func TestNewestPushWins(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	began, goOn := make(chan struct{}), make(chan struct{})
	s.Compiler.Before(func(text string) error {
		if text == "one" {
			close(began)
			<-goOn
		}
		return nil
	})
	first := make(chan error, 1)
	go func() { first <- s.Daemon.ApplyPush(t.Context(), daemontest.Push("one")) }()
	<-began
	const waiting = 5
	others, waits := make(chan error, waiting), make(chan struct{}, waiting)
	for i := range waiting {
		go func() {
			others <- s.Daemon.ApplyPush(waitingContext{t.Context(), waits}, daemontest.Push(fmt.Sprintf("later%d", i)))
		}()
		<-waits
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Daemon.ApplyPush(canceled, daemontest.Push("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled push gives %v", err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Errorf("the push under way gives %v", err)
	}
	won := 0
	for range waiting {
		err := <-others
		switch {
		case err == nil:
			won++
		case !errors.Is(err, policy.ErrSuperseded):
			t.Errorf("a waiting push gives %v", err)
		}
	}
	if won > 1 {
		t.Errorf("%d of the waiting pushes were applied, want the newest only", won)
	}
	if n := s.Compiler.Count(); n != 1+won {
		t.Errorf("%d pushes were compiled, want %d", n, 1+won)
	}
}

func TestRestartTakesTheLastGenerationUp(t *testing.T) {
	for _, tc := range []struct {
		name      string
		down      time.Duration
		staleness time.Duration
		damage    func(t *testing.T, dir string)
		want      []string
		held      bool
	}{
		{"at once", time.Second, 0, nil, []string{wire.ConditionHeld}, true},
		{"too late", 10 * time.Minute, 0, nil, []string{wire.ConditionStale}, false},
		{"limit 0", time.Second, daemontest.Never, nil, []string{wire.ConditionStale}, false},
		{"not what its revision says", time.Second, 0, forge, []string{wire.ConditionNoPolicy}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := daemontest.NewClock()
			s := daemontest.New(t, daemontest.Config{Clock: clock})
			s.Apply(t, "one log")
			s.Close(t)
			if tc.damage != nil {
				tc.damage(t, s.Dir)
			}
			clock.Advance(tc.down)
			again := daemontest.New(t, daemontest.Config{Clock: clock, Dir: s.Dir, Staleness: tc.staleness})
			wantConditions(t, again, tc.held, tc.want...)
			if !tc.held {
				if _, err := run(t, again, "1+1"); code(err) == "" {
					t.Errorf("a run gives %v, want a denial", err)
				}
				again.Apply(t, "one log")
				return
			}
			wantRuns(t, again, 1)
			closes := again.Daemon.Status(t.Context()).Closes
			if want := clock.Now().Add(10*time.Minute - tc.down); closes == nil || !closes.Equal(want) {
				t.Errorf("closes %v, want %v: a restart prolongs the limit", closes, want)
			}
			again.Apply(t, "one log")
			wantConditions(t, again, true)
			if got := again.Daemon.Status(t.Context()).Generation; got != 1 {
				t.Errorf("the same revision became generation %d", got)
			}
			again.Apply(t, "two log")
			wantRuns(t, again, 2)
		})
	}
}

// TestRestartWithAnEarlierClock: the clock was ahead, and is right after a restart. The generation is closed at its
// limit all the same, not when the clock gets to where it was.
func TestRestartWithAnEarlierClock(t *testing.T) {
	clock := daemontest.NewClock()
	s := daemontest.New(t, daemontest.Config{Clock: clock})
	clock.Advance(365 * 24 * time.Hour)
	s.Apply(t, "one log")
	s.Close(t)
	clock.Set(clock.Now().Add(-365 * 24 * time.Hour))
	again := daemontest.New(t, daemontest.Config{Clock: clock, Dir: s.Dir})
	wantConditions(t, again, true, wire.ConditionHeld)
	closes := again.Daemon.Status(t.Context()).Closes
	if want := clock.Now().Add(10 * time.Minute); closes == nil || closes.After(want) {
		t.Errorf("closes %v, want %v at the latest", closes, want)
	}
	wantRuns(t, again, 1)
}

// TestPushIsStoredOnceItIsRecorded: the request ends between the record of a push and its generation. A log that says
// applied is right.
func TestPushIsStoredOnceItIsRecorded(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s := daemontest.New(t, daemontest.Config{})
		s.Apply(t, "one log")
		ctx, cancel := context.WithCancel(t.Context())
		s.Faults.On(func(what string) error {
			if what != "store PutGeneration" {
				return nil
			}
			cancel()
			if fails {
				return errors.New("no room")
			}
			return ctx.Err()
		})
		err := s.Daemon.ApplyPush(ctx, daemontest.Push("two log"))
		s.Faults.On(nil)
		applied, rejected := s.Records(t, audit.PushApplied), s.Records(t, audit.PushRejected)
		if in := s.Daemon.Status(t.Context()).Generation == 2; in != (err == nil) || len(applied) != 2 ||
			in == (len(rejected) > 0) {
			t.Errorf("fails %v: %v, in force %v, recorded as applied %d times and as rejected %d times", fails, err, in,
				len(applied), len(rejected))
		}
	}
}

// forge puts a generation into the store whose set grants more than its
// revision says.
func forge(t *testing.T, dir string) {
	t.Helper()
	clock := daemontest.NewClock()
	db, err := store.Open(t.Context(), store.Config{Dir: filepath.Join(dir, "store"), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	set, err := daemontest.Set("one log")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := daemontest.Set("one log act")
	if err != nil {
		t.Fatal(err)
	}
	wide.Revision = set.Revision
	raw, err := wide.Encode()
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.PutGeneration(t.Context(), store.Generation{Number: 2, Revision: set.Revision, Set: raw,
		Activated: clock.Now(), Fresh: clock.Now()}), db.Close())
	if err != nil {
		t.Fatal(err)
	}
}

// TestHammerSwaps applies many pushes while runs start: each run saw one policy
// only, and the last push is in force.
func TestHammerSwaps(t *testing.T) {
	pushes, runners := 300, 4
	switch {
	case os.Getenv(envLong) == "1":
		pushes = 10_000
	case testing.Short():
		pushes = 60
	}
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "p0 log")
	stop := make(chan struct{})
	var seen sync.Map // generation -> revision
	var wg sync.WaitGroup
	var ran atomic.Int64
	for range runners {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := run(t, s, "mixture")
				if err != nil || r.State != "done" {
					t.Errorf("a run is %q, %+v, %v", r.State, r.Error, err)
					return
				}
				var value string
				if err := json.Unmarshal(r.Value, &value); err != nil {
					t.Error(err)
					return
				}
				if _, revision, _ := strings.Cut(value, " "); revision != r.Attestation.Revision {
					t.Errorf("a run of revision %s attests %s", revision, r.Attestation.Revision)
				}
				if old, ok := seen.LoadOrStore(r.Attestation.Generation, value); ok && old != value {
					t.Errorf("generation %d was %q and is %q", r.Attestation.Generation, old, value)
				}
				ran.Add(1)
			}
		})
	}
	for i := 1; i <= pushes; i++ {
		if i%10 == 0 {
			if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("broken")); !errors.Is(err, policy.ErrRejected) {
				t.Errorf("a broken push gives %v", err)
			}
		}
		s.Apply(t, fmt.Sprintf("p%d log", i))
	}
	close(stop)
	wg.Wait()
	want, err := daemontest.Set(fmt.Sprintf("p%d log", pushes))
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Daemon.Status(t.Context()); st.Revision != want.Revision || st.Generation != int64(pushes+1) {
		t.Errorf("generation %d, revision %s; want %d, %s", st.Generation, st.Revision, pushes+1, want.Revision)
	}
	if ran.Load() == 0 {
		t.Error("no run took place")
	}
}
