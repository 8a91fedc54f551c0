package guestside

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of seccomp(2).
const (
	setModeFilter = 1
	flagTSync     = 1 << 0
	flagListener  = 1 << 3
	flagTSyncESRC = 1 << 4 // a thread that cannot have it is an error, instead of that thread's number
)

// installFilter installs the filter on every thread of the process and returns its listener.
func installFilter(program []unix.SockFilter) (listener int, err error) {
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, e := unix.Syscall(
		unix.SYS_SECCOMP, setModeFilter, flagTSync|flagListener|flagTSyncESRC, uintptr(unsafe.Pointer(&p)),
	)
	runtime.KeepAlive(program)
	if e != 0 {
		return -1, fmt.Errorf("put the filter on all threads: %w", e)
	}
	return int(fd), nil
}
