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

// usage adds up the processor time of a guest: of what was waited for by init, and
// of what lives, with what that has waited for. A process whose parent ignores its
// end is in none of these figures: it is counted as far as it was seen, and by the
// clock, which has all of it. The larger figure counts.
type usage struct {
	clock int           // of the program and its descendants; -1: the host gives none
	timed time.Duration // by the clock, at the last look
	done  time.Duration // of processes that init has waited for
	lived time.Duration // of those that live, at the last scan
	lost  time.Duration // of those that went without a trace
	peak  int64         // bytes, the largest of one process
	nice  int
	seen  map[int]stat // each process, at the last scan
}

// tick is the unit of times in /proc, fixed in the kernel's interface.
const tick = 10 * time.Millisecond

func newUsage() usage { return usage{clock: -1, seen: map[int]stat{}} }

func (u *usage) total() time.Duration { return max(u.summed(), u.timed) }

// summed is the figure by processes.
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

// reaped counts a process that has ended for good, and no more as one that lives.
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

// next is when a limit could be reached at the earliest, in bounds.
func (u *usage) next(limit int64) time.Duration {
	if limit <= 0 {
		return latest
	}
	left := time.Duration(limit)*time.Millisecond - u.total()
	return min(max(left/time.Duration(runtime.NumCPU()), soonest), latest)
}

// scan reads every process of the guest, and lets them weigh about as much as one
// when several are busy.
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

// weigh sets the nice value at which so many busy threads have the weight of one;
// each step of it is a quarter. It cannot be taken back.
func (u *usage) weigh(busy int) error {
	n := niceOf(busy)
	if n <= u.nice {
		return nil
	}
	u.nice = n
	// A thread that has made itself nicer yet is no failure.
	_ = unix.Setpriority(unix.PRIO_USER, 0, n)
	return nil
}

func niceOf(busy int) int {
	if busy < 2 {
		return 0
	}
	return min(int(math.Ceil(math.Log(float64(busy))/math.Log(1.25))), 19)
}

// stat is what is read of a process. Times are ticks.
type stat struct {
	running  bool
	own      int64
	children int64 // that it has waited for
	threads  int
	resident int64 // pages
}

// all is the time of a process and of what it has waited for.
func (s stat) all() time.Duration { return time.Duration(s.own+s.children) * tick }

// parseStat reads the line of a process. Its name is the program's to choose, and
// may hold anything; it ends at the last bracket.
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
		n[i], _ = strconv.ParseInt(f[i], 10, 64) // what is no number is 0
		n[i] = min(max(n[i], 0), 1<<36)
	}
	return stat{
		running: f[0] == "R", own: n[11] + n[12], children: n[13] + n[14], threads: int(n[17]), resident: n[21],
	}, true
}
