package guest

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// seal gives up for good what only the start needed: new descriptors of any
// kind, so no file, socket or pipe can be opened; files of any size; being
// traced or dumped; and, where the kernel knows it, memory that becomes
// executable. The launcher set the other limits before this process was told
// anything.
func seal() error {
	if err := limitFiles(0); err != nil {
		return err
	}
	return sealMemory()
}

func sealMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("seal: dumpable: %w", err)
	}
	err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) { // before Linux 6.3
		return fmt.Errorf("seal: executable memory: %w", err)
	}
	return nil
}

// limitFiles leaves room for descriptors, those that are open counted.
func limitFiles(descriptors uint64) error {
	for r, most := range map[int]uint64{unix.RLIMIT_NOFILE: descriptors, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0} {
		if err := unix.Setrlimit(r, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("seal: limit %d: %w", r, err)
		}
	}
	return nil
}

// processTime is the processor time of all threads of this process.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		// The clock always exists; without it every budget counts as spent.
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(t.Nano())
}
