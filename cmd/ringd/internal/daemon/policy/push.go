package policy

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// application applies pushes. A push is verified (verify.go), compiled, prepared on every ring (prepare.go)
// and committed (commit.go), or refused (refuse.go).
type application struct {
	cfg       *Config
	situation *situation
	active    *activation
	verifier  *verifier
	closings  *closings

	newest atomic.Int64 // ticket of the newest push
}

// ApplyPush brings a verified push into force, or refuses it as a whole. It applies one push at a time. Of
// the waiting pushes the newest is applied, and the others get ErrSuperseded. A push whose digest or revision
// is in force changes nothing, but proves that the source is good.
//
// It returns nil if the push is in force. ErrRejected, wrapped with the reason, means that it was refused:
// Status has the findings, and the previous generation stays until the staleness limit.
// records.ErrUnavailable means that nothing was written, so nothing changed.
func (d *application) ApplyPush(ctx context.Context, p syncer.Push) error {
	ticket := d.newest.Add(1)
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	if d.newest.Load() != ticket {
		return ErrSuperseded
	}
	return d.apply(ctx, p)
}

// apply is ApplyPush with applying held.
func (d *application) apply(ctx context.Context, p syncer.Push) error {
	// A commit opens the executors that a rejection closed, also if it commits the same set.
	closed := len(d.situation.closedExecutors()) > 0
	signed, err := d.verifier.verify(ctx, p)
	if err != nil {
		return d.refuse(ctx, p.Digest, err)
	}
	if g := d.active.inForce.Load(); g != nil && p.Digest != "" && g.digest == p.Digest && !closed {
		return d.confirm(ctx, g, p.Digest, besideWarning(signed, p))
	}
	var set *profiles.Set
	var findings schema.Diagnostics
	if signed != nil {
		set, findings = signed.Policy, besideWarning(signed, p)
	} else {
		set, findings, err = d.cfg.Compiler.Compile(ctx, p)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errors.Join(
			d.reject(ctx, p.Digest, "the compiler could not be run: "+err.Error(), findings),
			errCompiler,
		)
	case hostFault(findings):
		return errors.Join(
			d.reject(
				ctx,
				p.Digest,
				"the host is too busy, or short of a resource, to compile the policy now: ringd tries again",
				findings,
			),
			errCompiler,
		)
	case findings.Refused() || set == nil:
		return d.reject(ctx, p.Digest, "the policy does not compile", findings)
	}
	if hasEnded(findings) {
		return d.endedPush(ctx, p, set, findings)
	}
	if g := d.active.inForce.Load(); g != nil && g.source == set.Revision && g.sameSigned(signed) && !closed {
		return d.confirm(ctx, g, p.Digest, findings)
	}
	next := candidate{p, signed, set, findings}
	if d.cfg.Lock.State() != nil {
		return d.keepForLift(next)
	}
	return d.activate(ctx, next)
}

// RejectPush records a push that could not be verified: torn, unreadable, or with links out of its folder.
// digest may be empty. The generation in force stays until the staleness limit. Errors are those of
// [application.ApplyPush].
func (d *application) RejectPush(ctx context.Context, digest string, findings schema.Diagnostics, why string) error {
	d.newest.Add(1)
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	return d.reject(ctx, digest, why, findings)
}

// rejectFolder records that the content of the folder is no push.
func (d *application) rejectFolder(ctx context.Context, cause error) error {
	if d.cfg.Trust == nil {
		return d.RejectPush(ctx, "", nil, cause.Error())
	}
	d.newest.Add(1)
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	return d.refuse(ctx, "", refusalOf(cause))
}

// SyncLost records that the source of pushes is gone. The generation in force stays until the staleness
// limit. The next good push ends the state.
func (d *application) SyncLost(ctx context.Context, why string) error {
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	now := d.cfg.Clock.Now()
	d.situation.mu.Lock()
	_, known := d.situation.sourceConditions[wire.ConditionSyncLost]
	d.situation.mu.Unlock()
	d.situation.sourceBad(
		wire.Condition{
			Code:    wire.ConditionSyncLost,
			Message: why + "; restore it: ringd looks for it, and continues by itself",
			Since:   now,
		},
		now,
	)
	if known {
		return nil
	}
	d.cfg.Logger.Warn("sync directory is lost", "reason", why)
	rec := d.active.Record(audit.PushRejected)
	rec.Detail = map[string]string{"reason": "sync_lost: " + why}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Written)
	if d.reopenExecutors(ctx, "") {
		d.situation.mu.Lock()
		d.situation.reread = true
		d.situation.mu.Unlock()
	}
	return errors.Join(err, d.closings.closeIfStale(ctx))
}

// endedPush handles a push with ended exceptions: it confirms the push in force and refuses any other.
// applying is held.
func (d *application) endedPush(
	ctx context.Context,
	p syncer.Push,
	set *profiles.Set,
	findings schema.Diagnostics,
) error {
	left, err := profiles.Unexpired(set, d.cfg.Clock.Now())
	if g := d.active.inForce.Load(); err == nil && g != nil && g.Revision == left.Revision &&
		len(d.situation.closedExecutors()) == 0 {
		return d.confirm(ctx, g, p.Digest, findings)
	}
	refused := slices.Clone(findings)
	for i := range refused {
		if refused[i].Code == layers.CodeExpired {
			refused[i].Severity = schema.Error
		}
	}
	return d.reject(ctx, p.Digest, "an exception of the policy has ended", refused)
}
