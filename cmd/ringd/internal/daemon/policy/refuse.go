package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// reject refuses a push. applying is held. It does not record the same push and reason twice, because the
// source is read every few seconds.
func (d *application) reject(ctx context.Context, digest, why string, findings schema.Diagnostics) error {
	return d.rejectAs(ctx, "", digest, why, findings)
}

// rejectAs is reject with the code of a push that was not verified.
func (d *application) rejectAs(
	ctx context.Context,
	code trust.Code,
	digest, why string,
	findings schema.Diagnostics,
) error {
	now := d.cfg.Clock.Now()
	d.situation.mu.Lock()
	last := d.situation.lastPush
	again := last != nil && last.Result == wire.PushRejected && last.Digest == digest && last.Message == why
	d.situation.mu.Unlock()
	d.situation.setLastPush(
		wire.Push{
			Digest:   digest,
			Result:   wire.PushRejected,
			Code:     string(code),
			At:       now,
			Message:  why,
			Findings: view.Findings(findings),
		},
	)
	d.situation.sourceBad(wire.Condition{Code: wire.ConditionPushRejected, Message: why, Since: now}, now)
	refused := &RejectedError{why}
	var err error
	if !again {
		attrs := []any{"digest", digest, "reason", why, "findings", len(findings)}
		if len(findings) > 0 {
			attrs = append(attrs, "first", formatFinding(findings[0]))
		}
		d.cfg.Logger.Warn("push refused", attrs...)
		rec := d.active.Record(audit.PushRejected)
		rec.Digest = digest
		rec.Detail = map[string]string{"reason": why, "findings": fmt.Sprint(len(findings))}
		if code != "" {
			rec.Detail["code"] = string(code)
		}
		if len(findings) > 0 {
			rec.Detail["first"] = findings[0].Pos.String() + ": " + findings[0].Code
		}
		_, err = d.cfg.Recorder.Append(ctx, rec, audit.Written)
	}
	d.reopenExecutors(ctx, digest)
	return errors.Join(refused, err, d.closings.closeIfStale(ctx))
}

// refuse refuses a push that was not verified. applying is held.
func (d *application) refuse(ctx context.Context, digest string, cause error) error {
	var r *trust.Refusal
	if ctx.Err() != nil || !errors.As(cause, &r) {
		return errors.Join(ctx.Err(), cause)
	}
	err := d.rejectAs(ctx, r.Code, digest, r.Error(), nil)
	if r.Later {
		err = errors.Join(err, errLater)
	}
	return err
}

// confirm notes that the source is good and delivers what is in force.
func (d *application) confirm(ctx context.Context, g *Generation, digest string, findings schema.Diagnostics) error {
	now := d.cfg.Clock.Now()
	if err := d.cfg.Generations.Freshen(ctx, g.Number, now); err != nil {
		d.cfg.Metrics.Fault("store")
		return fmt.Errorf("%w: freshen generation %d: %w", records.ErrUnavailable, g.Number, err)
	}
	d.situation.sourceGood()
	d.situation.mu.Lock()
	last := d.situation.lastPush
	d.situation.waiting = nil // the push that arrived during a lockdown was taken back
	d.situation.mu.Unlock()
	push := wire.Push{
		Digest:   digest,
		Revision: g.Revision,
		Result:   wire.PushUnchanged,
		At:       now,
		Findings: view.Findings(findings),
	}
	if findings == nil && last != nil && last.Digest == digest {
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

// rejectUnstored refuses a push that the store could not keep. Nothing was committed.
func (d *application) rejectUnstored(ctx context.Context, p syncer.Push, cause error) error {
	now := d.cfg.Clock.Now()
	d.situation.setLastPush(wire.Push{Digest: p.Digest, Result: wire.PushRejected, At: now,
		Message: unwritableText, Findings: []wire.Diagnostic{}})
	d.situation.sourceBad(wire.Condition{Code: wire.ConditionPushRejected, Since: now,
		Message: unwritableText}, now)
	d.cfg.Logger.Error("push not applied", "digest", p.Digest, "error", cause)
	return errors.Join(cause, d.closings.closeIfStale(ctx))
}

// recordNotApplied is notKept for a push that the log has as applied. It records that the push was not applied, if
// it can.
func (d *application) recordNotApplied(ctx context.Context, said audit.Record, p syncer.Push, cause error) error {
	rec := d.active.Record(audit.PushRejected)
	rec.Digest = p.Digest
	rec.Detail = map[string]string{
		"reason": fmt.Sprintf(
			"generation %d of revision %s was not applied: %v",
			said.Generation,
			said.Revision,
			cause,
		),
	}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Written)
	return errors.Join(d.rejectUnstored(ctx, p, cause), err)
}
