// The outbox notifies people of waiting calls, from the rows of the store. A call is marked after it was
// received, so it is sent at least once, also across restarts. A failed attempt is repeated after growing
// delays. It never blocks a run.

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

// Store has the calls without a notification.
type Store interface {
	Unnotified(ctx context.Context, n int) ([]store.Call, error)
	Notified(ctx context.Context, run, call string) error
	Run(ctx context.Context, id string) (store.Run, error)
}

// notificationSender notifies one receiver. A nil error means that it was received.
type notificationSender interface {
	Tell(ctx context.Context, w Waiting) error
}

// clock is the time source.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Config configures an Outbox. All fields but Metrics are required.
type Config struct {
	Store   Store
	Teller  notificationSender
	Clock   clock
	Go      func(func()) // starts a goroutine that its owner waits for
	Logger  *slog.Logger
	Metrics *metrics.Metrics
}

// Intervals and limits of attempts.
const (
	lookEvery     = time.Second     // between two looks at the store
	firstDelay    = 2 * time.Second // before the second attempt
	maxDelay      = 5 * time.Minute // maximum between two attempts
	maxConcurrent = 4               // concurrent attempts
	maxCalls      = 1000            // calls of one look
)

// Outbox sends notifications. Its owner calls Run once.
type Outbox struct {
	cfg Config

	mu    sync.Mutex
	tried map[string]attempt // calls with a failed attempt
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

// Run sends until ctx ends, and returns when no attempt is in progress.
func (o *Outbox) Run(ctx context.Context) {
	for {
		o.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-o.cfg.Clock.After(lookEvery):
		}
	}
}

// Look makes one attempt for every call that is due, and returns when all are done.
func (o *Outbox) Look(ctx context.Context) {
	calls, err := o.cfg.Store.Unnotified(ctx, maxCalls)
	if err != nil {
		if ctx.Err() == nil {
			o.cfg.Logger.Error("list calls to notify approvers of", "error", err)
		}
		return
	}
	due := o.due(calls)
	places := make(chan struct{}, maxConcurrent)
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

// due returns the calls whose next attempt is due, and forgets the attempts of calls that no longer wait.
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
	a.again = o.cfg.Clock.Now().Add(min(firstDelay<<min(a.n, 10), maxDelay))
	a.n++
	o.tried[id] = a
	o.mu.Unlock()
	o.cfg.Logger.Warn("no approver was notified of a waiting call; ringd tries again", "run", c.Run, "call", c.ID,
		"attempt", a.n, "again", a.again, "error", err)
}
