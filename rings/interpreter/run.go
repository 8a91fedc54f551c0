package interpreter

import (
	"context"

	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// Run is one life of a run: from its start, or from a pause, to its end or to the next pause.
// It is safe for concurrent use, also after the end. Its methods are those of [run.Run].
type Run struct {
	ring *Ring
	life *run.Run
}

// ID returns the id of the run.
func (r *Run) ID() string { return r.life.ID() }

// Done returns a channel that is closed once this life of the run is over: its outcome is
// final and its record is written, or it is paused and kept. No provider works for it any
// more. View says which.
func (r *Run) Done() <-chan struct{} { return r.life.Done() }

// Err returns, once Done is closed, why a resumed run did not begin; see [run.Run.Err].
func (r *Run) Err() error { return r.life.Err() }

// View returns the state of the run, or its outcome.
func (r *Run) View() contract.View { return r.life.View() }

// Settled waits until the run has ended or is paused, and returns the view; see
// [run.Run.Settled].
func (r *Run) Settled(ctx context.Context) (contract.View, error) { return r.life.Settled(ctx) }

// Events returns the events after the given sequence number. If there is none it waits for
// one; see [run.Run.Events].
func (r *Run) Events(ctx context.Context, after int64) ([]run.Event, error) {
	return r.life.Events(ctx, after)
}

// Answer settles a call that waits for the harness; see [run.Run.Answer].
func (r *Run) Answer(ctx context.Context, a contract.Reply) error { return r.life.Answer(ctx, a) }

// Approved settles a call that waits for approvers, with what a store has committed; see
// [run.Run.Approved].
func (r *Run) Approved(ctx context.Context, s contract.Settlement) error {
	return r.life.Approved(ctx, s)
}

// Revoke takes grants from the run for good; see [run.Run.Revoke].
func (r *Run) Revoke(ctx context.Context, grants []string) error {
	return r.life.Revoke(ctx, grants)
}

// Cancel ends the run: once it returns no effect of the run begins; see [run.Run.Cancel].
func (r *Run) Cancel(ctx context.Context, by, reason string) { r.life.Cancel(ctx, by, reason) }

// Spawned returns how many subagents the calls of the run have started, and how many the
// tree has.
func (r *Run) Spawned() contract.Spawned { return r.life.Family().Spawned() }

// Release ends the hold of a run of which no subagent lives. Any other run stays as it is.
func (r *Run) Release() { r.ring.release(r.life) }
