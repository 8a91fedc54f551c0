package worker

import (
	"os/exec"
	"syscall"
)

// belowNormal is BELOW_NORMAL_PRIORITY_CLASS.
const belowNormal = 0x4000

// startGroup starts a child that killAsGroup has prepared. A child that yields runs at a lower
// priority.
func startGroup(cmd *exec.Cmd, yields bool) error {
	if yields {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.CreationFlags |= belowNormal
	}
	return cmd.Start()
}
