package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/profiles"
)

// roomEvery is the interval between checks of the free space on the disk of the state folder.
const roomEvery = time.Second

// ErrDiskLow: the disk of the state folder is nearly full. New runs are refused until it has free space
// again. Requests that end, close or answer still work.
var ErrDiskLow = errors.New("the disk of the state folder is nearly full: new runs are refused until there is room")

// Room reports the free space on the disk of the state folder.
type Room struct {
	// Free returns the number of bytes that may still be written. ok is false if it is not known.
	Free func() (bytes uint64, ok bool)
	// Floor is the free space below which new runs are refused. They are accepted again at a quarter above
	// Floor.
	Floor uint64
	// Tight reports whether the audit log or the store found no space, whatever Free returns.
	Tight func() bool
	// Shares reports whether files below a path are on that disk.
	Shares func(path string) bool
}

// outage is why something does not work, and since when: new runs are refused, or the log is not archived.
type outage struct {
	since time.Time
	why   string
}

// diskGuard refuses new runs while the disk of the state folder is nearly full, and ends runs that
// can fill it further.
type diskGuard struct {
	cfg    *Config
	policy *policy.State
	table  *runTable
}

// watchDisk checks the free space until ctx ends.
func (d *diskGuard) watchDisk(ctx context.Context) {
	for {
		d.checkOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-d.cfg.Clock.After(roomEvery):
		}
	}
}

// checkOnce checks the free space once, and ends runs that can fill the disk further.
func (d *diskGuard) checkOnce(ctx context.Context) {
	r := d.cfg.Disk.Room
	free, known := r.Free()
	tight := r.Tight()
	was, now := d.table.updateRoom(func(was *outage) string {
		floor := r.Floor
		if was != nil {
			floor += r.Floor / 4 // a margin, so that new runs are not refused and accepted with each file
		}
		switch {
		case known && free < floor:
			return fmt.Sprintf("%d MiB are free, the least is %d MiB (limits.freeSpace)", free>>20, r.Floor>>20)
		case tight:
			return "audit log or store found no more room"
		default:
			return ""
		}
	})
	switch {
	case now != nil:
		if was == nil {
			d.cfg.Logger.Warn("the disk of the state folder is nearly full: new runs are refused", "why", now.why)
		}
		d.endWriters(ctx, now.why)
	case was != nil:
		d.cfg.Logger.Info("the disk of the state folder has room again")
		d.table.wakeResumes()
	}
}

// endWriters ends the live runs that may write to the disk of the state folder.
func (d *diskGuard) endWriters(ctx context.Context, why string) {
	set := d.policy.Set()
	for _, r := range d.table.liveRuns() {
		handle, executor := d.table.guest(r)
		if handle == nil || set == nil || !d.mayFill(set.Agents[handle.View().Agent], executor) {
			continue
		}
		handle.Cancel(
			ctx,
			self,
			"disk_low: the run may write to the disk of the state folder, which is nearly full: "+why,
		)
	}
}

// mayFill reports whether a run of an agent can write files on the disk of the state folder.
func (d *diskGuard) mayFill(a profiles.Agent, executor string) bool {
	if _, scripts := a.Bridges[profiles.ExecutorShell]; executor == profiles.ExecutorJS && !scripts {
		return false // it has no files, and no bridge to shell scripts, which have files
	}
	for _, w := range a.Files.Write {
		if d.cfg.Disk.Room.Shares(w.Path) {
			return true
		}
	}
	return false
}
