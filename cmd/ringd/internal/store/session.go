package store

import (
	"context"
	"errors"
	"fmt"
)

const sessionColumns = `v, actor, name, agent, executor, seq, revision, key_id, engine, size, file, expires,
	created, updated,
	coalesce((select id from run where run.actor = session.actor and run.session = session.name and run.session <> ''
		and state in ` + liveStates + ` limit 1), '')`

// sealedSession returns the row name of the sealed record of a session.
func sealedSession(actor, name string) string {
	return fmt.Sprintf("session/%d/%s/%s", len(actor), actor, name)
}

// scanSession reads the sessionColumns of a row, and more columns.
func scanSession(row scanner, more ...any) (Session, sealedRow, error) {
	var x Session
	var in sealedRow
	var v, expires, created, updated int64
	err := row.Scan(append([]any{&v, &x.Actor, &x.Name, &x.Agent, &x.Executor, &x.Seq, &x.Revision, &x.KeyID, &x.Engine,
		&x.Size, &in.file, &expires, &created, &updated, &x.Busy}, more...)...)
	if err != nil {
		return Session{}, sealedRow{}, fmt.Errorf("read session: %w", err)
	}
	if v != recordVersion {
		return Session{}, sealedRow{}, fmt.Errorf(
			"session %s of %s: %w %d: start the ringd that wrote it",
			x.Name,
			x.Actor,
			ErrFormat,
			v,
		)
	}
	if x.Seq < 1 || x.Size < 1 || x.Size > MaxSealed {
		return Session{}, sealedRow{}, fmt.Errorf(
			"session %s of %s: %w: %d with %d bytes",
			x.Name,
			x.Actor,
			ErrFormat,
			x.Seq,
			x.Size,
		)
	}
	in.size = x.Size
	x.Expires, x.Created, x.Updated = timeOrZero(expires), fromMicros(created), fromMicros(updated)
	return x, in, nil
}

// PutSession replaces the state of a session whose sequence is Was. ErrState: another state is there, or
// none, or the session belongs to another agent or executor. Other errors: ErrTooLarge, ErrClosed.
func (s *Store) PutSession(ctx context.Context, x Session) error {
	err := errors.Join(checkID(x.Name), checkID(x.Actor))
	if err == nil && (x.Was < 0 || x.Seq <= x.Was) {
		err = fmt.Errorf("%w: %d after %d", ErrState, x.Seq, x.Was)
	}
	if err == nil {
		err = s.withSealed(ctx, x.Sealed, func(file string) error {
			now := s.now()
			return s.write(ctx, func(ctx context.Context, t *tx) error { return t.putSession(ctx, x, file, now) })
		})
	}
	if err != nil {
		return fmt.Errorf("keep session %s: %w", x.Name, err)
	}
	return nil
}

func (t *tx) putSession(ctx context.Context, x Session, file string, now int64) error {
	var was int64
	var agent, executor, old string
	err := t.Rows(ctx, func(row scanner) error { return row.Scan(&was, &agent, &executor, &old) },
		`select seq, agent, executor, file from session where actor = $1 and name = $2`, x.Actor, x.Name)
	switch {
	case err != nil:
		return err
	case was != x.Was:
		return fmt.Errorf("%w: the one there is %d, not %d", ErrState, was, x.Was)
	case was != 0 && (agent != x.Agent || executor != x.Executor):
		return fmt.Errorf("%w: it is of agent %s and executor %s", ErrState, agent, executor)
	}
	if old != file {
		t.removeFile(ctx, old)
	}
	err = t.Exec(
		ctx,
		`insert into session
		(v, actor, name, agent, executor, seq, revision, key_id, engine, size, file, expires, created, updated)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
		on conflict (actor, name) do update set seq = excluded.seq, revision = excluded.revision,
		key_id = excluded.key_id, engine = excluded.engine, size = excluded.size, file = excluded.file,
		expires = excluded.expires, updated = excluded.updated`,
		recordVersion,
		x.Actor,
		x.Name,
		x.Agent,
		x.Executor,
		x.Seq,
		x.Revision,
		x.KeyID,
		x.Engine,
		len(x.Sealed),
		file,
		toMicros(x.Expires),
		now,
	)
	if err != nil {
		return err
	}
	return t.putSealed(ctx, sealedSession(x.Actor, x.Name), file, x.Sealed)
}

