package store

import (
	"errors"
	"os"
	"syscall"
)

const keepSize = 1 // FALLOC_FL_KEEP_SIZE: take the blocks, leave the size

// Reserve takes room on the disk for the first n bytes of a file, and leaves its size
// as it is. A file system that cannot do it is no error: then a full disk shows at the
// write.
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
