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

// application applies pushes. A push is verified (verify.go), compiled, prepared on every ring (prepare.go) and
// committed (commit.go). A step that ends a push earlier returns the reason as an error, and outcome.go records it.
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
	c, err := d.compile(ctx, p)
	switch {
	case err != nil:
	case d.cfg.Lock.State() != nil:
		return d.keepForLift(c)
	default:
		err = d.activate(ctx, c)
	}
	return d.end(ctx, p.Digest, err)
}

// compile verifies and compiles a push. It returns *unchanged if that is in force, and *rejection, a
// *trust.Refusal or the error of ctx if it cannot come into force.
func (d *application) compile(ctx context.Context, p syncer.Push) (candidate, error) {
	// A commit opens the executors that a rejection closed, also if it commits the same set.
	closed := len(d.situation.closedExecutors()) > 0
	signed, err := d.verifier.verify(ctx, p)
	if err != nil {
		return candidate{}, errors.Join(ctx.Err(), err)
	}
	g := d.active.inForce.Load()
	if g != nil && p.Digest != "" && g.digest == p.Digest && !closed {
		return candidate{}, &unchanged{g, besideWarning(signed, p)}
	}
	c := candidate{Push: p, signed: signed}
	if signed != nil {
		c.set, c.findings = signed.Policy, besideWarning(signed, p)
	} else {
		c.set, c.findings, err = d.cfg.Compiler.Compile(ctx, p)
	}
	g = d.active.inForce.Load()
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case err != nil:
		return c, &rejection{why: "the compiler could not be run: " + err.Error(), findings: c.findings,
			retry: errCompiler}
	case hostFault(c.findings):
		return c, &rejection{why: "the host is too busy, or short of a resource, to compile the policy now: " +
			"ringd tries again", findings: c.findings, retry: errCompiler}
	case c.findings.Refused() || c.set == nil:
		return c, &rejection{why: "the policy does not compile", findings: c.findings}
	case hasEnded(c.findings):
		return c, d.ended(g, c)
	case g != nil && g.source == c.set.Revision && g.sameSigned(signed) && !closed:
		return c, &unchanged{g, c.findings}
	}
	return c, nil
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
	return d.end(ctx, digest, &rejection{why: why, findings: findings})
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
	return d.end(ctx, "", refusalOf(cause))
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

// ended decides on a push whose policy has ended exceptions. It is *unchanged if the rest of it is in force, and else
// a *rejection.
func (d *application) ended(g *Generation, c candidate) error {
	left, err := profiles.Unexpired(c.set, d.cfg.Clock.Now())
	if err == nil && g != nil && g.Revision == left.Revision && len(d.situation.closedExecutors()) == 0 {
		return &unchanged{g, c.findings}
	}
	refused := slices.Clone(c.findings)
	for i := range refused {
		if refused[i].Code == layers.CodeExpired {
			refused[i].Severity = schema.Error
		}
	}
	return &rejection{why: "an exception of the policy has ended", findings: refused}
}
