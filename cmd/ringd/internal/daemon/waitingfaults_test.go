package daemon_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

var errInjected = errors.New("injected")

// at makes one step fail, once.
func at(s *daemontest.Stack, step string) {
	done := false
	s.Faults.On(func(what string) error {
		if done || what != step {
			return nil
		}
		done = true
		return errInjected
	})
}

// TestPauseThatCannotBeKept ends the run: it is never shown as paused.
func TestPauseThatCannotBeKept(t *testing.T) {
	for _, step := range []string{"store PutPause", "audit run_paused synced"} {
		t.Run(step, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one ask")
			at(s, step)
			r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request("steps ask", wire.MaxWaitMillis))
			if err == nil && (r.State == "paused" || r.State == "running" || r.State == "done") {
				t.Errorf("%+v", r)
			}
			if st := s.Daemon.Status(t.Context()); st.Runs.Paused != 0 || st.Runs.Live != 0 {
				t.Errorf("status counts %+v", st.Runs)
			}
		})
	}
}

// TestWordThatCannotBeKept is no word: the call still waits, and nothing happened.
func TestWordThatCannotBeKept(t *testing.T) {
	for _, step := range []string{"audit call_approved synced", "store Approve"} {
		t.Run(step, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one pay!")
			r := start(t, s, "steps pay")
			p := waitPaused(t, s, r.ID).Pending[0]
			at(s, step)
			if _, err := allow(t, s, person("uid:1"), r.ID, p); err == nil {
				t.Error("it counts")
			}
			row, err := s.Store().Run(t.Context(), r.ID)
			given, err2 := s.Store().Approvals(t.Context(), r.ID)
			if err := errors.Join(err, err2); err != nil || row.State != store.Paused || len(given) != 0 ||
				len(s.Acts.Calls()) != 0 {
				t.Errorf("%s with %d words after %d acts, %v", row.State, len(given), len(s.Acts.Calls()), err)
			}
		})
	}
}

func TestAnswerThatCannotBeKept(t *testing.T) {
	for _, step := range []string{"audit call_answered synced", "store AnswerAll"} {
		t.Run(step, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one ask")
			r := start(t, s, "steps ask")
			waitPaused(t, s, r.ID)
			at(s, step)
			if _, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{
				Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}}); err == nil {
				t.Error("it counts")
			}
			if row, err := s.Store().Run(t.Context(), r.ID); err != nil || row.State != store.Paused {
				t.Errorf("%s, %v", row.State, err)
			}
		})
	}
}

// TestBeginningThatCannotBeKept acts not: the approved call is not performed.
func TestBeginningThatCannotBeKept(t *testing.T) {
	for _, step := range []string{"store Begin", "audit run_resumed synced"} {
		t.Run(step, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one pay!")
			r := start(t, s, "steps pay")
			p := waitPaused(t, s, r.ID).Pending[0]
			at(s, step)
			if _, err := allow(t, s, person("uid:1"), r.ID, p); err != nil && !errors.Is(err, records.ErrUnavailable) {
				t.Fatal(err)
			}
			got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
			if err == nil && got.State == "done" || len(s.Acts.Calls()) != 0 {
				t.Errorf("%+v, %v after %d acts", got, err, len(s.Acts.Calls()))
			}
		})
	}
}

// TestLoserLearnsWho claims a run behind the daemon's back.
func TestLoserLearnsWho(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	s.Executor.SetEngine("sha256:" + strings.Repeat("1", 64))
	settle(t, s, r.ID, "c1") // it is stuck, so that nobody resumes it
	if _, _, err := s.Store().Claim(t.Context(), r.ID, 1, "uid:9"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Daemon.ResumeRun(t.Context(), everyone(), r.ID)
	var claimed *store.ClaimedError
	if !errors.As(err, &claimed) || claimed.By != "uid:9" || claimed.At.IsZero() {
		t.Errorf("%v", err)
	}
}

// TestForgottenRunIsFound answers a run behind the daemon's back: it is resumed
// at the next look.
func TestForgottenRunIsFound(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	p := waitPaused(t, s, r.ID).Pending[0]
	body, err := s.Keeper.Reply(r.ID, p.Digest, "uid:1000", wire.Answer{Call: p.ID, Value: json.RawMessage(`"late"`)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Store().AnswerAll(t.Context(), r.ID, []store.Reply{
		{Call: p.ID, By: "uid:1000", Digest: p.Digest, Body: body}})
	if err != nil || out[0].Run != store.Answered {
		t.Fatalf("%+v, %v", out, err)
	}
	s.Clock.WaitsFor(time.Minute)
	s.Clock.Advance(time.Minute)
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || got.State != "done" || string(got.Value) != `["late"]` {
		t.Errorf("%+v, %v", got, err)
	}
}
