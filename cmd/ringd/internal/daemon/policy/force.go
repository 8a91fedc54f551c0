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

	// binding is held for reading while a run is bound to a generation, and for writing while commits swap
	// pointers. So no run sees a mixture.
	binding sync.RWMutex
	inForce atomic.Pointer[Generation] // nil if everything is denied
	swap    sync.Mutex                 // held during the commits of rings, which wait for nothing
}

// InForce returns the generation in force. Nil means that everything is denied.
func (d *activation) InForce() *Generation { return d.inForce.Load() }

// Set returns the set in force, or nil. The set must not be changed.
func (d *activation) Set() *profiles.Set {
	if g := d.inForce.Load(); g != nil {
		return g.Set
	}
	return nil
}

// Bind returns the generation in force and keeps it in force until release.
func (d *activation) Bind() (g *Generation, release func()) {
	d.binding.RLock()
	return d.inForce.Load(), d.binding.RUnlock
}

// Shut takes the generation out of force. The rings are closed by then.
func (d *activation) Shut() { d.inForce.Store(nil) }

// unexpired returns the generation in force, or nil if its push has expired. Closing it may have to wait for
// another push that is being applied, and meanwhile it must grant nothing.
func (d *activation) unexpired() *Generation {
	g := d.inForce.Load()
	if d.expired(g) != nil {
		return nil
	}
	return g
}

// decider returns the decider of an agent. Without a generation, and for an unknown agent, it denies and says
// why.
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

// nextEnd returns when the next exception of the set in force ends.
func (d *activation) nextEnd() (time.Time, bool) {
	g := d.inForce.Load()
	if g == nil {
		return time.Time{}, false
	}
	return profiles.NextExpiry(g.Set, time.Time{}) // an exception that is over is due
}

// expired returns an error if the push of a generation has expired. It stores the time first, so that neither
// a clock that goes back nor a kill revives the push. Then it makes the watch loop close the generation.
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
		d.situation.wakeWatch()
	}
	return expired
}

// pushExpiry returns when the push of a generation expires.
func (d *activation) pushExpiry(g *Generation) (time.Time, bool) {
	if g == nil || g.Signed == nil {
		return time.Time{}, false
	}
	return g.Signed.Expires, true
}

// expiredCondition returns the condition of a generation whose push has expired.
func (d *activation) expiredCondition(g *Generation) wire.Condition {
	return wire.Condition{Code: string(trust.CodeExpired), Since: d.cfg.Clock.Now(),
		Message: fmt.Sprintf(
			"push %d has expired at %s: everything is denied until a new one comes",
			g.Signed.Sequence,
			g.Signed.Expires.Format(time.RFC3339),
		)}
}

// Record returns a new record of an act of the daemon under the generation in force.
func (d *activation) Record(k audit.Kind) audit.Record {
	rec := audit.Record{Kind: k, Actor: self}
	if g := d.inForce.Load(); g != nil {
		rec.Generation, rec.Revision = g.Number, g.Revision
	}
	return rec
}
