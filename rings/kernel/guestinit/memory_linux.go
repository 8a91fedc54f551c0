package guestinit

import (
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// memory adds up the memory of a guest of every kind: pages without a file, private or shared, including the
// stack, in memory or swapped out; the page tables for them; and the files of its folders in memory.
type memory struct {
	limit   int64 // bytes; 0 if there is none
	folders []string
	network bool          // the guest has sockets of a network
	sockets int64         // kernel memory of the sockets, at the last look
	used    int64         // at the last look
	files   int64         // part of used: in the folders
	largest int64         // of one process, at the last look
	unseen  int64         // upper limit of the processes' memory that is not in used
	cost    time.Duration // processor time of a look

	asked    time.Duration // when the ring was told that the guest is heavy; 0 after its answer
	askedFor int64         // upper limit of the guest's memory at that time
	again    time.Duration // when the ring may be told again
	soon     time.Duration // the same, for a guest that has grown
}

func newMemory(o initproto.Order) memory {
	return memory{limit: o.Memory, folders: o.InMemory(), network: o.Network == initproto.NetworkOwn}
}

// Times between two looks at memory.
const (
	soonestMemory = 5 * time.Millisecond
	// share is the ratio of the pause after a look to the time of the look.
	share = 20
	// pace is how many bytes one processor can allocate in a second at most.
	pace = 4 << 30
)

// next is the earliest time at which the limit could be reached, within its limits.
func (m *memory) next() time.Duration {
	if m.limit <= 0 {
		return time.Hour
	}
	left := max(m.limit-max(m.used, m.sockets), 0)
	soon := time.Duration(float64(left) / pace / float64(runtime.NumCPU()) * float64(time.Second))
	return min(max(soon, soonestMemory, share*m.cost), max(latest, share*m.cost))
}

// look reads every process of the guest. A page that several processes share, such as one of a parent and its
// child, counts for each. So used is the upper limit of the guest's memory.
func (m *memory) look() error {
	began := spent()
	names, err := procfs.List("/proc")
	if err != nil {
		return err
	}
	m.files, m.largest, m.unseen = m.inFolders(), 0, 0
	m.used = m.files
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err != nil || pid == 1 {
			continue
		}
		text, err := procfs.Read("/proc/" + name + "/status")
		if err != nil {
			continue // it has ended
		}
		one := procfs.MemoryOf(text)
		m.used += one.Held()
		m.unseen += one.Unseen()
		m.largest = max(m.largest, one.Held())
	}
	if m.network {
		if m.sockets, err = procfs.Buffered(m.limit); err != nil {
			return err
		}
	}
	m.cost = spent() - began
	return nil
}

// over reports that a single process holds more than all may: the memory of one process counts once. So do the
// sockets. The kernel has one allowance for those of the whole host, and a guest may use as much of it as its
// own limit.
func (m *memory) over() bool { return m.limit > 0 && max(m.largest, m.files, m.sockets) > m.limit }

// heavy reports that the ring has to weigh the guest, which could hold more than its limit. The ring is asked
// earlier again if the guest could have grown by a part of its limit.
func (m *memory) heavy() bool {
	const part = 8
	most := m.used + m.unseen
	if m.limit <= 0 || most <= m.limit || m.asked != 0 {
		return false
	}
	t := now()
	return t >= m.again || t >= m.soon && most-m.askedFor > m.limit/part
}

// longest is the interval at which a possibly heavy guest is weighed again, however long weighing takes.
const longest = time.Second

// ask records that the ring is asked.
func (m *memory) ask() { m.asked, m.askedFor = now(), m.used+m.unseen }

// weighed handles the ring's answer. The cost of weighing grows with the pages, so it may use a part of the
// time only. The part is smaller for a guest that is within its limit by the seen figures, such as one that has
// mapped much and touched little.
func (m *memory) weighed() {
	const part = 4
	if m.asked == 0 {
		return
	}
	t := now()
	took := t - m.asked
	rest := part * took
	if m.used <= m.limit {
		rest = max(share*took, latest)
	}
	m.again, m.soon, m.asked = t+min(rest, longest), t+min(took, longest), 0
}

// inFolders is the size of the guest's folders in memory.
func (m *memory) inFolders() (bytes int64) {
	for _, path := range m.folders {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil { // it exists as long as the guest
			bytes += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return bytes
}

// now is a clock for differences, and spent the processor time of this process: a look that had to wait for a
// busy host is no reason to look less often.
func now() time.Duration   { return clock(unix.CLOCK_MONOTONIC) }
func spent() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t) // 0 makes a look seem short
	return time.Duration(t.Nano())
}
