package kernel

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/hostcheck"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/violations"
)

// Where guests have the user of this process, their watches of epoll count with its
// own, and without one of these it accepts no connection and starts nothing. No limit
// of a process bounds them: a watch is of a file and of the number that it had, also
// when the number is another file's since, so that a program with 256 descriptors can
// have some 600,000. The ring keeps some watches in reserve, looks whether there is
// another one, and when there is none gives the reserve to this process and ends the
// guests that hold more than their share.

const (
	// lookEvery is how long this process is at most without a watch.
	lookEvery = 200 * time.Millisecond
	// reserveSide squared is how many watches are kept.
	reserveSide = 40
)

// reserve keeps watches. The zero value keeps none.
type reserve struct{ epolls, files []int }

// take registers what is to be kept, or none of it.
func (v *reserve) take() error {
	for range reserveSide {
		f, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			return errors.Join(err, v.release())
		}
		v.files = append(v.files, f)
		e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return errors.Join(err, v.release())
		}
		v.epolls = append(v.epolls, e)
	}
	for _, e := range v.epolls {
		for _, f := range v.files {
			if err := unix.EpollCtl(e, unix.EPOLL_CTL_ADD, f, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
				return errors.Join(err, v.release())
			}
		}
	}
	return nil
}

// release gives all of it back.
func (v *reserve) release() error {
	var err error
	for _, fd := range slices.Concat(v.epolls, v.files) {
		err = errors.Join(err, unix.Close(fd))
	}
	*v = reserve{}
	return err
}

// another tells whether there is a watch for one that asks now.
func (v *reserve) another() bool {
	e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return true // short of something else
	}
	defer unix.Close(e)
	f, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return true
	}
	defer unix.Close(f)
	err = unix.EpollCtl(e, unix.EPOLL_CTL_ADD, f, &unix.EpollEvent{Events: unix.EPOLLIN})
	return !errors.Is(err, unix.ENOSPC)
}

// guard begins to look when the first guest is live that can make watches, locks,
// sockets and files.
func (r *Ring) guard(g *guest) {
	if !g.watches() {
		return
	}
	r.guarding.Do(func() {
		r.begin(func() { r.guardLocks(r.over) })
		r.begin(func() { guardSockets(r, r.over) })
		if r.files.look > 0 {
			r.begin(func() { r.guardFiles(r.over) })
		}
		if !r.users.own {
			r.begin(func() { r.guardWatches(r.over) })
		}
	})
}

// guardWatches looks until stop is closed.
func (r *Ring) guardWatches(stop <-chan struct{}) {
	var kept reserve
	defer func() { _ = kept.release() }() // they were this process's own
	_ = kept.take()                       // without it the guests are ended all the same
	for {
		wait := time.NewTimer(lookEvery)
		select {
		case <-stop:
			wait.Stop()
			return
		case <-wait.C:
		}
		if kept.another() {
			if r.exhausted.CompareAndSwap(true, false) || len(kept.files) == 0 {
				_ = kept.take()
			}
			continue
		}
		r.exhausted.Store(true)
		_ = kept.release()
		r.endHolders(shareOf(hostcheck.Here().Counts().Watches, len(r.holders())), kept.another)
	}
}

// shareOf is what one of n guests may have of the watches of this user. Where the host
// does not say how many there are, nobody has too many: the largest ends first.
func shareOf(watches, n int) int {
	if watches == 0 {
		return math.MaxInt
	}
	return watches / (n + 1)
}

// holding is a guest that may hold watches, locks or files, and how many were found.
type holding struct {
	guest *guest
	found int
}

// counter counts, up to most, what a process holds by one descriptor: what link says
// it is, and the file of what the kernel tells of it.
type counter func(link, info string, most int) int

// endHolders ends guests until there are watches again: first those that hold the
// share of each or more, then the others, the largest first. What a guest has hidden
// in its sockets is not found: it counts by the descriptors there.
func (r *Ring) endHolders(share int, enough func() bool) {
	all := r.holders()
	countHeld(all, survey{most: share, count: byDescriptors(watchesBy)})
	slices.SortStableFunc(all, func(a, b *holding) int { return cmp.Compare(b.found, a.found) })
	for _, h := range all {
		if h.found < share && enough() {
			return
		}
		h.end("epoll_ctl", fmt.Sprintf("%d watches or more", h.found), "of those of epoll that all processes of its user share")
		_ = h.guest.reap() // what it held is free then
	}
}

