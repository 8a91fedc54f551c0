package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	inforce "github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

func TestRunFromRequestToRecord(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log act")
	r, err := run(t, s, "call act")
	if err != nil || r.State != "done" || string(r.Value) != "1" || r.Usage.Calls["act"] != 1 {
		t.Fatalf("run: %+v, %v", r, err)
	}
	if r.Attestation.Tier != "wasm" || r.Attestation.Layers["rlimits"] != "enforced" || r.Console == nil ||
		r.Denials == nil {
		t.Errorf("outcome: %+v", r)
	}
	var kinds []audit.Kind
	for _, rec := range s.Records(t) {
		if rec.Run == r.ID {
			kinds = append(kinds, rec.Kind)
			if rec.Actor != "uid:1000" || rec.Agent != "default" {
				t.Errorf("record %s is of actor %q, agent %q", rec.Kind, rec.Actor, rec.Agent)
			}
		}
	}
	want := []audit.Kind{audit.RunAsked, audit.RunStarted, audit.CallOpened, audit.CallClosed, audit.RunEnded}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	again, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("the run as it was kept differs: %s", diff)
	}
}

func TestOutcomes(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	for _, tc := range []struct{ program, state, name string }{
		{"throw", "failed", "TypeError"},
		{"panic", "failed", ""},
		{"call act", "denied", "CapabilityDenied"},
		{"no such", "failed", ""},
	} {
		r, err := run(t, s, tc.program)
		if err != nil || r.State != tc.state || r.Error == nil || (tc.name != "" && r.Error.Name != tc.name) {
			t.Errorf("%s: %q, %+v, %v; want %s", tc.program, r.State, r.Error, err, tc.state)
		}
	}
	if !strings.Contains(s.Logged.String(), "goroutine panicked") {
		t.Error("the panic is not in the log")
	}
	wantRuns(t, s, 1)
}

func TestStartRefuses(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	long := strings.Repeat("x", daemon.MaxNames+1)
	ok := func() wire.RunRequest { return request("1+1", 0) }
	for _, tc := range []struct {
		name   string
		change func(*wire.RunRequest)
		code   profiles.Code
		field  string
	}{
		{"no executor", func(r *wire.RunRequest) { r.Executor = "" }, "", "executor"},
		{"long agent", func(r *wire.RunRequest) { r.Agent = long }, "", ""},
		{"long source", func(r *wire.RunRequest) { r.Program.Source = strings.Repeat("x", daemon.MaxSource+1) }, "", "program.source"},
		{"long inputs", func(r *wire.RunRequest) {
			r.Inputs = map[string]json.RawMessage{"a": bytes.Repeat([]byte("1"), daemon.MaxInputs)}
		}, "", "inputs"},
		{"long input name", func(r *wire.RunRequest) { r.Inputs = map[string]json.RawMessage{long: json.RawMessage("1")} }, "", "inputs"},
		{"wait below zero", func(r *wire.RunRequest) { r.WaitMillis = -1 }, "", "wait_ms"},
		{"wait too long", func(r *wire.RunRequest) { r.WaitMillis = wire.MaxWaitMillis + 1 }, "", "wait_ms"},
		{"unknown agent", func(r *wire.RunRequest) { r.Agent = "other" }, profiles.CodeUnknownAgent, ""},
		{"executor not granted", func(r *wire.RunRequest) { r.Executor = "python" }, profiles.CodeExecutorNotGranted, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := ok()
			tc.change(&req)
			_, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), req)
			var invalid *inforce.InvalidError
			switch {
			case tc.code != "" && code(err) != tc.code:
				t.Errorf("got %v, want a denial %s", err, tc.code)
			case tc.code == "" && (!errors.As(err, &invalid) || invalid.Field != tc.field):
				t.Errorf("got %v, want an invalid %q", err, tc.field)
			}
		})
	}
	if _, err := s.Daemon.StartRun(t.Context(), daemon.Actor{}, ok()); err == nil {
		t.Error("a run without an actor started")
	}
	if _, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), ok()); err != nil {
		t.Errorf("the request without a change: %v", err)
	}
}

