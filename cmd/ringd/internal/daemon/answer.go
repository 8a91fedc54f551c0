package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// answerLiveRun answers the calls of a live run. It returns the answers it did not take if the run paused or
// ended first.
func answerLiveRun(ctx context.Context, actor Actor, r *liveRun, answers []wire.Answer) ([]wire.Answer, error) {
	pending := map[string]contract.Pending{}
	for _, p := range r.handle.View().Pending {
		pending[p.ID] = p
	}
	for _, a := range answers {
		p, ok := pending[a.Call]
		switch {
		case !ok:
			continue // Answer returns ErrAnswered or ErrNotFound for it
		case p.For != string(store.ByHarness):
			return answers, fmt.Errorf("call %s: %w", a.Call, ErrRole)
		case a.Digest != "" && a.Digest != p.Digest:
			return answers, fmt.Errorf("call %s: %w", a.Call, ErrDigest)
		}
	}
	for i, a := range answers {
		reply := contract.Reply{Call: a.Call, Digest: a.Digest, By: actor.Name, Value: a.Value}
		if a.Error != nil {
			reply.Error = &a.Error.Message
		}
		if err := answerError(a.Call, r.handle.Answer(ctx, reply)); err != nil {
			return answers[i:], err
		}
	}
	return nil, nil
}

func answerError(call string, err error) error {
	for from, to := range map[error]error{
		contract.ErrEnded: ErrEnded, interpreter.ErrClosed: ErrEnded, contract.ErrNoCall: policy.ErrNotFound,
		contract.ErrAnswered: ErrAnswered, contract.ErrDigest: ErrDigest,
		store.ErrNotFound: policy.ErrNotFound, store.ErrDigest: ErrDigest,
		store.ErrState: ErrRole, store.ErrExpired: ErrEnded,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("call %s: %w", call, to)
		}
	}
	if errors.Is(err, contract.ErrValue) {
		return invalid("answers", err.Error())
	}
	return err
}

// runAnswers takes answers of harnesses, approvals of people, and revocations of grants.
type runAnswers struct {
	cfg     *Config
	policy  *policy.State
	table   *runTable
	health  *recordHealth
	budgets *requestBudgets
	views   *runViews
}

// AnswerRun settles calls that wait for the harness. The first answer to a call counts. All answers are
// checked before one takes effect. A run that waits in the store is resumed once all its calls are answered.
// AnswerRun returns the run as it is afterwards, and waits like GetRun. Errors: ErrNotFound (run or call),
// ErrEnded, ErrAnswered, ErrDigest, ErrRole, *InvalidError, *profiles.Denial (no longer granted),
// ErrUnavailable.
func (d *runAnswers) AnswerRun(ctx context.Context, actor Actor, id string, answers wire.Answers) (wire.Run, error) {
	if err := checkAnswers(answers); err != nil {
		return wire.Run{}, err
	}
	if err := d.health.checkOpen("answer"); err != nil {
		return wire.Run{}, err
	}
	left := answers.Answers
	for len(left) > 0 {
		r, row, err := d.views.reach(ctx, actor, id)
		switch {
		case err != nil:
			return wire.Run{}, err
		case r == nil:
			left, err = nil, d.answerStored(ctx, actor, row, left)
		default:
			left, err = answerLiveRun(ctx, actor, r, left)
		}
		if errors.Is(err, contract.ErrPaused) {
			select { // the remaining answers go to the store once the pause is stored
			case <-r.done:
				continue
			case <-ctx.Done():
				return wire.Run{}, ctx.Err()
			}
		}
		if err != nil {
			return wire.Run{}, err
		}
	}
	return d.views.GetRun(ctx, actor, id, time.Duration(answers.WaitMillis)*time.Millisecond)
}

// answerStored answers calls of a run that waits in the store. All answers are checked before one takes effect.
// If another caller answers a call at the same moment, its answer is ErrAnswered and the other answers count.
func (d *runAnswers) answerStored(ctx context.Context, actor Actor, row store.Run, answers []wire.Answer) error {
	calls, err := d.cfg.Store.Calls(ctx, row.ID)
	if err != nil {
		return err
	}
	words, err := d.cfg.Store.Approvals(ctx, row.ID)
	if err != nil {
		return err
	}
	known := map[string]store.Call{}
	for _, c := range calls {
		known[c.ID] = c
	}
	replies := make([]store.Reply, 0, len(answers))
	var refused error
	for _, a := range answers {
		c, ok := known[a.Call]
		if !ok {
			return fmt.Errorf("call %s: %w", a.Call, policy.ErrNotFound)
		}
		if err := d.checkStored(row, c, words, a); err != nil {
			return err
		}
		reply, denial, err := d.replyTo(actor, row, c, a)
		if err != nil {
			return err
		}
		refused = errors.Join(refused, denial)
		replies = append(replies, reply)
	}
	if err := d.recordReplies(ctx, row, known, replies); err != nil {
		return err
	}
	d.cfg.Point("answer_recorded")
	settled, err := d.cfg.Store.AnswerAll(ctx, row.ID, replies)
	if err != nil {
		return answerError(answers[0].Call, err)
	}
	d.cfg.Point("answer_kept")
	// The answers that came first are kept, so the run continues even if another caller answered the
	// other calls meanwhile.
	if settled[0].Run == store.Answered {
		d.table.enqueue(row.ID, row.Actor, actor.Name)
	}
	for i, s := range settled {
		if !s.First {
			return fmt.Errorf("call %s: %w", replies[i].Call, ErrAnswered)
		}
	}
	return refused
}

