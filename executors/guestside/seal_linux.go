package guestside

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// SealAlone irreversibly drops everything that only the start needed: new descriptors of any kind, so that no
// file, socket or pipe can be opened; files of any size; being traced or dumped; and, if the kernel supports
// it, memory that becomes executable. The launcher set the other limits before anything was sent to this
// process.
func SealAlone() error {
	startPoller()
	if err := limit(unix.RLIMIT_NOFILE); err != nil {
		return err
	}
	return sealRest()
}

// sealRest is SealAlone without the descriptors.
func sealRest() error {
	if err := limit(unix.RLIMIT_FSIZE); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("seal: dumpable: %w", err)
	}
	err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) { // before Linux 6.3
		return fmt.Errorf("seal: executable memory: %w", err)
	}
	return nil
}

// limit sets a limit to zero.
func limit(resource int) error {
	if err := unix.Setrlimit(resource, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("seal: limit %d: %w", resource, err)
	}
	return nil
}

// ProcessTime is the processor time of all threads of this process.
func ProcessTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		// The clock always exists. Without it every budget counts as used up.
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(t.Nano())
}
