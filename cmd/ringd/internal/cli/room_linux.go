package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Room returns how many bytes this user may still write to dir, which may not exist yet. ok is false if it is
// not known. Quotas are not considered.
func Room(dir string) (bytes uint64, ok bool) {
	at, err := statfs(dir)
	switch {
	case err != nil || at.Bsize <= 0 || at.Blocks == 0:
		return 0, false
	case at.Files > 0 && at.Ffree == 0: // no file can be created
		return 0, true
	default:
		return at.Bavail * uint64(at.Bsize), true
	}
}

// statfs returns the file system of dir, or of the folder in which it will be created.
func statfs(dir string) (at syscall.Statfs_t, err error) {
	err = syscall.Statfs(dir, &at)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &at)
	}
	return at, err
}

func diskSize(dir string) (bytes uint64, ok bool) {
	at, err := statfs(dir)
	if err != nil || at.Bsize <= 0 || at.Blocks == 0 {
		return 0, false
	}
	return at.Blocks * uint64(at.Bsize), true
}

// btrfs gives each subvolume of a disk its own device number.
const btrfs = 0x9123683e

// sameDisk reports whether two paths, which may not exist yet, share the space of one disk. If unknown, it
// returns true.
func sameDisk(a, b string) bool {
	x, errA := device(a)
	y, errB := device(b)
	if errA != nil || errB != nil || x == y {
		return true
	}
	s, errA := statfs(a)
	t, errB := statfs(b)
	return errA != nil || errB != nil || int64(s.Type) == btrfs && s.Type == t.Type && s.Blocks == t.Blocks
}

func device(path string) (uint64, error) {
	var at syscall.Stat_t
	err := syscall.Stat(path, &at)
	for errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		err = syscall.Stat(path, &at)
	}
	return uint64(at.Dev), err
}

func outOfRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
