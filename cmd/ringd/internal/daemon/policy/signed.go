package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// coming is a push on its way into force.
type coming struct {
	syncer.Push
	signed   *trust.Push // nil: its sources were compiled
	set      *profiles.Set
	findings schema.Diagnostics
}

// verify opens a signed push and says whether it may take force now. Without trust
// roots there is nothing to verify, and the result is nil.
func (d *Holder) verify(ctx context.Context, p syncer.Push) (*trust.Push, error) {
	if d.cfg.Trust == nil {
		for _, s := range p.Sources {
			if what := map[string]string{trust.FileName: "a signed push", trust.LockdownFile: "a signed lockdown order"}[s.Name]; what != "" {
				return nil, &trust.Refusal{Code: trust.CodeUntrusted, Reason: s.Name + " is " + what + ", and this host has no trust roots: write them into its configuration"}
			}
		}
		return nil, nil
	}
	signed, err := d.cfg.Trust.Open(ctx, p.Sources)
	if err != nil {
		return nil, err
	}
	before, err := d.before(ctx)
	if err != nil {
		return nil, err
	}
	return signed, d.cfg.Trust.Admit(ctx, signed, before, d.cfg.Clock.Now())
}

// refuse refuses a push that was not verified. applying is held.
func (d *Holder) refuse(ctx context.Context, digest string, cause error) error {
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

// sameSigned reports whether g came from the same statement, signed by the same keys.
func (g *Generation) sameSigned(p *trust.Push) bool {
	if g.Signed == nil || p == nil {
		return g.Signed == nil && p == nil
	}
	return g.Signed.Digest == p.Digest && slices.EqualFunc(g.Signed.Signers, p.Signers, func(a, b trust.Signer) bool { return a.Key == b.Key })
}

// accept makes a signed push the last one that was accepted, before it takes force.
// A rollback is on record first.
func (d *Holder) accept(ctx context.Context, p *trust.Push, number int64, now time.Time) error {
	if p == nil {
		return nil
	}
	if p.Rollback {
		rec := audit.Record{Kind: audit.PolicyRolledBack, Actor: self, Generation: number, Revision: p.Revision, Digest: p.Digest, Detail: detailOf(p)}
		if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
			return err
		}
	}
	if err := d.cfg.Trust.Accept(p, now); err != nil {
		d.cfg.Metrics.Fault("store")
		return fmt.Errorf("%w: %w", records.ErrUnavailable, err)
	}
	return nil
}

// detailOf is what the record of a signed push says of it.
func detailOf(p *trust.Push) map[string]string {
	if p == nil {
		return nil
	}
	keys := make([]string, len(p.Signers))
	for i, s := range p.Signers {
		keys[i] = s.Key
	}
	out := map[string]string{"sequence": fmt.Sprint(p.Sequence), "issuer": p.Issuer, "signers": strings.Join(keys, " "),
		"issued": p.Issued.Format(time.RFC3339), "expires": p.Expires.Format(time.RFC3339), "previous": p.Previous}
	if p.Audience != "" {
		out["audience"] = p.Audience
	}
	if p.Reason != "" {
		out["reason"] = p.Reason
	}
	return out
}

// signedOf is what a generation keeps of a push: not the set a second time.
func signedOf(p *trust.Push) *trust.Push {
	if p == nil {
		return nil
	}
	out := *p
	out.Set, out.Raw, out.Policy = nil, nil, nil
	return &out
}

// kept returns the set of a generation that was in force before a restart, and the
// push it came with. With trust roots it is verified again by those of now.
func (d *Holder) kept(ctx context.Context, g store.Generation, now time.Time) (*profiles.Set, *trust.Push, error) {
	if d.cfg.Trust == nil {
		set, err := profiles.DecodeSet(g.Set)
		return set, nil, err
	}
	p, err := d.cfg.Trust.Hold(ctx, g.Set, now)
	if err != nil {
		return nil, nil, err
	}
	return p.Policy, p, nil
}

// notHeld says that what was in force before a restart is not taken up again.
func (d *Holder) notHeld(ctx context.Context, g store.Generation, cause error) error {
	d.cfg.Logger.Warn("last generation does not verify: nothing is in force", "generation", g.Number, "error", cause)
	var r *trust.Refusal
	if !errors.As(cause, &r) {
		return nil
	}
	d.stale = &wire.Condition{Code: string(r.Code), Message: "the last generation is not taken up again: " + r.Reason, Since: d.cfg.Clock.Now()}
	rec := audit.Record{Kind: audit.PushRejected, Actor: self, Revision: g.Revision, Detail: map[string]string{"code": string(r.Code), "reason": r.Reason}}
	_, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	return err
}

// expiry is when the push of a generation expires.
func (d *Holder) expiry(g *Generation) (time.Time, bool) {
	if g == nil || g.Signed == nil {
		return time.Time{}, false
	}
	return g.Signed.Expires, true
}

// expired says whether the push of a generation has expired. Who finds that notes the
// time before anything is answered, so that the clock may go back and the process be
// killed the moment after, and has the watch loop close the generation.
func (d *Holder) expired(g *Generation) error {
	if g == nil || g.Signed == nil {
		return nil
	}
	expired, unkept := d.cfg.Trust.Overdue(g.Signed, d.cfg.Clock.Now())
	if unkept != nil {
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("note the time at which a push has expired", "error", unkept)
	}
	if expired != nil {
		d.poke()
	}
	return expired
}

// closeExpired closes a generation whose push has expired, if it is still in force.
// That time has passed is known to the caller: the clock may say another thing now.
func (d *Holder) closeExpired(ctx context.Context, g *Generation) {
	if d.acquire(ctx) != nil {
		return
	}
	defer d.release()
	now := d.inForce.Load()
	if now == nil || g == nil || now.Number != g.Number {
		return
	}
	d.closeOverdue(ctx, g)
}

