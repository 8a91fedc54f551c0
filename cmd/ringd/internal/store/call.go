package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

const callColumns = `v, run, id, n, bridge, waits_for, state, idem, args_digest, args, result,
	reply, replied_by, replied_at, audit_seq, audit_hash, created, updated,
	acts, owners, needs, expires, verdict, decided_by, decided_at, wave, notified, started, mark`

// scanCall reads the callColumns of a row.
func scanCall(row scanner) (Call, error) {
	var c Call
	var v, created, updated, expires, decided, notified int64
	var owners string
	var by sql.NullString
	var at sql.NullInt64
	err := row.Scan(
		&v,
		&c.Run,
		&c.ID,
		&c.N,
		&c.Bridge,
		&c.For,
		&c.State,
		&c.Key,
		&c.ArgsDigest,
		&c.Args,
		&c.Result,
		&c.Reply,
		&by,
		&at,
		&c.Audit.Seq,
		&c.Audit.Hash,
		&created,
		&updated,
		&c.Acts,
		&owners,
		&c.Needs,
		&expires,
		&c.Verdict,
		&c.DecidedBy,
		&decided,
		&c.Wave,
		&notified,
		&c.Started,
		&c.Mark,
	)
	if err != nil {
		return Call{}, fmt.Errorf("read call: %w", err)
	}
	if v != recordVersion {
		return Call{}, fmt.Errorf("call %s of run %s: %w %d: start the ringd that wrote it", c.ID, c.Run, ErrFormat, v)
	}
	if err := c.checkRow(); err != nil {
		return Call{}, fmt.Errorf("call %s of run %s: %w", c.ID, c.Run, err)
	}
	if c.From, err = decodeCapacities(owners); err != nil {
		return Call{}, fmt.Errorf("call %s of run %s: %w", c.ID, c.Run, err)
	}
	c.Expires, c.DecidedAt, c.Notified = timeOrZero(expires), timeOrZero(decided), timeOrZero(notified)
	c.RepliedBy = by.String
	if at.Valid {
		c.RepliedAt = fromMicros(at.Int64)
	}
	c.Created, c.Updated = fromMicros(created), fromMicros(updated)
	return c, nil
}

// checkRow returns an error for a row that no call can have.
func (c *Call) checkRow() error {
	approval := c.For == ByApprover || c.Verdict != ""
	switch {
	case !c.State.Known() || !c.For.Known():
		return fmt.Errorf("%w: state %q for %q", ErrFormat, c.State, c.For)
	case c.Verdict != "" && c.Verdict != Allow && c.Verdict != Deny:
		return fmt.Errorf("%w: verdict %q", ErrFormat, c.Verdict)
	case approval && c.Acts != ByHost && c.Acts != ByHarness, c.Acts != "" && !c.Acts.Known():
		return fmt.Errorf("%w: approved for the %q", ErrFormat, c.Acts)
	case approval && c.Needs < 1, c.Wave < 0, c.Started < 0:
		return fmt.Errorf("%w: %d approvals, wave %d", ErrFormat, c.Needs, c.Wave)
	default:
		return nil
	}
}

// Key returns the idempotency key of a call. It is the same only for the same run, call and arguments.
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

// OpenCall stores a call before anyone is asked (State CallPending) or before the act (CallExecuting). It
// makes the run CallOpen, and returns the call with N and Key. A call without For is ByHost. A call for an
// approver may have terms. Errors: ErrNotFound (no such run), ErrExists, ErrState (the run is not live, or a
// call cannot start in this state), ErrTooLarge, ErrClosed; *QueueError.
func (s *Store) OpenCall(ctx context.Context, c Call) (Call, error) {
	if c.For == "" {
		c.For = ByHost
	}
	if c.For == ByApprover {
		c.Acts, c.Needs = cmp.Or(c.Acts, ByHost), cmp.Or(c.Needs, 1)
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
		if err := t.checkQueue(ctx, r, c); err != nil {
			return err
		}
		if err := t.insertCall(ctx, &c, now); err != nil {
			return err
		}
		if c.Spawned > 0 && c.Tree != c.Run {
			if err := t.spend(ctx, c.Tree, c.Spawned); err != nil {
				return err
			}
		}
		if r.State != CallOpen {
			if _, err = t.moveRun(ctx, r, CallOpen, Change{Audit: c.Audit}, now); err != nil {
				return err
			}
		}
		t.addWaiting(r, c)
		return nil
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
	case c.For == ByApprover && (c.Needs < 1 || c.Acts != ByHost && c.Acts != ByHarness):
		return fmt.Errorf("%w: %d approvals for the %s", ErrState, c.Needs, c.Acts)
	case c.For != ByApprover && (c.Acts != "" || c.Needs != 0 || len(c.From) > 0 || !c.Expires.IsZero()):
		return fmt.Errorf("%w: nobody approves a call for the %s", ErrState, c.For)
	case c.Verdict != "" || c.Reply != nil:
		return fmt.Errorf("%w: a call does not start with an answer", ErrState)
	}
	if err := checkID(c.ID); err != nil {
		return err
	}
	return errors.Join(checkSize("arguments", len(c.Args), MaxArgs), checkSize("mark", len(c.Mark), maxMark))
}

