package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// ApplyPush brings a verified push in force, or refuses it whole. One push is
// applied at a time; of those that wait the newest is, and the others get
// ErrSuperseded. A push whose digest or revision is in force changes nothing
// but proves that the source is well.
//
// nil: the push is in force, or was. ErrRejected, wrapped with the reason: it
// was refused and Status has the findings; the generation before it stays until
// the staleness limit. records.ErrUnavailable: nothing was written, so nothing changed.
func (d *Holder) ApplyPush(ctx context.Context, p syncer.Push) error {
	ticket := d.newest.Add(1)
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	if d.newest.Load() != ticket {
		return ErrSuperseded
	}
	return d.apply(ctx, p)
}

// apply is ApplyPush with applying held.
func (d *Holder) apply(ctx context.Context, p syncer.Push) error {
	// What an executor's rejection closed opens with a commit, of the same set too.
	closed := len(d.closedExecutors()) > 0
	signed, err := d.verify(ctx, p)
	if err != nil {
		return d.refuse(ctx, p.Digest, err)
	}
	if g := d.inForce.Load(); g != nil && p.Digest != "" && g.digest == p.Digest && !closed {
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
		return errors.Join(d.reject(ctx, p.Digest, "the compiler could not be run: "+err.Error(), findings), errCompiler)
	case busy(findings):
		return errors.Join(d.reject(ctx, p.Digest, "the host is too busy, or too short of something, to compile the policy now: it is tried again", findings), errCompiler)
	case findings.Refused() || set == nil:
		return d.reject(ctx, p.Digest, "the policy does not compile", findings)
	}
	if ended(findings) {
		return d.endedPush(ctx, p, set, findings)
	}
	if g := d.inForce.Load(); g != nil && g.source == set.Revision && g.sameSigned(signed) && !closed {
		return d.confirm(ctx, g, p.Digest, findings)
	}
	next := coming{p, signed, set, findings}
	if d.cfg.Lock.State() != nil {
		return d.await(next)
	}
	return d.activate(ctx, next)
}

// aside is the warning about what lies beside a signed push; nil for sources, and empty
// where nothing does.
func aside(signed *trust.Push, p syncer.Push) schema.Diagnostics {
	switch {
	case signed == nil:
		return nil
	case p.Beside == "":
		return schema.Diagnostics{}
	}
	return schema.Diagnostics{{Pos: schema.Pos{File: trust.FileName, Line: 1, Column: 1}, Code: string(trust.CodeMixed), Severity: schema.Warning, Msg: p.Beside}}
}

// busy reports whether the compiler ended for a reason that lies in the host
// and not in the policy.
func busy(findings schema.Diagnostics) bool {
	return slices.ContainsFunc(findings, func(d schema.Diagnostic) bool { return d.Code == worker.CodeBusy })
}

// RejectPush takes note of a push that could not be verified: torn, unreadable,
// with links out of its folder. digest may be "". The generation in force stays
// until the staleness limit. The error is of the kind that ApplyPush returns.
func (d *Holder) RejectPush(ctx context.Context, digest string, findings schema.Diagnostics, why string) error {
	d.newest.Add(1)
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	return d.reject(ctx, digest, why, findings)
}

// unread takes note of a folder whose content is no push.
func (d *Holder) unread(ctx context.Context, cause error) error {
	if d.cfg.Trust == nil {
		return d.RejectPush(ctx, "", nil, cause.Error())
	}
	d.newest.Add(1)
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	return d.refuse(ctx, "", refusalOf(cause))
}

// SyncLost takes note that the place pushes come from is gone. The generation
// in force stays until the staleness limit; the next good push ends the state.
func (d *Holder) SyncLost(ctx context.Context, why string) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	now := d.cfg.Clock.Now()
	d.mu.Lock()
	_, known := d.trouble[wire.ConditionSyncLost]
	d.mu.Unlock()
	d.troubled(wire.Condition{Code: wire.ConditionSyncLost, Message: why + "; put it back: ringd looks for it, and goes on by itself", Since: now}, now)
	if known {
		return nil
	}
	d.cfg.Logger.Warn("sync directory is lost", "reason", why)
	rec := d.Record(audit.PushRejected)
	rec.Detail = map[string]string{"reason": "sync_lost: " + why}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Written)
	if d.gone(ctx, "") {
		d.mu.Lock()
		d.reread = true
		d.mu.Unlock()
	}
	return errors.Join(err, d.closeIfStale(ctx))
}

