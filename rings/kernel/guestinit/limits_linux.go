package guestinit

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// late reports whether a limit would stop init itself. A Go program has more address space and threads than
// many a program may have. By its limit of files the kernel decides whether it may send a descriptor when all
// guests of its user have as many in transit. Such a limit is set with the last calls before the exec, see
// (*program).execute.
func late(resource int) bool {
	switch resource {
	case unix.RLIMIT_AS, unix.RLIMIT_DATA, unix.RLIMIT_NPROC, unix.RLIMIT_NOFILE:
		return true
	default:
		return false
	}
}

// setLimits sets the other limits, soft and hard.
func (g *guest) setLimits() error {
	for _, l := range g.Limits {
		if late(l.Resource) {
			continue
		}
		// Through syscall, which otherwise sets the limit of files again at the exec.
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Value, Max: l.Value}); err != nil {
			return broken(initproto.LayerLimits, fmt.Sprintf("setrlimit %s to %d", l.Name, l.Value), err)
		}
	}
	return nil
}

// setClock makes the kernel count the processor time of this thread and of everything that it starts from here
// on. That includes children whose end their parent ignores, which no figure of a process has. If the host does
// not allow the user to count, only the figures of processes are used. The program cannot stop the clock: its
// filter has no such call.
func (g *guest) setClock() error {
	if !g.Reap {
		return nil
	}
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: unix.PERF_ATTR_SIZE_VER5,
		Bits: unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		g.clock = fd
	}
	return nil
}

// setPage maps a page and writes to it. A canary later tries to make it executable.
func (g *guest) setPage() error {
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return broken(initproto.LayerMemory, "map a page", err)
	}
	page[0] = 0xc3
	g.page = page
	return nil
}

// hasLimits: each limit has the ordered value.
func (g *guest) hasLimits() error {
	for _, l := range g.Limits {
		if late(l.Resource) {
			continue
		}
		var have syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &have); err != nil {
			return fmt.Errorf("read the limit %s: %w", l.Name, err)
		}
		if have.Cur != l.Value || have.Max != l.Value {
			return fmt.Errorf("the limit %s is %d, %d", l.Name, have.Cur, have.Max)
		}
	}
	return nil
}
