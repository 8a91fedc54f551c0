// This file tells people that a call waits for them, from what the store
// knows: a call is marked once it was heard of, so it is told at least once, also
// across restarts, and again after a failure, later and later.
//
// It never holds up a run, and refuses nothing: a place that does not listen only
// makes it try again. The daemon runs it.

package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// Store knows which calls nobody was told of.
type Store interface {
	Unnotified(ctx context.Context, n int) ([]store.Call, error)
	Notified(ctx context.Context, run, call string) error
	Run(ctx context.Context, id string) (store.Run, error)
}

// notificationSender tells one place. A nil error says that it was heard.
type notificationSender interface {
	Tell(ctx context.Context, w Waiting) error
}

// clock is time.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Config is what an outbox needs; all but Metrics is required.
type Config struct {
	Store   Store
	Teller  notificationSender
	Clock   clock
	Go      func(func()) // starts a goroutine that its owner waits for
	Logger  *slog.Logger
	Metrics *metrics.Metrics
}

// How it tries.
const (
	every    = time.Second     // between two looks
	first    = 2 * time.Second // before the second attempt
	longest  = 5 * time.Minute // between two attempts
	atOnce   = 4               // places that are being told
	mostSeen = 1000            // calls of one look
)

// Outbox tells people. Its owner calls Run once.
type Outbox struct {
	cfg Config

	mu    sync.Mutex
	tried map[string]attempt // calls that were not heard of
}

type attempt struct {
	n     int
	again time.Time
}

// New checks cfg.
func New(cfg Config) (*Outbox, error) {
	if cfg.Store == nil || cfg.Teller == nil || cfg.Clock == nil || cfg.Go == nil || cfg.Logger == nil {
		return nil, errors.New("outbox.Config: all but Metrics is required")
	}
	return &Outbox{cfg: cfg, tried: map[string]attempt{}}, nil
}

// Run tells until ctx ends, and returns when nobody is being told any more.
func (o *Outbox) Run(ctx context.Context) {
	for {
		o.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-o.cfg.Clock.After(every):
		}
	}
}

// Look tells of every call that is due, once, and returns when that is done.
func (o *Outbox) Look(ctx context.Context) {
	calls, err := o.cfg.Store.Unnotified(ctx, mostSeen)
	if err != nil {
		if ctx.Err() == nil {
			o.cfg.Logger.Error("list calls to notify approvers of", "error", err)
		}
		return
	}
	due := o.due(calls)
	places := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, c := range due {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			wg.Wait()
			return
		}
		wg.Add(1)
		o.cfg.Go(func() {
			defer wg.Done()
			defer func() { <-places }()
			o.tell(ctx, c)
		})
	}
	wg.Wait()
}

// due returns the calls whose next attempt has come, and forgets the attempts of
// calls that do not wait any more.
func (o *Outbox) due(calls []store.Call) []store.Call {
	now := o.cfg.Clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	left := make(map[string]attempt, len(o.tried))
	var out []store.Call
	for _, c := range calls {
		a, ok := o.tried[c.Run+"/"+c.ID]
		if ok {
			left[c.Run+"/"+c.ID] = a
		}
		if !now.Before(a.again) {
			out = append(out, c)
		}
	}
	o.tried = left
	return out
}

func (o *Outbox) tell(ctx context.Context, c store.Call) {
	row, err := o.cfg.Store.Run(ctx, c.Run)
	if err == nil && !row.State.Final() {
		err = o.cfg.Teller.Tell(ctx, Waiting{Run: c.Run, Call: c.ID, Bridge: c.Bridge, Agent: row.Agent,
			Actor: row.Actor, Digest: c.ArgsDigest, From: c.From, Count: c.Needs, Expires: c.Expires, Args: c.Args})
		if err == nil {
			o.cfg.Metrics.Notified("heard")
		}
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		err = o.cfg.Store.Notified(ctx, c.Run, c.ID)
	}
	if err == nil || errors.Is(err, store.ErrNotFound) || ctx.Err() != nil {
		return
	}
	o.cfg.Metrics.Notified("failed")
	id := c.Run + "/" + c.ID
	o.mu.Lock()
	a := o.tried[id]
	a.again = o.cfg.Clock.Now().Add(min(first<<min(a.n, 10), longest))
	a.n++
	o.tried[id] = a
	o.mu.Unlock()
	o.cfg.Logger.Warn("no approver was notified of a waiting call; ringd tries again", "run", c.Run, "call", c.ID,
		"attempt", a.n, "again", a.again, "error", err)
}