func TestQuota(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Quota: daemon.Quota{PerActor: 2, Total: 3}})
	s.Apply(t, "one log")
	other := daemon.Actor{Name: "uid:1001"}
	first := start(t, s, "spin")
	start(t, s, "spin")
	if _, err := run(t, s, "1+1"); !errors.Is(err, daemon.ErrQuota) {
		t.Errorf("a third run of one actor gives %v", err)
	}
	if _, err := s.Daemon.StartRun(t.Context(), other, request("spin", 0)); err != nil {
		t.Errorf("a run of another actor: %v", err)
	}
	if _, err := s.Daemon.StartRun(t.Context(), daemon.Actor{Name: "uid:1002"}, request("spin", 0)); !errors.Is(
		err, daemon.ErrQuota) {
		t.Errorf("a run above the total gives %v", err)
	}
	if n := len(s.Records(t, audit.RequestRefused)); n != 2 {
		t.Errorf("%d refusals are recorded, want 2", n)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), first.ID); err != nil {
		t.Fatal(err)
	}
	wantRuns(t, s, 1)
	none := daemontest.New(t, daemontest.Config{Quota: daemon.Quota{Total: 5}})
	none.Apply(t, "one log")
	if _, err := run(t, none, "1+1"); !errors.Is(err, daemon.ErrQuota) {
		t.Errorf("a quota of zero gives %v", err)
	}
}

func TestNoRunWithoutItsRecord(t *testing.T) {
	for _, what := range []string{"audit run_asked", "audit run_started", "store Start", "audit call_opened synced"} {
		t.Run(what, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one act")
			s.Faults.On(func(at string) error {
				if at == what {
					return errors.New("input/output error")
				}
				return nil
			})
			r, err := run(t, s, "call act")
			if err == nil && r.State == "done" {
				t.Errorf("the run is done: %+v", r)
			}
			if what != "audit call_opened synced" && !errors.Is(err, records.ErrUnavailable) {
				t.Errorf("the run gives %v", err)
			}
			if got := s.Acts.Calls(); len(got) != 0 {
				t.Errorf("%d acts happened", len(got))
			}
		})
	}
}

func TestEndThatCannotBeKeptIsNotAcknowledged(t *testing.T) {
	clock := daemontest.NewClock()
	s := daemontest.New(t, daemontest.Config{Clock: clock})
	s.Apply(t, "one act")
	s.Faults.On(func(at string) error {
		if at == "store Advance" {
			return errors.New("input/output error")
		}
		return nil
	})
	r, err := run(t, s, "call act")
	if !errors.Is(err, records.ErrUnavailable) {
		t.Fatalf("run gives %+v, %v", r, err)
	}
	list, err := s.Daemon.ListRuns(t.Context(), daemontest.Me(), view.Filter{})
	if err != nil || len(list.Runs) != 1 {
		t.Fatalf("runs: %+v, %v", list, err)
	}
	id := list.Runs[0].ID
	if _, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("the run whose end is not kept gives %v", err)
	}
	s.Close(t)
	again := daemontest.New(t, daemontest.Config{Clock: clock, Dir: s.Dir})
	got, err := again.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
	if err != nil || got.State != "failed" || got.Error == nil || got.Error.Name != "Interrupted" {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
	if recs := again.Records(t, audit.StoreRecovered); len(recs) != 1 || recs[0].Run != id ||
		recs[0].State != "failed" {
		t.Errorf("records: %+v", recs)
	}
}

