package daemontest

import (
	"context"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// Faults makes writes fail. The hook is called before each write with its name ("audit push_applied", "store
// Start"), and may return an error.
type Faults struct {
	mu   sync.Mutex
	hook func(what string) error
	used bool
}

// On sets the hook. Nil removes it.
func (f *Faults) On(hook func(what string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook, f.used = hook, true
}

func (f *Faults) unused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.used
}

func (f *Faults) at(what string) error {
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(what)
}

type faultyLog struct {
	*audit.Log
	faults *Faults
}

func (l *faultyLog) Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error) {
	what := "audit " + string(r.Kind)
	if d == audit.Synced {
		what += " synced"
	}
	if err := l.faults.at(what); err != nil {
		return audit.Head{}, err
	}
	return l.Log.Append(ctx, r, d)
}

func (l *faultyLog) Reopen(ctx context.Context) error {
	if err := l.faults.at("audit reopen"); err != nil {
		return err
	}
	return l.Log.Reopen(ctx)
}

type faultyStore struct {
	*store.Store
	faults *Faults
}

func (s *faultyStore) Start(ctx context.Context, r store.Run) error {
	if err := s.faults.at("store Start"); err != nil {
		return err
	}
	return s.Store.Start(ctx, r)
}

func (s *faultyStore) Advance(ctx context.Context, id string, to store.State, c store.Change) (store.Run, error) {
	if err := s.faults.at("store Advance"); err != nil {
		return store.Run{}, err
	}
	return s.Store.Advance(ctx, id, to, c)
}

func (s *faultyStore) PutGeneration(ctx context.Context, g store.Generation) error {
	if err := s.faults.at("store PutGeneration"); err != nil {
		return err
	}
	return s.Store.PutGeneration(ctx, g)
}

func (s *faultyStore) Freshen(ctx context.Context, n int64, at time.Time) error {
	if err := s.faults.at("store Freshen"); err != nil {
		return err
	}
	return s.Store.Freshen(ctx, n, at)
}

func (s *faultyStore) PutPause(ctx context.Context, p store.Pause, c store.Change) (store.Run, error) {
	if err := s.faults.at("store PutPause"); err != nil {
		return store.Run{}, err
	}
	return s.Store.PutPause(ctx, p, c)
}

func (s *faultyStore) Begin(ctx context.Context, run string, seq int64, by string, c store.Change) (store.Run, error) {
	if err := s.faults.at("store Begin"); err != nil {
		return store.Run{}, err
	}
	return s.Store.Begin(ctx, run, seq, by, c)
}

func (s *faultyStore) Approve(ctx context.Context, run, call string, a store.Approval) (store.Approved, error) {
	if err := s.faults.at("store Approve"); err != nil {
		return store.Approved{}, err
	}
	return s.Store.Approve(ctx, run, call, a)
}

func (s *faultyStore) AnswerAll(ctx context.Context, run string, replies []store.Reply) ([]store.Settled, error) {
	if err := s.faults.at("store AnswerAll"); err != nil {
		return nil, err
	}
	return s.Store.AnswerAll(ctx, run, replies)
}
