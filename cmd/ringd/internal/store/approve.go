package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

const approvalColumns = `v, run, call, approver, capacity, verdict, reason, digest, at, mark`

// scanApproval reads the approvalColumns of a row.
func scanApproval(row scanner) (Approval, error) {
	var a Approval
	var v, at int64
	if err := row.Scan(&v, &a.Run, &a.Call, &a.By, &a.As, &a.Verdict, &a.Reason, &a.Digest, &at, &a.Mark); err != nil {
		return Approval{}, fmt.Errorf("read approval: %w", err)
	}
	if v != recordVersion || a.Verdict != Allow && a.Verdict != Deny {
		return Approval{}, fmt.Errorf(
			"approval of call %s of run %s: %w %d: verdict %q",
			a.Call,
			a.Run,
			ErrFormat,
			v,
			a.Verdict,
		)
	}
	a.At = fromMicros(at)
	return a, nil
}

// Approve stores one approver's verdict on a call that waits for an approver, live or paused. One Deny
// decides the call. An Allow decides it once the call has as many as it needs. Each approver counts once, and
// may change an Allow to a Deny while the call is undecided. A verdict on a decided call changes nothing, and
// the result names the approver whose verdict counts. If the harness performs the bridge, an allowed call
// then waits for the harness. Errors: ErrNotFound; ErrState (the call is not for an approver or was closed,
// or its run has ended), ErrDigest, ErrExpired, ErrApprover; ErrTooLarge, ErrClosed.
func (s *Store) Approve(ctx context.Context, run, call string, a Approval) (Approved, error) {
	a.Run, a.Call = run, call
	err := checkApproval(a)
	now := s.now()
	var out Approved
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, t *tx) (err error) {
			out, err = t.approve(ctx, a, now)
			return err
		})
	}
	if err != nil {
		return Approved{}, fmt.Errorf("approve call %s of run %s: %w", call, run, err)
	}
	return out, nil
}

func checkApproval(a Approval) error {
	if a.Verdict != Allow && a.Verdict != Deny {
		return fmt.Errorf("%w: the verdict is %q", ErrState, a.Verdict)
	}
	if err := checkID(a.By); err != nil {
		return err
	}
	if err := checkSize("capacity", len(a.As), MaxID); err != nil {
		return err
	}
	return errors.Join(checkSize("reason", len(a.Reason), MaxReason), checkSize("mark", len(a.Mark), maxMark))
}

