package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Recover settles, in one commit, every run that was live when the previous process ended.
//   - A Paused or Answered run stays as it is.
//   - A Claimed run is Answered again.
//   - A resumed run that opened no new call since its pause is Answered again, with the results of its
//     calls. A call that was executing without a result is repeated if Config.Idempotent allows it.
//     Otherwise the run becomes Unknown.
//   - Any other live run ends. It becomes Unknown if a call was executing without a result, else Failed
//     with an outcome whose error is named Interrupted.
//   - An executing call of a run that has ended before becomes CallUnknown. The run keeps its state, and
//     is returned with From equal to its State.
//
// Recover is called once, after Open and before anything starts. The result is for the audit log.
func (s *Store) Recover(ctx context.Context) ([]Recovered, error) {
	now := s.now()
	var out []Recovered
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		out = nil
		ids, err := t.interrupted(ctx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			r, err := t.recoverRun(ctx, id, now)
			if err != nil {
				return fmt.Errorf("run %s: %w", id, err)
			}
			if r.Run.State != r.From || r.Run.State.Final() {
				out = append(out, r)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover runs: %w", err)
	}
	return out, nil
}

// interrupted returns the runs that are live or have live calls, oldest first.
func (t *tx) interrupted(ctx context.Context) ([]string, error) {
	var ids []string
	err := t.Rows(ctx, func(row scanner) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, `select id from run where state in `+liveStates+`
		or id in (select run from call where state in ('open', 'executing')) order by created, id`)
	return ids, err
}

func (t *tx) recoverRun(ctx context.Context, id string, now int64) (Recovered, error) {
	r, err := t.run(ctx, id)
	if err != nil {
		return Recovered{}, err
	}
	out := Recovered{Run: r, From: r.State}
	if done, err := t.recoverPause(ctx, &out, now); err != nil || done {
		return out, err
	}
	err = t.Rows(ctx, func(row scanner) error {
		c, err := scanCall(row)
		if c.State == CallExecuting {
			out.Lost = append(out.Lost, c)
		} else {
			out.Unrun = append(out.Unrun, c)
		}
		return err
	}, `select `+callColumns+` from call where run = $1 and state in ('open', 'executing') order by n`, id)
	if err != nil {
		return Recovered{}, err
	}
	for i := range out.Lost {
		if err := t.moveCall(ctx, &out.Lost[i], CallUnknown, Head{}, now); err != nil {
			return Recovered{}, err
		}
	}
	for i := range out.Unrun {
		if err := t.moveCall(ctx, &out.Unrun[i], CallClosed, Head{}, now); err != nil {
			return Recovered{}, err
		}
	}
	if r.State.Final() {
		return out, nil
	}
	to, message := Failed, "the host process ended while the run was under way; nothing of it was repeated"
	if len(out.Lost) > 0 {
		to, message = Unknown, "the host process ended while a call was executing: it may have happened; nothing was "+
			"repeated"
	}
	session, err := t.sessionOutcome(ctx, r)
	if err != nil {
		return Recovered{}, err
	}
	outcome, err := interruptedOutcome(id, to, message+session)
	if err != nil {
		return Recovered{}, err
	}
	out.Run, err = t.moveRun(ctx, r, to, Change{Outcome: outcome}, now)
	return out, err
}

// recoverPause settles a run that can be resumed from its last pause. done is false if it cannot, and then
// nothing was changed.
func (t *tx) recoverPause(ctx context.Context, out *Recovered, now int64) (done bool, err error) {
	r := out.Run
	switch r.State {
	case Paused, Answered, Claimed, Executing:
	case Asked, Started, CallOpen, Done, Denied, Failed, Limit, Cancelled, Unknown:
		return false, nil
	default:
		return false, nil
	}
	last, err := queryOne[int64](ctx, t, `select last_call from pause where run = $1 and seq = $2`, r.ID, r.Seq)
	if err != nil || last == 0 {
		return false, err
	}
	switch r.State {
	case Claimed:
		out.Run, err = t.unclaim(ctx, r, now)
		return true, err
	case Executing:
		return t.backToAnswered(ctx, out, last, now)
	case Paused, Answered:
		return true, nil
	default:
		return false, nil
	}
}

// backToAnswered makes a resumed run Answered if it has no call above last, unless the result of an act is lost.
func (t *tx) backToAnswered(ctx context.Context, out *Recovered, last, now int64) (done bool, err error) {
	newer := false
	var acting []Call
	err = t.Rows(ctx, func(row scanner) error {
		c, err := scanCall(row)
		newer = newer || c.N > last
		if c.State == CallExecuting {
			acting = append(acting, c)
		}
		return err
	}, `select `+callColumns+` from call where run = $1 and (n > $2 or state = 'executing') order by n`, out.Run.ID,
		last)
	if err != nil || newer {
		return false, err
	}
	for _, c := range acting {
		if t.s.cfg.Idempotent == nil || !t.s.cfg.Idempotent(c.Bridge) {
			return false, nil
		}
	}
	for i := range acting {
		if err := t.moveCall(ctx, &acting[i], CallPending, Head{}, now); err != nil {
			return false, err
		}
	}
	out.Again = acting
	out.Run, err = t.unclaim(ctx, out.Run, now)
	return true, err
}

// sessionOutcome returns what an interrupted run did to its session. The state of a session is committed before
// the end of the run, and no other run has had the session since the run was created.
func (t *tx) sessionOutcome(ctx context.Context, r Run) (string, error) {
	if r.Session == "" {
		return "", nil
	}
	kept, err := queryOne[int64](ctx, t, `select count(*) from session where actor = $1 and name = $2 and updated > $3`,
		r.Actor, r.Session, r.Created.UnixMicro())
	if err != nil {
		return "", err
	}
	if kept > 0 {
		return "; the program had come to its end, and the next run of the session goes on from what it left", nil
	}
	return "; its session is what it was before the run", nil
}

func interruptedOutcome(id string, state State, message string) ([]byte, error) {
	return json.Marshal(
		map[string]any{"id": id, "state": state, "error": map[string]string{"name": "Interrupted", "message": message}},
	)
}

// Prune deletes final runs, with their calls, that were last updated before t, and returns how many. It
// deletes at most n (zero means 100, at most 1000). A run with an executing call stays.
func (s *Store) Prune(ctx context.Context, before time.Time, n int) (int, error) {
	var gone int
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		var ids []string
		err := t.Rows(ctx, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		}, `select id from run where created < $1 and updated < $1
			and state in ('done', 'denied', 'failed', 'limit', 'cancelled', 'unknown')
			and not exists (select 1 from call where call.run = run.id and call.state = 'executing')
			order by created limit $2`, before.UnixMicro(), limit(n))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.forget(ctx, id); err != nil {
				return err
			}
		}
		gone = len(ids)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("prune runs: %w", err)
	}
	return gone, nil
}

// forget deletes an ended run and all rows that refer to it.
func (t *tx) forget(ctx context.Context, run string) error {
	for _, query := range []string{
		`delete from call where run = $1`, `delete from approval where run = $1`, `delete from claim where run = $1`,
		`delete from revoked where run = $1`, `delete from run where id = $1`,
	} {
		if err := t.Exec(ctx, query, run); err != nil {
			return err
		}
	}
	return nil
}
