package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/schema/wire"
)

// closing is why an executor is closed.
type closing struct {
	wire.Condition
	// Push is the digest of the push that a ring could not be given; "": something else
	// closed it.
	Push string
}

// closedExecutors returns why executors are closed, by name; "" is all.
func (d *Holder) closedExecutors() map[string]closing {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.closedBy)
}

// gone opens the executors that a push has closed which is not there any more: digest is
// what is there now, "" when that cannot be read. The rings are given the generation in
// force anew, and canaries try it, as for any push; else they stay closed, for the next
// good push. It reports whether it opened any. applying is held.
func (d *Holder) gone(ctx context.Context, digest string) (opened bool) {
	g, closed := d.inForce.Load(), d.closedExecutors()
	var names []string
	for name, c := range closed {
		if c.Push != "" && c.Push != digest {
			names = append(names, name)
		}
	}
	if len(names) == 0 || g == nil || d.expired(g) != nil || d.cfg.Lock.State() != nil {
		return false
	}
	slices.Sort(names)
	d.cfg.Recorder.Prepare(g.Number)
	commits, err := d.prepare(ctx, g.Set)
	if later := (interface{ Later() bool })(nil); ctx.Err() != nil || errors.As(err, &later) && later.Later() {
		return false // it is tried at the next refusal
	}
	rec := d.Record(audit.ExecutorOpened)
	rec.Digest, rec.Detail = digest, map[string]string{"executors": fmt.Sprint(names), "reason": "the push that closed them is gone"}
	if err == nil {
		_, err = d.cfg.Recorder.Append(ctx, rec, audit.Synced)
	}
	if err != nil {
		d.cfg.Logger.Warn("executors stay closed whose push is gone", "executors", names, "error", err)
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, name := range names { // the next good push opens it
			c := d.closedBy[name]
			c.Push, c.Message = "", c.Message+"; that push is gone, and the generation in force could not be taken up again: "+err.Error()
			d.closedBy[name] = c
		}
		return false
	}
	maps.DeleteFunc(closed, func(name string, _ closing) bool { return slices.Contains(names, name) })
	next := *g
	d.commitBut(&next, commits, closed)
	d.restarts(ctx)
	return true
}
