package daemon

import (
	"context"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// expireEvery is the interval between searches for runs that have waited too long, and for answered runs that
// are not being resumed. An approval that has expired in between is still refused, because each approval
// checks the time itself.
const expireEvery = 10 * time.Second

// pruneEvery is the interval between searches for old runs and sessions to delete.
const pruneEvery = time.Minute

// Limits of one prune: runs deleted in one commit, and commits.
const (
	pruneAtOnce = 1000
	pruneRounds = 100
)

// watch ends runs that waited too long, finds runs to resume and deletes old ones, until ctx ends.
func (d *Daemon) watch(ctx context.Context) {
	tick, expiry := d.cfg.Clock.After(pruneEvery), d.cfg.Clock.After(expireEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-expiry:
			d.runEnds.expire(ctx)
			d.runResumes.queueAnswered(ctx, func(f store.Fault) bool { return waiting.Again(f, d.cfg.Clock.Now()) })
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

// prune deletes runs that ended before a time. One commit does not keep up with a busy host, so prune makes
// several while there is more to delete.
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