func (t *tx) insertCall(ctx context.Context, c *Call, now int64) error {
	var n int64
	err := t.Rows(ctx, func(row scanner) error { return row.Scan(&n) },
		`select coalesce(max(n), 0) + 1 from call where run = $1`, c.Run)
	if err != nil {
		return err
	}
	from := encodeCapacities(c.From)
	if err := checkSize("capacities", len(from), MaxReason); err != nil {
		return err
	}
	made, err := t.Changed(ctx, `insert into call (`+callColumns+`)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, null, null, null, null, $11, $12, $13, $14,
		$15, $16, $17, $18, '', '', 0, 0, 0, 0, $19) on conflict do nothing`,
		recordVersion, c.Run, c.ID, n, c.Bridge, c.For, c.State, c.Key, c.ArgsDigest, c.Args,
		c.Audit.Seq, c.Audit.Hash, now, now, c.Acts, from, c.Needs, toMicros(c.Expires), c.Mark)
	if err == nil && made == 0 {
		err = ErrExists
	}
	c.N, c.Wave = n, 0
	return err
}

func (t *tx) call(ctx context.Context, run, id string) (c Call, err error) {
	err = t.Rows(ctx, func(row scanner) error {
		c, err = scanCall(row)
		return err
	}, `select `+callColumns+` from call where run = $1 and id = $2`, run, id)
	if err == nil && c.ID == "" {
		err = ErrNotFound
	}
	return c, err
}

// Answer settles a call that waits for the harness, live or paused. The first answer wins. For a later one,
// also an equal one, the result names the owner of the first. For a call that waits for an approver see
// Approve. Errors: ErrNotFound; ErrState (the call does not wait for the harness, was closed without an
// answer, or its run is final), ErrDigest, ErrExpired; ErrTooLarge, ErrClosed.
func (s *Store) Answer(ctx context.Context, run, call string, r Reply) (Settled, error) {
	r.Call = call
	out, err := s.AnswerAll(ctx, run, []Reply{r})
	if err != nil {
		return Settled{}, err
	}
	return out[0], nil
}

// AnswerAll is Answer for several calls in one commit. If one is an error, none is stored. The results are in
// the order of the replies.
func (s *Store) AnswerAll(ctx context.Context, run string, replies []Reply) ([]Settled, error) {
	for _, r := range replies {
		if err := checkSize("answer", len(r.Body), MaxResult); err != nil {
			return nil, fmt.Errorf("answer call %s of run %s: %w", r.Call, run, err)
		}
	}
	now := s.now()
	var out []Settled
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		out = make([]Settled, len(replies))
		r, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		if err := t.inTime(ctx, r, now); err != nil {
			return err
		}
		for i, reply := range replies {
			if out[i], err = t.answer(ctx, r, reply, now); err != nil {
				return fmt.Errorf("call %s: %w", reply.Call, err)
			}
		}
		r, err = t.answered(ctx, r, now)
		for i := range out {
			out[i].Run = r.State
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("answer run %s: %w", run, err)
	}
	return out, nil
}

func (t *tx) answer(ctx context.Context, run Run, r Reply, now int64) (Settled, error) {
	c, err := t.call(ctx, run.ID, r.Call)
	switch {
	case err != nil:
		return Settled{}, err
	case r.Digest != "" && r.Digest != c.ArgsDigest:
		return Settled{}, ErrDigest
	case c.For == ByHarness && c.Reply != nil:
		return Settled{By: c.RepliedBy, At: c.RepliedAt}, nil
	case c.State != CallPending || c.For != ByHarness || !run.State.running() && run.State != Paused:
		return Settled{}, fmt.Errorf(
			"the call is %s, for the %s, the run is %s: %w",
			c.State,
			c.For,
			run.State,
			ErrState,
		)
	}
	if r.Body == nil {
		r.Body = []byte{}
	}
	return Settled{First: true, By: r.By, At: fromMicros(now)},
		t.Exec(ctx, `update call set reply = $3, replied_by = $4, replied_at = $5, updated = $5
			where run = $1 and id = $2`, run.ID, r.Call, r.Body, r.By, now)
}

// Execute moves a call from CallPending to CallExecuting, once, before the act. This consumes its approval.
// ErrState: no approver has allowed the call, the harness performs it, or its run is not live. Other errors:
// ErrNotFound, ErrClosed.
func (s *Store) Execute(ctx context.Context, run, call string, audit Head) (Call, error) {
	now := s.now()
	var out Call
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, run, call)
		if err != nil {
			return err
		}
		if !c.State.May(CallExecuting) || c.For == ByHarness || c.For == ByApprover && c.Verdict != Allow {
			return fmt.Errorf("the call is %s, for the %s: %w", c.State, c.For, ErrState)
		}
		if err := t.inGuest(ctx, run); err != nil {
			return err
		}
		out = c
		return t.moveCall(ctx, &out, CallExecuting, audit, now)
	})
	if err != nil {
		return Call{}, fmt.Errorf("execute call %s of run %s: %w", call, run, err)
	}
	return out, nil
}

