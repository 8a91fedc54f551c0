package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

const callColumns = `v, run, id, n, bridge, waits_for, state, idem, args_digest, args, result,
	reply, replied_by, replied_at, audit_seq, audit_hash, created, updated`

// scanCall reads the callColumns of a row.
func scanCall(row scanner) (Call, error) {
	var c Call
	var v, created, updated int64
	var by sql.NullString
	var at sql.NullInt64
	err := row.Scan(&v, &c.Run, &c.ID, &c.N, &c.Bridge, &c.For, &c.State, &c.Key, &c.ArgsDigest, &c.Args, &c.Result,
		&c.Reply, &by, &at, &c.Audit.Seq, &c.Audit.Hash, &created, &updated)
	if err != nil {
		return Call{}, fmt.Errorf("read call: %w", err)
	}
	if v != recordVersion {
		return Call{}, fmt.Errorf("call %s of run %s: %w %d: start the ringd that wrote it", c.ID, c.Run, ErrFormat, v)
	}
	if !c.State.Known() || !c.For.Known() {
		return Call{}, fmt.Errorf("call %s of run %s: %w: state %q for %q", c.ID, c.Run, ErrFormat, c.State, c.For)
	}
	c.RepliedBy = by.String
	if at.Valid {
		c.RepliedAt = fromMicros(at.Int64)
	}
	c.Created, c.Updated = fromMicros(created), fromMicros(updated)
	return c, nil
}

// Key is the idempotency key of a call: the same for the same run, call and
// arguments, and for nothing else.
func Key(run, call, argsDigest string) string {
	h := sha256.New()
	var size [8]byte
	for _, part := range []string{"ringd call v1", run, call, argsDigest} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// OpenCall remembers a call before anyone is asked (State CallPending) or before
// the act (CallExecuting), makes the run CallOpen, and returns the call with N
// and Key. A call without For is ByHost. ErrNotFound (no such run), ErrExists,
// ErrState (the run is not live, or no call starts so), ErrTooLarge, ErrClosed.
func (s *Store) OpenCall(ctx context.Context, c Call) (Call, error) {
	if c.For == "" {
		c.For = ByHost
	}
	if err := checkCall(c); err != nil {
		return Call{}, fmt.Errorf("open call %s of run %s: %w", c.ID, c.Run, err)
	}
	now := s.now()
	c.Key = Key(c.Run, c.ID, c.ArgsDigest)
	c.Created, c.Updated = fromMicros(now), fromMicros(now)
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		r, err := t.run(ctx, c.Run)
		if err != nil {
			return err
		}
		if !r.State.running() {
			return fmt.Errorf("the run is %s: %w", r.State, ErrState)
		}
		if err := t.insertCall(ctx, &c, now); err != nil {
			return err
		}
		if r.State == CallOpen {
			return nil
		}
		_, err = t.moveRun(ctx, r, CallOpen, Change{Audit: c.Audit}, now)
		return err
	})
	if err != nil {
		return Call{}, fmt.Errorf("open call %s of run %s: %w", c.ID, c.Run, err)
	}
	return c, nil
}

func checkCall(c Call) error {
	switch {
	case c.State != CallPending && c.State != CallExecuting:
		return fmt.Errorf("%w: a call does not start as %q", ErrState, c.State)
	case !c.For.Known():
		return fmt.Errorf("%w: nobody is called %q", ErrState, c.For)
	case c.State == CallExecuting && c.For != ByHost:
		return fmt.Errorf("%w: a call for the %s waits for an answer first", ErrState, c.For)
	}
	if err := checkID(c.ID); err != nil {
		return err
	}
	return checkSize("arguments", len(c.Args), MaxArgs)
}

func (t *tx) insertCall(ctx context.Context, c *Call, now int64) error {
	var n int64
	err := t.rows(ctx, func(row scanner) error { return row.Scan(&n) },
		`select coalesce(max(n), 0) + 1 from call where run = $1`, c.Run)
	if err != nil {
		return err
	}
	made, err := t.changed(ctx, `insert into call (`+callColumns+`)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, null, null, null, null, $11, $12, $13, $14) on conflict do nothing`,
		recordVersion, c.Run, c.ID, n, c.Bridge, c.For, c.State, c.Key, c.ArgsDigest, c.Args,
		c.Audit.Seq, c.Audit.Hash, now, now)
	if err == nil && made == 0 {
		err = ErrExists
	}
	c.N = n
	return err
}

func (t *tx) call(ctx context.Context, run, id string) (c Call, err error) {
	err = t.rows(ctx, func(row scanner) error {
		c, err = scanCall(row)
		return err
	}, `select `+callColumns+` from call where run = $1 and id = $2`, run, id)
	if err == nil && c.ID == "" {
		err = ErrNotFound
	}
	return c, err
}

