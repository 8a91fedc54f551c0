package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// prepare prepares a set on every ring, and returns the commits only if all are ready. Rings see this host's
// value of $WORKSPACE.
func (d *activation) prepare(ctx context.Context, set *profiles.Set) ([]func(), error) {
	commits := make([]func(), 0, len(d.cfg.Rings))
	set = set.In(d.cfg.Workspace)
	for _, r := range d.cfg.Rings {
		commit, err := r.Prepare(ctx, set)
		if err != nil {
			return nil, fmt.Errorf("prepare ring %s: %w", r.Name(), err)
		}
		commits = append(commits, commit)
	}
	return commits, nil
}

// prepareNothing prepares a state that denies everything on every ring. That is a nil set, or a set without
// agents for a ring that takes only sets. The error has the rings that can prepare neither.
func (d *activation) prepareNothing(ctx context.Context) (commits []func(), failed error) {
	for _, r := range d.cfg.Rings {
		commit, err := r.Prepare(ctx, nil)
		if err != nil {
			commit, err = r.Prepare(ctx, &profiles.Set{Format: profiles.Format})
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("close ring %s: %w", r.Name(), err))
			continue
		}
		commits = append(commits, commit)
	}
	return commits, failed
}

// prepareFailed rejects the push and closes the executor that rejected its profile, or all executors if the
// ring names none. If the host could not check an executor, nothing is closed, because the push may succeed
// later.
func (d *application) prepareFailed(p syncer.Push, cause error, findings schema.Diagnostics) *rejection {
	if later := (interface{ Later() bool })(nil); errors.As(cause, &later) && later.Later() { // no executor rejects it
		return &rejection{why: "the host could not check the needs of the policy: " + cause.Error(),
			findings: findings, retry: errPrepare}
	}
	name := ""
	var named interface{ Executor() string }
	if errors.As(cause, &named) {
		name = named.Executor()
	}
	why := closing{wire.Condition{Code: wire.ConditionExecutorClosed, Since: d.cfg.Clock.Now(),
		Message: cause.Error() + "; closed by push " + shortDigest(p.Digest) + ", which is refused"}, p.Digest}
	d.active.binding.Lock() // a run that is being bound is either seen below or refused
	d.situation.mu.Lock()
	old, known := d.situation.closedBy[name]
	if known = known && old.Message == why.Message; known {
		why = old
	}
	d.situation.closedBy[name] = why
	d.situation.mu.Unlock()
	d.active.binding.Unlock()
	r := &rejection{why: cause.Error(), findings: findings, retry: errPrepare}
	if !known { // otherwise the same push closed it before
		r.closes = &name
	}
	return r
}

// stopExecutor ends the runs of an executor that a rejection closed. The empty name is all executors.
func (d *application) stopExecutor(ctx context.Context, name, digest, why string) error {
	d.cfg.Stop(name)
	rec := d.active.Record(audit.ExecutorClosed)
	rec.Digest, rec.Capability = digest, "executor:"+name
	rec.Detail = map[string]string{"reason": why}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	return err
}
