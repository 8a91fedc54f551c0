package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// discardInput discards typed input that was not read.
func discardInput(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("read terminal: %w", err)
	}
	var failed error
	if err := c.Control(func(fd uintptr) {
		failed = unix.IoctlSetInt(
			int(fd), unix.TCFLSH, unix.TCIFLUSH)
	}); err != nil {
		return fmt.Errorf("read terminal: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("read terminal: %w", failed)
	}
	return nil
}