// Answer settles an open call. The first answer wins; later ones, also equal
// ones, are told whose it was. ErrNotFound; ErrState when the call is not one
// that waits for an answer, was closed without one, or its run is final;
// ErrTooLarge, ErrClosed.
func (s *Store) Answer(ctx context.Context, run, call string, r Reply) (Settled, error) {
	if err := checkSize("answer", len(r.Body), MaxResult); err != nil {
		return Settled{}, fmt.Errorf("answer call %s of run %s: %w", call, run, err)
	}
	if r.Body == nil {
		r.Body = []byte{}
	}
	now := s.now()
	var out Settled
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, run, call)
		if err != nil {
			return err
		}
		if c.Reply != nil {
			out = Settled{By: c.RepliedBy, At: c.RepliedAt}
			return nil
		}
		if c.State != CallPending || c.For == ByHost {
			return fmt.Errorf("the call is %s, for the %s: %w", c.State, c.For, ErrState)
		}
		out = Settled{First: true, By: r.By, At: fromMicros(now)}
		return t.exec(ctx, `update call set reply = $3, replied_by = $4, replied_at = $5, updated = $5
			where run = $1 and id = $2`, run, call, r.Body, r.By, now)
	})
	if err != nil {
		return Settled{}, fmt.Errorf("answer call %s of run %s: %w", call, run, err)
	}
	return out, nil
}

// Execute moves a call from CallPending to CallExecuting: once, before the act.
// The call returned carries the answer; one that waits for an approver and has
// none is ErrState, as is one for the harness, which acts itself. ErrNotFound,
// ErrState (also when its run is final), ErrClosed.
func (s *Store) Execute(ctx context.Context, run, call string, audit Head) (Call, error) {
	now := s.now()
	var out Call
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, run, call)
		if err != nil {
			return err
		}
		if !c.State.May(CallExecuting) || c.For == ByHarness || (c.For == ByApprover && c.Reply == nil) {
			return fmt.Errorf("the call is %s, for the %s: %w", c.State, c.For, ErrState)
		}
		out = c
		return t.moveCall(ctx, &out, CallExecuting, audit, now)
	})
	if err != nil {
		return Call{}, fmt.Errorf("execute call %s of run %s: %w", call, run, err)
	}
	return out, nil
}

func (t *tx) moveCall(ctx context.Context, c *Call, to CallState, audit Head, now int64) error {
	c.State, c.Updated = to, fromMicros(now)
	if audit.Seq != 0 {
		c.Audit = audit
	}
	return t.exec(ctx, `update call set state = $3, result = $4, audit_seq = $5, audit_hash = $6, updated = $7
		where run = $1 and id = $2`, c.Run, c.ID, c.State, c.Result, c.Audit.Seq, c.Audit.Hash, now)
}

// CloseCall ends a call with its result (CallClosed) or as CallUnknown. It
// works after the run is final, too: a late result is kept. When no call is
// left the run is Started again. ErrNotFound, ErrState, ErrTooLarge, ErrClosed.
func (s *Store) CloseCall(ctx context.Context, run, call string, to CallState, result []byte, audit Head) error {
	if err := checkSize("result", len(result), MaxResult); err != nil {
		return fmt.Errorf("close call %s of run %s: %w", call, run, err)
	}
	now := s.now()
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, run, call)
		if err != nil {
			return err
		}
		if !c.State.May(to) || to == CallExecuting {
			return fmt.Errorf("from %s to %q: %w", c.State, to, ErrState)
		}
		c.Result = result
		if err := t.moveCall(ctx, &c, to, audit, now); err != nil {
			return err
		}
		return t.exec(ctx, `update run set state = 'started', updated = $2 where id = $1 and state = 'call_open'
			and not exists (select 1 from call where run = $1 and state in ('open', 'executing'))`, run, now)
	})
	if err != nil {
		return fmt.Errorf("close call %s of run %s: %w", call, run, err)
	}
	return nil
}

// Calls returns the calls of a run in order; none is not an error.
func (s *Store) Calls(ctx context.Context, run string) ([]Call, error) {
	out, err := s.readCalls(ctx, `select `+callColumns+` from call where run = $1 order by n`, run)
	if err != nil {
		return nil, fmt.Errorf("calls of run %s: %w", run, err)
	}
	return out, nil
}

// Waiting returns the open calls without an answer that who may answer, oldest
// first, at most n (0: 100, at most 1000).
func (s *Store) Waiting(ctx context.Context, who Answerer, n int) ([]Call, error) {
	out, err := s.readCalls(ctx, `select `+callColumns+` from call
		where state = 'open' and waits_for = $1 and reply is null order by created, run, n limit $2`, who, limit(n))
	if err != nil {
		return nil, fmt.Errorf("calls waiting for %s: %w", who, err)
	}
	return out, nil
}

func (s *Store) readCalls(ctx context.Context, query string, args ...any) ([]Call, error) {
	var out []Call
	err := s.read(ctx, func(row scanner) error {
		c, err := scanCall(row)
		out = append(out, c)
		return err
	}, query, args...)
	return out, err
}
