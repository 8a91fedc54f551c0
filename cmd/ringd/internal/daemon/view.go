package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/show"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/schema/wire"
)

// GetRun returns a run as it stands; it waits at most that long for it to pause
// or end. Errors: ErrNotFound, ErrUnavailable (the end could not be kept), that
// of ctx, faults.
func (d *Daemon) GetRun(ctx context.Context, actor Actor, id string, wait time.Duration) (wire.Run, error) {
	if r := d.liveRun(actor, id); r != nil {
		return d.view(ctx, r, wait)
	}
	row, err := d.row(ctx, actor, id)
	if err != nil {
		return wire.Run{}, err
	}
	if !row.State.Final() {
		return wire.Run{}, fmt.Errorf("%w: the end of run %s could not be kept", ErrUnavailable, id)
	}
	return show.Row(row)
}

// liveRun returns a run that has started and not ended, if actor may see it.
func (d *Daemon) liveRun(actor Actor, id string) *liveRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.live[id]
	if r == nil || r.handle == nil || !actor.sees(r.actor) {
		return nil
	}
	return r
}

// acting returns a live run that actor may act on. Errors: ErrNotFound, ErrEnded.
func (d *Daemon) acting(ctx context.Context, actor Actor, id string) (*liveRun, error) {
	if r := d.liveRun(actor, id); r != nil {
		return r, nil
	}
	if _, err := d.row(ctx, actor, id); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("run %s: %w", id, ErrEnded)
}

func (a Actor) sees(owner string) bool { return a.All || (a.Name != "" && a.Name == owner) }

func (d *Daemon) row(ctx context.Context, actor Actor, id string) (store.Run, error) {
	if len(id) > store.MaxID {
		return store.Run{}, ErrNotFound
	}
	row, err := d.cfg.Runs.Run(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Run{}, fmt.Errorf("run %s: %w", id, ErrNotFound)
	case err != nil:
		return store.Run{}, fmt.Errorf("read run %s: %w", id, err)
	case !actor.sees(row.Actor):
		return store.Run{}, fmt.Errorf("run %s: %w", id, ErrNotFound)
	}
	return row, nil
}

// view waits for r to pause or end, at most so long, and returns it. An end is
// shown only once it is on disk.
func (d *Daemon) view(ctx context.Context, r *liveRun, wait time.Duration) (wire.Run, error) {
	v := r.handle.View()
	if wait > 0 && v.State == interpreter.StateRunning {
		bounded, cancel := context.WithTimeout(ctx, wait)
		settled, err := r.handle.Settled(bounded)
		cancel()
		switch {
		case err == nil:
			v = settled
		case ctx.Err() != nil:
			return wire.Run{}, ctx.Err()
		default:
			v = r.handle.View()
		}
	}
	if !show.Ended(string(v.State)) {
		return show.Run(v, r.created), nil
	}
	select {
	case <-r.done:
		return r.final, r.err
	case <-ctx.Done():
		return wire.Run{}, ctx.Err()
	}
}

// AnswerRun settles calls that wait for the harness; the first answer to a call
// counts. All are checked before one takes effect. It returns the run as it
// stands after them, having waited as GetRun does. Errors: ErrNotFound (run or
// call), ErrEnded, ErrAnswered, ErrDigest, ErrRole, *InvalidError,
// *profiles.Denial (no longer granted), ErrUnavailable.
func (d *Daemon) AnswerRun(ctx context.Context, actor Actor, id string, answers wire.Answers) (wire.Run, error) {
	r, err := d.acting(ctx, actor, id)
	if err != nil {
		return wire.Run{}, err
	}
	if err := d.Writable(); err != nil {
		return wire.Run{}, err
	}
	if err := checkAnswers(r.handle.View(), answers); err != nil {
		return wire.Run{}, err
	}
	for _, a := range answers.Answers {
		reply := interpreter.Reply{Call: a.Call, Digest: a.Digest, By: actor.Name, Value: a.Value}
		if a.Error != nil {
			reply.Error = &a.Error.Message
		}
		if err := answerError(a.Call, r.handle.Answer(ctx, reply)); err != nil {
			return wire.Run{}, err
		}
	}
	return d.view(ctx, r, time.Duration(answers.WaitMillis)*time.Millisecond)
}

func checkAnswers(v interpreter.View, answers wire.Answers) error {
	if len(answers.Answers) == 0 {
		return &InvalidError{"answers", "are missing"}
	}
	if answers.WaitMillis < 0 || answers.WaitMillis > wire.MaxWaitMillis {
		return &InvalidError{"wait_ms", fmt.Sprintf("is not between 0 and %d", wire.MaxWaitMillis)}
	}
	pending := make(map[string]interpreter.Pending, len(v.Pending))
	for _, p := range v.Pending {
		pending[p.ID] = p
	}
	seen := map[string]bool{}
	for i, a := range answers.Answers {
		field := fmt.Sprintf("answers[%d]", i)
		switch {
		case (a.Error == nil) == (a.Value == nil):
			return &InvalidError{field, "needs exactly one of value and error"}
		case seen[a.Call]:
			return &InvalidError{field, "answers a call twice"}
		}
		seen[a.Call] = true
		p, ok := pending[a.Call]
		switch {
		case !ok:
			continue // Answer tells an answered call from one that never was
		case p.For != string(store.ByHarness):
			return fmt.Errorf("call %s: %w", a.Call, ErrRole)
		case a.Digest != "" && a.Digest != p.Digest:
			return fmt.Errorf("call %s: %w", a.Call, ErrDigest)
		}
	}
	return nil
}

func answerError(call string, err error) error {
	for from, to := range map[error]error{
		interpreter.ErrEnded: ErrEnded, interpreter.ErrClosed: ErrEnded, interpreter.ErrNoCall: ErrNotFound,
		interpreter.ErrAnswered: ErrAnswered, interpreter.ErrDigest: ErrDigest,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("call %s: %w", call, to)
		}
	}
	if errors.Is(err, interpreter.ErrValue) {
		return &InvalidError{"answers", err.Error()}
	}
	return err
}

// CancelRun ends a run and returns how it ended. No effect of it begins after
// CancelRun was called. Errors: ErrNotFound, ErrEnded, that of ctx, faults.
func (d *Daemon) CancelRun(ctx context.Context, actor Actor, id string) (wire.Run, error) {
	r, err := d.acting(ctx, actor, id)
	if err != nil {
		return wire.Run{}, err
	}
	r.handle.Cancel(ctx, actor.Name, "cancelled through the API")
	select {
	case <-r.done:
		return r.final, r.err
	case <-ctx.Done():
		return wire.Run{}, ctx.Err()
	}
}