// closeOverdue is closeExpired with applying held.
func (d *Holder) closeOverdue(ctx context.Context, g *Generation) {
	if err := errors.Join(d.close(ctx, d.over(g)), d.cfg.Trust.Seen(g.Signed.Expires)); err != nil {
		d.cfg.Logger.Error("an expired generation is closed, but not all of it is recorded", "error", err)
	}
}

// over is the condition of a generation whose push has expired.
func (d *Holder) over(g *Generation) wire.Condition {
	return wire.Condition{Code: string(trust.CodeExpired), Since: d.cfg.Clock.Now(),
		Message: fmt.Sprintf("push %d has expired at %s: everything is denied until a new one comes", g.Signed.Sequence, g.Signed.Expires.Format(time.RFC3339))}
}

// AcceptTime makes the time of this host's clock the latest that it has seen, on the word
// of an actor: the clock was ahead before and is right now. It is on record first. What
// was refused for the time is looked at again with the next look at the folder. Errors:
// *InvalidError, records.ErrUnavailable.
func (d *Holder) AcceptTime(ctx context.Context, actor, reason string) (wire.Clock, error) {
	if d.cfg.Trust == nil {
		return wire.Clock{}, &InvalidError{"", "this host has no trust roots, and so remembers no time"}
	}
	if err := d.acquire(ctx); err != nil {
		return wire.Clock{}, err
	}
	defer d.release()
	out, err := AcceptTime(ctx, d.cfg.Recorder, d.cfg.Trust, d.Record(audit.ClockAccepted), wire.Clock{Now: d.cfg.Clock.Now()}, actor, reason)
	if err != nil {
		return out, err
	}
	d.mu.Lock()
	if d.lastPush != nil && d.lastPush.Result == wire.PushRejected {
		d.lastPush = nil
	}
	d.mu.Unlock()
	d.poke()
	return out, nil
}

// seer keeps the latest time that a host has seen.
type seer interface {
	AcceptTime(now time.Time) (before time.Time, err error)
	LastSeen() time.Time
}

// maxReason bounds the reason of AcceptTime, in bytes.
const maxReason = 2000

// AcceptTime is Holder.AcceptTime for whoever has the state folder alone.
func AcceptTime(ctx context.Context, log *records.Recorder, s seer, rec audit.Record, now wire.Clock, actor, reason string) (wire.Clock, error) {
	now.Now = now.Now.UTC().Truncate(time.Second)
	now.Before = s.LastSeen().UTC()
	switch {
	case strings.TrimSpace(reason) == "" || len(reason) > maxReason:
		return now, &InvalidError{"reason", fmt.Sprintf("it has to be given, in at most %d bytes", maxReason)}
	case !now.Before.After(now.Now):
		return now, nil // the clock is not behind
	}
	rec.Actor = actor
	rec.Detail = map[string]string{"reason": reason, "before": now.Before.Format(time.RFC3339), "now": now.Now.Format(time.RFC3339)}
	if _, err := log.Append(ctx, rec, audit.Synced); err != nil {
		return now, err
	}
	if _, err := s.AcceptTime(now.Now); err != nil {
		return now, fmt.Errorf("%w: %w", records.ErrUnavailable, err)
	}
	now.Accepted = true
	return now, nil
}

// lookAtClock notes the time, and takes a clock that went back for a bad push: the
// generation in force stays until the staleness limit.
func (d *Holder) lookAtClock(ctx context.Context) {
	if d.cfg.Trust == nil {
		return
	}
	err := d.cfg.Trust.Seen(d.cfg.Clock.Now())
	var r *trust.Refusal
	switch {
	case err == nil:
	case errors.As(err, &r):
		if d.acquire(ctx) != nil {
			return
		}
		defer d.release()
		_ = d.refuse(ctx, "", err) // it is on record, and in status
	default:
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("note the time", "error", err)
	}
}

// refusalOf is why a folder's content is no signed push, from what the syncer says.
func refusalOf(err error) *trust.Refusal {
	code := trust.CodeFile
	for _, k := range []struct {
		err  error
		code trust.Code
	}{
		{syncer.ErrAnother, trust.CodeUnsigned}, {syncer.ErrEmpty, trust.CodeMissing},
		{syncer.ErrTorn, trust.CodeTorn}, {syncer.ErrWriting, trust.CodeTorn},
		{syncer.ErrTooLarge, trust.CodeTooLarge}, {syncer.ErrTooMany, trust.CodeTooLarge}, {syncer.ErrTooDeep, trust.CodeTooLarge},
	} {
		if errors.Is(err, k.err) {
			code = k.code
			break
		}
	}
	if code == trust.CodeMissing {
		return &trust.Refusal{Code: code, Reason: "the folder is empty"}
	}
	return &trust.Refusal{Code: code, Reason: err.Error()}
}

// signedState is what status says of a signed push.
func signedState(p *trust.Push) *wire.Signed {
	if p == nil {
		return nil
	}
	return &wire.Signed{Sequence: p.Sequence, Previous: p.Previous, Issuer: p.Issuer, Audience: p.Audience, Issued: p.Issued, Expires: p.Expires,
		Reason: p.Reason, Rollback: p.Rollback, Signers: signersOf(p)}
}

func signersOf(p *trust.Push) []wire.Signer {
	out := make([]wire.Signer, len(p.Signers))
	for i, s := range p.Signers {
		out[i] = wire.Signer{Key: s.Key, Roles: slices.Clone(s.Roles)}
	}
	return out
}
