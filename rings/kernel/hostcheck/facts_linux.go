package hostcheck

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// landlock asks for the version with an empty ruleset of size 0.
func landlock() (abi int, err syscall.Errno) {
	n, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}

func ownedBy(info fs.FileInfo, uid int) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == uid
}