// TestNobodyIsToldBeforeTheDisk holds when a run is kept, and how often.
func TestNobodyIsToldBeforeTheDisk(t *testing.T) {
	for _, tc := range []struct {
		name, program string
		wait          int64
		want          []string
		state         string
	}{
		{"short, waited for", "1+1", wire.MaxWaitMillis, []string{"store Start"}, "done"},
		{"with an act", "call act", wire.MaxWaitMillis, []string{"store Start", "store Advance"}, "done"},
		{"paused", "wave ask", wire.MaxWaitMillis, []string{"store Start"}, "paused"},
		{"not waited for", "spin", 0, []string{"store Start"}, "running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one act ask")
			var mu sync.Mutex
			var got []string
			s.Faults.On(func(at string) error {
				if at != "store Start" && at != "store Advance" {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				if len(got) == 0 && len(s.Acts.Calls()) > 0 {
					t.Error("an act came before the start was kept")
				}
				got = append(got, at)
				return nil
			})
			r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request(tc.program, tc.wait))
			if err != nil || r.State != tc.state {
				t.Errorf("the run is %q, %v", r.State, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	kept := make(chan struct{})
	s.Faults.On(func(at string) error {
		if at == "store Start" {
			close(kept)
		}
		return nil
	})
	go func() {
		s.Clock.WaitsFor(2 * time.Millisecond)
		s.Clock.Advance(5 * time.Millisecond)
	}()
	told := make(chan error, 1)
	go func() {
		_, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request("spin", wire.MaxWaitMillis))
		told <- err
	}()
	<-kept // a long run is kept while its caller waits
	s.Daemon.Close()
	if err := <-told; err != nil {
		t.Error(err)
	}
}

func TestOwnersSeeTheirRunsOnly(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "wave ask")
	waitPaused(t, s, r.ID)
	stranger, operator := daemon.Actor{Name: "uid:1001"}, daemon.Actor{Name: "uid:0", All: true}
	for _, a := range []daemon.Actor{stranger, {}} {
		_, got := s.Daemon.GetRun(t.Context(), a, r.ID, 0)
		_, events := s.Daemon.Events(t.Context(), a, r.ID, 0)
		_, answer := s.Daemon.AnswerRun(t.Context(), a, r.ID,
			wire.Answers{Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}})
		_, cancel := s.Daemon.CancelRun(t.Context(), a, r.ID)
		for what, err := range map[string]error{"get": got, "events": events, "answer": answer, "cancel": cancel} {
			if !errors.Is(err, inforce.ErrNotFound) {
				t.Errorf("%s by %q gives %v", what, a.Name, err)
			}
		}
	}
	if list, err := s.Daemon.ListRuns(t.Context(), stranger, view.Filter{}); err != nil || len(list.Runs) != 0 {
		t.Errorf("a stranger lists %+v, %v", list, err)
	}
	list, err := s.Daemon.ListRuns(t.Context(), operator, view.Filter{})
	if err != nil || len(list.Runs) != 1 || list.Runs[0].State != "paused" {
		t.Errorf("an operator lists %+v, %v", list, err)
	}
	got, err := s.Daemon.CancelRun(t.Context(), operator, r.ID)
	if err != nil || got.State != "cancelled" {
		t.Errorf("an operator's cancel: %+v, %v", got, err)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), operator, r.ID); !errors.Is(err, daemon.ErrEnded) {
		t.Errorf("a second cancel gives %v", err)
	}
	for _, rec := range s.Records(t, audit.RunCancelled) {
		if rec.Actor != "uid:0" {
			t.Errorf("cancelled by %q", rec.Actor)
		}
	}
	if _, err := s.Daemon.GetRun(t.Context(), operator, strings.Repeat("x", 300), 0); !errors.Is(
		err, inforce.ErrNotFound) {
		t.Errorf("a huge id gives %v", err)
	}
}

