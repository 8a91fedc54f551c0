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

// If guests have the user of this process, their watches of epoll are counted together with its own watches.
// Without a free watch this process accepts no connection and starts nothing. No limit of a process restricts
// watches: a watch belongs to a file and to the descriptor number that the file had, even if another file has the
// number now. So a program with 256 descriptors can have some 600,000 watches. The ring keeps some watches in
// reserve and checks whether there is a free one. If there is none, it releases the reserve to this process and
// ends the guests that have more than their share.

const (
	// lookEvery is the longest time for which this process lacks a watch.
	lookEvery = 200 * time.Millisecond
	// reserveSide squared is how many watches are kept.
	reserveSide = 40
)

// reserve holds watches. The zero value holds none.
type reserve struct{ epolls, files []int }

// take registers the whole reserve, or nothing.
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

// release releases the whole reserve.
func (v *reserve) release() error {
	var err error
	for _, fd := range slices.Concat(v.epolls, v.files) {
		err = errors.Join(err, unix.Close(fd))
	}
	*v = reserve{}
	return err
}

// another reports whether one more watch can be registered.
func (v *reserve) another() bool {
	e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return true // another resource is exhausted
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

// guard starts the checks when the first guest is live that can make watches, locks, sockets and files.
func (r *Ring) guard(g *guest) {
	if !g.canHoldWatches() {
		return
	}
	r.guarding.Do(func() {
		r.begin(func() { r.guardLocks(r.over) })
		r.begin(func() { guardSockets(r, r.over) })
		if r.files.countFrom > 0 {
			r.begin(func() { r.guardFiles(r.over) })
		}
		if !r.users.own {
			r.begin(func() { r.guardWatches(r.over) })
		}
	})
}

// guardWatches checks periodically until stop is closed.
func (r *Ring) guardWatches(stop <-chan struct{}) {
	var kept reserve
	defer func() { _ = kept.release() }() // they were this process's own
	_ = kept.take()                       // without it the guests are ended nevertheless
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

// shareOf is the share of one of n guests of the watches of this user. If the host does not say how many there
// are, no guest has too many: the largest ends first.
func shareOf(watches, n int) int {
	if watches == 0 {
		return math.MaxInt
	}
	return watches / (n + 1)
}

// holding is a guest with the number of watches, locks, files or sockets that it holds.
type holding struct {
	guest *guest
	found int
}

// counter counts, up to most, the objects that a process holds by one descriptor. link is the target of the
// descriptor, info its file in fdinfo.
type counter func(link, info string, most int) int

// endHolders ends guests until there are free watches. First it ends the guests with share watches or more, and
// then the others, the largest first. A descriptor that a guest has hidden in a socket cannot be examined, so its
// watches are not found, but the number of such descriptors is counted.
func (r *Ring) endHolders(share int, enough func() bool) {
	all := r.holders()
	countHeld(all, survey{max: share, count: byDescriptors(watchesBy)})
	slices.SortStableFunc(all, func(a, b *holding) int { return cmp.Compare(b.found, a.found) })
	for _, h := range all {
		if h.found < share && enough() {
			return
		}
		h.endGuest(
			"epoll_ctl", fmt.Sprintf("%d watches or more", h.found),
			"of epoll, which all processes of its user share",
		)
		_ = h.guest.reap() // its watches are free after that
	}
}

// endGuest ends a guest that holds too much, and records it. The objects are memory of the kernel, so its run ends
// as at the limit of memory.
func (h *holding) endGuest(call, detail, of string) {
	v := violations.Violation{Layer: initproto.LayerLimits, Call: call, Detail: detail, Count: 1, End: true}
	_ = h.guest.refused(v) // it is ended with or without a record
	h.guest.endFor("memory", "held "+detail+", "+of)
}

// canHoldWatches reports whether a guest can make watches and locks of files. A guest that has sealed itself cannot.
// Neither can a program in WebAssembly, which is the only kind that an unconfined guest runs.
func (g *guest) canHoldWatches() bool { return g.layers != nil && g.layers.seal == nil }

// holders are the guests that can make watches and locks.
func (r *Ring) holders() (all []*holding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g := range r.live {
		if g.canHoldWatches() {
			all = append(all, &holding{guest: g})
		}
	}
	return all
}

// survey says which objects of guests are counted.
type survey struct {
	max   int                     // limit of one guest
	count func(pid, most int) int // counts the objects of a process, up to most; 0 for a process that ends
	full  func(*holding)          // called with a guest as soon as it has most; may be nil
}

// countHeld counts the objects of the guests' processes.
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
		if err != nil || h == nil || h.found >= s.max {
			continue
		}
		if h.found += s.count(pid, s.max-h.found); h.found >= s.max && s.full != nil {
			s.full(h)
		}
	}
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// byDescriptors returns a function that counts the objects that the descriptors of a process hold.
func byDescriptors(by counter) func(pid, most int) int {
	return func(pid, most int) int { return heldOf(pid, most, by) }
}

// heldOf counts the objects of one process, up to most. The filter ensures that its threads share its
// descriptors, and only live threads show them.
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

// watchesBy counts watches, and objects that may hide some.
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

// hidden is the weight of a descriptor in transit in a socket: it may be an epoll descriptor that cannot be
// inspected.
const hidden = 10_000

// underWay is how many descriptors are in transit in a socket.
func underWay(name string) int {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(l, "scm_fds:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(v)) // 0 on a kernel that does not report it
			return n
		}
	}
	return 0
}

// linesIn counts the lines of a file that start with begin, up to most. If the file cannot be read, it returns
// the count so far.
func linesIn(name, begin string, most int) int {
	n, _ := linesThat(name, func(line []byte) bool { return bytes.HasPrefix(line, []byte(begin)) }, most)
	return n
}

// linesThat counts the lines of a file for which count returns true, up to most.
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