// inGuest returns an error unless the run has a live program.
func (t *tx) inGuest(ctx context.Context, run string) error {
	st, err := queryOne[string](ctx, t, `select state from run where id = $1`, run)
	if err == nil && !State(st).running() {
		err = fmt.Errorf("the run is %s: %w", st, ErrState)
	}
	return err
}

func (t *tx) moveCall(ctx context.Context, c *Call, to CallState, audit Head, now int64) error {
	t.s.lines.removals++
	c.State, c.Updated = to, fromMicros(now)
	if audit.Seq != 0 {
		c.Audit = audit
	}
	return t.Exec(ctx, `update call set state = $3, result = $4, audit_seq = $5, audit_hash = $6, updated = $7
		where run = $1 and id = $2`, c.Run, c.ID, c.State, c.Result, c.Audit.Seq, c.Audit.Hash, now)
}

// CloseCall ends a call with its result (CallClosed) or as CallUnknown. An executing call can be closed even
// after its run is final, so a late result is kept. A call that was not executed is closed only while its
// program is live, because the calls of a pause are kept with the pause. When no call is left the run is
// Started again. Errors: ErrNotFound, ErrState, ErrTooLarge, ErrClosed.
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
		if c.State == CallPending {
			if err := t.inGuest(ctx, run); err != nil {
				return err
			}
		}
		c.Result = result
		if err := t.moveCall(ctx, &c, to, audit, now); err != nil {
			return err
		}
		return t.Exec(ctx, `update run set state = 'started', updated = $2 where id = $1 and state = 'call_open'
			and not exists (select 1 from call where run = $1 and state in ('open', 'executing'))`, run, now)
	})
	if err != nil {
		return fmt.Errorf("close call %s of run %s: %w", call, run, err)
	}
	return nil
}

// Calls returns the calls of a run in order. A run without calls is no error.
func (s *Store) Calls(ctx context.Context, run string) ([]Call, error) {
	out, err := s.readCalls(ctx, `select `+callColumns+` from call where run = $1 order by n`, run)
	if err != nil {
		return nil, fmt.Errorf("calls of run %s: %w", run, err)
	}
	return out, nil
}

// WaitingPage selects waiting calls.
type WaitingPage struct {
	Limit int    // number of calls; zero means 100, at most 1000
	Actor string // owner of the runs; empty means all
	Args  int64  // larger arguments are left out
	After Turn   // calls after this place
}

// Turn is a position in a list of waiting calls. The newest call of each agent and actor has the first turn.
// The zero Turn is before all calls.
type Turn struct {
	N            int64
	Agent, Actor string
}

// Waiting is a waiting call with its owner.
type Waiting struct {
	Call
	Turn
	Size int64 // of the arguments; if Args is nil they were left out
}

// Waiting returns the open calls without an answer that who may answer. They come in turns: the newest of
// each agent and actor, then the next of each. So an agent that floods the list does not push out the calls
// of others.
func (s *Store) Waiting(ctx context.Context, who Answerer, p WaitingPage) ([]Waiting, error) {
	var out []Waiting
	err := s.read(ctx, func(row scanner) error {
		var w Waiting
		c, err := scanCall(extraColumns{row, []any{&w.Turn.Agent, &w.Turn.Actor, &w.Turn.N, &w.Size}})
		w.Call = c
		out = append(out, w)
		return err
	}, `with waits as (
			select call.run as run, call.n as n, run.agent as agent, run.actor as actor,
				row_number() over (partition by run.agent, run.actor
					order by call.created desc, call.run desc, call.n desc) as turn
			from call join run on run.id = call.run
			where call.state = 'open' and call.waits_for = $1 and call.reply is null and ($2 = '' or run.actor = $2))
		select v, call.run, id, call.n, bridge, waits_for, state, idem, args_digest,
			case when coalesce(length(args), 0) <= $3 then args end, result,
			reply, replied_by, replied_at, audit_seq, audit_hash, created, updated,
			acts, owners, needs, expires, verdict, decided_by, decided_at, wave, notified, started, mark,
			agent, actor, turn, coalesce(length(args), 0)
		from waits join call on call.run = waits.run and call.n = waits.n
		where (turn, agent, actor) > ($4, $5, $6) order by turn, agent, actor limit $7`,
		who, p.Actor, p.Args, p.After.N, p.After.Agent, p.After.Actor, limit(p.Limit))
	if err != nil {
		return nil, fmt.Errorf("calls waiting for %s: %w", who, err)
	}
	return out, nil
}

// extraColumns scans more columns after those of a call.
type extraColumns struct {
	scanner
	more []any
}

// Scan reads one row.
func (a extraColumns) Scan(into ...any) error { return a.scanner.Scan(append(into, a.more...)...) }

func (s *Store) readCalls(ctx context.Context, query string, args ...any) ([]Call, error) {
	var out []Call
	err := s.read(ctx, func(row scanner) error {
		c, err := scanCall(row)
		out = append(out, c)
		return err
	}, query, args...)
	return out, err
}
