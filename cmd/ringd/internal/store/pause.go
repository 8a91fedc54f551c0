package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const pauseColumns = `pause.v, pause.run, pause.seq, pause.revision, pause.key_id, pause.engine, pause.size, pause.file,
	pause.expires, pause.spawned, pause.fault_code, pause.fault, pause.fault_at, pause.created,
	run.agent, run.actor, run.executor, run.state`

const pauseFrom = ` from pause join run on run.id = pause.run `

// scanPause reads the pauseColumns of a row, and more columns.
func scanPause(row scanner, more ...any) (Pause, sealedRow, error) {
	var p Pause
	var x sealedRow
	var v, expires, faulted, created int64
	err := row.Scan(append([]any{&v, &p.Run, &p.Seq, &p.Revision, &p.KeyID, &p.Engine, &p.Size, &x.file,
		&expires, &p.Spawned, &p.Fault.Code, &p.Fault.Text, &faulted, &created,
		&p.Agent, &p.Actor, &p.Executor, &p.State}, more...)...)
	if err != nil {
		return Pause{}, sealedRow{}, fmt.Errorf("read pause: %w", err)
	}
	if v != recordVersion {
		return Pause{}, sealedRow{}, fmt.Errorf(
			"pause of run %s: %w %d: start the ringd that wrote it",
			p.Run,
			ErrFormat,
			v,
		)
	}
	if !p.State.Known() || p.Seq < 1 || p.Size < 1 || p.Size > MaxSealed || p.Spawned < 0 {
		return Pause{}, sealedRow{}, fmt.Errorf(
			"pause of run %s: %w: %d of state %q with %d bytes",
			p.Run,
			ErrFormat,
			p.Seq,
			p.State,
			p.Size,
		)
	}
	x.size = p.Size
	p.Expires, p.Fault.At, p.Created = timeOrZero(expires), timeOrZero(faulted), fromMicros(created)
	return p, x, nil
}

// timeOrZero is fromMicros, but returns the zero time for zero.
func timeOrZero(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return fromMicros(micros)
}

// toMicros is the inverse of when.
func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// PutPause makes a run Paused. One commit has the record to resume from, the outcome so far (c), and the open
// calls that it waits for. If all of them are answered already, the run becomes Answered at once. p replaces
// the run's last pause. ErrState: the run is not live, p.Seq is not the next one, a call is executing, or
// none is open. Other errors: ErrNotFound, ErrTooLarge, ErrClosed.
func (s *Store) PutPause(ctx context.Context, p Pause, c Change) (Run, error) {
	if err := checkSize("outcome", len(c.Outcome), MaxOutcome); err != nil {
		return Run{}, fmt.Errorf("pause run %s: %w", p.Run, err)
	}
	var out Run
	err := s.withSealed(ctx, p.Sealed, func(file string) error {
		now := s.now()
		return s.write(ctx, func(ctx context.Context, t *tx) error {
			r, err := t.run(ctx, p.Run)
			if err != nil {
				return err
			}
			if err := t.mayPause(ctx, r, p); err != nil {
				return err
			}
			r.Seq = p.Seq
			if err := t.putPause(ctx, p, file, now); err != nil {
				return err
			}
			if out, err = t.moveRun(ctx, r, Paused, c, now); err != nil {
				return err
			}
			out, err = t.answered(ctx, out, now)
			return err
		})
	})
	if err != nil {
		return Run{}, fmt.Errorf("pause run %s: %w", p.Run, err)
	}
	return out, nil
}

func (t *tx) mayPause(ctx context.Context, r Run, p Pause) error {
	if !r.State.May(Paused) {
		return fmt.Errorf("the run is %s: %w", r.State, ErrState)
	}
	if p.Seq != r.Seq+1 || p.Spawned < 0 {
		return fmt.Errorf("pause %d after %d: %w", p.Seq, r.Seq, ErrState)
	}
	var open, acting int64
	err := t.Rows(
		ctx,
		func(row scanner) error { return row.Scan(&open, &acting) },
		`select coalesce(sum(case when state = 'open' then 1 else 0 end), 0),
			coalesce(sum(case when state = 'open' then 0 else 1 end), 0)
		from call where run = $1 and state in ('open', 'executing')`,
		r.ID,
	)
	if err != nil {
		return err
	}
	if open == 0 || acting > 0 {
		return fmt.Errorf("%d calls are open and %d executing: %w", open, acting, ErrState)
	}
	return nil
}

