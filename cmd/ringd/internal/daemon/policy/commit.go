package policy

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// activate checks a set against its guardrails, prepares it on every ring and commits it. It returns *rejection or
// *unstored if that fails. applying is held.
func (d *application) activate(ctx context.Context, c candidate) error {
	p := c.Push
	set, err := profiles.Unexpired(c.set, d.cfg.Clock.Now()) // a signed set may be older than the end of its exceptions
	if err != nil {
		return &rejection{why: err.Error(), findings: c.findings}
	}
	findings, err := d.applyGuardrails(ctx, c, set)
	if err != nil {
		return err
	}
	d.situation.mu.Lock()
	number := d.situation.lastNumber + 1
	d.situation.mu.Unlock()
	d.cfg.Recorder.Prepare(number)
	commits, err := d.active.prepare(ctx, set)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return d.prepareFailed(p, err, findings)
	}
	raw, err := set.Encode()
	if err != nil {
		return &rejection{why: err.Error(), findings: findings}
	}
	if c.signed != nil {
		raw = c.signed.Raw // a restart verifies its signatures again
	}
	now := d.cfg.Clock.Now()
	rec := audit.Record{
		Kind:       audit.PushApplied,
		Actor:      self,
		Generation: number,
		Revision:   set.Revision,
		Digest:     p.Digest,
		Detail:     signedDetail(c.signed),
	}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return &unstored{cause: err}
	}
	ctx = context.WithoutCancel(ctx) // the log has it as applied
	if err := d.verifier.storeAccepted(ctx, c.signed, number, now); err != nil {
		return &unstored{cause: err, applied: &rec}
	}
	err = d.cfg.Generations.PutGeneration(ctx, store.Generation{
		Number: number, Revision: storedRevision(c.signed, c.set, set), Set: raw, Activated: now, Fresh: now})
	if err != nil {
		d.cfg.Metrics.Fault("store")
		return &unstored{fmt.Errorf("%w: keep generation %d: %w", records.ErrUnavailable, number, err), &rec}
	}
	d.situation.sourceGood()
	g := d.active.generation(number, now, p.Digest, set, c.signed)
	g.source = c.set.Revision
	d.active.commit(g, commits)
	d.active.recordRestarts(ctx)
	d.situation.setLastPush(wire.Push{Digest: p.Digest, Revision: set.Revision, Result: wire.PushApplied, At: now,
		Findings: view.Findings(findings)})
	d.cfg.Logger.Info("push applied", "generation", number, "revision", set.Revision)
	return nil
}

// commit makes g the generation in force on all rings at once. A nil g closes them. commit cannot fail. No
// run is bound while it swaps. It opens every executor.
func (d *activation) commit(g *Generation, commits []func()) { d.commitExcept(g, commits, nil) }

// commitExcept is commit, except for the executors that stay closed.
func (d *activation) commitExcept(g *Generation, commits []func(), closed map[string]closing) {
	d.binding.Lock()
	d.swap.Lock()
	if d.cfg.Lock.State() == nil { // otherwise the rings stay closed, and get it when the lockdown is lifted
		for _, c := range commits {
			c()
		}
	}
	d.swap.Unlock()
	d.inForce.Store(g)
	select {
	case d.situation.wake <- struct{}{}: // other exceptions may end sooner
	default:
	}
	d.situation.mu.Lock()
	if g != nil {
		d.situation.lastNumber = g.Number
		d.situation.stale = nil
	}
	clear(d.situation.closedBy)
	maps.Copy(d.situation.closedBy, closed)
	turned := d.situation.turned
	d.situation.turned = make(chan struct{})
	d.situation.mu.Unlock()
	d.binding.Unlock()
	close(turned)
	d.situation.wakeWatch() // it may expire
	d.cfg.Turn()
	if g == nil {
		d.cfg.Metrics.InForce(0)
		return
	}
	d.cfg.Metrics.InForce(g.Number)
}

func (d *activation) generation(
	number int64,
	at time.Time,
	digest string,
	set *profiles.Set,
	signed *trust.Push,
) *Generation {
	g := &Generation{
		Number:    number,
		Revision:  set.Revision,
		source:    set.Revision,
		digest:    digest,
		Set:       set,
		Activated: at,
		Signed:    withoutSet(signed),
		deciders:  make(map[string]*profiles.Decider, len(set.Agents)),
	}
	here := set.In(d.cfg.Workspace)
	for name := range here.Agents {
		g.deciders[name] = here.Decider(name, d.cfg.Environment)
	}
	return g
}

// recordRestarts records each part that must be restarted before it can take the new generation. The generation
// stays in any case. A record that cannot be written closes the log, and with it everything.
func (d *activation) recordRestarts(ctx context.Context) {
	for _, r := range d.cfg.Rings {
		if part := stateOf(r); part.State == wire.PartRestartNeeded {
			d.restart(ctx, "ring:"+part.Name, part.Reason)
		}
		reporter, ok := r.(Reporter)
		if !ok {
			continue
		}
		for _, e := range reporter.Status() {
			if e.State == wire.PartRestartNeeded {
				d.restart(ctx, "executor:"+e.Name, e.Reason)
			}
		}
	}
}

func (d *activation) restart(ctx context.Context, what, why string) {
	rec := d.Record(audit.RestartNeeded)
	rec.Capability, rec.State, rec.Detail = what, wire.PartRestartNeeded, map[string]string{"reason": why}
	if _, err := d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written); err != nil {
		d.cfg.Logger.Error("record what needs a restart", "part", what, "error", err)
	}
}
