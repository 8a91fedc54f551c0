package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// maxOpen is the number of files of a child that opens none itself: its pipes and the pollers of
// the Go runtime.
const maxOpen = 16

// killAsGroup makes the child the leader of a process group that dies as a whole, and with its
// parent.
func killAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if err == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return err
	}
}

// ownGroup makes the child the leader of a process group, so that an interrupt at the terminal does
// not reach it. The child outlives the thread that starts it, so it gets no parent-death signal: it
// must end when its pipes close.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// startGroup starts a child that killAsGroup has prepared. All threads of a child that yields run
// at a lower priority.
func startGroup(cmd *exec.Cmd, yields bool) error {
	if err := cmd.Start(); err != nil || !yields {
		return err
	}
	if err := lowerPriority(cmd.Process.Pid); err != nil {
		return errors.Join(fmt.Errorf("lower the priority of a child: %w", err), killAndWait(cmd))
	}
	return nil
}

// lowerPriority lowers the priority of a process group. The system call for one process would change
// only its first thread.
func lowerPriority(group int) error {
	up, err := syscall.Getpriority(syscall.PRIO_PROCESS, group) // 20 - nice
	if err != nil {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PGRP, group, min(20-up+niceness, lowestPriority))
}

// withLimits does work under limits that the kernel enforces.
func withLimits(l processLimits, work func() error) error {
	if err := limitSelf(l); err != nil {
		return fmt.Errorf("take limits: %w", err)
	}
	return work()
}

// limitSelf sets the limits of this process for good. It limits data, not address space: Go
// reserves address space that it never touches.
func limitSelf(l processLimits) error {
	files, err := fileLimit(l)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"processor time", syscall.RLIMIT_CPU, l.Seconds},
		{"memory", syscall.RLIMIT_DATA, dataLimit(l)},
		{"files", syscall.RLIMIT_NOFILE, files},
		{"file size", syscall.RLIMIT_FSIZE, 0},
		{"core", syscall.RLIMIT_CORE, 0},
	} {
		if err := syscall.Setrlimit(one.resource, &syscall.Rlimit{Cur: one.most, Max: one.most}); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// fileLimit is at most the limit that this process has already.
func fileLimit(l processLimits) (uint64, error) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return 0, fmt.Errorf("files: %w", err)
	}
	return min(max(l.Files, maxOpen), now.Max), nil
}

func dataLimit(l processLimits) uint64 {
	limit := memoryLimit(l)
	if countMapped {
		limit += statusBytes("VmData:")
	}
	return limit
}

// peakBytes is the peak of this process alone. The figure that the parent gets from the kernel
// includes the parent, whose memory a child shares until exec.
func peakBytes() uint64 { return statusBytes("VmHWM:") }

// statusBytes reads one line of /proc/self/status, in bytes. It returns 0 if the line is missing.
func statusBytes(name string) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kib, err := strconv.ParseUint(number, 10, 50)
	if err != nil {
		return 0
	}
	return kib * 1024
}
