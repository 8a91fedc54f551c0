package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/profiles"
)

// roomEvery is how often the room on the disk of the state folder is looked at.
const roomEvery = time.Second

// ErrDiskLow: the disk of the state folder is nearly full; no new runs are taken until
// it has room again. What ends, closes and answers goes on.
var ErrDiskLow = errors.New("the disk of the state folder is nearly full: new runs are refused until there is room")

// Room says how the disk of the state folder stands.
type Room struct {
	// Free is how many bytes may still be written there; ok is false when that is not known.
	Free func() (bytes uint64, ok bool)
	// Floor is how much has to be free. Below it nothing new runs, until a quarter more
	// than it is free again.
	Floor uint64
	// Tight reports whether audit log or store found no further room, whatever Free says.
	Tight func() bool
	// Shares reports whether what is written below a path goes to that disk.
	Shares func(path string) bool
}

// low is since when, and why, no new runs are taken.
type low struct {
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

// guard looks after the room on the disk until ctx ends.
func (d *diskGuard) guard(ctx context.Context) {
	for {
		d.roomNow(ctx)
		select {
		case <-ctx.Done():
			return
		case <-d.cfg.Clock.After(roomEvery):
		}
	}
}

// roomNow takes note of how the disk stands, and ends what may fill it further.
func (d *diskGuard) roomNow(ctx context.Context) {
	r := d.cfg.Disk.Room
	free, known := r.Free()
	tight := r.Tight()
	was, now := d.table.updateRoom(func(was *low) string {
		floor := r.Floor
		if was != nil {
			floor += r.Floor / 4 // so that it does not open and close with each file
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
		d.table.look()
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

// mayFill reports whether a run of an agent can write files to the disk of the state
// folder.
func (d *diskGuard) mayFill(a profiles.Agent, executor string) bool {
	if _, scripts := a.Bridges[profiles.ExecutorShell]; executor == profiles.ExecutorJS && !scripts {
		return false // it has no files, and no bridge to scripts that have
	}
	for _, w := range a.Files.Write {
		if d.cfg.Disk.Room.Shares(w.Path) {
			return true
		}
	}
	return false
}