func TestAnswers(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "wave ask ask")
	paused := waitPaused(t, s, r.ID)
	if len(paused.Pending) != 2 || paused.Pending[0].For != "harness" || paused.Pending[0].Digest == "" {
		t.Fatalf("pending: %+v", paused.Pending)
	}
	answer := func(list ...wire.Answer) error {
		_, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{Answers: list})
		return err
	}
	one := json.RawMessage("1")
	for _, tc := range []struct {
		name string
		list []wire.Answer
		want error // nil: invalid
	}{
		{"none", nil, nil},
		{"neither value nor error", []wire.Answer{{Call: "c1"}}, nil},
		{"value and error", []wire.Answer{{Call: "c1", Value: one, Error: &wire.AnswerError{}}}, nil},
		{"twice", []wire.Answer{{Call: "c1", Value: one}, {Call: "c1", Value: one}}, nil},
		{"other arguments", []wire.Answer{{Call: "c1", Value: one}, {Call: "c2", Value: one, Digest: "sha256:0"}}, daemon.ErrDigest},
		{"unknown call", []wire.Answer{{Call: "c9", Value: one}}, inforce.ErrNotFound},
		{"not JSON", []wire.Answer{{Call: "c1", Value: json.RawMessage("{")}}, nil},
	} {
		err := answer(tc.list...)
		var invalid *inforce.InvalidError
		if (tc.want != nil && !errors.Is(err, tc.want)) || (tc.want == nil && !errors.As(err, &invalid)) {
			t.Errorf("%s gives %v, want %v", tc.name, err, tc.want)
		}
	}
	if got := waitPaused(t, s, r.ID); len(got.Pending) != 2 {
		t.Fatalf("a refused answer took effect: %+v", got.Pending)
	}
	if err := answer(wire.Answer{Call: "c1", Value: one, Digest: paused.Pending[0].Digest}); err != nil {
		t.Fatal(err)
	}
	if err := answer(wire.Answer{Call: "c1", Value: json.RawMessage("2")}); !errors.Is(err, daemon.ErrAnswered) {
		t.Errorf("a second answer gives %v", err)
	}
	got, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
		wire.Answers{Answers: []wire.Answer{{Call: "c2", Value: json.RawMessage(`"b"`)}},
			WaitMillis: wire.MaxWaitMillis})
	if err != nil || got.State != "done" || string(got.Value) != `[1,"b"]` {
		t.Errorf("the run ends %q with %s, %v", got.State, got.Value, err)
	}
	if err := answer(wire.Answer{Call: "c2", Value: one}); !errors.Is(err, daemon.ErrEnded) {
		t.Errorf("an answer after the end gives %v", err)
	}
}

func TestTighteningPushRefusesTheNextAnswer(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "wave ask")
	waitPaused(t, s, r.ID)
	s.Apply(t, "two log")
	_, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
		wire.Answers{Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}})
	var denial *profiles.Denial
	if !errors.As(err, &denial) {
		t.Errorf("the answer gives %v, want a denial", err)
	}
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || got.State == "done" || got.Error == nil || got.Error.Name != "CapabilityRevoked" {
		t.Errorf("the run is %q, %+v, %v", got.State, got.Error, err)
	}
	if got.Attestation.Generation != 1 {
		t.Errorf("the run attests generation %d, want the one of its start", got.Attestation.Generation)
	}
}

