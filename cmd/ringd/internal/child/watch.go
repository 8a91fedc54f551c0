package child

import (
	"errors"
	"runtime/metrics"
	"time"
)

// runtimeBytes is what the Go runtime and the program's own data need beside
// the memory that a policy may take.
const runtimeBytes = 64 << 20

// lookEvery is how often a child that the kernel does not limit looks at itself.
const lookEvery = 2 * time.Millisecond

// What a child says that has reached a limit of its own; the parent knows the words.
var (
	errMemory = errors.New("out of memory: the child has what it may take")
	errTime   = errors.New("out of processor time: the child has used what it may take")
)

// memoryLimit is what a child may map.
func memoryLimit(h header) uint64 { return (h.one + runtimeBytes) * shadow }

// look is what a process has taken until now.
type look struct {
	memory uint64 // mapped and not given back
	time   time.Duration
}

// watch does work under the limits of h where the kernel has none for it: it looks
// at this process all the while, and returns when work is done or a limit is
// reached. The caller then ends the process, since work cannot be stopped.
func watch(h header, work func() error, taken func() look) error {
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
		case now.memory > memoryLimit(h):
			return errMemory
		case now.time > time.Duration(h.two)*time.Second:
			return errTime
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
