package rootfs

import (
	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// Seen is what stood at the paths of a plan when it was looked at. It is immutable.
type Seen map[string]unix.Stat_t

// Look looks at what a plan mounts, and at its links, which init makes as they
// were.
func Look(mounts []initproto.Mount) Seen {
	seen := make(Seen, len(mounts))
	for _, m := range mounts {
		seen[m.Path] = standing(m.Path)
	}
	return seen
}

// Still tells whether the same stands there now. What is in a file or a folder is
// seen by every guest and does not count.
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

// standing is what stands at a path, itself; zero: nothing that can be looked at.
func standing(path string) (st unix.Stat_t) {
	if err := unix.Lstat(path, &st); err != nil {
		return unix.Stat_t{}
	}
	return st
}
