package policy

import (
	"context"
	"errors"
	"sync"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema/wire"
)

// Sink returns the receiver of a syncer's findings. One sink serves one syncer.
func (d *application) Sink() syncer.Sink { return &sink{pushes: d} }

type sink struct {
	pushes *application

	mu   sync.Mutex
	last syncer.Push
}

// Apply applies a push and remembers it, because the syncer reports a folder that was gone and is unchanged
// as current. A push that was refused for its content is final. One that met a fault of the host is tried
// again.
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

// Current ends the conditions that came from a missing folder or a torn read. It applies the push again if
// its generation was closed meanwhile, or if a ring could not prepare it when a lockdown was lifted.
func (s *sink) Current(ctx context.Context, digest string) {
	d := s.pushes
	s.mu.Lock()
	p := s.last
	s.mu.Unlock()
	d.situation.mu.Lock()
	last, troubled, closed := d.situation.lastPush, len(d.situation.sourceConditions) > 0, len(d.situation.closedBy) > 0
	refused := last != nil && last.Result == wire.PushRejected && last.Digest == digest && !d.situation.reread
	d.situation.reread = false
	delete(d.situation.sourceConditions, wire.ConditionSyncLost)
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
	if err := s.pushes.rejectFolder(ctx, err); err != nil && !errors.Is(err, ErrRejected) {
		s.pushes.cfg.Logger.Error("refuse a push", "error", err)
	}
}

// Lost records that the folder is gone.
func (s *sink) Lost(ctx context.Context, err error) {
	if err := s.pushes.SyncLost(ctx, err.Error()); err != nil {
		s.pushes.cfg.Logger.Error("note the loss of the sync directory", "error", err)
	}
}
