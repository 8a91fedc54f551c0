package interpreter

import (
	"context"
	"encoding/json"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Ring answers for executors. It is safe for concurrent use.
type Ring struct{}

// New checks cfg and returns a ring that refuses everything until the first
// commit. Its owner calls Close.
func New(cfg Config) (*Ring, error) { return nil, cfg.check() }

// Name is "interpreter".
func (r *Ring) Name() string { return "interpreter" }

// Prepare builds the next generation from set; nothing visible changes, with one
// exception: when one executor rejects its profile, that executor is closed at
// once and the error is an *ExecutorError. A nil set is the closed generation,
// which denies everything. commit puts the generation in force, cannot fail, and
// cuts open calls that it no longer grants.
func (r *Ring) Prepare(ctx context.Context, set *profiles.Set) (commit func(), err error) {
	return nil, ErrClosed
}

// Close refuses everything from now on, ends every run, waits for them and
// closes the executors. Twice is no error.
func (r *Ring) Close() error { return nil }

// StartRequest asks for a run.
type StartRequest struct {
	ID       string // unique among live runs
	Actor    string
	Agent    string
	Executor string
	Program  executors.Program
	Inputs   map[string]json.RawMessage // tagged values by name
	Parent   *Parent                    // of a subagent; nil for a first run
}

// Parent names the open call that a run is started for.
type Parent struct{ Run, Call string }

// Start starts a run bound to the generation in force, which ends when ctx does,
// so ctx is the daemon's and not a request's. The record run_started is written
// before the executor begins. Errors: *profiles.Denial (no policy, unknown
// agent, executor not granted, closed or unavailable, tier unavailable, depth or
// total of the subagent tree), ErrClosed, ErrExists, ErrParent, and faults: the
// record could not be written. After any of them nothing ran.
func (r *Ring) Start(ctx context.Context, req StartRequest) (*Run, error) { return nil, ErrClosed }

// Run returns a live run.
func (r *Ring) Run(id string) (*Run, bool) { return nil, false }

// ExecutorStatus is what Status tells of one executor.
type ExecutorStatus struct {
	Name   string
	State  string // ready, closed
	Reason string
}

// Status lists the executors, sorted by name.
func (r *Ring) Status() []ExecutorStatus { return nil }

// CloseExecutor makes one executor refuse new runs and every call of its live
// runs, until the next commit.
func (r *Ring) CloseExecutor(name, reason string) {}

// Run is one program's life. It is safe for concurrent use, also after the end.
type Run struct{}

// ID is the id of the request.
func (r *Run) ID() string { return "" }

// View returns how the run stands.
func (r *Run) View() View { return View{} }

// Done is closed once the run has ended: its outcome is final, its record is
// written, and no provider works for it any more.
func (r *Run) Done() <-chan struct{} { return nil }

// Settled waits until the run has ended or is paused, and returns the view. An
// error is ctx's.
func (r *Run) Settled(ctx context.Context) (View, error) { return View{}, nil }

// Events returns the events after the given sequence number, waiting for one if
// there is none. The last of a run is an EventState with a final state; after it
// Events returns none at once. A reader that is too slow gets one EventDropped
// in the place of what it lost. An error is ctx's.
func (r *Run) Events(ctx context.Context, after int64) ([]Event, error) { return nil, nil }

// Answer settles a call that waits for the harness. The first valid answer wins.
// It is decided again under the generation now in force, and recorded durably
// before it takes effect. Errors: ErrEnded, ErrNoCall, ErrAnswered, ErrDigest,
// ErrValue, *profiles.Denial when the call is no longer granted (the program has
// been told), and faults.
func (r *Run) Answer(ctx context.Context, a Reply) error { return ErrEnded }

// Cancel ends the run: from its return on no effect of the run begins. It does
// not wait for the end; see Done. By is the actor. A run that has ended stays as
// it is.
func (r *Run) Cancel(ctx context.Context, by, reason string) {}

// Harness leaves calls open until Run.Answer.
type Harness struct{}

// Log writes calls to the daemon's log.
type Log struct{}
