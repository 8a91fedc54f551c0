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

// application applies pushes. A push is verified (verify.go), compiled, prepared on every ring
// (prepare.go) and committed (commit.go), or refused (refuse.go).
type application struct {
	cfg       *Config
	situation *situation
	active    *activation
	verifier  *verifier
	closings  *closings

	newest atomic.Int64 // the ticket of the last push that came
}

// ApplyPush brings a verified push in force, or refuses it whole. One push is
// applied at a time; of those that wait the newest is, and the others get
// ErrSuperseded. A push whose digest or revision is in force changes nothing
// but proves that the source is well.
//
// nil: the push is in force, or was. ErrRejected, wrapped with the reason: it
// was refused and Status has the findings; the generation before it stays until
// the staleness limit. records.ErrUnavailable: nothing was written, so nothing changed.
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
		return d.confirm(ctx, g, p.Digest, aside(signed, p))
	}
	var set *profiles.Set
	var findings schema.Diagnostics
	if signed != nil {
		set, findings = signed.Policy, aside(signed, p)
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
	case busy(findings):
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
	if ended(findings) {
		return d.endedPush(ctx, p, set, findings)
	}
	if g := d.active.inForce.Load(); g != nil && g.source == set.Revision && g.sameSigned(signed) && !closed {
		return d.confirm(ctx, g, p.Digest, findings)
	}
	next := coming{p, signed, set, findings}
	if d.cfg.Lock.State() != nil {
		return d.await(next)
	}
	return d.activate(ctx, next)
}

// RejectPush takes note of a push that could not be verified: torn, unreadable,
// with links out of its folder. digest may be "". The generation in force stays
// until the staleness limit. The error is of the kind that ApplyPush returns.
func (d *application) RejectPush(ctx context.Context, digest string, findings schema.Diagnostics, why string) error {
	d.newest.Add(1)
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	return d.reject(ctx, digest, why, findings)
}

// unread takes note of a folder whose content is no push.
func (d *application) unread(ctx context.Context, cause error) error {
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

// SyncLost takes note that the place pushes come from is gone. The generation
// in force stays until the staleness limit; the next good push ends the state.
func (d *application) SyncLost(ctx context.Context, why string) error {
	if err := d.situation.acquire(ctx); err != nil {
		return err
	}
	defer d.situation.release()
	now := d.cfg.Clock.Now()
	d.situation.mu.Lock()
	_, known := d.situation.trouble[wire.ConditionSyncLost]
	d.situation.mu.Unlock()
	d.situation.troubled(
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
	if d.gone(ctx, "") {
		d.situation.mu.Lock()
		d.situation.reread = true
		d.situation.mu.Unlock()
	}
	return errors.Join(err, d.closings.closeIfStale(ctx))
}

// endedPush decides on a push with ended exceptions: the one in force is confirmed,
// another one is refused. applying is held.
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
