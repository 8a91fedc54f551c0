package policy

import (
	"context"
	"errors"
	"sync"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema/wire"
)

// Sink returns what the syncer hands its findings to. One sink serves one
// syncer.
func (d *application) Sink() syncer.Sink { return &sink{pushes: d} }

type sink struct {
	pushes *application

	mu   sync.Mutex
	last syncer.Push
}

// Apply keeps the push, because a folder that went away and came back
// unchanged is reported as current. A push that was refused for what it says is
// done with; one that met a fault of the host is asked for again.
func (s *sink) Apply(ctx context.Context, p syncer.Push) error {
	s.mu.Lock()
	s.last = p
	s.mu.Unlock()
	err := s.pushes.ApplyPush(ctx, p)
	switch {
	case errors.Is(err, errCompiler), errors.Is(err, errPrepare):
		return errors.Join(syncer.ErrCostly, err)
	case errors.Is(err, records.ErrUnavailable), errors.Is(err, errLater):
		return err
	}
	if errors.Is(err, ErrRejected) {
		return nil
	}
	return err
}

// Current ends what only the folder's absence or a torn reading caused, and
// applies the push again when its generation was closed meanwhile, or a ring could not
// be given it when a lockdown was lifted.
func (s *sink) Current(ctx context.Context, digest string) {
	d := s.pushes
	s.mu.Lock()
	p := s.last
	s.mu.Unlock()
	d.situation.mu.Lock()
	last, troubled, closed := d.situation.lastPush, len(d.situation.trouble) > 0, len(d.situation.closedBy) > 0
	refused := last != nil && last.Result == wire.PushRejected && last.Digest == digest && !d.situation.reread
	d.situation.reread = false
	delete(d.situation.trouble, wire.ConditionSyncLost)
	d.situation.mu.Unlock()
	g := d.active.inForce.Load()
	held := g != nil && g.digest == digest
	if p.Digest != digest || d.situation.awaits(digest) || !(held && closed) && (refused || held && !troubled) {
		return
	}
	if err := d.ApplyPush(ctx, p); err != nil {
		d.cfg.Logger.Warn("apply the current push again", "digest", digest, "error", err)
	}
}

// Reject refuses a content that is no push.
func (s *sink) Reject(ctx context.Context, err error) {
	if err := s.pushes.unread(ctx, err); err != nil && !errors.Is(err, ErrRejected) {
		s.pushes.cfg.Logger.Error("refuse a push", "error", err)
	}
}

// Lost takes note that the folder is gone.
func (s *sink) Lost(ctx context.Context, err error) {
	if err := s.pushes.SyncLost(ctx, err.Error()); err != nil {
		s.pushes.cfg.Logger.Error("note the loss of the sync directory", "error", err)
	}
}
