//go:build !linux

package childproc

import (
	"os/exec"
	"runtime/metrics"
)

// Group does nothing: the end of its context kills the child, which starts no
// process of its own.
func Group(*exec.Cmd) {}

// alone does nothing: the child ends with its pipes.
func alone(*exec.Cmd) {}

// Under does work under limits that this process keeps itself: here the kernel
// has none that hold for memory.
func Under(l Limits, work func() error) error {
	return watch(l, work, func() look { return look{memory: mappedBytes(), time: processorTime()} })
}

// PeakBytes is an upper bound: all that was mapped, given back or not.
func PeakBytes() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}