// Session returns the state of a session. Errors: ErrNotFound; ErrDamaged, with everything but Sealed.
func (s *Store) Session(ctx context.Context, actor, name string) (Session, error) {
	var x Session
	var in sealedRow
	err := s.read(ctx, func(row scanner) error {
		var body []byte
		var err error
		x, in, err = scanSession(row, &body)
		in.body = body
		return err
	}, `select `+sessionColumns+
		`, (select body from sealed where sealed.name = $3) from session where actor = $1 and name = $2`,
		actor, name, sealedSession(actor, name))
	if err == nil && x.Name == "" {
		err = ErrNotFound
	}
	if err == nil {
		x.Sealed, err = s.load(in)
	}
	if err != nil {
		return x, fmt.Errorf("session %s: %w", name, err)
	}
	return x, nil
}

// Sessions returns sessions without Sealed, last used first: those of actor, or all if actor is empty. It
// returns at most n (zero means 100, at most 1000).
func (s *Store) Sessions(ctx context.Context, actor string, n int) ([]Session, error) {
	var out []Session
	err := s.read(ctx, func(row scanner) error {
		x, _, err := scanSession(row)
		out = append(out, x)
		return err
	}, `select `+sessionColumns+` from session where actor = $1 or $1 = '' order by updated desc, actor, name limit $2`,
		actor, limit(n))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return out, nil
}

// DropSession deletes a session. Errors: ErrNotFound; ErrBusy (a live run uses it); ErrClosed.
func (s *Store) DropSession(ctx context.Context, actor, name string) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		by, err := t.busy(ctx, actor, name)
		if err == nil && by != "" {
			err = fmt.Errorf("run %s: %w", by, ErrBusy)
		}
		if err != nil {
			return err
		}
		return t.dropSession(ctx, actor, name)
	})
	if err != nil {
		return fmt.Errorf("drop session %s: %w", name, err)
	}
	return nil
}

func (t *tx) dropSession(ctx context.Context, actor, name string) error {
	file, err := queryOne[string](ctx, t, `select file from session where actor = $1 and name = $2`, actor, name)
	if err != nil {
		return err
	}
	n, err := t.Changed(ctx, `delete from session where actor = $1 and name = $2`, actor, name)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return err
	}
	t.removeFile(ctx, file)
	return t.Exec(ctx, `delete from sealed where name = $1`, sealedSession(actor, name))
}

// busy returns the live run of actor that uses the session.
func (t *tx) busy(ctx context.Context, actor, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return queryOne[string](ctx, t, `select id from run where actor = $1 and session = $2 and session <> ''
		and state in `+liveStates+` limit 1`, actor, name)
}

// ExpireSessions deletes sessions that have expired and that no live run uses, and returns them without
// Sealed. It deletes at most n (zero means 100, at most 1000).
func (s *Store) ExpireSessions(ctx context.Context, n int) ([]Session, error) {
	now := s.now()
	var out []Session
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		out = nil
		err := t.Rows(ctx, func(row scanner) error {
			x, _, err := scanSession(row)
			out = append(out, x)
			return err
		}, `select * from (select `+sessionColumns+` as busy from session where expires > 0 and expires <= $1)
			where busy = '' order by expires limit $2`, now, limit(n))
		for i := 0; err == nil && i < len(out); i++ {
			err = t.dropSession(ctx, out[i].Actor, out[i].Name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("expire sessions: %w", err)
	}
	return out, nil
}
