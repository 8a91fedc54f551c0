package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// healEvery is how often records are looked at that cannot be written, at first; what
// does not come back is tried less and less often, at most every healMost.
const (
	healEvery = time.Second
	healMost  = 30 * time.Second
)

// errHealing: records can be written again, and what the fault left behind is being
// settled.
var errHealing = fmt.Errorf("%w: they are being taken up again", records.ErrUnavailable)

// heal takes audit log and store up again after a failed write, as a restart would,
// until ctx ends.
func (d *Daemon) heal(ctx context.Context) {
	pause, last := healEvery, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.cfg.Clock.After(pause):
		}
		cause := d.Writable()
		if cause == nil {
			pause, last = healEvery, ""
			continue
		}
		err := d.mend(ctx, cause)
		if err == nil || errors.Is(err, audit.ErrDiskFull) {
			pause = healEvery // asking for room costs nothing
		} else {
			pause = min(2*pause, healMost)
		}
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			d.cfg.Logger.Error("audit log and store not taken up again", "error", err)
		}
	}
}

// mend ends what is live, opens store and log again, and settles in the store what
// the fault left behind. Nothing starts before all of it is on disk.
func (d *Daemon) mend(ctx context.Context, cause error) error {
	if forGood(cause) {
		return cause
	}
	d.mu.Lock()
	d.healing = true // what has a place by now is stopped below
	d.mu.Unlock()
	d.stopAll("")
	waiting, cancel := context.WithTimeout(ctx, healEvery)
	defer cancel()
	if n := d.idle(waiting); n > 0 {
		return fmt.Errorf("%d runs have not ended yet", n)
	}
	if err := d.cfg.Reopen(ctx); err != nil {
		if forGood(err) { // it stays so, whatever the fault was that closed them
			d.mu.Lock()
			d.damaged = fmt.Errorf("%w: %w", records.ErrUnavailable, err)
			d.mu.Unlock()
		}
		return err
	}
	if err := d.recover(ctx); err != nil {
		return err
	}
	d.cfg.Lock.Record(ctx)
	d.mu.Lock()
	d.healing = false
	d.mu.Unlock()
	d.cfg.Logger.Info("audit log and store were taken up again", "after", cause)
	d.look()
	return nil
}

// unwritable is what status says while records cannot be written.
func (d *Daemon) unwritable(cause error) string {
	switch {
	case forGood(cause):
		return cause.Error() + "; a person has to look: ringd audit verify; then start ringd again"
	case d.cfg.Reopen == nil:
		return cause.Error()
	default:
		return cause.Error() + "; ringd looks again and again, and goes on by itself once they can be written: on a full disk, make room"
	}
}

// forGood reports whether no room on a disk helps: a person has to look.
func forGood(cause error) bool {
	return errors.Is(cause, audit.ErrTampered) || errors.Is(cause, store.ErrCorrupt)
}
