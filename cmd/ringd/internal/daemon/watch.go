package daemon

import (
	"context"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// expireEvery is how often runs are looked for that have waited too long, and
// answered ones that nobody goes on with. Nothing is approved after its time in
// between: that is checked when it is asked.
const expireEvery = 10 * time.Second

// pruneEvery is how often runs and sessions are looked for that are to be
// forgotten.
const pruneEvery = time.Minute

// What one look removes from the store: so many runs in one commit, and so many
// commits at most.
const (
	pruneAtOnce = 1000
	pruneRounds = 100
)

// watch ends runs that waited too long, finds those that are to go on and forgets
// old ones. It ends with ctx.
func (d *Daemon) watch(ctx context.Context) {
	tick, expiry := d.cfg.Clock.After(pruneEvery), d.cfg.Clock.After(expireEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-expiry:
			d.runEnds.expire(ctx)
			d.runResumes.lookUp(ctx, func(f store.Fault) bool { return waiting.Again(f, d.cfg.Clock.Now()) })
			expiry = d.cfg.Clock.After(expireEvery)
		case <-tick:
			d.housekeep(ctx)
			tick = d.cfg.Clock.After(pruneEvery)
		}
	}
}

func (d *Daemon) housekeep(ctx context.Context) {
	d.prune(ctx, d.cfg.Clock.Now().Add(-d.cfg.Limits.Retention))
	d.sessionList.expireSessions(ctx)
}

// prune forgets runs that ended before a time. One commit does not keep up with
// a busy host, so there are more while there is more to forget.
func (d *Daemon) prune(ctx context.Context, before time.Time) {
	for range pruneRounds {
		n, err := d.cfg.Store.Prune(ctx, before, pruneAtOnce)
		if err != nil {
			d.cfg.Metrics.Fault("store")
			d.cfg.Logger.Error("prune runs", "error", err)
			return
		}
		if n < pruneAtOnce {
			return
		}
	}
}
