//go:build unix && !linux

package childproc

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// Start starts a child that Group was told of. One that yields runs behind what else
// wants a processor.
func Start(cmd *exec.Cmd, yields bool) error {
	if err := cmd.Start(); err != nil || !yields {
		return err
	}
	nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, cmd.Process.Pid)
	if err == nil {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, min(nice+niceness, lowest))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("lower the priority of a child: %w", err), end(cmd))
	}
	return nil
}
