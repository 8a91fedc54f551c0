package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Room is how many bytes this user may still write where dir is, or will be made.
// ok is false when that is not known. Quotas are not seen.
func Room(dir string) (bytes uint64, ok bool) {
	var at syscall.Statfs_t
	err := syscall.Statfs(dir, &at)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &at)
	}
	switch {
	case err != nil || at.Bsize <= 0 || at.Blocks == 0:
		return 0, false
	case at.Files > 0 && at.Ffree == 0: // no file can be made
		return 0, true
	default:
		return at.Bavail * uint64(at.Bsize), true
	}
}

func outOfRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
