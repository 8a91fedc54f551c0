package guestinit

import (
	"encoding/binary"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/procfs"
)

// usage adds up the processor time of a guest: of the processes that init has waited for, and of live processes
// with the children that these have waited for. A process whose parent ignores its end is in none of these
// figures. It is counted as far as it was seen, and by the clock, which includes all of it. The larger figure
// is used.
type usage struct {
	clock int           // of the program and its descendants; -1 if the host gives none
	timed time.Duration // time of the clock, at the last look
	done  time.Duration // of processes that init has waited for
	lived time.Duration // of live processes, at the last scan
	lost  time.Duration // of processes that disappeared without being waited for
	peak  int64         // bytes, the largest of one process
	nice  int
	seen  map[int]stat // each process, at the last scan
}

// tick is the unit of times in /proc. The kernel's interface fixes it.
const tick = 10 * time.Millisecond

func newUsage() usage { return usage{clock: -1, seen: map[int]stat{}} }

func (u *usage) total() time.Duration { return max(u.summed(), u.timed) }

// summed is the sum of the processes' figures.
func (u *usage) summed() time.Duration { return u.done + u.lived + u.lost }

// time reads the clock.
func (u *usage) time() {
	var b [8]byte
	if u.clock < 0 {
		return
	}
	if n, err := initproto.Again(func() (int, error) { return unix.Read(u.clock, b[:]) }); err == nil && n == len(b) {
		u.timed = max(u.timed, time.Duration(min(binary.NativeEndian.Uint64(b[:]), math.MaxInt64)))
	}
}

// reaped moves a process that has ended from the live ones to the done ones.
func (u *usage) reaped(pid int, r unix.Rusage) {
	u.lived -= u.seen[pid].all()
	delete(u.seen, pid)
	u.done += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	u.peak = max(u.peak, int64(r.Maxrss)<<10)
}

// Times between two scans.
const (
	soonest = 20 * time.Millisecond
	latest  = 250 * time.Millisecond
)

// next is the earliest time at which a limit could be reached, within its limits.
func (u *usage) next(limit int64) time.Duration {
	if limit <= 0 {
		return latest
	}
	left := time.Duration(limit)*time.Millisecond - u.total()
	return min(max(left/time.Duration(runtime.NumCPU()), soonest), latest)
}

// scan reads every process of the guest. If several are busy, it lowers their priority so that they weigh about
// as much as one.
func (u *usage) scan() error {
	names, err := procfs.List("/proc")
	if err != nil {
		return err
	}
	u.time()
	before := u.summed()
	seen, busy := map[int]stat{}, 0
	u.lived = 0
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == 1 {
			continue
		}
		text, err := procfs.Read("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		p, ok := parseStat(text)
		if !ok {
			continue
		}
		seen[pid] = p
		u.lived += p.all()
		u.peak = max(u.peak, p.resident*int64(unix.Getpagesize()))
		if then, known := u.seen[pid]; p.running || known && p.own > then.own {
			busy += max(p.threads, 1)
		}
	}
	u.seen = seen
	if now := u.summed(); now < before {
		u.lost += before - now
	}
	return u.weigh(busy)
}

// weigh sets the nice value at which that many busy threads have the weight of one. Each step of it is a
// quarter. It cannot be undone.
func (u *usage) weigh(busy int) error {
	n := niceOf(busy)
	if n <= u.nice {
		return nil
	}
	u.nice = n
	// A thread that has made itself even nicer is no failure.
	_ = unix.Setpriority(unix.PRIO_USER, 0, n)
	return nil
}

func niceOf(busy int) int {
	if busy < 2 {
		return 0
	}
	return min(int(math.Ceil(math.Log(float64(busy))/math.Log(1.25))), 19)
}

// stat is the parsed stat line of a process. Times are ticks.
type stat struct {
	running  bool
	own      int64
	children int64 // of children that it has waited for
	threads  int
	resident int64 // pages
}

// all is the time of a process and of the children that it has waited for.
func (s stat) all() time.Duration { return time.Duration(s.own+s.children) * tick }

// parseStat parses the stat line of a process. The program chooses its name, which may hold anything and ends
// at the last bracket.
func parseStat(text string) (s stat, ok bool) {
	i := strings.LastIndexByte(text, ')')
	if i < 0 {
		return s, false
	}
	f := strings.Fields(text[i+1:])
	if len(f) < 22 {
		return s, false
	}
	var n [22]int64
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.ParseInt(f[i], 10, 64) // an invalid number is 0
		n[i] = min(max(n[i], 0), 1<<36)
	}
	return stat{
		running: f[0] == "R", own: n[11] + n[12], children: n[13] + n[14], threads: int(n[17]), resident: n[21],
	}, true
}
