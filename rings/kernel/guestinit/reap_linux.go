package guestinit

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/rings/kernel/initproto"
)

// reaper is the first process of a guest whose program runs. It collects processes that end, counts processor
// time, and ends with the ring or at a limit. The whole guest ends with it.
type reaper struct {
	initproto.Order
	ipv6    bool // listeners have IPv6 addresses too
	child   int
	socket  int
	ready   bool // the starter is about to become the program
	running bool // the starter is the program
	usage   usage
	memory  memory
	ends    chan end
	news    chan news
	asks    chan ask
}

// end is a process that was waited for.
type end struct {
	pid    int
	status unix.WaitStatus
	used   unix.Rusage
	err    error
}

// news is a message of the starter. err is io.EOF if it has become the program or is gone.
type news struct {
	initproto.Told
	fds []int // of Started: the clock of the program, if there is one
	err error
}

type ask struct {
	initproto.Ask
	err error
}

// failedReap is the exit code of an init whose program did not run.
const failedReap = 125

// reapGuest stays with a guest whose starter is the process child, at the other end of socket. If ipv6 is set,
// later listeners have IPv6 addresses too. It returns the exit code of init, which is that of the program if it
// has ended.
func reapGuest(o initproto.Order, ipv6 bool, child, socket int) int {
	r := &reaper{
		Order: o, ipv6: ipv6, child: child, socket: socket, usage: newUsage(), memory: newMemory(o),
		ends: make(chan end), news: make(chan news), asks: make(chan ask),
	}
	return r.run()
}

func (r *reaper) run() int {
	go r.wait()
	go r.readStarter()
	scan, wall, look := time.NewTimer(time.Hour), time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	scan.Stop()
	wall.Stop()
	look.Stop()
	for {
		select {
		case n := <-r.news:
			if code, over := r.handleStarter(n); over {
				return code
			}
			if r.running {
				r.startWatching(scan, wall, look)
			}
		case e := <-r.ends:
			if e.err != nil {
				return failedReap
			}
			r.usage.reaped(e.pid, e.used)
			if e.pid == r.child {
				return r.programEnded(e.status)
			}
		case a := <-r.asks:
			if a.err != nil || r.answer(a.Ask) != nil {
				return failedReap
			}
		case <-scan.C:
			if code, over := r.checkTime(); over {
				return code
			}
			scan.Reset(r.usage.next(r.CPU))
		case <-look.C:
			if code, over := r.checkMemory(); over {
				return code
			}
			look.Reset(r.memory.next())
		case <-wall.C:
			return r.limit("wall")
		}
	}
}

// startWatching starts the checks of a program that runs.
func (r *reaper) startWatching(scan, wall, look *time.Timer) {
	go r.readRequests()
	scan.Reset(r.usage.next(r.CPU))
	if r.Memory > 0 {
		look.Reset(0)
	}
	if r.Wall > 0 {
		wall.Reset(time.Duration(r.Wall) * time.Millisecond)
	}
}

// checkTime reads the processor time of the guest. If over is true, init has to exit with this code.
func (r *reaper) checkTime() (code int, over bool) {
	if r.usage.scan() != nil {
		return failedReap, true
	}
	if r.CPU > 0 && r.usage.total().Milliseconds() >= r.CPU {
		return r.limit("cpu"), true
	}
	return 0, false
}

// checkMemory reads the memory of the guest. If over is true, init has to exit with this code.
func (r *reaper) checkMemory() (code int, over bool) {
	if r.weigh() != nil {
		return failedReap, true
	}
	if r.memory.over() {
		return r.limit("memory"), true
	}
	return 0, false
}

// weigh measures the memory of the guest, and has the ring weigh it if that may be too much.
func (r *reaper) weigh() error {
	m := &r.memory
	if err := m.look(); err != nil {
		return err
	}
	r.usage.peak = max(r.usage.peak, m.largest)
	if !m.heavy() {
		return nil
	}
	m.ask()
	t := initproto.Told{
		CPU: r.usage.total().Milliseconds(), Peak: r.usage.peak, What: initproto.ToldHeavy, Files: m.files,
	}
	return initproto.Send(initproto.Control, t)
}

