package proxy

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// errNoPipe means that the limit of pipes is reached.
var errNoPipe = errors.New("relay: no pipe")

// pipe holds pages between two sockets during a splice.
type pipe struct {
	r, w int
	size int
}

// pipes limits the number of pipes, busy and idle.
type pipes struct {
	mu     sync.Mutex
	free   []*pipe
	busy   int
	closed bool
}

// get returns nil if the limit is reached, or the host refuses to create one.
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
	// For a user with many other pipes the kernel makes a smaller one, of at least one page.
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

// put returns a pipe, which is reused if it is empty.
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
