package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/wire"
)

// ended waits until a run has ended, looking again while it waits in between.
func ended(t *testing.T, s *daemontest.Stack, id string) wire.Run {
	t.Helper()
	for {
		r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if r.State != "paused" && r.State != "running" {
			return r
		}
		runtime.Gosched()
	}
}

// waitStuck waits until a run that waits says this of why it does not go on.
func waitStuck(t *testing.T, s *daemontest.Stack, id, code string) wire.Run {
	t.Helper()
	for {
		got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, time.Minute)
		if err != nil || got.State != "paused" && got.State != "running" {
			t.Fatalf("%+v, %v", got, err)
		}
		if got.Error != nil && got.Error.Name == code {
			return got
		}
		runtime.Gosched()
	}
}

// TestAnswersThatOverlap answers two calls while somebody else answers one of
// them: what is left completes the wave, and the run goes on.
func TestAnswersThatOverlap(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask sign")
	r := start(t, s, "steps ask,sign")
	waitPaused(t, s, r.ID)
	other := false
	s.Faults.On(func(what string) error {
		if other || what != "audit call_answered synced" {
			return nil
		}
		other = true
		settle(t, s, r.ID, "c1")
		return nil
	})
	_, err := s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{Answers: []wire.Answer{
		{Call: "c1", Value: json.RawMessage(`"late"`)}, {Call: "c2", Value: json.RawMessage(`"two"`)}}})
	if !errors.Is(err, daemon.ErrAnswered) {
		t.Errorf("the call that somebody else answered: %v", err)
	}
	if got := ended(t, s, r.ID); got.State != "done" || string(got.Value) != `["c1","two"]` {
		t.Errorf("%+v", got)
	}
}

// TestGuestThatDoesNotStart keeps a run whose guest cannot be had: it says so, and
// goes on by itself once there is one.
func TestGuestThatDoesNotStart(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!")
	r := start(t, s, "steps pay")
	p := waitPaused(t, s, r.ID).Pending[0]
	s.Executor.Break(errors.New("fork: too many processes"))
	if _, err := allow(t, s, person("uid:1"), r.ID, p); err != nil {
		t.Fatal(err)
	}
	if got := waitStuck(t, s, r.ID, wire.CodeResumeFailed); strings.Contains(got.Error.Message, "fork") {
		t.Errorf("%+v", got.Error)
	}
	s.Executor.Break(nil)
	for range 7 {
		s.Clock.WaitsFor(10 * time.Second)
		s.Clock.Advance(10 * time.Second)
	}
	if got := ended(t, s, r.ID); got.State != "done" || len(s.Acts.Calls()) != 1 {
		t.Errorf("%+v, %d acts", got, len(s.Acts.Calls()))
	}
	if n := len(s.Records(t, audit.ResumeRefused)); n != 1 {
		t.Errorf("%d refusals are recorded", n)
	}
}

// TestExpiryOfOthers ends a run that waited too long though the one before it
// cannot be ended.
func TestExpiryOfOthers(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Staleness: 1000 * time.Hour})
	s.Apply(t, "one ask")
	ids := []string{start(t, s, "steps ask").ID, ""}
	waitPaused(t, s, ids[0])
	ids[1] = start(t, s, "steps ask").ID
	waitPaused(t, s, ids[1])
	var tried int
	s.Faults.On(func(what string) error {
		if what == "store Advance" {
			if tried++; tried == 1 {
				return errors.New("this row cannot be written")
			}
		}
		return nil
	})
	s.Clock.WaitsFor(10 * time.Second)
	s.Clock.Advance(49 * time.Hour)
	s.Clock.WaitsFor(10 * time.Second)
	states := map[string]int{}
	for _, id := range ids {
		got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		states[got.State]++
	}
	if states["paused"] != 1 || states["denied"] != 1 {
		t.Errorf("the runs are %v", states)
	}
}

// TestStopWhileARunIsClaimed drains the daemon in the moment in which a run is
// claimed and not begun: nobody waits for it, and the next daemon goes on with it.
func TestStopWhileARunIsClaimed(t *testing.T) {
	var s *daemontest.Stack
	var id string
	drained := make(chan error, 1)
	s = daemontest.New(t, daemontest.Config{Point: func(label string) {
		if label != "claimed" {
			return
		}
		go func() {
			now, cancel := context.WithCancel(t.Context())
			cancel()
			drained <- s.Daemon.Drain(now)
		}()
		for !s.Daemon.Halted(id) {
			runtime.Gosched()
		}
	}})
	s.Apply(t, "one pay! act")
	id = start(t, s, "steps pay act").ID
	p := waitPaused(t, s, id).Pending[0]
	release := s.Acts.Hold() // it would work for long
	defer release()
	if _, err := allow(t, s, person("uid:1"), id, p); err != nil {
		t.Fatal(err)
	}
	if err := <-drained; !errors.Is(err, context.Canceled) {
		t.Errorf("drained: %v", err)
	}
	if n := len(s.Acts.Calls()); n != 0 {
		t.Errorf("%d acts began after the daemon was told to stop", n)
	}
	s = again(t, s, daemontest.Config{})
	if got := ended(t, s, id); got.State != "done" || len(s.Acts.Calls()) != 2 {
		t.Errorf("%+v, %d acts", got, len(s.Acts.Calls()))
	}
}

// TestPanicWhileARunIsOpened gives the claim back: the run goes on later.
func TestPanicWhileARunIsOpened(t *testing.T) {
	var once sync.Once
	s := daemontest.New(t, daemontest.Config{HasEngine: func(string, string) (string, bool) {
		once.Do(func() { panic("a fault of the host") })
		return "", true
	}})
	s.Apply(t, "one pay!")
	r := start(t, s, "steps pay")
	p := waitPaused(t, s, r.ID).Pending[0]
	if _, err := allow(t, s, person("uid:1"), r.ID, p); err != nil {
		t.Fatal(err)
	}
	waitStuck(t, s, r.ID, wire.CodeResumeFailed)
	if got, err := s.Daemon.ResumeRun(t.Context(), everyone(), r.ID); err != nil || got.State == "paused" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := ended(t, s, r.ID); got.State != "done" || len(s.Acts.Calls()) != 1 {
		t.Errorf("%+v, %d acts", got, len(s.Acts.Calls()))
	}
}

// TestEndWithoutItsOutcome ends a run that waits and whose outcome cannot be read.
func TestEndWithoutItsOutcome(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one ask")
	r := start(t, s, "steps ask")
	waitPaused(t, s, r.ID)
	s.Close(t)
	edit(t, s, `update run set outcome = '{'`)
	s = again(t, s, daemontest.Config{})
	if got, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), r.ID); err != nil || got.State != "cancelled" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 0); err != nil || got.State != "cancelled" {
		t.Errorf("%+v, %v", got, err)
	}
}
