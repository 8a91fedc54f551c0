package kernel

import (
	"fmt"
	"time"
)

// A lock on a part of a file takes some 200 bytes of the kernel's memory. No limit of a process counts locks,
// and one file can have any number. Only a memory control group limits them. So the ring counts them, and ends
// the guest that holds too many. Locks of open files (F_OFD_SETLK) belong to no process; the filter denies
// them.

const (
	// maxLocks is the limit of locks of a guest: 2 MB.
	maxLocks = 10_000
	// locksEvery is the time between two counts. Locks that can be made in between are tolerated.
	locksEvery = time.Second
)

// guardLocks counts periodically until stop is closed.
func (r *Ring) guardLocks(stop <-chan struct{}) {
	looks := time.NewTicker(locksEvery)
	defer looks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-looks.C:
		}
		if linesIn("/proc/locks", "", maxLocks) >= maxLocks { // of the whole host
			r.endLockers()
		}
	}
}

// endLockers ends the guests that hold too many locks.
func (r *Ring) endLockers() {
	all := r.holders()
	countHeld(all, survey{max: maxLocks, count: byDescriptors(locksBy)})
	for _, h := range all {
		if h.found >= maxLocks {
			h.endGuest("fcntl", fmt.Sprintf("%d locks of files or more", h.found), "more than a guest may")
		}
	}
}

// locksBy counts the locks that were made by a descriptor.
func locksBy(_, info string, most int) int { return linesIn(info, "lock:", most) }