func TestDrain(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask act")
	r := start(t, s, "wave ask")
	waitPaused(t, s, r.ID)
	drained := make(chan error, 1)
	ctx, giveUp := context.WithCancel(t.Context())
	go func() { drained <- s.Daemon.Drain(ctx) }()
	for !slices.Contains(conditions(s, t), wire.ConditionDraining) {
	}
	if _, err := run(t, s, "1+1"); !errors.Is(err, daemon.ErrDraining) {
		t.Errorf("a run while draining gives %v", err)
	}
	if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
		wire.Answers{Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}}); err != nil {
		t.Errorf("an answer while draining gives %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain gives %v", err)
	}
	giveUp()

	impatient := daemontest.New(t, daemontest.Config{})
	impatient.Apply(t, "one log")
	left := start(t, impatient, "spin")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := impatient.Daemon.Drain(over); !errors.Is(err, context.Canceled) {
		t.Errorf("an impatient drain gives %v", err)
	}
	got, err := impatient.Daemon.GetRun(t.Context(), daemontest.Me(), left.ID, 0)
	if err != nil || got.State != "cancelled" {
		t.Errorf("the run left over is %q, %v", got.State, err)
	}
	if n := len(impatient.Records(t, audit.RunEnded)); n != 1 {
		t.Errorf("%d ends are recorded, want 1", n)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	spy := &spyRing{}
	s := daemontest.New(t, daemontest.Config{Rings: []inforce.Ring{spy}})
	s.Apply(t, "one log")
	r := start(t, s, "spin")
	s.Close(t)
	if !spy.closed.Load() {
		t.Error("a ring is not closed")
	}
	if err := s.Daemon.Close(); err != nil {
		t.Errorf("a second close gives %v", err)
	}
	if _, err := run(t, s, "1+1"); err == nil {
		t.Error("a run started after the end")
	}
	again := daemontest.New(t, daemontest.Config{Dir: s.Dir, Clock: s.Clock})
	if got, err := again.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 0); err != nil || got.State != "cancelled" {
		t.Errorf("the run is %q after a restart, %v; want cancelled", got.State, err)
	}
}

// types lists events as "type:what".
func types(events []wire.Event) []string {
	var out []string
	for _, e := range events {
		text := e.Type
		switch {
		case e.State != "":
			text += ":" + e.State
		case e.Console != nil:
			text += ":" + e.Console.Text
		case e.Call != nil:
			text += ":" + e.Call.Bridge + ":" + e.Call.State
		case e.Decision != nil:
			text += ":" + string(e.Decision.Code)
		}
		out = append(out, text)
	}
	return out
}

func TestEvents(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log act")
	release := s.Acts.Hold()
	r := start(t, s, "call act")
	var got []wire.Event
	after := int64(0)
	for len(got) == 0 || !got[len(got)-1].Final() {
		list, err := s.Daemon.Events(t.Context(), daemontest.Me(), r.ID, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Run != r.ID || e.Seq <= after {
				t.Errorf("event %+v after %d", e, after)
			}
			after = e.Seq
			got = append(got, e)
			if e.Call != nil && e.Call.State == "opened" {
				release()
			}
		}
	}
	want := []string{"state:running", "call:act:opened", "call:act:closed", "state:done"}
	if diff := cmp.Diff(want, types(got)); diff != "" {
		t.Error(diff)
	}
	kept, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 0)
	if err != nil || kept.State != "done" {
		t.Errorf("the last event was seen before the end was kept: %q, %v", kept.State, err)
	}

	line, err := run(t, s, "console a b")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Daemon.Events(t.Context(), daemontest.Me(), line.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"console:a", "console:b", "state:done"}, types(whole)); diff != "" {
		t.Error(diff)
	}
	rest, err := s.Daemon.Events(t.Context(), daemontest.Me(), line.ID, 7)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gap", "state:done"}, types(rest)); diff != "" || rest[1].Seq != 8 {
		t.Errorf("%s, %+v", diff, rest)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	live := start(t, s, "spin")
	if _, err := s.Daemon.Events(stopped, daemontest.Me(), live.ID, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("events of a cancelled reader: %v", err)
	}
}

func TestLastEventNeedsTheDisk(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one act")
	release := s.Acts.Hold()
	r := start(t, s, "call act")
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	asked := false
	s.Faults.On(func(at string) error {
		if at != "store Advance" {
			return nil
		}
		asked = true // the program has ended, and its end is not on disk
		events, err := s.Daemon.Events(impatient, daemontest.Me(), r.ID, 0)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("events %q, %v while the end is not kept", types(events), err)
		}
		if got, err := s.Daemon.GetRun(impatient, daemontest.Me(), r.ID, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("the run is shown as %q, %v while the end is not kept", got.State, err)
		}
		return nil
	})
	release()
	if got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute); err != nil ||
		got.State != "done" || !asked {
		t.Errorf("the run is %q, %v; asked: %v", got.State, err, asked)
	}
}

