package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

const fallocKeepSize = 1 // FALLOC_FL_KEEP_SIZE: allocate blocks, keep the size

// openSegment opens a segment for writing. If create is set, it creates the file, which must not exist.
func openSegment(path string, create bool) (file, error) {
	flags := os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	if create {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f}, nil
}

// diskFile is a segment on disk.
type diskFile struct {
	*os.File
	size atomic.Int64 // minimum size of the file
}

// WriteAt writes and remembers the end. It does not extend a file that was cut meanwhile, because a hole
// would hide the cut.
func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	own, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if own.Size() < f.size.Load() {
		return 0, fmt.Errorf("%w: %s was cut while it is written", ErrTampered, f.Name())
	}
	n, err := f.File.WriteAt(p, off)
	end := off + int64(n)
	for {
		size := f.size.Load()
		if end <= size || f.size.CompareAndSwap(size, end) {
			return n, err
		}
	}
}

// Truncate cuts the file. There must be no concurrent write.
func (f *diskFile) Truncate(size int64) error {
	f.size.Store(size)
	return f.File.Truncate(size)
}

// Sync waits for data and size, not for times. Then it checks that the segment still has its name and size:
// writes to a removed file are lost.
func (f *diskFile) Sync() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("fdatasync", err)
		}
		return f.checkName()
	}
}

func (f *diskFile) checkName() error {
	own, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(f.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(own, named):
		return fmt.Errorf("%w: %s was removed or replaced while it is written", ErrTampered, f.Name())
	default:
		return err
	}
}

// Reserve allocates blocks without changing the file's size. A file system that cannot do this is no error; a
// full disk is then an error of the write.
func (f *diskFile) Reserve(off, n int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), fallocKeepSize, off, n)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return nil
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// noRoom reports whether err means that the disk or a quota is full.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// lockDir locks dir for this process until the file is closed.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s", ErrInUse, path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
