package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// AnswerRun settles calls that wait for the harness; the first answer to a call
// counts. All are checked before one takes effect. A run that waits in the store
// goes on once all its calls are answered. It returns the run as it stands after
// them, having waited as GetRun does. Errors: ErrNotFound (run or call),
// ErrEnded, ErrAnswered, ErrDigest, ErrRole, *InvalidError, *profiles.Denial (no
// longer granted), ErrUnavailable.
func (d *Daemon) AnswerRun(ctx context.Context, actor Actor, id string, answers wire.Answers) (wire.Run, error) {
	if err := checkAnswers(answers); err != nil {
		return wire.Run{}, err
	}
	if err := d.taken("answer"); err != nil {
		return wire.Run{}, err
	}
	left := answers.Answers
	for len(left) > 0 {
		r, row, err := d.reach(ctx, actor, id)
		switch {
		case err != nil:
			return wire.Run{}, err
		case r == nil:
			left, err = nil, d.answerKept(ctx, actor, row, left)
		default:
			left, err = answerLive(ctx, actor, r, left)
		}
		if errors.Is(err, contract.ErrPaused) {
			select { // what is left goes to the store once the pause is there
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
	return d.GetRun(ctx, actor, id, time.Duration(answers.WaitMillis)*time.Millisecond)
}

// answerLive answers calls of a run in a guest, and returns those that are left
// when that fails.
func answerLive(ctx context.Context, actor Actor, r *liveRun, answers []wire.Answer) ([]wire.Answer, error) {
	pending := map[string]contract.Pending{}
	for _, p := range r.handle.View().Pending {
		pending[p.ID] = p
	}
	for _, a := range answers {
		p, ok := pending[a.Call]
		switch {
		case !ok:
			continue // Answer tells an answered call from one that never was
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
		store.ErrNotFound: policy.ErrNotFound, store.ErrDigest: ErrDigest, store.ErrState: ErrRole, store.ErrExpired: ErrEnded,
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

// answerKept answers calls of a run that waits in the store: all of them are
// checked before one takes effect. One that somebody else answers in the same
// moment is ErrAnswered, and the others count.
func (d *Daemon) answerKept(ctx context.Context, actor Actor, row store.Run, answers []wire.Answer) error {
	calls, err := d.cfg.Calls.Calls(ctx, row.ID)
	if err != nil {
		return err
	}
	words, err := d.cfg.Calls.Approvals(ctx, row.ID)
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
		switch {
		case !ok:
			return fmt.Errorf("call %s: %w", a.Call, policy.ErrNotFound)
		case c.For == store.ByApprover && c.State == store.CallPending:
			return fmt.Errorf("call %s: %w", a.Call, ErrRole)
		case c.Reply != nil || c.State != store.CallPending:
			return fmt.Errorf("call %s: %w", a.Call, ErrAnswered)
		case a.Digest != "" && a.Digest != c.ArgsDigest:
			return fmt.Errorf("call %s: %w", a.Call, ErrDigest)
		}
		if err := d.cfg.Keeper.CheckCall(row, c, words); err != nil {
			return waiting.Stuck(row.ID, err)
		}
		if a.Error == nil {
			err := d.cfg.Interpreter.CheckReply(row.Agent, row.Executor, c.Bridge, a.Value)
			var denial *profiles.Denial
			switch {
			case errors.As(err, &denial): // the program is told so once it goes on
				refused = errors.Join(refused, err)
				a = wire.Answer{Call: a.Call, Error: &wire.AnswerError{Message: "the policy no longer grants it"}}
			case err != nil:
				return answerError(a.Call, err)
			}
		}
		body, err := d.cfg.Keeper.Reply(row.ID, c.ArgsDigest, actor.Name, a)
		if err != nil {
			return fmt.Errorf("encode the answer to call %s: %w", a.Call, err)
		}
		replies = append(replies, store.Reply{Call: a.Call, By: actor.Name, Digest: c.ArgsDigest, Body: body})
	}
	for i, r := range replies {
		rec := d.record(audit.CallAnswered)
		rec.Actor, rec.Agent, rec.Run, rec.Call, rec.State = actor.Name, row.Agent, row.ID, r.Call, "answered"
		rec.Digest, rec.Capability = r.Digest, "bridge:"+known[r.Call].Bridge
		durable := audit.Written
		if i == len(replies)-1 {
			durable = audit.Synced // and with it those before
		}
		if _, err := d.cfg.Recorder.Append(ctx, rec, durable); err != nil {
			return err
		}
	}
	d.cfg.Point("answer_recorded")
	settled, err := d.cfg.Calls.AnswerAll(ctx, row.ID, replies)
	if err != nil {
		return answerError(answers[0].Call, err)
	}
	d.cfg.Point("answer_kept")
	// All of them are kept that were first: the run goes on, whoever else answered
	// the others meanwhile.
	if settled[0].Run == store.Answered {
		d.goOn(row.ID, row.Actor, actor.Name)
	}
	for i, s := range settled {
		if !s.First {
			return fmt.Errorf("call %s: %w", replies[i].Call, ErrAnswered)
		}
	}
	return refused
}
