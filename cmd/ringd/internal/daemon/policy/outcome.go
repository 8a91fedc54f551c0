package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// rejection is the error of a step that refuses a push.
type rejection struct {
	why      string
	findings schema.Diagnostics
	code     trust.Code // of a push that was not verified, else empty
	retry    error      // errCompiler, errPrepare or errLater if the same push may succeed later, else nil
	closes   *string    // the executor that the push has closed, empty for all, or nil
	outside  bool       // the reason is not in the folder, whose push is still the same
}

func (r *rejection) Error() string { return r.why }

// unchanged is the error of a step that finds a push in force already.
type unchanged struct {
	generation *Generation
	findings   schema.Diagnostics
}

func (*unchanged) Error() string { return "the push is in force" }

// unstored is the error of a step that could not record or store a push. Nothing was committed.
type unstored struct {
	cause   error
	applied *audit.Record // a record that says that the push was applied, or nil
}

func (u *unstored) Error() string { return u.cause.Error() }

// end records how a push ended whose last step returned err, and returns the error of ApplyPush. applying is held.
func (d *application) end(ctx context.Context, digest string, err error) error {
	var (
		same    *unchanged
		lost    *unstored
		refused *rejection
		untrust *trust.Refusal
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &same):
		return d.confirm(ctx, same, digest)
	case errors.As(err, &lost):
		return d.rejectUnstored(ctx, digest, lost)
	case errors.As(err, &refused):
	case errors.As(err, &untrust) && ctx.Err() == nil:
		refused = &rejection{why: untrust.Error(), code: untrust.Code}
		if untrust.Later {
			refused.retry = errLater
		}
	default:
		return err
	}
	return d.reject(ctx, digest, refused)
}

// reject refuses a push. It does not record the same push and reason twice, because the source is read every few
// seconds.
func (d *application) reject(ctx context.Context, digest string, r *rejection) error {
	now := d.cfg.Clock.Now()
	d.situation.mu.Lock()
	last := d.situation.lastPush
	again := last != nil && last.Result == wire.PushRejected && last.Digest == digest && last.Message == r.why
	d.situation.mu.Unlock()
	d.situation.setLastPush(wire.Push{Digest: digest, Result: wire.PushRejected, Code: string(r.code), At: now,
		Message: r.why, Findings: view.Findings(r.findings)})
	d.situation.sourceBad(wire.Condition{Code: wire.ConditionPushRejected, Message: r.why, Since: now}, now)
	var err error
	if !again {
		err = d.recordRejection(ctx, digest, r)
	}
	if !r.outside {
		d.reopenExecutors(ctx, digest)
	}
	err = errors.Join(&RejectedError{r.why}, err, d.closings.closeIfStale(ctx), r.retry)
	if r.closes != nil {
		err = errors.Join(err, d.stopExecutor(ctx, *r.closes, digest, r.why))
	}
	return err
}

func (d *application) recordRejection(ctx context.Context, digest string, r *rejection) error {
	attrs := []any{"digest", digest, "reason", r.why, "findings", len(r.findings)}
	rec := d.active.Record(audit.PushRejected)
	rec.Digest = digest
	rec.Detail = map[string]string{"reason": r.why, "findings": fmt.Sprint(len(r.findings))}
	if r.code != "" {
		rec.Detail["code"] = string(r.code)
	}
	if len(r.findings) > 0 {
		attrs = append(attrs, "first", formatFinding(r.findings[0]))
		rec.Detail["first"] = r.findings[0].Pos.String() + ": " + r.findings[0].Code
	}
	d.cfg.Logger.Warn("push refused", attrs...)
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Written)
	return err
}

// confirm records that the source is good and still has what is in force.
func (d *application) confirm(ctx context.Context, same *unchanged, digest string) error {
	now, g := d.cfg.Clock.Now(), same.generation
	if err := d.cfg.Generations.Freshen(ctx, g.Number, now); err != nil {
		d.cfg.Metrics.Fault("store")
		return fmt.Errorf("%w: freshen generation %d: %w", records.ErrUnavailable, g.Number, err)
	}
	d.situation.sourceGood()
	d.situation.mu.Lock()
	last := d.situation.lastPush
	d.situation.waiting = nil // the push that arrived during a lockdown was taken back
	d.situation.mu.Unlock()
	push := wire.Push{Digest: digest, Revision: g.Revision, Result: wire.PushUnchanged, At: now,
		Findings: view.Findings(same.findings)}
	if same.findings == nil && last != nil && last.Digest == digest {
		push.Findings = last.Findings
	}
	d.situation.setLastPush(push)
	if g.digest == digest {
		return nil
	}
	again := *g
	again.digest = digest
	d.active.inForce.CompareAndSwap(g, &again)
	return nil
}

// rejectUnstored refuses a push that could not be stored. It first records that the push was not applied, if the log
// has it as applied.
func (d *application) rejectUnstored(ctx context.Context, digest string, u *unstored) error {
	var unrecorded error
	if u.applied != nil {
		rec := d.active.Record(audit.PushRejected)
		rec.Digest = digest
		rec.Detail = map[string]string{"reason": fmt.Sprintf("generation %d of revision %s was not applied: %v",
			u.applied.Generation, u.applied.Revision, u.cause)}
		_, unrecorded = d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written)
	}
	now := d.cfg.Clock.Now()
	d.situation.setLastPush(wire.Push{Digest: digest, Result: wire.PushRejected, At: now,
		Message: unwritableText, Findings: []wire.Diagnostic{}})
	d.situation.sourceBad(wire.Condition{Code: wire.ConditionPushRejected, Since: now, Message: unwritableText}, now)
	d.cfg.Logger.Error("push not applied", "digest", digest, "error", u.cause)
	return errors.Join(u.cause, d.closings.closeIfStale(ctx), unrecorded)
}
