// Package listener owns how the doors of the daemon accept: those of the API, and those
// that guests have of egress.
//
// net/http and most loops end a listener over an error that the host recovers from: no
// memory, no descriptor, no watch of epoll left. A guest can bring such a shortage
// about. A Patient refuses to end over one.
package listener

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	first = 5 * time.Millisecond // between two attempts, doubled after each error
	most  = 250 * time.Millisecond
	quiet = 10 * time.Second // without an error: the next one is another burst
	// dead is how many errors in a row, of those that a socket gives which no longer
	// listens, end a Patient: some four seconds.
	dead = 20
)

// Patient is a listener that goes on accepting after any error, until it is closed. Like
// every listener of a server it is accepted from by one goroutine.
type Patient struct {
	net.Listener
	name   string
	logger *slog.Logger

	closing sync.Once
	closed  chan struct{}

	burst *time.Timer // nil: there was none yet
	gone  int         // errors in a row that a socket gives which no longer listens
}

// New takes l over. The name says in the log which door it is, once a burst of errors;
// logger may be nil.
func New(l net.Listener, name string, logger *slog.Logger) *Patient {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Patient{Listener: l, name: name, logger: logger, closed: make(chan struct{})}
}

// Accept waits for a connection. It fails when the Patient was closed, or when what it
// listens with is no listener any more: net.ErrClosed before Close, or errors for seconds
// that only such a socket gives.
func (p *Patient) Accept() (net.Conn, error) {
	for pause := first; ; pause = min(2*pause, most) {
		c, err := p.Listener.Accept()
		if err == nil {
			p.gone = 0
			return c, nil
		}
		if p.ended(err) {
			return nil, err
		}
		p.tell(err)
		if !p.wait(pause) {
			return nil, net.ErrClosed
		}
	}
}

func (p *Patient) ended(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return true
	}
	p.gone++
	if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EBADF) && !errors.Is(err, syscall.ENOTSOCK) {
		p.gone = 0
	}
	return p.gone >= dead
}

// tell logs the first error of a burst.
func (p *Patient) tell(err error) {
	over := p.burst == nil || !p.burst.Stop() // the time without an error has passed
	// Stop of a timer with a channel is true after its time as well, as long as nobody reads.
	p.burst = time.AfterFunc(quiet, func() {})
	if !over {
		return
	}
	p.logger.Warn("connections cannot be accepted; the listener goes on", "listener", p.name, "error", err)
}

// wait is false once the Patient is closed.
func (p *Patient) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.closed:
		return false
	}
}

// Close stops listening, also while Accept waits to try again. It may be called more than
// once.
func (p *Patient) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
