package kernel

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// setLimits sets the resource limits of a guest that waits for its first message. It sets no limit of
// processes: the kernel counts them for the whole user, including the threads of every other process of the
// user.
func setLimits(pid int, s executors.Spec) error {
	for _, l := range limitsOf(s) {
		if l.Resource == unix.RLIMIT_NPROC {
			continue
		}
		var old unix.Rlimit
		if err := unix.Prlimit(pid, l.Resource, nil, &old); err != nil {
			return fmt.Errorf("read limit %s: %w", l.Name, err)
		}
		v := min(l.Value, old.Max)
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("set limit %s of process %s: %w", l.Name, strconv.Itoa(pid), err)
		}
	}
	return nil
}

// Address space on top of the memory in use. The Go runtime and wazero reserve far more than they touch, so the
// tight limit is that of data.
const reservedBytes = 16 << 30

// spare is how many threads of a reaping init are counted for the guest.
const spare = 8

// signals is how many may be pending in a guest, including its timers: they also count for the user of the
// ring.
const signals = 512

// noCore is the limit of core dumps, in bytes. It is smaller than any dump, so that no file is made. It is also
// the one value for which the kernel does not start the host's dump program. With 0 the kernel does start that
// program, as root, and passes it the guest's memory.
const noCore = 1

// limitsOf lists the resource limits of a guest. If both the executor and the profile name one, the tighter
// applies.
func limitsOf(s executors.Spec) []initproto.Limit {
	k := s.Kernel
	cpu := tighter(s.CPU.Milliseconds(), k.CPUMillis)
	memory := tighter(s.MemoryBytes, k.MemoryBytes)
	files := k.Files
	if files <= 0 {
		files = 64
	}
	processes := max(k.Processes, 1)
	if !s.Seals {
		processes += spare
	}
	list := []initproto.Limit{
		{Name: "CPU", Resource: unix.RLIMIT_CPU, Value: uint64(cpu)/1000 + 1},
		{Name: "FSIZE", Resource: unix.RLIMIT_FSIZE, Value: uint64(tighter(s.FileBytes, k.FileBytes))},
		{Name: "CORE", Resource: unix.RLIMIT_CORE, Value: noCore},
		{Name: "NOFILE", Resource: unix.RLIMIT_NOFILE, Value: uint64(files)},
		{Name: "MEMLOCK", Resource: unix.RLIMIT_MEMLOCK},
		{Name: "MSGQUEUE", Resource: unix.RLIMIT_MSGQUEUE},
		{Name: "SIGPENDING", Resource: unix.RLIMIT_SIGPENDING, Value: signals},
		{Name: "RTPRIO", Resource: unix.RLIMIT_RTPRIO},
		{Name: "NPROC", Resource: unix.RLIMIT_NPROC, Value: uint64(processes)},
	}
	if !raceDetector { // the race detector maps terabytes before main
		list = append(list,
			initproto.Limit{Name: "DATA", Resource: unix.RLIMIT_DATA, Value: uint64(memory)},
			initproto.Limit{Name: "AS", Resource: unix.RLIMIT_AS, Value: uint64(memory) + reservedBytes})
	}
	return list
}

// memoryBeside is the memory that a guest may have in addition to the memory of its program: the share of init in
// the group, page tables, and data that libraries change.
const memoryBeside = 32 << 20

// limitTogether is the limit of all processes of a guest and its folders in memory together. If 0, nothing
// counts it.
func limitTogether(s executors.Spec) int64 {
	if raceDetector {
		return 0
	}
	return tighter(s.MemoryBytes, s.Kernel.MemoryBytes) + memoryBeside
}

// tighter returns the smaller of two limits. 0 means no limit.
func tighter(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		a = b
	}
	return max(a, 0)
}

// limitsWithin lowers limits to the limits of this process, because only root may set higher ones.
func limitsWithin(list []initproto.Limit) ([]initproto.Limit, error) {
	for i, l := range list {
		var have unix.Rlimit
		if err := unix.Getrlimit(l.Resource, &have); err != nil {
			return nil, fmt.Errorf("read limit %s: %w", l.Name, err)
		}
		list[i].Value = min(l.Value, have.Max)
	}
	return list, nil
}