func (t *tx) putPause(ctx context.Context, p Pause, file string, now int64) error {
	old, err := queryOne[string](ctx, t, `select file from pause where run = $1`, p.Run)
	if err != nil {
		return err
	}
	if old != file {
		t.removeFile(ctx, old)
	}
	if err := t.Exec(ctx, `delete from pause where run = $1`, p.Run); err != nil {
		return err
	}
	err = t.Exec(
		ctx,
		`insert into pause (v, run, seq, revision, key_id, engine, size, file, last_call, expires, spawned, created)
		values ($1, $2, $3, $4, $5, $6, $7, $8, (select max(n) from call where run = $2), $9, $10, $11)`,
		recordVersion,
		p.Run,
		p.Seq,
		p.Revision,
		p.KeyID,
		p.Engine,
		len(p.Sealed),
		file,
		toMicros(p.Expires),
		p.Spawned,
		now,
	)
	if err != nil {
		return err
	}
	if err := t.putSealed(ctx, sealedOf(p.Run), file, p.Sealed); err != nil {
		return err
	}
	return t.Exec(ctx, `update call set wave = $2 where run = $1 and state = 'open'`, p.Run, p.Seq)
}

// dropPause deletes the pause of an ended run, and the rows that belong to it.
func (t *tx) dropPause(ctx context.Context, run string) error {
	file, err := queryOne[string](ctx, t, `select file from pause where run = $1`, run)
	if err != nil {
		return err
	}
	t.removeFile(ctx, file)
	for _, query := range []string{`delete from pause where run = $1`, `delete from revoked where run = $1`} {
		if err := t.Exec(ctx, query, run); err != nil {
			return err
		}
	}
	return t.Exec(ctx, `delete from sealed where name = $1`, sealedOf(run))
}

// answered makes a paused run Answered if none of its calls waits any more.
func (t *tx) answered(ctx context.Context, r Run, now int64) (Run, error) {
	if r.State != Paused {
		return r, nil
	}
	n, err := queryOne[int64](
		ctx,
		t,
		`select count(*) from call where run = $1 and state = 'open' and reply is null`,
		r.ID,
	)
	if err != nil || n > 0 {
		return r, err
	}
	return t.moveRun(ctx, r, Answered, Change{}, now)
}

// Reseal replaces the sealed record of the same pause by p.Sealed, under p.KeyID. Errors: ErrNotFound,
// ErrState (the run has ended, or has another pause), ErrTooLarge, ErrClosed.
func (s *Store) Reseal(ctx context.Context, p Pause) error {
	err := s.withSealed(ctx, p.Sealed, func(file string) error {
		return s.write(ctx, func(ctx context.Context, t *tx) error {
			r, err := t.run(ctx, p.Run)
			if err != nil {
				return err
			}
			if r.State.Final() || r.Seq != p.Seq {
				return fmt.Errorf("the run is %s at pause %d, not %d: %w", r.State, r.Seq, p.Seq, ErrState)
			}
			old, err := queryOne[string](ctx, t, `select file from pause where run = $1`, p.Run)
			if err != nil {
				return err
			}
			t.removeFile(ctx, old)
			err = t.Exec(
				ctx,
				`update pause set size = $2, file = $3, key_id = $4 where run = $1`,
				p.Run,
				len(p.Sealed),
				file,
				p.KeyID,
			)
			if err != nil {
				return err
			}
			return t.putSealed(ctx, sealedOf(p.Run), file, p.Sealed)
		})
	})
	if err != nil {
		return fmt.Errorf("seal pause %d of run %s again: %w", p.Seq, p.Run, err)
	}
	return nil
}

