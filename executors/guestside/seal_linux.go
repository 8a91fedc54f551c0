package guestside

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// SealAlone gives up for good what only the start needed: new descriptors of any
// kind, so no file, socket or pipe can be opened; files of any size; being
// traced or dumped; and, where the kernel knows it, memory that becomes
// executable. The launcher set the other limits before this process was told
// anything.
func SealAlone() error {
	startPoller()
	if err := limit(unix.RLIMIT_NOFILE); err != nil {
		return err
	}
	return sealRest()
}

// sealRest is Alone without the descriptors.
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

// limit sets a limit to nothing.
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
		// The clock always exists; without it every budget counts as spent.
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(t.Nano())
}
