// Package childproc runs work on untrusted text in child processes that can be killed. A
// parent starts a child with Group and Start, or keeps a Pool of children that answer one
// question after the other. The child does its work Under limits of memory and processor
// time, before it reads a byte.
//
// It refuses to start a child that it cannot limit. Packages compilechild, scriptchild and
// decide use it.
package childproc

import (
	"errors"
	"os/exec"
	"runtime/metrics"
	"time"
)

// runtimeBytes is what the Go runtime and the program's own data need beside
// the memory that the work may take.
const runtimeBytes = 64 << 20

// lookEvery is how often a child that the kernel does not limit looks at itself.
const lookEvery = 2 * time.Millisecond

// niceness is how far a child that yields stands below its parent: beside that on a
// processor it gets about a tenth of it, and all of what nobody wants. lowest is where
// priorities end.
const (
	niceness = 10
	lowest   = 19
)

// end kills a child and waits for it; it returns what is wrong beside that.
func end(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	var killed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &killed) {
		return err
	}
	return nil
}

// Limits are what the work of a child may take.
type Limits struct {
	MemoryBytes uint64 // beside what Go and the program need
	Seconds     uint64 // of processor time, over the whole life of the process
	Files       uint64 // that it may hold, where the kernel bounds that; 0: its pipes, and what the Go runtime waits with
}

// What a child says that has reached a limit of its own; the parent knows the words.
var (
	ErrMemory = errors.New("out of memory: the child has what it may take")
	ErrTime   = errors.New("out of processor time: the child has used what it may take")
)

// memoryLimit is what a child may map.
func memoryLimit(l Limits) uint64 { return (l.MemoryBytes + runtimeBytes) * shadow }

// look is what a process has taken until now.
type look struct {
	memory uint64 // mapped and not given back
	time   time.Duration
}

// watch does work under the limits of h where the kernel has none for it: it looks
// at this process all the while, and returns when work is done or a limit is
// reached. The caller then ends the process, since work cannot be stopped.
func watch(l Limits, work func() error, taken func() look) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-again.C:
		}
		switch now := taken(); {
		case now.memory > memoryLimit(l):
			return ErrMemory
		case now.time > time.Duration(l.Seconds)*time.Second:
			return ErrTime
		}
	}
}

// mappedBytes is what the runtime has from the system. Much of it is address
// space that nothing was written to: text that doubles shows before it is there.
func mappedBytes() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}