func (d *Holder) acquire(ctx context.Context) error {
	select {
	case d.applying <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *Holder) release() { <-d.applying }

// activate prepares a set on every ring and commits it, once no guardrail refuses it.
// applying is held.
func (d *Holder) activate(ctx context.Context, c coming) error {
	p := c.Push
	set, err := profiles.Unexpired(c.set, d.cfg.Clock.Now()) // a signed one may be older than its exceptions
	if err != nil {
		return d.reject(ctx, p.Digest, err.Error(), c.findings)
	}
	findings, err := d.guarded(ctx, c, set)
	if err != nil {
		return err
	}
	d.mu.Lock()
	number := d.lastNumber + 1
	d.mu.Unlock()
	d.cfg.Recorder.Prepare(number)
	commits, err := d.prepare(ctx, set)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return d.prepareFailed(ctx, p, err, findings)
	}
	raw, err := set.Encode()
	if err != nil {
		return d.reject(ctx, p.Digest, err.Error(), findings)
	}
	if c.signed != nil {
		raw = c.signed.Raw // whose signatures a restart verifies again
	}
	now := d.cfg.Clock.Now()
	rec := audit.Record{Kind: audit.PushApplied, Actor: self, Generation: number, Revision: set.Revision, Digest: p.Digest, Detail: detailOf(c.signed)}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return d.notKept(ctx, p, err)
	}
	if err := d.accept(ctx, c.signed, number, now); err != nil {
		return d.notApplied(ctx, rec, p, err)
	}
	err = d.cfg.Generations.PutGeneration(ctx, store.Generation{
		Number: number, Revision: keptRevision(c.signed, c.set, set), Set: raw, Activated: now, Fresh: now})
	if err != nil {
		d.cfg.Metrics.Fault("store")
		return d.notApplied(ctx, rec, p, fmt.Errorf("%w: keep generation %d: %w", records.ErrUnavailable, number, err))
	}
	d.well()
	g := d.generation(number, now, p.Digest, set, c.signed)
	g.source = c.set.Revision
	d.commit(g, commits)
	d.restarts(ctx)
	d.pushed(wire.Push{Digest: p.Digest, Revision: set.Revision, Result: wire.PushApplied, At: now,
		Findings: view.Findings(findings)})
	d.cfg.Logger.Info("push applied", "generation", number, "revision", set.Revision)
	return nil
}

// prepare asks every ring, and returns the commits only when all are ready. Rings see
// $WORKSPACE as this host names it.
func (d *Holder) prepare(ctx context.Context, set *profiles.Set) ([]func(), error) {
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

// commit makes g the generation in force on all rings at once; nil closes. It
// cannot fail. No run is bound while it swaps. No executor stays closed.
func (d *Holder) commit(g *Generation, commits []func()) { d.commitBut(g, commits, nil) }

// commitBut is commit, but for the executors that stay closed.
func (d *Holder) commitBut(g *Generation, commits []func(), closed map[string]closing) {
	d.binding.Lock()
	d.swap.Lock()
	if d.cfg.Lock.State() == nil { // else the rings stay closed, and get it when the lockdown is lifted
		for _, c := range commits {
			c()
		}
	}
	d.swap.Unlock()
	d.inForce.Store(g)
	select {
	case d.wake <- struct{}{}: // other exceptions end at other times
	default:
	}
	d.mu.Lock()
	if g != nil {
		d.lastNumber = g.Number
		d.stale = nil
	}
	clear(d.closedBy)
	maps.Copy(d.closedBy, closed)
	turned := d.turned
	d.turned = make(chan struct{})
	d.mu.Unlock()
	d.binding.Unlock()
	close(turned)
	d.poke() // it may expire
	d.cfg.Turn()
	if g == nil {
		d.cfg.Metrics.InForce(0)
		return
	}
	d.cfg.Metrics.InForce(g.Number)
}

// prepareFailed closes the executor that rejected its profile, or all of them
// when the ring names none, and refuses the push. Where the host could only not look,
// nothing is closed: the push may be taken later.
func (d *Holder) prepareFailed(ctx context.Context, p syncer.Push, cause error, findings schema.Diagnostics) error {
	if later := (interface{ Later() bool })(nil); errors.As(cause, &later) && later.Later() { // nothing rejects it
		return errors.Join(d.reject(ctx, p.Digest, "the host could not look at what the policy needs: "+cause.Error(), findings), errPrepare)
	}
	name := ""
	var named interface{ Executor() string }
	if errors.As(cause, &named) {
		name = named.Executor()
	}
	why := closing{wire.Condition{Code: wire.ConditionExecutorClosed, Since: d.cfg.Clock.Now(),
		Message: cause.Error() + "; closed by push " + short(p.Digest) + ", which is refused"}, p.Digest}
	d.binding.Lock() // a run that is being bound is either seen below or refused
	d.mu.Lock()
	old, known := d.closedBy[name]
	if known = known && old.Message == why.Message; known {
		why = old
	}
	d.closedBy[name] = why
	d.mu.Unlock()
	d.binding.Unlock()
	refused := errors.Join(d.reject(ctx, p.Digest, cause.Error(), findings), errPrepare)
	if known { // the same push, asked for again
		return refused
	}
	d.cfg.Stop(name)
	rec := d.Record(audit.ExecutorClosed)
	rec.Digest, rec.Capability = p.Digest, "executor:"+name
	rec.Detail = map[string]string{"reason": cause.Error()}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	return errors.Join(refused, err)
}

// short is what a person needs of a digest.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// notApplied is notKept for a push of which the log says already that it was applied:
// it takes that back, where it can.
func (d *Holder) notApplied(ctx context.Context, said audit.Record, p syncer.Push, cause error) error {
	rec := d.Record(audit.PushRejected)
	rec.Digest = p.Digest
	rec.Detail = map[string]string{"reason": fmt.Sprintf("generation %d of revision %s was not applied: %v", said.Generation, said.Revision, cause)}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Written)
	return errors.Join(d.notKept(ctx, p, cause), err)
}

