package kernel

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

// setLimits sets the resource limits of a guest that waits for its first
// message. There is no limit of processes: the kernel counts them for the whole
// user, and with the threads of every other process of the user among them.
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

// Address space beside the memory in use: the Go runtime and wazero reserve far
// more than they touch, so the tight limit is that of data.
const reservedBytes = 16 << 30

// spare is how many threads of a reaping init are counted as the guest's.
const spare = 8

// signals is how many may be pending in a guest, its timers among them: they count
// for the user of the ring as well.
const signals = 512

// noCore is the limit of core dumps, in bytes: less than any dump has, so that no
// file is made, and the one value for which the kernel starts no program of the
// host's either. At 0 it does start that, as root, and hands it the guest's memory.
const noCore = 1

// limitsOf lists the resource limits of a guest. Where both the executor and the
// profile name one the tighter holds.
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
	if !raceDetector { // it maps terabytes before main
		list = append(list,
			initproto.Limit{Name: "DATA", Resource: unix.RLIMIT_DATA, Value: uint64(memory)},
			initproto.Limit{Name: "AS", Resource: unix.RLIMIT_AS, Value: uint64(memory) + reservedBytes})
	}
	return list
}

// memoryBeside is what a guest may hold of memory beside that of its program: what init
// takes of a group, page tables, and what libraries change of their own data.
const memoryBeside = 32 << 20

// limitTogether is what all processes of a guest, and its folders in memory, may hold;
// 0: nobody counts it.
func limitTogether(s executors.Spec) int64 {
	if raceDetector {
		return 0
	}
	return tighter(s.MemoryBytes, s.Kernel.MemoryBytes) + memoryBeside
}

// tighter is the smaller of two limits, of which 0 is none; 0 when both are.
func tighter(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		a = b
	}
	return max(a, 0)
}

// limitsWithin cuts limits to those that this process has itself: nobody but root may
// set a higher one.
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
