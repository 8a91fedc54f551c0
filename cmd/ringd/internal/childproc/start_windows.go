package childproc

import (
	"os/exec"
	"syscall"
)

// belowNormal is BELOW_NORMAL_PRIORITY_CLASS.
const belowNormal = 0x4000

// Start starts a child that Group was told of. One that yields runs behind what else
// wants a processor.
func Start(cmd *exec.Cmd, yields bool) error {
	if yields {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.CreationFlags |= belowNormal
	}
	return cmd.Start()
}
