// Package policy owns which generation of policy is in force on this host.
//
// A push takes force in two phases: every ring prepares, the record and the
// generation are on disk, and only then pointers are swapped, which cannot fail.
// A push that is refused changes nothing; the generation before it stays until
// its staleness limit and is closed then.
//
// It knows of runs only that some have to be stopped. The daemon calls it, and
// the syncer hands it pushes through Sink.
package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
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
	// Prepare builds what set needs, and nothing visible changes. commit makes it
	// visible, cannot fail and does not wait. An error that has a method
	// Executor() string names the one executor that rejects its profile; one whose method
	// Later() bool says so is for a host that could not look: nothing rejects it.
	Prepare(ctx context.Context, set *profiles.Set) (commit func(), err error)
	// Close refuses everything from then on and waits for what the ring started.
	Close() error
}

// Compiler turns a verified push into a set. It ends when ctx does. The findings
// are complete whether or not they refuse; err is for a compiler that could not
// be run at all.
type Compiler interface {
	Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error)
}

// Store keeps generations.
type Store interface {
	PutGeneration(ctx context.Context, g store.Generation) error
	Freshen(ctx context.Context, number int64, at time.Time) error
	LastGeneration(ctx context.Context) (store.Generation, error)
}

// clock is time. After is time.After.
type clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Config is what a holder needs; all but Metrics, Environment, Workspace and Trust is required.
type Config struct {
	Rings       []Ring // in the order of commits
	Compiler    Compiler
	Generations Store
	Recorder    *records.Recorder
	Clock       clock
	Logger      *slog.Logger
	Metrics     *metrics.Metrics
	Environment profiles.Environment // what the decisions of Decide know of the host
	// Workspace is what $WORKSPACE stands for in the rules of an agent; nil, "": nothing.
	Workspace func(agent string) string
	Staleness time.Duration         // how long a generation stays when its source is not good
	Trust     *trust.Gate           // verifies pushes; nil: they are sources, and are compiled
	Stop      func(executor string) // ends the live runs of an executor; "" is all
	Turn      func()                // told of every commit, after it
	Lock      *lockdown.Lock        // nil: there are no lockdowns
}

// self is the actor of what the daemon does by itself.
const self = "ringd"

// Generation is one activation. It is immutable.
type Generation struct {
	Number    int64
	Revision  string
	digest    string // of the push it came from; "" after a restart
	source    string // the revision as it was compiled, before ended exceptions were taken out
	Set       *profiles.Set
	Activated time.Time
	Signed    *trust.Push                  // without its set; nil: it was not signed
	deciders  map[string]*profiles.Decider // by agent
}

// Holder holds the generation in force. It is safe for concurrent use.
type Holder struct {
	cfg     Config
	started time.Time

	// binding is held for reading while a run is bound to a generation and for
	// writing while commits swap pointers, so that no run sees a mixture.
	binding sync.RWMutex
	inForce atomic.Pointer[Generation] // nil: everything is denied
	swap    sync.Mutex                 // held over the commits of rings, which wait for nothing

	applying chan struct{} // holds one token: one push, or one closing, at a time
	newest   atomic.Int64  // the ticket of the last push that came

	mu         sync.Mutex
	closedBy   map[string]closing        // executor -> why it is closed; "" is all of them
	trouble    map[string]wire.Condition // push_rejected, sync_lost, held
	troubledAt time.Time                 // since when the source has not been good
	stale      *wire.Condition           // the generation was closed
	lastPush   *wire.Push
	reread     bool          // the last push, refused or not, is applied again where it comes back
	waiting    *syncer.Push  // came during a lockdown
	lastNumber int64         // of the newest generation ever
	turned     chan struct{} // closed and replaced when the generation changes

	wake chan struct{} // the watch loop looks again
}

