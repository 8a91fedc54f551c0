package network

import (
	"context"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// JoinConfig configures Join.
type JoinConfig struct {
	Host    Host
	Go      func(func())
	Now     func() time.Time
	Metrics *metrics.Metrics // nil counts nothing
	Logger  *slog.Logger     // nil discards
	// Lost is called with a target that a run looked up and that has no address. It may be nil.
	Lost func(target, why string)
}

// Joined is the egress of a daemon, with its ring and its records. Before Attach nothing can be recorded, and
// so nothing is dialed.
type Joined struct {
	Ring    *Ring // closes Egress
	Egress  *proxy.Egress
	fetch   *bridges.Fetch
	records records.Egress
	runs    atomic.Pointer[Runs]
	lost    func(target, why string)
}

// Join builds the egress of a daemon. It records under ctx, which should not end before the daemon does.
func Join(ctx context.Context, c JoinConfig) (*Joined, error) {
	ring, err := New(Config{Now: c.Now, Host: c.Host, Metrics: c.Metrics})
	if err != nil {
		return nil, err
	}
	j := &Joined{Ring: ring, lost: c.Lost}
	cfg, err := c.Host.Egress(ctx, ring, &j.records, c.Go)
	if err != nil {
		return nil, err
	}
	cfg.Logger = c.Logger
	if j.Egress, err = proxy.New(cfg); err != nil {
		return nil, err
	}
	if j.fetch, err = bridges.NewFetch(bridges.Config{Egress: j.Egress, Roots: cfg.Roots,
		Generation: ring.Generation}); err != nil {
		return nil, err
	}
	ring.Attach(connections{j})
	return j, nil
}

// Providers returns named, with the daemon's own provider of fetch if named has none.
func (j *Joined) Providers(named map[string]contract.Provider) map[string]contract.Provider {
	out := map[string]contract.Provider{bridgeFetch: j.fetch}
	maps.Copy(out, named)
	return out
}

// bridgeFetch is the bridge that the daemon performs itself.
const bridgeFetch = "fetch"

// connections adapts a Joined to [Connections].
type connections struct{ *Joined }

func (c connections) Recheck() { c.Egress.Recheck() }

func (c connections) Close() {
	_ = c.fetch.Close() // it uses the egress, so it closes first
	c.Egress.Close()
}

// Runs is the set of live runs.
type Runs interface {
	Deciders(run string) []*profiles.Decider
	Refused(run string, d profiles.Decision)
}

// Attach sets the log of the egress, and the runs, which are told of their refusals. A record is synced if a
// policy that binds its run, or the policy in force of its agent, requires it.
func (j *Joined) Attach(recorder *records.Recorder, runs Runs) {
	number := recorder.Generation
	j.Ring.next.Store(&number)
	j.runs.Store(&runs)
	j.records.Attach(recorder, func(agent, run string) bool {
		if j.Ring.Strict(agent) {
			return true
		}
		for _, d := range runs.Deciders(run) {
			if d.Profile().Audit == strict {
				return true
			}
		}
		return false
	}, runs.Refused, j.lost)
}

// Deciders returns the deciders of a live run. Before Attach there are none, so a run reaches nothing.
func (j *Joined) Deciders(run string) []*profiles.Decider {
	if runs := j.runs.Load(); runs != nil {
		return (*runs).Deciders(run)
	}
	return nil
}

// strict is the audit mode of an agent whose records are each synced.
const strict = "strict"
