package pace

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Shared is a bucket for each key that several callers share: of agents that dial one
// address, say. Callers that find it empty wait, and each token that comes goes to the
// next caller in turn, however many of its own wait: with n callers waiting, the next
// token of one comes within n of them, so that none starves another. It is safe for
// concurrent use. A bucket that is full again is forgotten.
type Shared[K, C comparable] struct {
	cfg Config

	mu    sync.Mutex
	all   map[K]*shares[C]
	sweep int // buckets at which full ones are forgotten
}

// shares is one bucket, and who waits for its tokens.
type shares[C comparable] struct {
	tokens  *rate.Limiter
	turns   []C                   // callers that wait, the next one first
	waiting map[C][]chan struct{} // closed when it has its token; of each caller the first comes first
	armed   bool                  // a timer will give the next token
}

// NewShared refuses a Config with a zero or negative field.
func NewShared[K, C comparable](cfg Config) (*Shared[K, C], error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Shared[K, C]{cfg: cfg, all: map[K]*shares[C]{}, sweep: leastSwept}, nil
}

// Len counts the buckets.
func (s *Shared[K, C]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Wait returns when the caller has a token of the bucket. The error is ctx's; no token is
// taken then.
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
		return nil // it came at the same moment
	}
}

// take takes a token, or waits in turn for the one that closes there.
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

// leave gives up a place; false: its token has come.
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

// remove takes one that waits out; a caller with none left has no turn.
func (b *shares[C]) remove(caller C, i int) {
	if left := slices.Delete(b.waiting[caller], i, i+1); len(left) > 0 {
		b.waiting[caller] = left
		return
	}
	delete(b.waiting, caller)
	at := slices.Index(b.turns, caller)
	b.turns = slices.Delete(b.turns, at, at+1)
}

// armLocked has the next token given when it comes.
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

// give gives the tokens that are there, to one caller after the other.
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

// bucketLocked is the bucket of a key, a full one when there is none.
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