// Pause returns a run's last pause and its calls, in order, without a claim. ErrNotFound: the run has none.
// With ErrDamaged everything but Sealed is returned.
func (s *Store) Pause(ctx context.Context, run string) (Pause, []Call, error) {
	p, calls, err := s.pause(ctx, run)
	if errors.Is(err, ErrDamaged) { // Reseal removed its file between the two reads
		p, calls, err = s.pause(ctx, run)
	}
	if err != nil {
		return p, calls, fmt.Errorf("pause of run %s: %w", run, err)
	}
	return p, calls, nil
}

func (s *Store) pause(ctx context.Context, run string) (Pause, []Call, error) {
	var p Pause
	var x sealedRow
	var taken int64
	err := s.read(ctx, func(row scanner) error {
		var body []byte
		var err error
		p, x, err = scanPause(row, &body, &taken)
		x.body = body
		return err
	}, `select `+pauseColumns+
		`, (select body from sealed where name = $2), (select count(*) from revoked where run = $1)`+
		pauseFrom+`where pause.run = $1`, run, sealedOf(run))
	if err == nil && p.Run == "" {
		err = ErrNotFound
	}
	if err != nil {
		return Pause{}, nil, err
	}
	calls, err := s.readCalls(
		ctx,
		`select `+callColumns+` from call where run = $1 and wave = $2 order by n`,
		run,
		p.Seq,
	)
	if err != nil {
		return Pause{}, nil, err
	}
	if taken > 0 {
		if p.Revoked, err = s.revoked(ctx, run); err != nil {
			return Pause{}, nil, err
		}
	}
	p.Sealed, err = s.load(x)
	return p, calls, err
}

// Claim claims the pause with this sequence of an Answered run for by, who alone may resume it. It returns
// the pause and its calls, also those that have been executed since. Each call has its answer or its result.
// One caller wins, and all others get a *ClaimedError. If the returned pause names its run, it is claimed
// even if there is an error, which says why it cannot be read (ErrDamaged). The caller then calls Unclaim.
// Other errors: ErrNotFound, ErrState (not answered, or no such pause), ErrClosed.
func (s *Store) Claim(ctx context.Context, run string, seq int64, by string) (Pause, []Call, error) {
	if err := errors.Join(checkID(by), checkID(run)); err != nil {
		return Pause{}, nil, fmt.Errorf("claim run %s: %w", run, err)
	}
	now := s.now()
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		r, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		if r.State == Answered && seq == r.Seq {
			if err := t.Exec(ctx, `insert into claim (run, seq, v, claimer, at) values ($1, $2, $3, $4, $5)`, run, seq,
				recordVersion, by, now); err != nil {
				return err
			}
			_, err = t.moveRun(ctx, r, Claimed, Change{}, now)
			return err
		}
		who, at, err := t.claimer(ctx, run, seq)
		if err == nil && who != "" {
			return &ClaimedError{Run: run, Seq: seq, By: who, At: at}
		}
		if err == nil {
			err = fmt.Errorf("the run is %s at pause %d: %w", r.State, r.Seq, ErrState)
		}
		return err
	})
	if err != nil {
		return Pause{}, nil, fmt.Errorf("claim pause %d of run %s: %w", seq, run, err)
	}
	p, calls, err := s.Pause(context.WithoutCancel(ctx), run)
	if err != nil {
		p.Run, p.Seq = run, seq
		return p, calls, fmt.Errorf("read claimed pause %d of run %s: %w", seq, run, err)
	}
	return p, calls, nil
}

func (t *tx) claimer(ctx context.Context, run string, seq int64) (who string, at time.Time, err error) {
	err = t.Rows(ctx, func(row scanner) error {
		var n int64
		err := row.Scan(&who, &n)
		at = fromMicros(n)
		return err
	}, `select claimer, at from claim where run = $1 and seq = $2`, run, seq)
	return who, at, err
}

