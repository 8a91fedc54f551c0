//go:build !linux

package child

import (
	"os"
	"os/exec"
	"runtime/metrics"
)

// confine does nothing: the end of its context kills the child, which starts no
// process of its own.
func confine(*exec.Cmd) {}

// limited does work under limits that this process keeps itself: here the kernel
// has none that hold for memory.
func limited(h header, work func() error) error {
	return watch(h, work, func() look { return look{memory: mappedBytes(), time: processorTime()} })
}

func usageOf(state *os.ProcessState) Usage {
	if state == nil {
		return Usage{}
	}
	return Usage{CPU: state.UserTime() + state.SystemTime()}
}

// peakBytes is an upper bound: all that was mapped, given back or not.
func peakBytes() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}
