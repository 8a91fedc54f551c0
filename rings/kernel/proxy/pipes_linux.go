package proxy

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// errNoPipe says that as many directions splice as may.
var errNoPipe = errors.New("relay: no pipe")

// pipe is where pages stand between two sockets.
type pipe struct {
	r, w int
	size int
}

// pipes bounds how many there are, busy and waiting.
type pipes struct {
	mu     sync.Mutex
	free   []*pipe
	busy   int
	closed bool
}

// get returns nil when there are as many as may be, or the host gives no more.
func (p *pipes) get() *pipe {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.busy >= maxPipes {
		return nil
	}
	if n := len(p.free); n > 0 {
		got := p.free[n-1]
		p.free = p.free[:n-1]
		p.busy++
		return got
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil
	}
	made := &pipe{r: fds[0], w: fds[1]}
	// An ordinary user whose other pipes are many gets a small one, of one page at
	// the least.
	size, err := unix.FcntlInt(uintptr(made.w), unix.F_SETPIPE_SZ, pipeBytes)
	if err != nil {
		size, err = unix.FcntlInt(uintptr(made.w), unix.F_GETPIPE_SZ, 0)
	}
	if err != nil || size <= 0 {
		made.close()
		return nil
	}
	made.size = size
	p.busy++
	return made
}

// put takes a pipe back, for the next one when nothing is in it.
func (p *pipes) put(got *pipe, empty bool) {
	if got == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if !empty || p.closed || len(p.free) >= keptPipes {
		got.close()
		return
	}
	p.free = append(p.free, got)
}

func (p *pipes) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, f := range p.free {
		f.close()
	}
	p.free = nil
}

func (p *pipe) close() {
	unix.Close(p.r)
	unix.Close(p.w)
}
