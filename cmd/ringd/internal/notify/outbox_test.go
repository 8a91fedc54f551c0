package notify_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/notify"
	"github.com/ringd/ringd/schema/wire"
)

// ear is a place that is told, and hears when it wants to.
type ear struct {
	mu    sync.Mutex
	told  []string
	deaf  int // so many times
	hangs bool
}

func (e *ear) Tell(ctx context.Context, w notify.Waiting) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, w.Call+" "+w.Bridge+" "+w.Agent+" "+w.Actor)
	if e.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if e.deaf > 0 {
		e.deaf--
		return errors.New("nobody listens")
	}
	return nil
}

func (e *ear) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.told)
}

func open(t *testing.T, s *daemontest.Stack, e *ear) *notify.Outbox {
	t.Helper()
	o, err := notify.New(notify.Config{Store: s.Store(), Teller: e, Clock: s.Clock, Go: func(f func()) { go f() },
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: s.Metrics})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func pause(t *testing.T, s *daemontest.Stack, program string) wire.Run {
	t.Helper()
	r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(),
		wire.RunRequest{Executor: "js", Program: wire.Program{Source: program}, WaitMillis: 60000})
	if err != nil || r.State != "paused" {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

func TestToldOnce(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay! ask")
	pause(t, s, "steps pay,ask")
	e := &ear{}
	o := open(t, s, e)
	o.Look(t.Context())
	o.Look(t.Context())
	open(t, s, e).Look(t.Context()) // another process, on the same store
	if diff := cmp.Diff([]string{"c1 pay default uid:1000"}, e.told); diff != "" {
		t.Error(diff)
	}
}

// TestToldAgain holds that a call is told until it was heard of, later and later.
func TestToldAgain(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Staleness: 1000 * time.Hour})
	s.Apply(t, "one pay!")
	pause(t, s, "steps pay")
	e := &ear{deaf: 3}
	o := open(t, s, e)
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{0, 1}, {time.Second, 1}, {time.Second, 2}, {3 * time.Second, 2}, {time.Second, 3},
		{7 * time.Second, 3}, {time.Second, 4}, {time.Hour, 4},
	} {
		s.Clock.Advance(step.after)
		o.Look(t.Context())
		if got := e.count(); got != step.want {
			t.Fatalf("after %s it was told %d times, want %d", step.after, got, step.want)
		}
	}
}

func TestNotOfWhatIsDecided(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay!")
	r := pause(t, s, "steps pay")
	if _, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), r.ID); err != nil {
		t.Fatal(err)
	}
	e := &ear{}
	open(t, s, e).Look(t.Context())
	if e.count() != 0 {
		t.Errorf("told of a run that has ended: %q", e.told)
	}
}

// TestHangingPlace ends with its context, and holds up no run.
func TestHangingPlace(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one pay! ask")
	pause(t, s, "steps pay")
	e := &ear{hangs: true}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	o := open(t, s, e)
	go func() {
		defer close(ended)
		o.Run(ctx)
	}()
	pause(t, s, "steps ask") // while it hangs
	cancel()
	<-ended
}

func TestConfig(t *testing.T) {
	if _, err := notify.New(notify.Config{}); err == nil {
		t.Error("an outbox without anything was made")
	}
}
