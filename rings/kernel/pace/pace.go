// Package pace owns token buckets by key: how often one caller may do something,
// and how much of it at once; and how often all callers together may, in turns. Wait
// holds a caller back, and Take refuses it. Package
// egress waits, so that a program is slowed and not refused; the daemon refuses requests
// that would fill its audit log.
package pace

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// leastSwept is how many buckets there are before full ones are looked for.
const leastSwept = 1024

// Config is the size of each bucket.
type Config struct {
	Now   func() time.Time
	Every time.Duration // one more token comes into a bucket
	Burst int           // tokens of a full bucket
}

func (c Config) check() error {
	if c.Now == nil || c.Every <= 0 || c.Burst <= 0 {
		return errors.New("pace: Now, Every and Burst are needed")
	}
	return nil
}

// Buckets is a bucket for each key. It is safe for concurrent use. A bucket that is
// full again is forgotten, so there are no more than were used while one fills.
type Buckets[K comparable] struct {
	cfg Config

	mu    sync.Mutex
	all   map[K]*rate.Limiter
	sweep int // buckets at which full ones are forgotten
}

// New refuses a Config with a zero or negative field.
func New[K comparable](cfg Config) (*Buckets[K], error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Buckets[K]{cfg: cfg, all: map[K]*rate.Limiter{}, sweep: leastSwept}, nil
}

// Len counts the buckets.
func (b *Buckets[K]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}

// Wait takes a token of the bucket, and returns when it is there. A caller whose
// deadline comes first takes none and waits for that, so that a loop of callers is
// held back too. The error is ctx's.
func (b *Buckets[K]) Wait(ctx context.Context, key K) error { return b.WaitN(ctx, key, 1) }

// WaitN is Wait for n tokens, which come after those of callers that wait already. More
// than a full bucket has count as a full one.
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

// Owe takes n tokens that are there or come: who waits for others then waits for these as
// well. It does not wait. More than a full bucket has count as a full one.
func (b *Buckets[K]) Owe(key K, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.cfg.Now()
	b.bucketLocked(key, now).ReserveN(now, min(n, b.cfg.Burst))
}

// Take takes n tokens of the bucket, or none of them: wait is then how long it takes until
// they are there. More than a full bucket has are never there: callers bound n.
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

// Empty is how long it takes until the bucket has a token; 0: it has one.
func (b *Buckets[K]) Empty(key K) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens := b.bucketLocked(key, b.cfg.Now()).TokensAt(b.cfg.Now())
	return time.Duration(max(1-tokens, 0) * float64(b.cfg.Every))
}

// reserve takes n tokens that are there after wait; nil: that is after the deadline,
// and none is taken.
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

// bucketLocked is the bucket of a key, a full one when there is none.
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
