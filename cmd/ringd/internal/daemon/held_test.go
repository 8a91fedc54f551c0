package daemon_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/schema/wire"
)

// A run that cannot pause is running while its harness has to answer, and whoever
// waits for it is told at once: it would wait for ever else.
func TestHeldForItsHarness(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask sign")
	r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request("held ask sign", wire.MaxWaitMillis))
	if err != nil || r.State != wire.StateRunning || !r.AwaitsHarness() || len(r.Pending) != 1 ||
		r.Pending[0].Bridge != "ask" || !r.Pending[0].Held {
		t.Fatalf("%s, pending %+v, %v", r.State, r.Pending, err)
	}
	again, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || !again.AwaitsHarness() {
		t.Errorf("%s, pending %+v, %v", again.State, again.Pending, err)
	}
	answer := func(call, value string) wire.Run {
		t.Helper()
		got, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{WaitMillis: wire.MaxWaitMillis,
			Answers: []wire.Answer{{Call: call, Value: json.RawMessage(value)}}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := answer("c1", `7`); !got.AwaitsHarness() || got.Pending[0].Bridge != "sign" {
		t.Errorf("%s, pending %+v", got.State, got.Pending)
	}
	if got := answer("c2", `8`); got.State != "done" || string(got.Value) != "8" || len(got.Pending) != 0 {
		t.Errorf("%s %s, pending %+v", got.State, got.Value, got.Pending)
	}
	if recs := s.Records(t, audit.RunPaused); len(recs) != 0 {
		t.Errorf("it paused: %+v", recs)
	}
}

// What waits for a person is not the harness's: waiting for such a run goes on, until
// somebody has spoken.
func TestHeldForAPerson(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!")
	r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request("held pay", 0))
	if err != nil {
		t.Fatal(err)
	}
	var waits wire.Approvals
	for len(waits.Approvals) == 0 {
		if waits, err = s.Daemon.ListApprovals(t.Context(), daemontest.Me(), waiting.Page{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 10*time.Millisecond); err != nil ||
		got.State != wire.StateRunning || got.AwaitsHarness() || !got.Pending[0].Held {
		t.Errorf("%s, pending %+v, %v", got.State, got.Pending, err)
	}
	c := waits.Approvals[0].Pending
	if _, err := s.Daemon.Approve(t.Context(), person("uid:7"), r.ID, c.ID,
		wire.ApprovalAnswer{Verdict: "allow", Digest: c.Digest}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || got.State != "done" || len(s.Acts.Calls()) != 1 {
		t.Errorf("%s, %d acts, %v", got.State, len(s.Acts.Calls()), err)
	}
	if len(got.Asked) != 1 || got.Asked[0].Capability != "bridge:pay" || got.Asked[0].When != wire.AskedHeld ||
		got.Asked[0].Argv == nil {
		t.Errorf("asked %+v", got.Asked)
	}
}