// New returns a holder with nothing in force. Its owner calls Hold, and runs
// Watch.
func New(cfg Config) *Holder {
	return &Holder{cfg: cfg, started: cfg.Clock.Now(), applying: make(chan struct{}, 1),
		closedBy: map[string]closing{}, trouble: map[string]wire.Condition{},
		turned: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// InForce is the generation in force; nil: everything is denied.
func (d *Holder) InForce() *Generation { return d.inForce.Load() }

// Set is the set in force, which nobody changes; nil: none is.
func (d *Holder) Set() *profiles.Set {
	if g := d.inForce.Load(); g != nil {
		return g.Set
	}
	return nil
}

// Bind returns the generation in force and keeps it there until release.
func (d *Holder) Bind() (g *Generation, release func()) {
	d.binding.RLock()
	return d.inForce.Load(), d.binding.RUnlock
}

// Shut takes the generation out of force; the rings are closed by then.
func (d *Holder) Shut() { d.inForce.Store(nil) }

// Hold takes up the last generation when its push was last seen to be good
// within the staleness limit. Its set is verified by its revision, not compiled
// again: the store is the daemon's own folder, and the push may be gone. The
// limit goes on running from when the push was last good, so that restarts do
// not prolong it.
func (d *Holder) Hold(ctx context.Context) error {
	g, err := d.cfg.Generations.LastGeneration(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case errors.Is(err, store.ErrCorrupt):
		d.cfg.Logger.Warn("last generation is damaged: nothing is in force", "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: read last generation: %w", records.ErrUnavailable, err)
	}
	d.lastNumber = g.Number
	d.cfg.Recorder.Prepare(g.Number)
	now := d.cfg.Clock.Now()
	if !now.Before(g.Fresh.Add(d.cfg.Staleness)) {
		d.stale = &wire.Condition{Code: wire.ConditionStale, Since: now,
			Message: "the last generation is older than the staleness limit; a good push brings a new one"}
		return nil
	}
	set, signed, err := d.kept(ctx, g, now)
	if err != nil || set.Revision != g.Revision {
		return d.notHeld(ctx, g, err)
	}
	source, was := set.Revision, set
	if g, set, err = d.heldWithout(ctx, g, set, signed, now); err != nil {
		return err
	}
	d.lastNumber = g.Number
	if findings, err := d.check(ctx, set, was); err != nil || findings.Refused() {
		d.cfg.Logger.Warn("last generation is refused by a guardrail: nothing is in force", "generation", g.Number, "error", err, "findings", len(findings))
		return nil
	}
	commits, err := d.prepare(ctx, set)
	if err != nil {
		d.cfg.Logger.Warn("last generation cannot be prepared: nothing is in force", "generation", g.Number, "error", err)
		return nil
	}
	rec := audit.Record{Kind: audit.GenerationHeld, Actor: self, Generation: g.Number, Revision: g.Revision}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return err
	}
	d.troubled(wire.Condition{Code: wire.ConditionHeld, Since: g.Fresh,
		Message: "taken up again after a restart; the push has not been seen since"}, g.Fresh)
	next := d.generation(g.Number, g.Activated, "", set, signed)
	next.source = source
	d.commit(next, commits)
	return nil
}

func (d *Holder) generation(number int64, at time.Time, digest string, set *profiles.Set, signed *trust.Push) *Generation {
	g := &Generation{Number: number, Revision: set.Revision, source: set.Revision, digest: digest, Set: set, Activated: at, Signed: signedOf(signed),
		deciders: make(map[string]*profiles.Decider, len(set.Agents))}
	here := set.In(d.cfg.Workspace)
	for name := range here.Agents {
		g.deciders[name] = here.Decider(name, d.cfg.Environment)
	}
	return g
}

// Open refuses what is closed: everything without a generation, and executors
// that rejected their profile.
func (d *Holder) Open(g *Generation, executor string) error {
	over := d.expired(g)
	d.mu.Lock()
	defer d.mu.Unlock()
	deny := func(code profiles.Code, reason string) error {
		dec := profiles.Decision{Code: code, Reason: reason}
		if g != nil {
			dec.Revision = g.Revision
		}
		return &profiles.Denial{Capability: "executor:" + executor, Decision: dec}
	}
	if locked := d.cfg.Lock.Denied("executor:"+executor, ""); locked != nil {
		return locked
	}
	switch {
	case g == nil && d.stale != nil:
		return deny(profiles.CodeClosed, d.stale.Message)
	case g == nil:
		return deny(profiles.CodeNoPolicy, "no valid policy is in force")
	}
	if over != nil {
		return deny(profiles.CodeClosed, over.Error())
	}
	for _, name := range []string{executor, ""} {
		if c, ok := d.closedBy[name]; ok {
			return deny(profiles.CodeClosed, "the executor is closed: "+c.Message)
		}
	}
	return nil
}