// handleStarter handles a message of the starter, until it has become the program or has failed.
func (r *reaper) handleStarter(n news) (code int, over bool) {
	switch {
	case n.err != nil && r.ready:
		r.running = true
		return failedReap, initproto.Send(initproto.Control, initproto.Told{Started: true}) != nil
	case n.err != nil:
		return failedReap, true // the starter has reported the reason
	case n.Failed != "":
		_ = initproto.Send(initproto.Control, n.Told) // a ring that is gone needs no message
		return failedReap, true
	}
	r.ready = n.Started
	if len(n.fds) == 1 {
		r.usage.clock = n.fds[0]
	}
	go r.readStarter()
	return 0, false
}

// wait collects every process that ends, including orphans.
func (r *reaper) wait() {
	for {
		var e end
		e.pid, e.err = initproto.Again(func() (int, error) { return unix.Wait4(-1, &e.status, 0, &e.used) })
		r.ends <- e
		if e.err != nil {
			return
		}
	}
}

// readStarter reads one message of the starter.
func (r *reaper) readStarter() {
	var n news
	n.fds, n.err = initproto.Receive(r.socket, &n.Told)
	r.news <- n
}

// readRequests reads a request of the ring.
func (r *reaper) readRequests() {
	for {
		var a ask
		fds, err := initproto.Receive(initproto.Control, &a.Ask)
		for _, fd := range fds {
			unix.Close(fd)
		}
		a.err = err
		r.asks <- a
		if err != nil {
			return
		}
	}
}

// usageSoFar is the usage of the guest so far, as far as it can be read.
func (r *reaper) usageSoFar() initproto.Told {
	_ = r.usage.scan() // on an error the figures before it are used
	return initproto.Told{CPU: r.usage.total().Milliseconds(), Peak: r.usage.peak}
}

// programEnded reports how the program has ended.
func (r *reaper) programEnded(s unix.WaitStatus) int {
	for !r.running {
		if code, over := r.handleStarter(<-r.news); over {
			return code
		}
	}
	t := r.usageSoFar()
	t.Ended, t.Alone = true, noChildren()
	code := s.ExitStatus()
	if s.Signaled() {
		t.Signal = int(s.Signal())
		code = 128 + t.Signal
		if s.Signal() == unix.SIGXCPU || s.Signal() == unix.SIGKILL && r.spent() {
			t.Limit = "cpu"
		}
	} else {
		t.Code = code
	}
	_ = initproto.Send(initproto.Control, t) // a ring that is gone needs no message
	return code
}

// noChildren reports that the first process has no child. It is the parent of all orphans, so no other process of
// the guest is alive.
func noChildren() bool {
	var status unix.WaitStatus // of one that ended meanwhile: then there was another
	_, err := initproto.Again(func() (int, error) { return unix.Wait4(-1, &status, unix.WNOHANG, nil) })
	return errors.Is(err, unix.ECHILD)
}

// spent reports that the kernel's own limit of processor time is reached, or nearly. The kernel counts in ticks
// when it checks the limit, and exactly afterwards.
func (r *reaper) spent() bool {
	for _, l := range r.Limits {
		if l.Resource == unix.RLIMIT_CPU && r.usage.total() >= time.Duration(l.Value)*time.Second*3/4 {
			return true
		}
	}
	return false
}

// limit ends the guest: all processes end with the first.
func (r *reaper) limit(name string) int {
	t := r.usageSoFar()
	t.Ended, t.Limit, t.Signal = true, name, int(unix.SIGKILL)
	_ = initproto.Send(initproto.Control, t) // a ring that is gone needs no message
	return 128 + t.Signal
}
