package kernel

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/procfs"
)

// stopwatch bounds what a thread does to a guest's processes: its processor time, and
// the time in which it waits for a lock of the kernel's. The guest can hold the lock of
// a process at all times, so that a single call takes minutes. A thread that waits for
// a processor is not late: a host that is busy with something else makes no guest
// heavier.
type stopwatch struct {
	thread int
	until  time.Duration // of its processor time
	most   time.Duration // that it may be blocked
	end    func()

	mu      sync.Mutex
	timer   *time.Timer
	blocked time.Duration
	over    bool
	stopped bool
}

const (
	// sample is the time between two looks at the state of the thread.
	sample = 20 * time.Millisecond
	// patience is how much longer than it may run a thread may be blocked: a process that
	// has no processor keeps its lock.
	patience = 4
)

// watch starts for the calling thread, which stays the same until stop. end is called,
// on another thread, if the time is over while a call has not returned.
func watch(allowed time.Duration, end func()) *stopwatch {
	w := &stopwatch{thread: unix.Gettid(), most: patience * allowed, end: end}
	w.until = w.ran() + allowed
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(sample, w.look)
	return w
}

// stop ends it. Nothing of it runs after that.
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
	if w.blocked > w.most || w.ran() > w.until {
		w.over = true
		w.end()
		return
	}
	w.timer.Reset(sample)
}

// isBlocked tells whether the thread waits in the kernel, where no signal but the last
// wakes it. A thread that the runtime of Go has parked can be woken.
func (w *stopwatch) isBlocked() bool {
	text, err := procfs.Read("/proc/self/task/" + strconv.Itoa(w.thread) + "/stat")
	_, rest, ok := strings.Cut(text, ") ")
	return err == nil && ok && strings.HasPrefix(rest, "D")
}

// ran is the processor time of the thread, as clock_getcpuclockid(3) makes its clock:
// 4 is for one thread, 2 the scheduler's count.
func (w *stopwatch) ran() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(int32(^w.thread)<<3|6, &t) != nil {
		return 1 << 62 // the thread is gone, which cannot be
	}
	return time.Duration(t.Nano())
}
