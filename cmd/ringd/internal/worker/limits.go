package worker

import (
	"errors"
	"os/exec"
	"runtime/metrics"
	"time"
)

// runtimeBytes is the memory of the Go runtime and of the program's own data. It is added to the
// memory that the work may take.
const runtimeBytes = 64 << 20

// watchInterval is how often a child that the kernel does not limit checks its own usage.
const watchInterval = 2 * time.Millisecond

// niceness is how far the priority of a child that yields is below its parent's. On a processor
// that both want, the child gets about a tenth of it. On an idle one it gets all.
// lowestPriority is the last nice value.
const (
	niceness       = 10
	lowestPriority = 19
)

// killAndWait kills a child and waits for it. That the child was killed is no error.
func killAndWait(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	var killed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &killed) {
		return err
	}
	return nil
}

// processLimits are the limits of a child.
type processLimits struct {
	MemoryBytes uint64 // in addition to runtimeBytes
	Seconds     uint64 // of processor time, over the whole life of the process
	Files       uint64 // that it may open, where the kernel limits that; 0 means maxOpen
}

// Errors of a child that has reached a limit that it keeps itself. The parent recognises their texts.
var (
	errMemory = errors.New("out of memory: the child has what it may take")
	errTime   = errors.New("out of processor time: the child has used what it may take")
)

// memoryLimit is the memory that a child may map.
func memoryLimit(l processLimits) uint64 { return (l.MemoryBytes + runtimeBytes) * raceMemoryFactor }

// usageNow is the usage of a process until now.
type usageNow struct {
	memory uint64 // mapped and not given back
	time   time.Duration
}

// watchLimits does work under limits that the kernel cannot enforce on this system. It checks the
// usage of this process every watchInterval, and returns when work is done or a limit is reached.
// The caller then ends the process, since work cannot be stopped.
func watchLimits(l processLimits, work func() error, taken func() usageNow) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	again := time.NewTicker(watchInterval)
	defer again.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-again.C:
		}
		switch now := taken(); {
		case now.memory > memoryLimit(l):
			return errMemory
		case now.time > time.Duration(l.Seconds)*time.Second:
			return errTime
		}
	}
}

// mappedBytes is the memory that the runtime has from the system. Much of it is address space that
// was not written to yet, so text that doubles is seen before it fills memory.
func mappedBytes() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}
