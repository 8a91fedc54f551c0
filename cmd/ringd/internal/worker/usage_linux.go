package worker

import (
	"os"
	"syscall"
)

func usageOf(state *os.ProcessState) Usage {
	if state == nil {
		return Usage{}
	}
	u := Usage{CPU: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.PeakBytes = r.Maxrss * 1024
	}
	return u
}
