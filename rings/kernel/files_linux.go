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

// The kernel counts open files for the whole host, and beyond fs.file-max nobody but
// root opens one. `files` bounds descriptors alone: a mapping holds its file without
// one, and each page of shared memory is a file of its own if it is mapped by itself.
// A process may have 65,530 mappings, so that one guest of 64 processes could take all
// files of a host and gigabytes of the kernel's memory with `memory: 64MiB`. So the
// ring counts them when the host has many, and ends the guests that hold too many.

const (
	// mostFiles is how many open files a guest may hold while the host has many.
	mostFiles = 50_000
	// afterNone is the time to the next look when one over all guests ended none: the
	// files are those of others.
	afterNone = time.Second
)

// fileRoom says when the ring counts the open files of guests. The zero value: never.
type fileRoom struct {
	look int // from so many of the whole host on
	most int // which all guests may hold then
}

// roomForFiles leaves three quarters of the host's files to others.
func roomForFiles() fileRoom {
	n := hostcheck.Here().Counts().Files / 4
	return fileRoom{look: n, most: n}
}

// guardFiles looks until stop is closed.
func (r *Ring) guardFiles(stop <-chan struct{}) {
	for after := lookEvery; ; {
		wait := time.NewTimer(after)
		select {
		case <-stop:
			wait.Stop()
			return
		case <-wait.C:
		}
		if after = lookEvery; hostcheck.Here().OpenFiles() >= r.files.look && !r.endOpeners(r.files.most, mostFiles) {
			after = afterNone
		}
	}
}

// endOpeners ends the guests that hold each open files or more, as they are found, and
// then the largest ones until all that are left hold fewer than total. It tells
// whether it ended any.
func (r *Ring) endOpeners(total, each int) (ended bool) {
	all := r.holders()
	countHeld(all, survey{most: each, count: filesOf, full: (*holding).endForFiles})
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
	h.end("open", fmt.Sprintf("%d open files or more", h.found), "more than a guest may while the host has many")
	_ = h.guest.reap() // what it held is free then
}

// filesOf is how many open files a process holds, up to most: its descriptors, and its
// mappings of files. One that has ended holds none; one that cannot be looked into
// counts for most.
func filesOf(pid, most int) int {
	fds, err := os.ReadDir(procPath(pid, "fd"))
	if gone(err) {
		return 0
	}
	mapped, err := linesThat(procPath(pid, "maps"), mapsFile, most-len(fds))
	switch {
	case gone(err):
		return 0
	case err != nil:
		return most
	}
	return len(fds) + mapped
}

// gone tells whether an error of /proc says that the process is gone.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// mapsFile tells whether a line of maps is of a mapping that holds a file: address,
// rights, offset, device, and an inode that is not 0.
func mapsFile(line []byte) bool {
	f := strings.Fields(string(line))
	if len(f) < 5 {
		return false
	}
	inode, err := strconv.ParseUint(f[4], 10, 64)
	return err != nil || inode != 0
}
