package childproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// maxOpen is how many files a child may hold that needs none of its own: its pipes
// and what the Go runtime waits with.
const maxOpen = 16

// Group makes the child the leader of a group that dies as a whole, and with
// its parent.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if err == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return err
	}
}

// alone makes a child that outlives the thread that starts it the leader of a
// group, so that an interrupt at the terminal does not reach it. It must end with
// its pipes.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Start starts a child that Group was told of. One that yields runs behind what else
// wants a processor, with all its threads.
func Start(cmd *exec.Cmd, yields bool) error {
	if err := cmd.Start(); err != nil || !yields {
		return err
	}
	if err := lower(cmd.Process.Pid); err != nil {
		return errors.Join(fmt.Errorf("lower the priority of a child: %w", err), end(cmd))
	}
	return nil
}

// lower makes the processes of a group yield. The call for one process is about its
// first thread alone.
func lower(group int) error {
	up, err := syscall.Getpriority(syscall.PRIO_PROCESS, group) // 20 - nice
	if err != nil {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PGRP, group, min(20-up+niceness, lowest))
}

// Under does work under limits of the kernel.
func Under(l Limits, work func() error) error {
	if err := limitSelf(l); err != nil {
		return fmt.Errorf("take limits: %w", err)
	}
	return work()
}

// limitSelf puts this process under its limits, for good. Data is what counts
// as memory here: Go reserves address space that it never touches.
func limitSelf(l Limits) error {
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

// fileLimit is no more than this process may have already.
func fileLimit(l Limits) (uint64, error) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return 0, fmt.Errorf("files: %w", err)
	}
	return min(max(l.Files, maxOpen), now.Max), nil
}

func dataLimit(l Limits) uint64 {
	limit := memoryLimit(l)
	if mapped {
		limit += status("VmData:")
	}
	return limit
}

// PeakBytes is the peak of this process alone. What the parent learns from the
// kernel also counts the parent, whose memory a child has until it is started.
func PeakBytes() uint64 { return status("VmHWM:") }

// status reads one figure about this process, in bytes; 0 when it is not there.
func status(name string) uint64 {
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
