// Package policy owns the generation of policy that is in force on this host.
//
// A push comes into force in two phases. Every ring prepares it, and the record and the generation are
// written to disk. Then pointers are swapped, which cannot fail. A refused push changes nothing: the previous
// generation stays until its staleness limit, and is closed then.
//
// The daemon calls it, and the syncer passes pushes to it through Sink. Of runs it knows only that some must
// be stopped.
package policy

import (
	"context"
	"log/slog"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// Ring is a position where policy is enforced. The daemon calls Prepare for one
// set at a time, and each commit at most once.
type Ring interface {
	Name() string
	// Prepare builds what set needs. Nothing visible changes. commit makes it visible, cannot fail and does
	// not wait. If an error has a method Executor() string, it names the one executor that rejects its
	// profile. If an error has a method Later() bool that returns true, the host could not check the
	// executor, and nothing rejects the set.
	Prepare(ctx context.Context, set *profiles.Set) (commit func(), err error)
	// Close makes the ring refuse everything, and waits for what the ring started.
	Close() error
}

// Compiler compiles a verified push into a set. It ends when ctx does. The findings are complete even if they
// refuse the push. The error is for a compiler that could not be run at all.
type Compiler interface {
	Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error)
}

// Store keeps generations.
type Store interface {
	PutGeneration(ctx context.Context, g store.Generation) error
	Freshen(ctx context.Context, number int64, at time.Time) error
	LastGeneration(ctx context.Context) (store.Generation, error)
}

// clock is the time source. After is time.After.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Config configures a state. All fields but Metrics, Environment, Workspace, Trust and Lock are required.
type Config struct {
	Rings       []Ring // in the order of commits
	Compiler    Compiler
	Generations Store
	Recorder    *records.Recorder
	Clock       clock
	Logger      *slog.Logger
	Metrics     *metrics.Metrics
	Environment profiles.Environment // the part of the host that decisions of Decide may depend on
	// Workspace returns the value of $WORKSPACE in the rules of an agent. If it is nil or returns "",
	// $WORKSPACE has no value.
	Workspace func(agent string) string
	Staleness time.Duration         // how long a generation stays while its source is not good
	Trust     *trust.Gate           // verifies pushes; if nil, pushes are sources to compile
	Stop      func(executor string) // ends the live runs of an executor; "" is all
	Turn      func()                // called after every commit
	Lock      *lockdown.Lock        // nil if there are no lockdowns
}

// self is the actor of what the daemon does without a request.
const self = "ringd"

// Generation is one activation. It is immutable.
type Generation struct {
	Number    int64
	Revision  string
	digest    string // of its push; empty after a restart
	source    string // revision before ended exceptions were taken out
	Set       *profiles.Set
	Activated time.Time
	Signed    *trust.Push                  // without its set; nil if it was not signed
	deciders  map[string]*profiles.Decider // by agent
}

// State is the policy on this host: the generation in force, and the path of pushes into force. Each embedded
// part has one job, and the exported methods of the parts are the state's. It is safe for concurrent use.
type State struct {
	*activation
	*application
	*startup
	*watcher
	*lockdowns
	*answers
	*statusReport
}

// New returns a state with nothing in force. Its owner calls Hold, and runs Watch.
func New(given Config) *State {
	cfg := &given
	situation := &situation{cfg: cfg, applying: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		closedBy: map[string]closing{}, sourceConditions: map[string]wire.Condition{}, turned: make(chan struct{})}
	active := &activation{cfg: cfg, situation: situation}
	verifier := &verifier{cfg: cfg, active: active}
	closings := &closings{cfg: cfg, situation: situation, active: active}
	pushes := &application{cfg: cfg, situation: situation, active: active, verifier: verifier, closings: closings}
	expiries := &expiries{cfg: cfg, situation: situation, active: active, closings: closings}
	lockdowns := &lockdowns{cfg: cfg, situation: situation, active: active, closings: closings, pushes: pushes}
	return &State{
		activation:  active,
		application: pushes,
		startup:     &startup{cfg: cfg, situation: situation, active: active, verifier: verifier, expiries: expiries},
		watcher: &watcher{cfg: cfg, situation: situation, active: active, closings: closings, expiries: expiries,
			pushes: pushes},
		lockdowns: lockdowns,
		answers:   &answers{cfg: cfg, situation: situation, active: active},
		statusReport: &statusReport{
			cfg:       cfg,
			situation: situation,
			active:    active,
			closings:  closings,
			lockdowns: lockdowns,
			started:   cfg.Clock.Now(),
		},
	}
}