// claimed returns the run if by has claimed its last pause, which is seq, and has not begun.
func (t *tx) claimed(ctx context.Context, run string, seq int64, by string) (Run, error) {
	r, err := t.run(ctx, run)
	if err != nil {
		return Run{}, err
	}
	who, at, err := t.claimer(ctx, run, seq)
	switch {
	case err != nil:
		return Run{}, err
	case r.State == Claimed && r.Seq == seq && who == by:
		return r, nil
	case who != "" && who != by:
		return Run{}, &ClaimedError{Run: run, Seq: seq, By: who, At: at}
	default:
		return Run{}, fmt.Errorf("the run is %s at pause %d: %w", r.State, r.Seq, ErrState)
	}
}

// Begin makes a run that by has claimed Executing. Its program is then live, and its calls may be executed.
// Errors: *ClaimedError, ErrNotFound, ErrState, ErrClosed.
func (s *Store) Begin(ctx context.Context, run string, seq int64, by string, c Change) (Run, error) {
	if err := checkSize("outcome", len(c.Outcome), MaxOutcome); err != nil {
		return Run{}, fmt.Errorf("begin run %s: %w", run, err)
	}
	now := s.now()
	var out Run
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		r, err := t.claimed(ctx, run, seq, by)
		if err != nil {
			return err
		}
		err = t.Exec(
			ctx,
			`update pause set fault_code = '', fault = '', fault_at = 0 where run = $1 and fault_at <> 0`,
			run,
		)
		if err != nil {
			return err
		}
		out, err = t.moveRun(ctx, r, Executing, c, now)
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("begin run %s again: %w", run, err)
	}
	return out, nil
}

// Unclaim releases a claim of by that has not begun. The run is Answered again, with f if that has a reason.
// Errors: *ClaimedError, ErrNotFound, ErrState, ErrTooLarge, ErrClosed.
func (s *Store) Unclaim(ctx context.Context, run string, seq int64, by string, f Fault) error {
	if err := checkSize("fault", len(f.Code)+len(f.Text), MaxReason); err != nil {
		return fmt.Errorf("give back run %s: %w", run, err)
	}
	now := s.now()
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		r, err := t.claimed(ctx, run, seq, by)
		if err != nil {
			return err
		}
		if f.Code != "" {
			err := t.Exec(
				ctx,
				`update pause set fault_code = $2, fault = $3, fault_at = $4 where run = $1`,
				run,
				f.Code,
				f.Text,
				now,
			)
			if err != nil {
				return err
			}
		}
		_, err = t.unclaim(ctx, r, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("give back run %s: %w", run, err)
	}
	return nil
}

// unclaim makes a run Answered again, so that others can claim it.
func (t *tx) unclaim(ctx context.Context, r Run, now int64) (Run, error) {
	if err := t.Exec(ctx, `delete from claim where run = $1 and seq = $2`, r.ID, r.Seq); err != nil {
		return Run{}, err
	}
	return t.moveRun(ctx, r, Answered, Change{}, now)
}

// Spend stores how many subagents were started for a call of a paused run, and how many runs its tree has. A
// lower number than the stored one changes nothing. ErrNotFound: the run has no pause. ErrState: it has
// another pause. ErrClosed.
func (s *Store) Spend(ctx context.Context, run string, seq int64, call string, started, spawned int64) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		have, err := queryOne[int64](ctx, t, `select seq from pause where run = $1`, run)
		switch {
		case err != nil:
			return err
		case have == 0:
			return ErrNotFound
		case have != seq:
			return fmt.Errorf("pause %d, not %d: %w", have, seq, ErrState)
		}
		if err := t.Exec(ctx, `update call set started = $3 where run = $1 and id = $2 and started < $3`, run, call,
			started); err != nil {
			return err
		}
		return t.spend(ctx, run, spawned)
	})
	if err != nil {
		return fmt.Errorf("note what run %s has started: %w", run, err)
	}
	return nil
}