// unwritten is what status says then; the paths are for the log of the daemon.
const unwritten = "audit or store cannot be written; the log of the daemon says why"

// notKept refuses a push that could not be written down. Nothing was committed.
func (d *Holder) notKept(ctx context.Context, p syncer.Push, cause error) error {
	now := d.cfg.Clock.Now()
	d.pushed(wire.Push{Digest: p.Digest, Result: wire.PushRejected, At: now,
		Message: unwritten, Findings: []wire.Diagnostic{}})
	d.troubled(wire.Condition{Code: wire.ConditionPushRejected, Since: now,
		Message: unwritten}, now)
	d.cfg.Logger.Error("push not applied", "digest", p.Digest, "error", cause)
	return errors.Join(cause, d.closeIfStale(ctx))
}

// reject refuses a push. applying is held. The same push refused again for the
// same reason is not recorded again: the source is read every few seconds.
func (d *Holder) reject(ctx context.Context, digest, why string, findings schema.Diagnostics) error {
	return d.rejectAs(ctx, "", digest, why, findings)
}

// rejectAs is reject with the code of a push that was not verified.
func (d *Holder) rejectAs(ctx context.Context, code trust.Code, digest, why string, findings schema.Diagnostics) error {
	now := d.cfg.Clock.Now()
	d.mu.Lock()
	last := d.lastPush
	again := last != nil && last.Result == wire.PushRejected && last.Digest == digest && last.Message == why
	d.mu.Unlock()
	d.pushed(wire.Push{Digest: digest, Result: wire.PushRejected, Code: string(code), At: now, Message: why, Findings: view.Findings(findings)})
	d.troubled(wire.Condition{Code: wire.ConditionPushRejected, Message: why, Since: now}, now)
	refused := &RejectedError{why}
	var err error
	if !again {
		attrs := []any{"digest", digest, "reason", why, "findings", len(findings)}
		if len(findings) > 0 {
			attrs = append(attrs, "first", line(findings[0]))
		}
		d.cfg.Logger.Warn("push refused", attrs...)
		rec := d.Record(audit.PushRejected)
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
	d.gone(ctx, digest)
	return errors.Join(refused, err, d.closeIfStale(ctx))
}

// line is a finding as the daemon's log has it.
func line(f schema.Diagnostic) string {
	const most = 400
	text := f.Pos.String() + ": " + f.Code + ": " + f.Msg
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// confirm notes that the source is well and brings what is in force.
func (d *Holder) confirm(ctx context.Context, g *Generation, digest string, findings schema.Diagnostics) error {
	now := d.cfg.Clock.Now()
	if err := d.cfg.Generations.Freshen(ctx, g.Number, now); err != nil {
		d.cfg.Metrics.Fault("store")
		return fmt.Errorf("%w: freshen generation %d: %w", records.ErrUnavailable, g.Number, err)
	}
	d.well()
	d.mu.Lock()
	last := d.lastPush
	d.waiting = nil // what came during a lockdown was taken back
	d.mu.Unlock()
	push := wire.Push{Digest: digest, Revision: g.Revision, Result: wire.PushUnchanged, At: now, Findings: view.Findings(findings)}
	if findings == nil && last != nil && last.Digest == digest {
		push.Findings = last.Findings
	}
	d.pushed(push)
	if g.digest == digest {
		return nil
	}
	again := *g
	again.digest = digest
	d.inForce.CompareAndSwap(g, &again)
	return nil
}

// pushed makes p the last push of the status.
func (d *Holder) pushed(p wire.Push) {
	d.cfg.Metrics.Pushed(p.Result)
	d.mu.Lock()
	d.lastPush = &p
	d.mu.Unlock()
}

// troubled notes that the source is not good, since the given time if it was
// good before, and makes the watch loop look.
func (d *Holder) troubled(c wire.Condition, since time.Time) {
	d.mu.Lock()
	if len(d.trouble) == 0 {
		d.troubledAt = since
	}
	if old, ok := d.trouble[c.Code]; ok {
		c.Since = old.Since
	}
	d.trouble[c.Code] = c
	d.mu.Unlock()
	d.poke()
}

// poke makes the watch loop look.
func (d *Holder) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// well notes that the source is good.
func (d *Holder) well() {
	d.mu.Lock()
	clear(d.trouble)
	clear(d.closedBy)
	d.mu.Unlock()
}

// Record starts a record of what the daemon does under the generation in force.
func (d *Holder) Record(k audit.Kind) audit.Record {
	rec := audit.Record{Kind: k, Actor: self}
	if g := d.inForce.Load(); g != nil {
		rec.Generation, rec.Revision = g.Number, g.Revision
	}
	return rec
}