// checkStored refuses an answer to a call that does not wait for it, or whose row this daemon did not
// write.
func (d *runAnswers) checkStored(row store.Run, c store.Call, words []store.Approval, a wire.Answer) error {
	switch {
	case c.For == store.ByApprover && c.State == store.CallPending:
		return fmt.Errorf("call %s: %w", a.Call, ErrRole)
	case c.Reply != nil || c.State != store.CallPending:
		return fmt.Errorf("call %s: %w", a.Call, ErrAnswered)
	case a.Digest != "" && a.Digest != c.ArgsDigest:
		return fmt.Errorf("call %s: %w", a.Call, ErrDigest)
	}
	if err := d.cfg.Waiting.Keeper.CheckCall(row, c, words); err != nil {
		return waiting.Stuck(row.ID, err)
	}
	return nil
}

// replyTo encodes an answer for the store. If the policy no longer grants the call, it returns the
// denial, and the program gets an error instead of the value.
func (d *runAnswers) replyTo(
	actor Actor,
	row store.Run,
	c store.Call,
	a wire.Answer,
) (reply store.Reply, denied, err error) {
	if a.Error == nil {
		err := d.cfg.Interpreter.CheckReply(row.Agent, row.Executor, c.Bridge, a.Value)
		var denial *profiles.Denial
		switch {
		case errors.As(err, &denial):
			denied = err
			a = wire.Answer{Call: a.Call, Error: &wire.AnswerError{Message: "the policy no longer grants it"}}
		case err != nil:
			return store.Reply{}, nil, answerError(a.Call, err)
		}
	}
	body, err := d.cfg.Waiting.Keeper.Reply(row.ID, c.ArgsDigest, actor.Name, a)
	if err != nil {
		return store.Reply{}, nil, fmt.Errorf("encode the answer to call %s: %w", a.Call, err)
	}
	return store.Reply{Call: a.Call, By: actor.Name, Digest: c.ArgsDigest, Body: body}, denied, nil
}

// recordReplies records answers. When it returns nil, all of the records are on disk.
func (d *runAnswers) recordReplies(
	ctx context.Context,
	row store.Run,
	known map[string]store.Call,
	replies []store.Reply,
) error {
	for i, r := range replies {
		rec := d.policy.Record(audit.CallAnswered)
		rec.Actor, rec.Agent, rec.Run, rec.Call, rec.State = r.By, row.Agent, row.ID, r.Call, "answered"
		rec.Digest, rec.Capability = r.Digest, "bridge:"+known[r.Call].Bridge
		durable := audit.Written
		if i == len(replies)-1 {
			durable = audit.Synced // Synced also syncs the records before it
		}
		if _, err := d.cfg.Recorder.Append(ctx, rec, durable); err != nil {
			return err
		}
	}
	return nil
}

// ListApprovals returns a page of the calls that wait for a person. An actor that sees all gets the calls of
// every run, any other actor those of its own runs. Errors: *waiting.InvalidError, faults.
func (d *runAnswers) ListApprovals(ctx context.Context, actor Actor, p waiting.Page) (wire.Approvals, error) {
	if p.Actor = ""; !actor.All {
		if p.Actor = actor.Name; p.Actor == "" { // an actor without a name has no runs
			return wire.Approvals{Approvals: []wire.WaitingCall{}}, nil
		}
	}
	return d.cfg.Waiting.Desk.List(ctx, p)
}

// GetCall returns one call that waits for a person, with all of its arguments. Errors: ErrNotFound, those of
// waiting.Desk.Show.
func (d *runAnswers) GetCall(ctx context.Context, actor Actor, run, call string) (wire.WaitingCall, error) {
	if _, err := d.views.row(ctx, actor, run); err != nil {
		return wire.WaitingCall{}, err
	}
	out, err := d.cfg.Waiting.Desk.Show(ctx, run, call)
	return out, waiting.Damaged(run, err)
}