// spend stores the number of runs in a tree whose first run is paused.
func (t *tx) spend(ctx context.Context, run string, spawned int64) error {
	return t.Exec(ctx, `update pause set spawned = $2 where run = $1 and spawned < $2`, run, spawned)
}

// Expired returns pauses, without Sealed, that expired at or before now, oldest first. It returns at most n
// (zero means 100, at most 1000), of runs that are Paused and of Answered ones that could not be resumed.
func (s *Store) Expired(ctx context.Context, now time.Time, n int) ([]Pause, error) {
	return s.pauses(ctx, `where pause.expires > 0 and pause.expires <= $1
		and (run.state = 'paused' or run.state = 'answered' and pause.fault_at > 0)
		order by pause.expires, pause.run limit $2`, now.UnixMicro(), limit(n))
}

// Answered returns the pauses, without Sealed, of runs that wait for a claim, oldest first. It skips some and
// returns at most n (zero means 100, at most 1000). A pause with a Fault could not be resumed before.
func (s *Store) Answered(ctx context.Context, skip, n int) ([]Pause, error) {
	return s.pauses(ctx, `where run.state = 'answered' and run.state in `+liveStates+`
		order by run.updated, run.id limit $2 offset $1`, max(skip, 0), limit(n))
}

// liveStates is the condition of the index run_live, word for word.
const liveStates = `('asked', 'started', 'call_open', 'paused', 'answered', 'claimed', 'executing')`

func (s *Store) pauses(ctx context.Context, rest string, args ...any) ([]Pause, error) {
	var out []Pause
	err := s.read(ctx, func(row scanner) error {
		p, _, err := scanPause(row)
		out = append(out, p)
		return err
	}, `select `+pauseColumns+pauseFrom+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("list pauses: %w", err)
	}
	return out, nil
}

// Fault returns why the last pause of a run could not be resumed. It is zero if it could, was not tried, or
// does not exist.
func (s *Store) Fault(ctx context.Context, run string) (Fault, error) {
	var f Fault
	err := s.read(ctx, func(row scanner) error {
		var at int64
		err := row.Scan(&f.Code, &f.Text, &at)
		f.At = timeOrZero(at)
		return err
	}, `select fault_code, fault, fault_at from pause where run = $1`, run)
	if err != nil {
		return Fault{}, fmt.Errorf("fault of run %s: %w", run, err)
	}
	return f, nil
}

// Faults counts the answered runs that could not be resumed, by fault code.
func (s *Store) Faults(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	err := s.read(ctx, func(row scanner) error {
		var code string
		var n int64
		err := row.Scan(&code, &n)
		out[code] = n
		return err
	}, `select pause.fault_code, count(*)`+pauseFrom+`where run.state = 'answered' and run.state in `+liveStates+`
		and pause.fault_at > 0 group by pause.fault_code`)
	if err != nil {
		return nil, fmt.Errorf("count runs that cannot go on: %w", err)
	}
	return out, nil
}

// CountPaused counts the runs that wait: those of actor, and all.
func (s *Store) CountPaused(ctx context.Context, actor string) (own, all int64, err error) {
	err = s.read(ctx, func(row scanner) error { return row.Scan(&own, &all) },
		`select coalesce(sum(case when actor = $1 then 1 else 0 end), 0), count(*) from run
		where state in ('paused', 'answered') and state in `+liveStates, actor)
	if err != nil {
		return 0, 0, fmt.Errorf("count paused runs: %w", err)
	}
	return own, all, nil
}

// PausedBytes returns the total size of the sealed records of an actor's waiting runs.
func (s *Store) PausedBytes(ctx context.Context, actor string) (n int64, err error) {
	err = s.read(ctx, func(row scanner) error { return row.Scan(&n) },
		`select coalesce(sum(pause.size), 0) from run join pause on pause.run = run.id
		where run.actor = $1 and run.state in ('paused', 'answered') and run.state in `+liveStates, actor)
	if err != nil {
		return 0, fmt.Errorf("size of paused runs: %w", err)
	}
	return n, nil
}
