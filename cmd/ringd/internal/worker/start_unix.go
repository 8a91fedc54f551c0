//go:build unix && !linux

package worker

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// startGroup starts a child that killAsGroup has prepared. A child that yields runs at a lower
// priority.
func startGroup(cmd *exec.Cmd, yields bool) error {
	if err := cmd.Start(); err != nil || !yields {
		return err
	}
	nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, cmd.Process.Pid)
	if err == nil {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, min(nice+niceness, lowestPriority))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("lower the priority of a child: %w", err), killAndWait(cmd))
	}
	return nil
}
