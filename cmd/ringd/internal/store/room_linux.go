package store

import (
	"errors"
	"os"
	"syscall"
)

const keepSize = 1 // FALLOC_FL_KEEP_SIZE: allocate blocks, keep the size

// Reserve allocates disk space for the first n bytes of a file without changing its size. A file system that
// cannot do this is no error; a full disk is then an error of the write.
func Reserve(f *os.File, n int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), keepSize, 0, n)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return nil
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}