// Approve takes an approver's verdict on a call of a live or waiting run, and returns the run as it is
// afterwards. Errors: those of waiting.Desk.Decide, ErrTooFast, ErrUnavailable.
func (d *runAnswers) Approve(
	ctx context.Context,
	who waiting.Approver,
	run, call string,
	a wire.ApprovalAnswer,
) (wire.Run, error) {
	if err := d.health.checkOpen("approval"); err != nil {
		return wire.Run{}, err
	}
	refused := func(ctx context.Context) error { return d.budgets.spend(ctx, bucketKey{who.Name, bucketApprovals}, 1) }
	out, err := d.cfg.Waiting.Desk.Decide(ctx, who, run, call, a, refused)
	if err != nil {
		return wire.Run{}, waiting.Damaged(run, err)
	}
	// The answer is on disk. It takes effect even if the request is cancelled.
	ctx = context.WithoutCancel(ctx)
	everyone := Actor{Name: who.Name, All: true}
	if out.Run == store.Answered {
		row, err := d.views.row(ctx, everyone, run)
		if err != nil {
			return wire.Run{}, err
		}
		d.table.enqueue(run, row.Actor, who.Name)
	}
	if _, handle := d.table.liveRun(everyone, run); handle != nil && out.Verdict != "" {
		err := handle.Approved(ctx, contract.Settlement{Call: call, Approved: out.Verdict == store.Allow,
			Denied: out.Verdict == store.Deny, Reason: a.Reason, By: who.Name})
		// A run that has paused meanwhile reads the verdict from the store. One that has ended needs none.
		if err != nil && !errors.Is(err, contract.ErrPaused) && !errors.Is(err, contract.ErrEnded) {
			d.cfg.Logger.Warn("live run could not be notified of an approval", "run", run, "call", call, "error", err)
		}
	}
	return d.views.GetRun(ctx, everyone, run, 0)
}

// RevokeGrants takes grants from a live or waiting run for good. Later requests of the run under these grants
// are denied. Errors: ErrNotFound, ErrEnded, *InvalidError, ErrTooFast, ErrUnavailable, faults.
func (d *runAnswers) RevokeGrants(ctx context.Context, actor Actor, id string, grants []string) (wire.Run, error) {
	if err := waiting.CheckGrants(grants); err != nil {
		return wire.Run{}, invalid("grants", err.Error())
	}
	if err := d.health.Writable(); err != nil {
		return wire.Run{}, err
	}
	agent, err := d.revocable(ctx, actor, id, grants)
	if err != nil {
		return wire.Run{}, err
	}
	if err := d.budgets.spend(ctx, bucketKey{actor.Name, bucketRevokes}, 1); err != nil {
		return wire.Run{}, err
	}
	rec := d.policy.Record(audit.GrantRevoked)
	rec.Actor, rec.Agent, rec.Run = actor.Name, agent, id
	rec.Detail = map[string]string{"grants": waiting.Clip(strings.Join(grants, " "))}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return wire.Run{}, err
	}
	// The store comes first: every pause that is opened from now on has the revocation.
	err = d.cfg.Store.Revoke(ctx, id, actor.Name, grants)
	switch {
	case errors.Is(err, store.ErrState):
		return wire.Run{}, fmt.Errorf("run %s: %w", id, ErrEnded)
	case err != nil:
		return wire.Run{}, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := d.revokeLive(ctx, actor, id, grants); err != nil {
		return wire.Run{}, err
	}
	return d.views.GetRun(ctx, actor, id, 0)
}

// revocable checks that a run may lose grants, and returns its agent. A waiting run may lose any grant if its
// record cannot be opened.
func (d *runAnswers) revocable(ctx context.Context, actor Actor, id string, grants []string) (agent string, err error) {
	r, row, err := d.views.reach(ctx, actor, id)
	if err != nil {
		return "", err
	}
	if r != nil {
		if err := r.gate.Pass(ctx); err != nil { // the store must know the run
			return "", err
		}
		return r.handle.View().Agent, nil
	}
	if p, _, err := d.cfg.Store.Pause(ctx, id); err == nil {
		if record, err := d.cfg.Waiting.Keeper.Open(p, row); err == nil {
			if err := waiting.Revocable(record, grants); err != nil {
				return "", invalid("grants", err.Error())
			}
		}
	}
	return row.Agent, nil
}

// revokeLive revokes grants from a live run, or from the live subagents of a waiting run. The store has the
// revocation already. A run that is being resumed may have opened its pause before that, so it is revoked
// here too.
func (d *runAnswers) revokeLive(ctx context.Context, actor Actor, id string, grants []string) error {
	for {
		r, _, err := d.views.reach(ctx, actor, id)
		if err != nil && !errors.Is(err, ErrEnded) {
			d.cfg.Logger.Warn("revoke grants from a live run", "run", id, "error", err)
			return nil
		}
		if r == nil {
			if held := d.cfg.Interpreter.Held(id); held != nil { // its subagents may be live
				_ = held.Revoke(ctx, grants) // ErrPaused: the run waits, and the store has the revocation
			}
			return nil
		}
		err = r.handle.Revoke(ctx, grants)
		switch {
		case errors.Is(err, contract.ErrPaused):
			<-r.done
			continue
		case errors.Is(err, binding.ErrGrant):
			return invalid("grants", err.Error())
		case err != nil && !errors.Is(err, contract.ErrEnded):
			return err
		}
		return nil
	}
}
