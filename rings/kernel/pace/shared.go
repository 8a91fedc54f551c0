package pace

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Shared holds a bucket for each key that several callers share, such as agents that dial one address. Callers
// that find it empty wait. Each new token goes to the next caller in turn, however many requests of a caller
// wait: with n callers waiting, the next token of one comes within n of them, so that none starves another.
// Shared is safe for concurrent use. A bucket that is full again is removed.
type Shared[K, C comparable] struct {
	cfg Config

	mu    sync.Mutex
	all   map[K]*shares[C]
	sweep int // number of buckets at which full ones are removed
}

// shares is one bucket with the callers that wait for its tokens.
type shares[C comparable] struct {
	tokens  *rate.Limiter
	turns   []C                   // callers that wait, the next one first
	waiting map[C][]chan struct{} // closed when its token is given; those of one caller in order
	armed   bool                  // a timer will give the next token
}

// NewShared returns an error for a Config with a zero or negative field.
func NewShared[K, C comparable](cfg Config) (*Shared[K, C], error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Shared[K, C]{cfg: cfg, all: map[K]*shares[C]{}, sweep: leastSwept}, nil
}

// Len returns the number of buckets.
func (s *Shared[K, C]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Wait returns when the caller has a token of the bucket. The error is ctx's. No token is taken then.
func (s *Shared[K, C]) Wait(ctx context.Context, key K, caller C) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	there := s.take(key, caller)
	if there == nil {
		return nil
	}
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		if s.leave(key, caller, there) {
			return ctx.Err()
		}
		return nil // the token came at the same moment
	}
}

// take takes a token, or queues the caller. The returned channel is closed when its token is given.
func (s *Shared[K, C]) take(key K, caller C) (there chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	b := s.bucketLocked(key, now)
	if len(b.turns) == 0 && b.tokens.AllowN(now, 1) {
		return nil
	}
	there = make(chan struct{})
	if len(b.waiting[caller]) == 0 {
		b.turns = append(b.turns, caller)
	}
	b.waiting[caller] = append(b.waiting[caller], there)
	s.armLocked(b, now)
	return there
}

// leave removes a waiting request. It returns false if its token was given already.
func (s *Shared[K, C]) leave(key K, caller C, there chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.all[key]
	if b == nil {
		return false
	}
	i := slices.Index(b.waiting[caller], there)
	if i >= 0 {
		b.remove(caller, i)
	}
	return i >= 0
}

// remove removes one waiting request. A caller without another one has no turn.
func (b *shares[C]) remove(caller C, i int) {
	if left := slices.Delete(b.waiting[caller], i, i+1); len(left) > 0 {
		b.waiting[caller] = left
		return
	}
	delete(b.waiting, caller)
	at := slices.Index(b.turns, caller)
	b.turns = slices.Delete(b.turns, at, at+1)
}

// armLocked starts the timer for the next token.
func (s *Shared[K, C]) armLocked(b *shares[C], now time.Time) {
	if b.armed || len(b.turns) == 0 {
		return
	}
	b.armed = true
	r := b.tokens.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	r.CancelAt(now)
	time.AfterFunc(wait, func() { s.give(b) })
}

// give passes the available tokens to the waiting callers, one caller after the other.
func (s *Shared[K, C]) give(b *shares[C]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.armed = false
	now := s.cfg.Now()
	for len(b.turns) > 0 && b.tokens.AllowN(now, 1) {
		caller := b.turns[0]
		close(b.waiting[caller][0])
		b.remove(caller, 0)
		if len(b.waiting[caller]) > 0 { // behind the others
			b.turns = append(b.turns[1:], caller)
		}
	}
	s.armLocked(b, now)
}

// bucketLocked returns the bucket of a key, or a full one if there is none.
func (s *Shared[K, C]) bucketLocked(key K, now time.Time) *shares[C] {
	if b, ok := s.all[key]; ok {
		return b
	}
	if len(s.all) >= s.sweep {
		for k, b := range s.all {
			if len(b.turns) == 0 && b.tokens.TokensAt(now) >= float64(s.cfg.Burst) {
				delete(s.all, k)
			}
		}
		s.sweep = max(leastSwept, 2*len(s.all))
	}
	b := &shares[C]{tokens: rate.NewLimiter(rate.Every(s.cfg.Every), s.cfg.Burst), waiting: map[C][]chan struct{}{}}
	s.all[key] = b
	return b
}
