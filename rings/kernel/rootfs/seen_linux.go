package rootfs

import (
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Seen is the state of the paths of a plan when it was recorded. It is immutable.
type Seen map[string]unix.Stat_t

// Look records the state of the mounts of a plan, and of its links, which init makes as they were.
func Look(mounts []initproto.Mount) Seen {
	seen := make(Seen, len(mounts))
	for _, m := range mounts {
		seen[m.Path] = standing(m.Path)
	}
	return seen
}

// Still reports whether the paths have the same state now. The content of a file or a folder is visible to
// every guest and is not compared.
func (s Seen) Still() bool {
	for path, then := range s {
		now := standing(path)
		link := then.Mode&unix.S_IFMT == unix.S_IFLNK
		if now.Dev != then.Dev || now.Ino != then.Ino || link && now.Ctim != then.Ctim {
			return false
		}
	}
	return true
}

// standing is the state of the path itself, without following links. It is zero if it cannot be read.
func standing(path string) (st unix.Stat_t) {
	if err := unix.Lstat(path, &st); err != nil {
		return unix.Stat_t{}
	}
	return st
}
