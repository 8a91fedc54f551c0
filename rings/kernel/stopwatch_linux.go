package kernel

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/procfs"
)

// stopwatch limits the operations of a thread on a guest's processes: the processor time of the thread, and the
// time for which it waits for a lock of the kernel. The guest can hold the lock of a process at all times, so
// that a single call takes minutes. Waiting for a processor does not count: a host that is busy with other work
// must not make a guest look heavier.
type stopwatch struct {
	thread     int
	until      time.Duration // of the thread's processor time
	maxBlocked time.Duration // that the thread may be blocked
	end        func()

	mu      sync.Mutex
	timer   *time.Timer
	blocked time.Duration
	over    bool
	stopped bool
}

const (
	// sample is the time between two samples of the thread's state.
	sample = 20 * time.Millisecond
	// patience is the ratio of the time that a thread may be blocked to the time that it may run: a process
	// that has no processor keeps its lock.
	patience = 4
)

// watch starts for the calling thread, which must stay the same until stop. If the time is over while a call
// has not returned, end is called on another thread.
func watch(allowed time.Duration, end func()) *stopwatch {
	w := &stopwatch{thread: unix.Gettid(), maxBlocked: patience * allowed, end: end}
	w.until = w.ran() + allowed
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(sample, w.look)
	return w
}

// stop ends the watch. No code of it runs after that.
func (w *stopwatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

func (w *stopwatch) late() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over || w.ran() > w.until
}

func (w *stopwatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if w.isBlocked() {
		w.blocked += sample
	}
	if w.blocked > w.maxBlocked || w.ran() > w.until {
		w.over = true
		w.end()
		return
	}
	w.timer.Reset(sample)
}

// isBlocked reports whether the thread waits in the kernel in a state that only SIGKILL ends. A thread that the
// Go runtime has parked can be woken.
func (w *stopwatch) isBlocked() bool {
	text, err := procfs.Read("/proc/self/task/" + strconv.Itoa(w.thread) + "/stat")
	_, rest, ok := strings.Cut(text, ") ")
	return err == nil && ok && strings.HasPrefix(rest, "D")
}

// ran is the processor time of the thread, read from its clock as clock_getcpuclockid(3) makes it: 4 is for one
// thread, 2 selects the scheduler's count.
func (w *stopwatch) ran() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(int32(^w.thread)<<3|6, &t) != nil {
		return 1 << 62 // the thread is gone, which cannot be
	}
	return time.Duration(t.Nano())
}
