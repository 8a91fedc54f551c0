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

// JoinConfig is what Join needs.
type JoinConfig struct {
	Host    Host
	Go      func(func())
	Now     func() time.Time
	Metrics *metrics.Metrics // nil: nobody counts
	Logger  *slog.Logger     // nil: nobody is told
	// Lost hears of a target that a run looked up and that has no address; nil: nobody does.
	Lost func(target, why string)
}

// Joined is the egress of a daemon, with its ring and its records. Until Attach
// nothing can be recorded, and so nothing is dialed.
type Joined struct {
	Ring    *Ring // which closes Egress
	Egress  *proxy.Egress
	fetch   *bridges.Fetch
	records records.Egress
	runs    atomic.Pointer[Runs]
	lost    func(target, why string)
}

// Join makes the egress of a daemon. It records under ctx, which should not end
// before the daemon does.
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
	ring.Attach(doors{j})
	return j, nil
}

// Providers are those that the host names, and the daemon's own of fetch when it
// names no other.
func (j *Joined) Providers(named map[string]contract.Provider) map[string]contract.Provider {
	out := map[string]contract.Provider{bridgeFetch: j.fetch}
	maps.Copy(out, named)
	return out
}

// bridgeFetch is the name of the bridge that the daemon performs by itself.
const bridgeFetch = "fetch"

// doors are those of a Joined.
type doors struct{ *Joined }

func (d doors) Recheck() { d.Egress.Recheck() }

func (d doors) Close() {
	_ = d.fetch.Close() // it has what egress has, and is told before
	d.Egress.Close()
}

// Runs are the live runs.
type Runs interface {
	Deciders(run string) []*profiles.Decider
	Refused(run string, d profiles.Decision)
}

// Attach gives the egress its log, and the runs, which learn what they were
// refused. A record is synced where a policy that binds its run, or its agent's
// policy in force, asks for that.
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

// Deciders are those of a live run; none, so that it reaches nothing, before
// Attach.
func (j *Joined) Deciders(run string) []*profiles.Decider {
	if runs := j.runs.Load(); runs != nil {
		return (*runs).Deciders(run)
	}
	return nil
}

// strict is the audit of an agent each of whose records is synced.
const strict = "strict"
