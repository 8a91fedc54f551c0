package kernel

import (
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// SetFinding has a ring believe that its first guest has reported this.
func SetFinding(r *Ring, report initproto.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = &finding{report: report, kind: report.Kind}
	if report.Kind != "" {
		r.found.why = &Lack{Report: report}
	}
}

// EndHolders ends guests over their watches until enough says so.
func EndHolders(r *Ring, share int, enough func() bool) { r.endHolders(share, enough) }

// EndOpeners ends guests over their open files.
func EndOpeners(r *Ring, total, each int) { r.endOpeners(total, each) }

// SetFiles has a ring count the open files of guests from look of the host on, and let
// all of them hold most.
func SetFiles(r *Ring, look, most int) { r.files = fileRoom{countFrom: look, max: most} }

// Files is from how many open files of the host on a ring counts those of guests.
func Files(r *Ring) int { return r.files.countFrom }

// EndConnected ends guests over the sockets of their networks: those with more than
// each, and the largest while all have more than all.
func EndConnected(r *Ring, each, all int) {
	endConnected(r.holders(), socketRoom{each: each, all: all})
}

// RoomForSockets is how many sockets guests may have, each and together, on a host
// with so many of its own.
func RoomForSockets(orphans, pages int) (each, all int) {
	room := roomForSockets(hostcheck.Counts{Orphans: orphans, PagesTCP: pages})
	return room.each, room.all
}

// SetRoom bounds the tasks of all guests.
func SetRoom(r *Ring, most uint64) { r.room.max = most }

// SetExhausted has a ring believe that there are no watches, or that there are.
func SetExhausted(r *Ring, on bool) { r.exhausted.Store(on) }

// Guards tells whether the ring looks after the watches of its user.
func Guards(r *Ring) bool { return !r.users.own }

// NewWith is New with another init.
func NewWith(c Config, init []byte) (*Ring, error) { return newRing(c, init) }

// PID is the number of a guest's first process, as this host has it.
func PID(g executors.Guest) int { return g.(*guest).process.Pid }

// Waiting lists the first processes of the guests that wait for a program.
func Waiting(r *Ring) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []int
	for _, waiting := range r.pool.waiting {
		for _, p := range waiting {
			list = append(list, p.process.Pid)
		}
	}
	return list
}

// Coming is how many are being prepared, or will be when a guest ends.
func Coming(r *Ring) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.pool.cancels)
	for g := range r.live {
		if g.after != nil {
			n++
		}
	}
	return n
}

// ShareOf is what one guest may have of the watches of the ring's user.
func ShareOf(watches, guests int) int { return shareOf(watches, guests) }
