package bridges

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

const supported = true

// processAttributes make a process the leader of a group, and kill it with its parent.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills every process of the group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// awaitExit waits until the process has exited, without reaping it.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
