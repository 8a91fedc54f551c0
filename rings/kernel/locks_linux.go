package kernel

import (
	"fmt"
	"time"
)

// A lock of a part of a file is memory of the kernel, some 200 bytes, which no limit
// of a process counts and of which one file can have any number. Only a memory control
// group bounds it. So the ring counts them, and ends the guest that holds too many.
// Locks of open files (F_OFD_SETLK) belong to no process: the filter lets none be made.

const (
	// mostLocks is how many locks a guest may hold: 2 MB.
	mostLocks = 10_000
	// locksEvery is the time between two looks: what can be made meanwhile passes.
	locksEvery = time.Second
)

// guardLocks looks until stop is closed.
func (r *Ring) guardLocks(stop <-chan struct{}) {
	looks := time.NewTicker(locksEvery)
	defer looks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-looks.C:
		}
		if linesIn("/proc/locks", "", mostLocks) >= mostLocks { // of the whole host
			r.endLockers()
		}
	}
}

// endLockers ends the guests that hold too many locks.
func (r *Ring) endLockers() {
	all := r.holders()
	countHeld(all, survey{most: mostLocks, count: byDescriptors(locksBy)})
	for _, h := range all {
		if h.found >= mostLocks {
			h.end("fcntl", fmt.Sprintf("%d locks of files or more", h.found), "more than a guest may")
		}
	}
}

// locksBy counts the locks that were made by a descriptor.
func locksBy(_, info string, most int) int { return linesIn(info, "lock:", most) }
