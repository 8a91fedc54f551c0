package worker

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process. If it is unknown, it is above any limit.
func processorTime() time.Duration {
	const unknown = time.Duration(1<<63 - 1)
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return unknown
	}
	var born, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &born, &ended, &kernel, &user); err != nil {
		return unknown
	}
	return ticks(kernel) + ticks(user)
}

// ticks converts a Filetime that counts 100 ns, not a date.
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}
