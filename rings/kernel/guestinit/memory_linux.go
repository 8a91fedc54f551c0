package guestinit

import (
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// memory adds up what a guest holds in memory, whatever kind it is of: pages of
// no file, private or shared, the stack among them, in memory or swapped out, the
// page tables that lead to them, and the files of its folders in memory.
type memory struct {
	limit   int64 // bytes; 0: none
	folders []string
	network bool          // the guest has sockets of a network
	sockets int64         // what they hold in the kernel, at the last look
	used    int64         // at the last look
	files   int64         // of used: in the folders
	largest int64         // of one process, at the last look
	unseen  int64         // what processes may hold beside used, at most
	cost    time.Duration // of processor time, of a look

	asked time.Duration // when the ring was told that the guest is heavy; 0: it has answered
	most  int64         // what the guest could hold then
	again time.Duration // from when on the ring is told once more
	soon  time.Duration // the same, for a guest that has grown
}

func newMemory(o initproto.Order) memory {
	return memory{limit: o.Memory, folders: o.InMemory(), network: o.Network == initproto.NetworkOwn}
}

// Times between two looks at memory.
const (
	soonestMemory = 5 * time.Millisecond
	// share is how much longer than a look the time behind it is.
	share = 20
	// pace is how many bytes one processor can take in a second at most.
	pace = 4 << 30
)

// next is when the limit could be reached at the earliest, in bounds.
func (m *memory) next() time.Duration {
	if m.limit <= 0 {
		return time.Hour
	}
	left := max(m.limit-max(m.used, m.sockets), 0)
	soon := time.Duration(float64(left) / pace / float64(runtime.NumCPU()) * float64(time.Second))
	return min(max(soon, soonestMemory, share*m.cost), max(latest, share*m.cost))
}

// look reads every process of the guest. A page that several processes share, such
// as one that a child has of its parent, counts for each: used is the most that the
// guest may hold.
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

// over says that a single process holds more than all may: what one process holds
// counts once. So do the sockets: the kernel has one allowance for those of the whole
// host, and a guest may take of it what it may have itself.
func (m *memory) over() bool { return m.limit > 0 && max(m.largest, m.files, m.sockets) > m.limit }

// heavy says that the ring is to weigh the guest, which could hold more than its limit.
// It is asked again earlier when the guest could have grown by a part of its limit.
func (m *memory) heavy() bool {
	const part = 8
	most := m.used + m.unseen
	if m.limit <= 0 || most <= m.limit || m.asked != 0 {
		return false
	}
	t := now()
	return t >= m.again || t >= m.soon && most-m.most > m.limit/part
}

// longest is the time in which a guest that could be too heavy is weighed again,
// however long a weighing takes.
const longest = time.Second

// ask notes that the ring is asked.
func (m *memory) ask() { m.asked, m.most = now(), m.used+m.unseen }

// weighed is the ring's answer. Its looks take as long as pages are many, and a part
// of its time is enough: less of it for a guest that is within its limit by what is
// seen, such as one that has mapped much and touched little.
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

// inFolders is what the guest's folders in memory hold.
func (m *memory) inFolders() (bytes int64) {
	for _, path := range m.folders {
		var st unix.Statfs_t
		if unix.Statfs(path, &st) == nil { // it stands as long as the guest
			bytes += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return bytes
}

// now is a clock for differences, and spent the processor time of this process: a
// look that had to wait for a busy host is no reason to look less.
func now() time.Duration   { return clock(unix.CLOCK_MONOTONIC) }
func spent() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(id, &t) // 0 makes a look seem short
	return time.Duration(t.Nano())
}
