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

// What a run causes on record is bounded by its own share. What an actor causes with
// requests outside of runs has buckets. Each is of one actor, and one kind of request:
// nothing that is refused here is refused for what somebody else did, and who asks for
// too many decisions can still revoke. A lockdown has none, and needs none: while it
// holds, another one writes no record, and a caller who may not begin one causes none.
// Nor has an answer of a harness: one that does not count leaves no record.

const (
	// defaultRequestRecords is how many such records an actor causes in a second, in the
	// long run: 200 of some 540 bytes are 9 GB a day.
	defaultRequestRecords = 200
	// burstSeconds is for how long an actor that caused none may cause them at once.
	burstSeconds = 25
	// tellEvery is how often it is on record that an actor is refused for it.
	tellEvery = time.Minute
)

// ErrTooFast: the actor's requests cause more records than one actor may in this time.
var ErrTooFast = errors.New(
	"the requests of this caller cause too many audit records: wait, and send fewer at a time",
)

// TooFastError is an ErrTooFast that says when to try again.
type TooFastError struct{ After time.Duration }

func (e *TooFastError) Error() string { return fmt.Sprintf("%v; try again in %s", ErrTooFast, e.After) }

// Unwrap gives ErrTooFast.
func (e *TooFastError) Unwrap() error { return ErrTooFast }

// purse is a bucket of records: whose, and of which requests.
type purse struct{ actor, of string }

// The requests with a bucket of their own.
const (
	ofRequests  = ""         // decisions, refused starts, dropped sessions
	ofApprovals = "approval" // words on a call that are refused; a word that counts takes nothing
	ofRevokes   = "revoke"
	ofResumes   = "resume" // that failed
)

// requestBudgets bounds the records that actors cause with requests.
type requestBudgets struct {
	cfg    *Config
	policy *policy.State

	records *pace.Buckets[purse]
	told    *pace.Buckets[purse] // records that say that an actor was refused
}

func newRequestBudgets(cfg *Config, holder *policy.State) (*requestBudgets, error) {
	perSecond := cfg.Limits.RequestRecords
	if perSecond == 0 {
		perSecond = defaultRequestRecords
	}
	records, err := pace.New[purse](
		pace.Config{
			Now:   cfg.Clock.Now,
			Every: time.Second / time.Duration(perSecond),
			Burst: max(burstSeconds*perSecond, policy.MaxActions),
		},
	)
	if err != nil {
		return nil, err
	}
	told, err := pace.New[purse](pace.Config{Now: cfg.Clock.Now, Every: tellEvery, Burst: 1})
	return &requestBudgets{cfg: cfg, policy: holder, records: records, told: told}, err
}

// spend takes n records of a bucket, or refuses them.
func (d *requestBudgets) spend(ctx context.Context, p purse, n int) error {
	return d.tooFast(ctx, p, d.records.Take(p, n))
}

// mayFail refuses an actor whose bucket is empty: what it asks for may be refused, and
// that is a record.
func (d *requestBudgets) mayFail(ctx context.Context, p purse) error {
	return d.tooFast(ctx, p, d.records.Empty(p))
}

// failed takes the record of a refusal, which is made in any case.
func (d *requestBudgets) failed(p purse) { d.records.Take(p, 1) }

// tooFast puts on record, now and then, that an actor is refused.
func (d *requestBudgets) tooFast(ctx context.Context, p purse, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	err := error(&TooFastError{After: max(wait.Round(time.Second), time.Second)})
	if d.told.Take(p, 1) > 0 {
		return err
	}
	rec := d.policy.Record(audit.RequestRefused)
	rec.Actor, rec.Detail = p.actor, map[string]string{"reason": ErrTooFast.Error()}
	if p.of != ofRequests {
		rec.Detail["of"] = p.of
	}
	_, failed := d.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Written)
	return errors.Join(err, failed)
}
