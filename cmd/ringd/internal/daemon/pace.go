package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/rings/kernel/pace"
)

// The records that a run causes are limited by the share of that run. The records that an actor causes with
// requests outside of runs are limited by buckets, one for each actor and kind of request. So no actor is
// refused for what another one did, and an actor that asks for too many decisions can still revoke. Two kinds
// of request have no bucket. A second lockdown writes no record while the first one holds, and a caller that
// may not begin one causes none. An answer of a harness that does not count leaves no record either.

const (
	// defaultRequestRecords is the number of such records per second that one actor may cause in the long
	// run. 200 records of some 540 bytes are 9 GB a day.
	defaultRequestRecords = 200
	// burstSeconds is the size of a full bucket, in seconds of the rate.
	burstSeconds = 25
	// refusalRecordEvery is the interval at which the refusals of one actor are recorded.
	refusalRecordEvery = time.Minute
)

// ErrTooFast: the actor's requests cause more records than one actor may in this time.
var ErrTooFast = errors.New(
	"the requests of this caller cause too many audit records: wait, and send fewer at a time",
)

// TooFastError is an ErrTooFast that says when to try again.
type TooFastError struct{ After time.Duration }

func (e *TooFastError) Error() string { return fmt.Sprintf("%v; try again in %s", ErrTooFast, e.After) }

// Unwrap returns ErrTooFast.
func (e *TooFastError) Unwrap() error { return ErrTooFast }

// bucketKey identifies a bucket of records: its actor and its kind of requests.
type bucketKey struct{ actor, kind string }

// Kinds of requests with their own bucket.
const (
	bucketDecisions = ""         // decisions, refused starts, dropped sessions
	bucketApprovals = "approval" // refused verdicts on a call; one that counts takes nothing
	bucketRevokes   = "revoke"
	bucketResumes   = "resume" // failed ones
)

// requestBudgets limits the records that actors cause with requests.
type requestBudgets struct {
	cfg    *Config
	policy *policy.State

	records  *pace.Buckets[bucketKey]
	refusals *pace.Buckets[bucketKey] // limits the records of refusals by this budget
}

func newRequestBudgets(cfg *Config, holder *policy.State) (*requestBudgets, error) {
	perSecond := cfg.Limits.RequestRecords
	if perSecond == 0 {
		perSecond = defaultRequestRecords
	}
	records, err := pace.New[bucketKey](
		pace.Config{
			Now:   cfg.Clock.Now,
			Every: time.Second / time.Duration(perSecond),
			Burst: max(burstSeconds*perSecond, policy.MaxActions),
		},
	)
	if err != nil {
		return nil, err
	}
	told, err := pace.New[bucketKey](pace.Config{Now: cfg.Clock.Now, Every: refusalRecordEvery, Burst: 1})
	return &requestBudgets{cfg: cfg, policy: holder, records: records, refusals: told}, err
}

// spend takes n records from a bucket, or returns a [TooFastError].
func (d *requestBudgets) spend(ctx context.Context, p bucketKey, n int) error {
	return d.tooFast(ctx, p, d.records.Take(p, n))
}

// checkBudget refuses an actor whose bucket is empty, because its request may be refused and a refusal is a
// record.
func (d *requestBudgets) checkBudget(ctx context.Context, p bucketKey) error {
	return d.tooFast(ctx, p, d.records.Empty(p))
}

// charge charges the record of a refusal, which is written in any case.
func (d *requestBudgets) charge(p bucketKey) { d.records.Take(p, 1) }

// tooFast returns a [TooFastError] if wait is positive, and records it once per refusalRecordEvery.
func (d *requestBudgets) tooFast(ctx context.Context, p bucketKey, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	err := error(&TooFastError{After: max(wait.Round(time.Second), time.Second)})
	if d.refusals.Take(p, 1) > 0 {
		return err
	}
	rec := d.policy.Record(audit.RequestRefused)
	rec.Actor, rec.Detail = p.actor, map[string]string{"reason": ErrTooFast.Error()}
	if p.kind != bucketDecisions {
		rec.Detail["of"] = p.kind
	}
	_, failed := d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written)
	return errors.Join(err, failed)
}
