package policy

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// activation holds the generation in force and swaps it on all rings.
type activation struct {
	cfg       *Config
	situation *situation

	// binding is held for reading while a run is bound to a generation and for
	// writing while commits swap pointers, so that no run sees a mixture.
	binding sync.RWMutex
	inForce atomic.Pointer[Generation] // nil: everything is denied
	swap    sync.Mutex                 // held over the commits of rings, which wait for nothing
}

// InForce is the generation in force; nil: everything is denied.
func (d *activation) InForce() *Generation { return d.inForce.Load() }

// Set is the set in force, which nobody changes; nil: none is.
func (d *activation) Set() *profiles.Set {
	if g := d.inForce.Load(); g != nil {
		return g.Set
	}
	return nil
}

// Bind returns the generation in force and keeps it there until release.
func (d *activation) Bind() (g *Generation, release func()) {
	d.binding.RLock()
	return d.inForce.Load(), d.binding.RUnlock
}

// Shut takes the generation out of force; the rings are closed by then.
func (d *activation) Shut() { d.inForce.Store(nil) }

// holds is the generation in force, unless its push has expired: closing it may have to
// wait for another push that is being applied, and nothing is granted by it meanwhile.
func (d *activation) holds() *Generation {
	g := d.inForce.Load()
	if d.expired(g) != nil {
		return nil
	}
	return g
}

// decider returns the decider of an agent; for no generation and an unknown
// agent one that denies and says why.
func (d *activation) decider(g *Generation, agent string) *profiles.Decider {
	if g == nil {
		var none *profiles.Set
		return none.Decider(agent, d.cfg.Environment)
	}
	if known, ok := g.deciders[agent]; ok {
		return known
	}
	return g.Set.Decider(agent, d.cfg.Environment)
}

// expires is when something more of the set in force ends.
func (d *activation) expires() (time.Time, bool) {
	g := d.inForce.Load()
	if g == nil {
		return time.Time{}, false
	}
	return profiles.NextExpiry(g.Set, time.Time{}) // what is over is due
}

// expired says whether the push of a generation has expired. Who finds that notes the
// time before anything is answered, so that the clock may go back and the process be
// killed the moment after, and has the watch loop close the generation.
func (d *activation) expired(g *Generation) error {
	if g == nil || g.Signed == nil {
		return nil
	}
	expired, unkept := d.cfg.Trust.Overdue(g.Signed, d.cfg.Clock.Now())
	if unkept != nil {
		d.cfg.Metrics.Fault("store")
		d.cfg.Logger.Error("note the time at which a push has expired", "error", unkept)
	}
	if expired != nil {
		d.situation.poke()
	}
	return expired
}

// expiry is when the push of a generation expires.
func (d *activation) expiry(g *Generation) (time.Time, bool) {
	if g == nil || g.Signed == nil {
		return time.Time{}, false
	}
	return g.Signed.Expires, true
}

// over is the condition of a generation whose push has expired.
func (d *activation) over(g *Generation) wire.Condition {
	return wire.Condition{Code: string(trust.CodeExpired), Since: d.cfg.Clock.Now(),
		Message: fmt.Sprintf(
			"push %d has expired at %s: everything is denied until a new one comes",
			g.Signed.Sequence,
			g.Signed.Expires.Format(time.RFC3339),
		)}
}

// Record starts a record of what the daemon does under the generation in force.
func (d *activation) Record(k audit.Kind) audit.Record {
	rec := audit.Record{Kind: k, Actor: self}
	if g := d.inForce.Load(); g != nil {
		rec.Generation, rec.Revision = g.Number, g.Revision
	}
	return rec
}
