package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/hostcheck"
)

// The kernel counts open files for the whole host, and above fs.file-max only root can open another file. The
// limit `files` applies to descriptors only: a mapping keeps its file open without a descriptor, and each page of
// shared memory that is mapped separately is a file of its own. A process may have 65,530 mappings. So one guest
// of 64 processes with `memory: 64MiB` could use up all open files of a host and gigabytes of the kernel's
// memory. Therefore the ring counts the open files of guests when the host has many, and ends the guests that
// have too many.

const (
	// maxFiles is the limit of open files of one guest while the host has many.
	maxFiles = 50_000
	// afterNone is the time to the next count if one over all guests ended none: then the files are held by
	// other processes.
	afterNone = time.Second
)

// fileRoom says when the ring counts the open files of guests. The zero value means never.
type fileRoom struct {
	countFrom int // count if the whole host has this many
	max       int // limit of all guests together at that time
}

// roomForFiles leaves three quarters of the host's files to other processes.
func roomForFiles() fileRoom {
	n := hostcheck.Here().Counts().Files / 4
	return fileRoom{countFrom: n, max: n}
}

// guardFiles counts periodically until stop is closed.
func (r *Ring) guardFiles(stop <-chan struct{}) {
	for after := lookEvery; ; {
		wait := time.NewTimer(after)
		select {
		case <-stop:
			wait.Stop()
			return
		case <-wait.C:
		}
		if after = lookEvery; hostcheck.Here().OpenFiles() >= r.files.countFrom &&
			!r.endOpeners(r.files.max, maxFiles) {
			after = afterNone
		}
	}
}

// endOpeners ends guests with too many open files. It ends each guest that holds `each` files or more, and then
// the largest guests until all remaining guests together hold fewer than total. It reports whether it ended a
// guest.
func (r *Ring) endOpeners(total, each int) (ended bool) {
	all := r.holders()
	countHeld(all, survey{max: each, count: filesOf, full: (*holding).endForFiles})
	left := slices.DeleteFunc(slices.Clone(all), func(h *holding) bool { return h.found >= each })
	ended = len(left) < len(all)
	sum := 0
	for _, h := range left {
		sum += h.found
	}
	slices.SortStableFunc(left, func(a, b *holding) int { return cmp.Compare(b.found, a.found) })
	for _, h := range left {
		if sum < total {
			break
		}
		h.endForFiles()
		sum -= h.found
		ended = true
	}
	return ended
}

func (h *holding) endForFiles() {
	h.endGuest("open", fmt.Sprintf("%d open files or more", h.found), "more than a guest may while the host has many")
	_ = h.guest.reap() // its files are free after that
}

// filesOf counts the open files of a process, up to most: its descriptors, and the files that it has mapped. For
// a process that has ended it returns 0. For a process that cannot be inspected it returns most.
func filesOf(pid, most int) int {
	fds, err := os.ReadDir(procPath(pid, "fd"))
	if isGone(err) {
		return 0
	}
	mapped, err := linesThat(procPath(pid, "maps"), mapsFile, most-len(fds))
	switch {
	case isGone(err):
		return 0
	case err != nil:
		return most
	}
	return len(fds) + mapped
}

// isGone reports whether an error of /proc says that the process is gone.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// mapsFile reports whether a line of maps is of a mapping that holds a file. The fields are address,
// permissions, offset, device, and an inode that is not 0.
func mapsFile(line []byte) bool {
	f := strings.Fields(string(line))
	if len(f) < 5 {
		return false
	}
	inode, err := strconv.ParseUint(f[4], 10, 64)
	return err != nil || inode != 0
}
