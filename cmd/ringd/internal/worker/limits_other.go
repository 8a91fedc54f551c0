//go:build !linux

package worker

import (
	"os/exec"
	"runtime/metrics"
)

// killAsGroup does nothing: the end of its context kills the child, which starts no process.
func killAsGroup(*exec.Cmd) {}

// ownGroup does nothing: the child ends with its pipes.
func ownGroup(*exec.Cmd) {}

// withLimits does work under limits that this process checks itself: this system has no limit of
// memory that holds.
func withLimits(l processLimits, work func() error) error {
	return watchLimits(l, work, func() usageNow { return usageNow{memory: mappedBytes(), time: processorTime()} })
}

// peakBytes is an upper bound: all memory that was ever mapped, returned or not.
func peakBytes() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}