func TestListAndRetention(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	for range 5 {
		wantRuns(t, s, 1)
		s.Clock.Advance(time.Second)
	}
	seen := map[string]bool{}
	var f view.Filter
	f.Limit = 2
	for {
		list, err := s.Daemon.ListRuns(t.Context(), daemontest.Me(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Runs {
			seen[r.ID] = true
		}
		if list.Next == "" {
			break
		}
		if f.Before, err = time.Parse(time.RFC3339Nano, list.Next); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 5 {
		t.Errorf("pages show %d runs, want 5", len(seen))
	}
	wantForgotten(t, s)
}

// wantForgotten lets the daemon look once, long after all runs, and waits until
// none is listed.
func wantForgotten(t *testing.T, s *daemontest.Stack) {
	t.Helper()
	s.Clock.Waits(30 * time.Second)
	s.Clock.Advance(2 * time.Hour)
	for {
		list, err := s.Daemon.ListRuns(t.Context(), daemontest.Me(), view.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Runs) == 0 {
			return
		}
	}
}

// One look forgets everything that is old enough, however much that is.
func TestRetentionKeepsUp(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a thousand runs")
	}
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 52 {
				if _, err := run(t, s, "1+1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	wantForgotten(t, s)
}

func TestListByState(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log ask")
	wantRuns(t, s, 1)
	var ids []string
	for _, program := range []string{"spin", "wave ask"} {
		r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request(program, 0))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), ids[1], time.Minute); err != nil || r.State != "paused" {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, test := range []struct {
		states []string
		want   int
	}{{[]string{"running"}, 1}, {[]string{"paused"}, 1}, {[]string{"done"}, 1}, {[]string{"paused", "running"}, 2},
		{nil, 3}, {[]string{"limit"}, 0}} {
		list, err := s.Daemon.ListRuns(t.Context(), daemontest.Me(), view.Filter{States: test.states})
		if err != nil || len(list.Runs) != test.want {
			t.Errorf("%v: %d runs, want %d (%v)", test.states, len(list.Runs), test.want, err)
		}
		for _, r := range list.Runs {
			if len(test.states) > 0 && !slices.Contains(test.states, r.State) {
				t.Errorf("%v: a run that is %s", test.states, r.State)
			}
		}
	}
	for _, state := range []string{"started", "call_open", "colour", ""} {
		var invalid *inforce.InvalidError
		if _, err := s.Daemon.ListRuns(t.Context(), daemontest.Me(), view.Filter{States: []string{state}}); !errors.As(
			err, &invalid) {
			t.Errorf("state %q: %v", state, err)
		}
	}
}

// TestRequestsArePaced: what one caller has put on record outside of runs is bounded in
// time, for decisions, starts that are refused and sessions that are dropped; that of
// another one, and the caller's runs, are not. It is on record once.
func TestRequestsArePaced(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	asked := slices.Repeat([]json.RawMessage{json.RawMessage(`{"bridge":{"name":"log","args":{}}}`)},
		inforce.MaxActions)
	many := func(actor daemon.Actor, n int) (decided int, err error) {
		for range n {
			if _, err = s.Daemon.Decide(t.Context(), actor, "default", asked); err != nil {
				return decided, err
			}
			decided += len(asked)
		}
		return decided, nil
	}
	me, other := daemontest.Me(), daemon.Actor{Name: "uid:1001"}
	var fast *daemon.TooFastError
	if n, err := many(me, 10); n != 5000 || !errors.As(err, &fast) || !errors.Is(err, daemon.ErrTooFast) ||
		fast.After != 5*time.Second {
		t.Fatalf("%d were decided, then %v", n, err)
	}
	if _, err := s.Daemon.StartRun(t.Context(), me, request("1+1", wire.MaxWaitMillis)); !errors.Is(
		err, daemon.ErrTooFast) {
		t.Errorf("a start: %v", err)
	}
	if err := s.Daemon.DropSession(t.Context(), me, "", "s"); !errors.Is(err, daemon.ErrTooFast) {
		t.Errorf("a session: %v", err)
	}
	if n, err := many(other, 5); n != 5000 || err != nil {
		t.Errorf("another caller: %d were decided, then %v", n, err)
	}
	var told int
	for _, r := range s.Records(t, audit.RequestRefused) {
		if r.Actor == me.Name && r.Detail["reason"] == daemon.ErrTooFast.Error() {
			told++
		}
	}
	if told != 1 || len(s.Records(t, audit.ActionDecided)) != 10_000 {
		t.Errorf("%d records say so, and %d are of decisions", told, len(s.Records(t, audit.ActionDecided)))
	}
	s.Clock.Advance(5 * time.Second)
	if n, err := many(me, 2); n != 1000 || !errors.Is(err, daemon.ErrTooFast) {
		t.Errorf("5 s later: %d were decided, then %v", n, err)
	}
	s.Clock.Advance(time.Second)
	for i := range 300 { // runs that start cost nothing
		if r, err := s.Daemon.StartRun(t.Context(), me, request("1+1", wire.MaxWaitMillis)); err != nil ||
			r.State != "done" {
			t.Fatalf("run %d: %+v, %v", i, r, err)
		}
	}
	var refused int
	for ; refused < 1000; refused++ {
		if _, err := s.Daemon.StartRun(t.Context(), me, wire.RunRequest{
			Agent: "nobody", Executor: "js", Program: wire.Program{Name: "p", Source: "1"}}); errors.Is(err, daemon.ErrTooFast) {
			break
		}
	}
	if refused != 200 {
		t.Errorf("%d starts were refused on record, want 200", refused)
	}
}

func TestDecide(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	raw := func(list ...string) (out []json.RawMessage) {
		for _, x := range list {
			out = append(out, json.RawMessage(x))
		}
		return out
	}
	got, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "default",
		raw(`{"bridge":{"name":"log","args":{}}}`, `{"bridge":{"name":"act"}}`, `{"colour":1}`,
			`{"exec":{"argv":["/bin/rm"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, d := range got {
		codes = append(codes, d.Verdict.String()+" "+string(d.Code))
		if d.Revision == "" {
			t.Errorf("a decision without a revision: %+v", d)
		}
	}
	want := []string{"allow allowed", "deny bridge.not_granted", "deny action.malformed", "deny executor.not_granted"}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
	recs := s.Records(t, audit.ActionDecided)
	if len(recs) != 4 || recs[1].Decision.Code != profiles.CodeBridgeNotGranted || recs[0].Digest == "" {
		t.Errorf("records: %+v", recs)
	}
	if d, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "nobody",
		raw(`{"bridge":{"name":"log"}}`)); err != nil || d[0].Code != profiles.CodeUnknownAgent {
		t.Errorf("an unknown agent: %+v, %v", d, err)
	}
	for name, list := range map[string][]json.RawMessage{"none": nil,
		"too many": make([]json.RawMessage, inforce.MaxActions+1)} {
		var invalid *inforce.InvalidError
		if _, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "", list); !errors.As(err, &invalid) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if _, err := s.Daemon.Decide(t.Context(), daemon.Actor{}, "", raw(`{}`)); err == nil {
		t.Error("decided for nobody")
	}
}

func TestProfile(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	if _, err := s.Daemon.Profile("default", "js"); !errors.Is(err, inforce.ErrNotFound) {
		t.Errorf("a profile without a policy: %v", err)
	}
	s.Apply(t, "one log act")
	p, err := s.Daemon.Profile("default", "js")
	if err != nil || p.JS == nil || len(p.Bridges) != 2 || p.Policy != "one" || p.Revision == "" {
		t.Errorf("profile: %+v, %v", p, err)
	}
	for _, tc := range [][2]string{{"default", "python"}, {"default", "wasi"}, {"other", "js"}} {
		if _, err := s.Daemon.Profile(tc[0], tc[1]); !errors.Is(err, inforce.ErrNotFound) {
			t.Errorf("%v: %v", tc, err)
		}
	}
}

func TestMetricsHaveBoundedLabels(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log")
	for _, program := range []string{"1+1", "throw", "call log", "call act", "call evil\"}1"} {
		if _, err := run(t, s, program); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push("broken")); err == nil {
		t.Fatal("a broken push was applied")
	}
	s.Metrics.Decided("allow", "made.up by a program")
	w := httptest.NewRecorder()
	s.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	for _, want := range []string{
		`ringd_runs_total{state="done"} 2`, `ringd_runs_total{state="failed"} 1`, `ringd_runs_total{state="denied"} 2`,
		`ringd_calls_total{state="done"} 1`, `ringd_call_seconds_count 1`, `ringd_runs_live 0`, `ringd_generation 1`, `ringd_closed 0`,
		`ringd_pushes_total{result="applied"} 1`, `ringd_pushes_total{result="rejected"} 1`,
		`ringd_decisions_total{code="bridge.not_granted",verdict="deny"} 2`,
		`ringd_decisions_total{code="other",verdict="allow"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("figures lack %s", want)
		}
	}
	for _, bad := range []string{"evil", "made.up", "uid:", "sha256"} {
		if strings.Contains(text, bad) {
			t.Errorf("figures have a label that somebody made up: %s", bad)
		}
	}
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	_, err := daemon.New(t.Context(), daemon.Config{Policy: daemon.Policy{Staleness: -1}})
	for _, want := range []string{"Interpreter", "Policy.Rings", "Policy.Compiler", "Policy.Staleness", "Store",
		"Waiting.Keeper", "Waiting.Desk",
		"Recorder", "Journal", "Group", "Clock", "Random", "Logger"} {
		if err == nil || !strings.Contains(err.Error(), "daemon.Config."+want+" ") {
			t.Errorf("%s is not asked for: %v", want, err)
		}
	}
}

func TestAuditLogVerifiesAfterEverything(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one log act")
	for i := range 20 {
		if _, err := run(t, s, []string{"call act", "call none", "throw", "panic"}[i%4]); err != nil {
			t.Fatal(err)
		}
	}
	s.Close(t)
	rep, err := audit.Verify(t.Context(), filepath.Join(s.Dir, "audit"), audit.Check{})
	if err != nil || rep.Tampered != nil || rep.Records < 60 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// TestRecordsOfARunAreBounded: a run that goes on putting things on record is ended by
// name, and its end is on record; one that stays below is not.
func TestRecordsOfARunAreBounded(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Records: 100_000})
	s.Apply(t, "one log")
	r, err := run(t, s, "steps"+strings.Repeat(" log", 20))
	if err != nil || r.State != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err = run(t, s, "steps"+strings.Repeat(" log", 5000))
	if err != nil || r.State != "limit" || r.Error == nil || r.Error.Name != "BudgetExceeded" {
		t.Fatalf("%s, %+v, %v", r.State, r.Error, err)
	}
	n := 0
	var last audit.Record
	for _, rec := range s.Records(t) {
		if rec.Run == r.ID {
			n, last = n+1, rec
		}
	}
	if n > 300 || last.Kind != audit.RunEnded || last.State != "limit" {
		t.Errorf("%d records, the last is %+v", n, last)
	}
	if r, err := run(t, s, "1+1"); err != nil || r.State != "done" {
		t.Errorf("the next run: %+v, %v", r, err)
	}
}
