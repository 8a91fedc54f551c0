//go:build !linux

package worker

import "os"

func usageOf(state *os.ProcessState) Usage {
	if state == nil {
		return Usage{}
	}
	return Usage{CPU: state.UserTime() + state.SystemTime()}
}
