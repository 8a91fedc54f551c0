//go:build unix && !linux

package worker

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process. If it is unknown, it is above any limit.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
