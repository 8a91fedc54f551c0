package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// lapsing compiles every push to a set with a module until an end, and warns of it when
// that is over.
type lapsing struct {
	clock *daemontest.Clock
	end   time.Time
}

func (l lapsing) Compile(_ context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	set, err := daemontest.Set(string(p.Sources[0].Data))
	if err != nil {
		return nil, nil, err
	}
	a := set.Agents["default"]
	js := *a.JS
	js.Imports.Allow = []profiles.ImportRule{{Name: "m", Exception: "EXC-1", Expires: &l.end}}
	a.JS = &js
	a.Exceptions = []profiles.Exception{
		{ID: "EXC-1", Owner: "user:ana", ApprovedBy: []string{"team:sec"}, Expires: l.end, Grants: profiles.Excepted{Imports: []string{"m"}}}}
	set.Agents["default"] = a
	sealed, _, err := set.Seal()
	var found schema.Diagnostics
	if !l.clock.Now().Before(l.end) {
		found = schema.Diagnostics{
			{Code: layers.CodeExpired, Msg: "EXC-1 ended", Severity: schema.Warning, Pos: schema.Pos{File: "p", Line: 1, Column: 1}}}
	}
	return &sealed, found, err
}

func imports(t *testing.T, s *daemontest.Stack) profiles.Decision {
	t.Helper()
	out, err := s.Daemon.Decide(t.Context(), daemontest.Me(), "",
		[]json.RawMessage{json.RawMessage(`{"import":{"executor":"js","module":"m"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// What an exception grants goes at its end, as a generation of its own, on record; over a
// restart as well, and the push that it came with stays the one in force.
func TestExceptionEnds(t *testing.T) {
	clock := daemontest.NewClock()
	cfg := daemontest.Config{Dir: t.TempDir(), Clock: clock, Staleness: 1000 * time.Hour,
		Compiler: lapsing{clock, clock.Now().Add(time.Hour)}}
	s := daemontest.New(t, cfg)
	push := daemontest.Push("one ask")
	push.Digest = "sha256:one"
	if err := s.Daemon.ApplyPush(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	before := s.Daemon.Status(t.Context())
	if d := imports(t, s); d.Verdict != profiles.Allow || d.Exception != "EXC-1" {
		t.Fatalf("before its end: %+v", d)
	}
	if recs := s.Records(t, audit.ActionDecided); len(recs) != 1 || recs[0].Decision.Exception != "EXC-1" {
		t.Errorf("no record names the exception: %+v", recs)
	}
	turn(t, s, clock, 2*time.Hour, before.Generation+1)
	if d := imports(t, s); d.Verdict != profiles.Deny || d.Exception != "" {
		t.Errorf("after its end: %+v", d)
	}
	recs := s.Records(t, audit.ExceptionEnded)
	if len(recs) != 1 || recs[0].Capability != "exception:EXC-1" || recs[0].Agent != "default" ||
		recs[0].Generation != before.Generation+1 {
		t.Fatalf("records: %+v", recs)
	}
	// The source is read again: what is in force is what is left of it.
	if err := s.Daemon.ApplyPush(t.Context(), push); err != nil {
		t.Errorf("the same push: %v", err)
	}
	s.Close(t)
	s = daemontest.New(t, cfg)
	if st := s.Daemon.Status(t.Context()); st.Generation != before.Generation+1 {
		t.Errorf("after a restart: %+v", st)
	}
	if err := s.Daemon.ApplyPush(t.Context(), push); err != nil {
		t.Errorf("the same push after a restart: %v", err)
	}
	if st := s.Daemon.Status(t.Context()); st.LastPush == nil || st.LastPush.Result != wire.PushUnchanged {
		t.Errorf("last push: %+v", st.LastPush)
	}
	other := daemontest.Push("two ask")
	other.Digest = "sha256:two"
	if err := s.Daemon.ApplyPush(t.Context(), other); !errors.Is(err, policy.ErrRejected) {
		t.Errorf("a new push with an ended exception: %v", err)
	}
}

// An exception that ended while the daemon was away is gone when it comes back.
func TestExceptionEndsMeanwhile(t *testing.T) {
	clock := daemontest.NewClock()
	cfg := daemontest.Config{Dir: t.TempDir(), Clock: clock, Staleness: 1000 * time.Hour,
		Compiler: lapsing{clock, clock.Now().Add(time.Hour)}}
	s := daemontest.New(t, cfg)
	s.Apply(t, "one ask")
	s.Close(t)
	clock.Advance(2 * time.Hour)
	s = daemontest.New(t, cfg)
	if d := imports(t, s); d.Verdict != profiles.Deny {
		t.Errorf("taken up with what has ended: %+v", d)
	}
	if recs := s.Records(t, audit.ExceptionEnded); len(recs) != 1 {
		t.Errorf("records: %+v", recs)
	}
}

// An end that cannot be recorded is an end.
func TestExceptionEndsUnrecorded(t *testing.T) {
	clock := daemontest.NewClock()
	s := daemontest.New(t, daemontest.Config{Clock: clock, Staleness: 1000 * time.Hour,
		Compiler: lapsing{clock, clock.Now().Add(time.Hour)}})
	s.Apply(t, "one ask")
	st := s.Daemon.Status(t.Context())
	s.Faults.On(func(string) error { return errors.New("disk full") })
	turn(t, s, clock, 2*time.Hour, st.Generation+1)
	s.Faults.On(nil)
}

// turn moves the clock and waits for a generation.
func turn(t *testing.T, s *daemontest.Stack, clock *daemontest.Clock, by time.Duration, want int64) {
	t.Helper()
	clock.Advance(by)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		st := s.Daemon.Status(t.Context())
		if st.Generation == want {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("no new generation")
		}
		time.Sleep(time.Millisecond)
	}
}
