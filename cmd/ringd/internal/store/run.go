package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const recordVersion = 1

const runColumns = `v, id, agent, actor, executor, state, program, generation, revision, outcome,
	audit_seq, audit_hash, created, updated, seq, session`

// scanRun reads the runColumns of a row.
func scanRun(row scanner) (Run, error) {
	var r Run
	var v, created, updated int64
	err := row.Scan(&v, &r.ID, &r.Agent, &r.Actor, &r.Executor, &r.State, &r.Program, &r.Generation, &r.Revision,
		&r.Outcome, &r.Audit.Seq, &r.Audit.Hash, &created, &updated, &r.Seq, &r.Session)
	if err != nil {
		return Run{}, fmt.Errorf("read run: %w", err)
	}
	if v != recordVersion {
		return Run{}, fmt.Errorf("run %s: %w %d: start the ringd that wrote it", r.ID, ErrFormat, v)
	}
	if !r.State.Known() {
		return Run{}, fmt.Errorf("run %s: %w: state %q", r.ID, ErrFormat, r.State)
	}
	r.Created, r.Updated = fromMicros(created), fromMicros(updated)
	return r, nil
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

func (s *Store) now() int64 { return s.cfg.Now().UnixMicro() }

// Start stores a new run in one commit. Its state is Asked or Started (empty means Asked). A run that ended
// before any caller saw it may be stored in a final state with its Outcome. Created and Updated are set from
// the clock. Errors: ErrExists, ErrState (any other state, or an outcome without an end), ErrTooLarge,
// ErrClosed.
//
// ErrBusy: another live run of the actor uses the session.
func (s *Store) Start(ctx context.Context, r Run) error {
	if r.State == "" {
		r.State = Asked
	}
	if final := r.State.Final(); !final && r.State != Asked && r.State != Started || !final && r.Outcome != nil {
		return fmt.Errorf("start run %s as %q: %w", r.ID, r.State, ErrState)
	}
	if err := checkSize("outcome", len(r.Outcome), MaxOutcome); err != nil {
		return fmt.Errorf("start run %s: %w", r.ID, err)
	}
	if err := errors.Join(checkID(r.ID), checkSize("session", len(r.Session), MaxID)); err != nil {
		return fmt.Errorf("start run: %w", err)
	}
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		// No two runs are created in the same microsecond, because a page of a list ends between two of them.
		now := max(s.now(), s.created+1)
		s.created = now
		if by, err := t.busy(ctx, r.Actor, r.Session); !r.State.Final() && (err != nil || by != "") {
			return cmp.Or(err, ErrBusy)
		}
		n, err := t.Changed(ctx, `insert into run (`+runColumns+`)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, $15) on conflict do nothing`,
			recordVersion, r.ID, r.Agent, r.Actor, r.Executor, r.State, r.Program, r.Generation, r.Revision, r.Outcome,
			r.Audit.Seq, r.Audit.Hash, now, now, r.Session)
		if err == nil && n == 0 {
			err = ErrExists
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("start run %s: %w", r.ID, err)
	}
	return nil
}

func checkID(id string) error {
	if id == "" {
		return fmt.Errorf("%w: empty id", ErrState)
	}
	return checkSize("id", len(id), MaxID)
}

func checkSize(what string, n, limit int) error {
	if n > limit {
		return fmt.Errorf("%s of %d bytes: %w: the limit is %d", what, n, ErrTooLarge, limit)
	}
	return nil
}

// Advance moves a run along one allowed transition and returns it. A final state closes the run's open calls
// as not executed, closes the calls that its guest performed, and deletes its pause. Some transitions need
// another method and are ErrState here: to Paused (PutPause), Answered (the last answer), Claimed (Claim) and
// Executing (Begin). Other errors: ErrNotFound, ErrTooLarge, ErrClosed.
func (s *Store) Advance(ctx context.Context, id string, to State, c Change) (Run, error) {
	if err := checkSize("outcome", len(c.Outcome), MaxOutcome); err != nil {
		return Run{}, fmt.Errorf("advance run %s: %w", id, err)
	}
	now := s.now()
	var out Run
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		r, err := t.run(ctx, id)
		if err != nil {
			return err
		}
		if !r.State.May(to) || !to.Final() && to != Started && to != CallOpen {
			return fmt.Errorf("from %s to %q: %w", r.State, to, ErrState)
		}
		out, err = t.moveRun(ctx, r, to, c, now)
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("advance run %s: %w", id, err)
	}
	return out, nil
}

