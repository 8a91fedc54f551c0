// Package pace has token buckets by key. A bucket limits how often one caller may do something, and how many times
// without a pause. One more bucket limits all callers together, which then take turns. Wait delays a caller, and Take
// rejects it. Package proxy uses Wait, so that a program is slowed down and not denied. The daemon uses Take for
// requests that would fill its audit log.
package pace

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// leastSwept is the number of buckets from which full ones are removed.
const leastSwept = 1024

// Config is the size of each bucket.
type Config struct {
	Now   func() time.Time
	Every time.Duration // time after which a bucket gets one more token
	Burst int           // tokens of a full bucket
}

func (c Config) check() error {
	if c.Now == nil || c.Every <= 0 || c.Burst <= 0 {
		return errors.New("pace: Now, Every and Burst are needed")
	}
	return nil
}

// Buckets holds a bucket for each key. It is safe for concurrent use. A bucket that is full again is removed,
// so there are no more than were used during the time in which one fills.
type Buckets[K comparable] struct {
	cfg Config

	mu    sync.Mutex
	all   map[K]*rate.Limiter
	sweep int // number of buckets at which full ones are removed
}

// New returns an error for a Config with a zero or negative field.
func New[K comparable](cfg Config) (*Buckets[K], error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Buckets[K]{cfg: cfg, all: map[K]*rate.Limiter{}, sweep: leastSwept}, nil
}

// Len returns the number of buckets.
func (b *Buckets[K]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}

// Wait takes a token of the bucket, and returns when it is available. A caller whose deadline is earlier takes
// none and waits until the deadline, so that a loop of callers is delayed too. The error is ctx's.
func (b *Buckets[K]) Wait(ctx context.Context, key K) error { return b.WaitN(ctx, key, 1) }

// WaitN is Wait for n tokens. Callers that wait already get their tokens first. If n is larger than the bucket, a
// full bucket is enough.
func (b *Buckets[K]) WaitN(ctx context.Context, key K, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	taken, wait := b.reserve(ctx, key, min(n, b.cfg.Burst))
	if wait <= 0 {
		return nil
	}
	var there <-chan time.Time
	if taken != nil {
		t := time.NewTimer(wait)
		defer t.Stop()
		there = t.C
	}
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		if taken != nil {
			taken.CancelAt(b.cfg.Now())
		}
		return ctx.Err()
	}
}

// Owe takes n tokens, now or when they come, without waiting. Later callers of Wait then wait for these as
// well. More than a full bucket counts as a full one.
func (b *Buckets[K]) Owe(key K, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.cfg.Now()
	b.bucketLocked(key, now).ReserveN(now, min(n, b.cfg.Burst))
}

// Take takes n tokens of the bucket. If there are too few, it takes none and returns how long the caller has to
// wait for n tokens. A bucket never has more tokens than its size, so n must not be larger.
func (b *Buckets[K]) Take(key K, n int) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.cfg.Now()
	r := b.bucketLocked(key, now).ReserveN(now, n)
	if !r.OK() {
		return time.Duration(n) * b.cfg.Every
	}
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// Empty returns how long it takes until the bucket has a token. It is 0 if it has one.
func (b *Buckets[K]) Empty(key K) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens := b.bucketLocked(key, b.cfg.Now()).TokensAt(b.cfg.Now())
	return time.Duration(max(1-tokens, 0) * float64(b.cfg.Every))
}

// reserve takes n tokens that will be available after wait. If that is after the deadline, it takes none and
// returns nil.
func (b *Buckets[K]) reserve(ctx context.Context, key K, n int) (taken *rate.Reservation, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.cfg.Now()
	taken = b.bucketLocked(key, now).ReserveN(now, n)
	wait = taken.DelayFrom(now)
	if end, ok := ctx.Deadline(); ok && wait > 0 && now.Add(wait).After(end) {
		taken.CancelAt(now)
		return nil, wait
	}
	return taken, wait
}

// bucketLocked returns the bucket of a key, or a full one if there is none.
func (b *Buckets[K]) bucketLocked(key K, now time.Time) *rate.Limiter {
	if l, ok := b.all[key]; ok {
		return l
	}
	if len(b.all) >= b.sweep {
		for k, l := range b.all {
			if l.TokensAt(now) >= float64(b.cfg.Burst) {
				delete(b.all, k)
			}
		}
		b.sweep = max(leastSwept, 2*len(b.all))
	}
	l := rate.NewLimiter(rate.Every(b.cfg.Every), b.cfg.Burst)
	b.all[key] = l
	return l
}
