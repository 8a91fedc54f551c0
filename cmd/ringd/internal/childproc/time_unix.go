//go:build unix && !linux

package childproc

import (
	"syscall"
	"time"
)

// processorTime is what this process has used; unknown is more than any limit.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