func (t *tx) approve(ctx context.Context, a Approval, now int64) (Approved, error) {
	r, err := t.run(ctx, a.Run)
	if err != nil {
		return Approved{}, err
	}
	c, err := t.call(ctx, a.Run, a.Call)
	if err != nil {
		return Approved{}, err
	}
	if c.Verdict == "" || r.State.Final() {
		if err := t.mayApprove(ctx, r, c, a, now); err != nil {
			return Approved{}, err
		}
	} else {
		return t.approved(ctx, r, c, false)
	}
	had, err := queryOne[string](
		ctx,
		t,
		`select verdict from approval where run = $1 and call = $2 and approver = $3`,
		a.Run,
		a.Call,
		a.By,
	)
	if err != nil {
		return Approved{}, err
	}
	if had != "" && a.Verdict == Allow {
		return t.approved(ctx, r, c, false)
	}
	err = t.Exec(ctx, `insert into approval (`+approvalColumns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		on conflict (run, call, approver) do update set capacity = excluded.capacity, verdict = excluded.verdict,
		reason = excluded.reason, at = excluded.at, mark = excluded.mark`,
		recordVersion, a.Run, a.Call, a.By, a.As, a.Verdict, a.Reason, a.Digest, cmp.Or(toMicros(a.At), now), a.Mark)
	if err != nil {
		return Approved{}, err
	}
	out, err := t.approved(ctx, r, c, true)
	if err != nil || a.Verdict == Allow && out.Count < out.Needs {
		return out, err
	}
	if err := t.decide(ctx, &c, a, now); err != nil {
		return Approved{}, err
	}
	if r, err = t.answered(ctx, r, now); err != nil {
		return Approved{}, err
	}
	return t.approved(ctx, r, c, true)
}

// mayApprove returns an error if an undecided call does not accept a.
func (t *tx) mayApprove(ctx context.Context, r Run, c Call, a Approval, now int64) error {
	switch {
	case !r.State.running() && r.State != Paused:
		return fmt.Errorf("the run is %s: %w", r.State, ErrState)
	case c.State != CallPending || c.For != ByApprover:
		return fmt.Errorf("the call is %s, for the %s: %w", c.State, c.For, ErrState)
	case a.Digest != c.ArgsDigest:
		return ErrDigest
	case !c.Expires.IsZero() && c.Expires.UnixMicro() <= now:
		return fmt.Errorf("the call waited until %s: %w", c.Expires, ErrExpired)
	case len(c.From) > 0 && !slices.Contains(c.From, a.As):
		return fmt.Errorf("as %q: %w", a.As, ErrApprover)
	}
	return t.inTime(ctx, r, now)
}

// inTime returns ErrExpired after the end of a pause.
func (t *tx) inTime(ctx context.Context, r Run, now int64) error {
	if r.State != Paused {
		return nil
	}
	end, err := queryOne[int64](ctx, t, `select expires from pause where run = $1`, r.ID)
	if err == nil && end > 0 && end <= now {
		err = fmt.Errorf("the pause was until %s: %w", fromMicros(end), ErrExpired)
	}
	return err
}

// decide settles the call, or makes it wait for the harness.
func (t *tx) decide(ctx context.Context, c *Call, a Approval, now int64) error {
	t.s.lines.removals++
	c.Verdict, c.DecidedBy, c.DecidedAt = a.Verdict, a.By, fromMicros(now)
	if a.Verdict == Allow && c.Acts == ByHarness {
		c.For = ByHarness
		return t.Exec(
			ctx,
			`update call set verdict = $3, decided_by = $4, decided_at = $5, updated = $5, waits_for = 'harness'
			where run = $1 and id = $2`,
			c.Run,
			c.ID,
			c.Verdict,
			a.By,
			now,
		)
	}
	return t.Exec(ctx, `update call set verdict = $3, decided_by = $4, decided_at = $5, updated = $5,
		reply = $6, replied_by = $4, replied_at = $5 where run = $1 and id = $2`,
		c.Run, c.ID, c.Verdict, a.By, now, []byte(a.Reason))
}

func (t *tx) approved(ctx context.Context, r Run, c Call, first bool) (Approved, error) {
	n, err := queryOne[int64](
		ctx,
		t,
		`select count(*) from approval where run = $1 and call = $2 and verdict = 'allow'`,
		c.Run,
		c.ID,
	)
	return Approved{First: first, Verdict: c.Verdict, By: c.DecidedBy, At: c.DecidedAt, Count: n, Needs: c.Needs,
		For: c.For, Run: r.State}, err
}

// Approvals returns the approvals of a run's calls, in order.
func (s *Store) Approvals(ctx context.Context, run string) ([]Approval, error) {
	var out []Approval
	err := s.read(ctx, func(row scanner) error {
		a, err := scanApproval(row)
		out = append(out, a)
		return err
	}, `select `+approvalColumns+` from approval where run = $1 order by at, call, approver`, run)
	if err != nil {
		return nil, fmt.Errorf("approvals of run %s: %w", run, err)
	}
	return out, nil
}

// Unnotified returns calls that wait for an approver and for which no notification was sent, oldest first. It
// returns at most n (zero means 100, at most 1000).
func (s *Store) Unnotified(ctx context.Context, n int) ([]Call, error) {
	out, err := s.readCalls(
		ctx,
		`select `+callColumns+` from call where state = 'open' and state in ('open', 'executing')
		and waits_for = 'approver' and reply is null and notified = 0 order by created, run, n limit $1`,
		limit(n),
	)
	if err != nil {
		return nil, fmt.Errorf("calls to tell of: %w", err)
	}
	return out, nil
}

// Notified marks a call whose notification was sent. Errors: ErrNotFound, ErrClosed.
func (s *Store) Notified(ctx context.Context, run, call string) error {
	now := s.now()
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.Changed(ctx, `update call set notified = $3 where run = $1 and id = $2`, run, call, now)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("note that call %s of run %s was told of: %w", call, run, err)
	}
	return nil
}

// Revoke stores capabilities that by revoked from a run in any state. Each pause of the run is returned with
// them. Errors: ErrNotFound, ErrState (it has ended), ErrTooLarge, ErrClosed.
func (s *Store) Revoke(ctx context.Context, run, by string, capabilities []string) error {
	now := s.now()
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		r, err := t.run(ctx, run)
		if err != nil {
			return err
		}
		if r.State.Final() {
			return fmt.Errorf("the run is %s: %w", r.State, ErrState)
		}
		for _, c := range capabilities {
			if err := checkID(c); err != nil {
				return err
			}
			err := t.Exec(ctx, `insert into revoked (run, capability, v, revoker, at) values ($1, $2, $3, $4, $5)
				on conflict do nothing`, run, c, recordVersion, by, now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take back from run %s: %w", run, err)
	}
	return nil
}

func (s *Store) revoked(ctx context.Context, run string) ([]string, error) {
	var out []string
	err := s.read(ctx, func(row scanner) error {
		var c string
		err := row.Scan(&c)
		out = append(out, c)
		return err
	}, `select capability from revoked where run = $1 order by capability`, run)
	return out, err
}