// end ends a guest that holds too much, and puts it on record. What it holds is memory
// of the kernel, so its run ends as at the limit of memory.
func (h *holding) end(call, detail, of string) {
	v := violations.Violation{Layer: initproto.LayerLimits, Call: call, Detail: detail, Count: 1, End: true}
	_ = h.guest.refused(v) // it is ended with and without a record
	h.guest.endFor("memory", "held "+detail+", "+of)
}

// watches tells whether a guest can make any, and locks of files: one that has sealed itself cannot, nor
// can a program in WebAssembly, which is all that a guest without the layers runs.
func (g *guest) watches() bool { return g.around != nil && g.around.seal == nil }

// holders are the guests that can make watches and locks.
func (r *Ring) holders() (all []*holding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g := range r.live {
		if g.watches() {
			all = append(all, &holding{guest: g})
		}
	}
	return all
}

// survey says what is counted of the processes of guests.
type survey struct {
	most  int                     // of a guest
	count func(pid, most int) int // what a process holds, up to most; of one that ends nothing
	full  func(*holding)          // hears of a guest as soon as it has most; nil: nobody does
}

// countHeld counts what the processes of guests hold.
func countHeld(all []*holding, s survey) {
	of := map[string]*holding{}
	for _, h := range all {
		if ns, err := os.Readlink(procPath(h.guest.process.Pid, "ns/pid")); err == nil {
			of[ns] = h
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		ns, err := os.Readlink(procPath(pid, "ns/pid"))
		h := of[ns]
		if err != nil || h == nil || h.found >= s.most {
			continue
		}
		if h.found += s.count(pid, s.most-h.found); h.found >= s.most && s.full != nil {
			s.full(h)
		}
	}
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// byDescriptors counts what processes hold by their descriptors.
func byDescriptors(by counter) func(pid, most int) int {
	return func(pid, most int) int { return heldOf(pid, most, by) }
}

// heldOf counts what one process holds, up to most. Its threads have the same descriptors,
// as the filter has it, and only those that live show them.
func heldOf(pid, most int, by counter) int {
	tasks, err := os.ReadDir(procPath(pid, "task"))
	if err != nil {
		return 0
	}
	largest := 0
	for _, task := range tasks {
		at := procPath(pid, "task/"+task.Name())
		fds, err := os.ReadDir(at + "/fd")
		if err != nil {
			continue
		}
		n := 0
		for _, fd := range fds {
			link, err := os.Readlink(at + "/fd/" + fd.Name())
			if err != nil {
				continue
			}
			if n += by(link, at+"/fdinfo/"+fd.Name(), most-n); n >= most {
				return n
			}
		}
		largest = max(largest, n)
	}
	return largest
}

// watchesBy counts watches, and what may be some.
func watchesBy(link, info string, most int) int {
	switch {
	case strings.HasSuffix(link, "[eventpoll]"):
		return linesIn(info, "tfd:", most)
	case strings.HasPrefix(link, "socket:"):
		return underWay(info) * hidden
	default:
		return 0
	}
}

// hidden is what a descriptor under way in a socket counts for: it may be one of epoll
// that nobody can look into.
const hidden = 10_000

// underWay is how many descriptors wait in a socket.
func underWay(name string) int {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(l, "scm_fds:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v)) // a kernel that does not tell: 0
			return n
		}
	}
	return 0
}

// linesIn counts the lines of a file that begin so, up to most. Of a file that cannot
// be read it counts what it has.
func linesIn(name, begin string, most int) int {
	n, _ := linesThat(name, func(line []byte) bool { return bytes.HasPrefix(line, []byte(begin)) }, most)
	return n
}

// linesThat counts the lines of a file that count says yes to, up to most.
func linesThat(name string, count func(line []byte) bool, most int) (n int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := bufio.NewReader(io.LimitReader(f, 1<<30))
	for n < most {
		line, err := b.ReadSlice('\n')
		if len(line) > 0 && count(line) {
			n++
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
	return n, nil
}