func (t *tx) run(ctx context.Context, id string) (r Run, err error) {
	err = t.Rows(ctx, func(row scanner) error {
		r, err = scanRun(row)
		return err
	}, `select `+runColumns+` from run where id = $1`, id)
	if err == nil && r.ID == "" {
		err = ErrNotFound
	}
	return r, err
}

// moveRun writes the state and the values that belong to it. The caller has checked the transition.
func (t *tx) moveRun(ctx context.Context, r Run, to State, c Change, now int64) (Run, error) {
	r.State, r.Updated = to, fromMicros(now)
	if c.Generation != 0 {
		r.Generation = c.Generation
	}
	if c.Revision != "" {
		r.Revision = c.Revision
	}
	if c.Outcome != nil {
		r.Outcome = c.Outcome
	}
	if c.Audit.Seq != 0 {
		r.Audit = c.Audit
	}
	err := t.Exec(ctx, `update run set state = $2, generation = $3, revision = $4, outcome = $5,
		audit_seq = $6, audit_hash = $7, updated = $8, seq = $9 where id = $1`,
		r.ID, r.State, r.Generation, r.Revision, r.Outcome, r.Audit.Seq, r.Audit.Hash, now, r.Seq)
	if err != nil || !to.Final() {
		return r, err
	}
	t.s.lines.removals++
	// No bridge has a name such as exec:….
	err = t.Exec(ctx, `update call set state = 'closed', updated = $2 where run = $1
		and (state = 'open' or state = 'executing' and bridge like '%:%')`, r.ID, now)
	if err != nil || r.Seq == 0 {
		return r, err
	}
	return r, t.dropPause(ctx, r.ID)
}

// Run returns one run. Error: ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	var r Run
	err := s.read(ctx, func(row scanner) (err error) {
		r, err = scanRun(row)
		return err
	}, `select `+runColumns+` from run where id = $1`, id)
	if err == nil && r.ID == "" {
		err = ErrNotFound
	}
	if err != nil {
		return Run{}, fmt.Errorf("run %s: %w", id, err)
	}
	return r, nil
}

// Runs returns runs without their outcomes, newest first.
func (s *Store) Runs(ctx context.Context, f Filter) ([]Run, error) {
	var where []string
	var args []any
	add := func(cond string, v any) {
		args = append(args, v)
		where = append(where, fmt.Sprintf(cond, len(args)))
	}
	if f.Prefix != "" {
		add("substr(id, 1, length($%[1]d)) = $%[1]d", f.Prefix)
	}
	if f.Agent != "" {
		add("agent = $%d", f.Agent)
	}
	if f.Actor != "" {
		add("actor = $%d", f.Actor)
	}
	if !f.Before.IsZero() {
		add("created < $%d", f.Before.UnixMicro())
	}
	if len(f.States) > 0 {
		var in []string
		for _, st := range f.States {
			args = append(args, st)
			in = append(in, fmt.Sprintf("$%d", len(args)))
		}
		where = append(where, "state in ("+strings.Join(in, ", ")+")")
	}
	query := `select ` + strings.Replace(runColumns, "outcome", "null", 1) + ` from run`
	if len(where) > 0 {
		query += " where " + strings.Join(where, " and ")
	}
	args = append(args, limit(f.Limit))
	query += fmt.Sprintf(" order by created desc, id desc limit $%d", len(args))

	var out []Run
	err := s.read(ctx, func(row scanner) error {
		r, err := scanRun(row)
		out = append(out, r)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return out, nil
}

// limit returns the number of rows for a caller that asks for n.
func limit(n int) int {
	const standard, most = 100, 1000
	if n <= 0 {
		return standard
	}
	return min(n, most)
}
