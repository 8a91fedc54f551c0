// Package listener lets listeners of the daemon go on after temporary errors of accept. The API uses it, and egress
// uses it for the listeners of guests.
//
// net/http and most accept loops end a listener on an error that the host recovers from: no memory, no
// descriptor, no watch of epoll left. A guest can cause such a shortage. A Patient does not end because of one.
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
	quiet = 10 * time.Second // time without an error after which the next one starts a new burst
	// dead is how many consecutive errors of a kind that only a socket gives which no longer listens end a
	// Patient: some four seconds.
	dead = 20
)

// Patient is a listener that continues to accept after any error, until it is closed. As with every listener of
// a server, only one goroutine may call Accept.
type Patient struct {
	net.Listener
	name   string
	logger *slog.Logger

	closing sync.Once
	closed  chan struct{}

	burst *time.Timer // nil before the first
	gone  int         // consecutive errors of a socket that no longer listens
}

// New takes ownership of l. name identifies the listener in the log, once for each burst of errors. logger may
// be nil.
func New(l net.Listener, name string, logger *slog.Logger) *Patient {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Patient{Listener: l, name: name, logger: logger, closed: make(chan struct{})}
}

// Accept waits for a connection. It fails if the Patient was closed, or if the socket no longer listens:
// net.ErrClosed before Close, or errors for seconds that only such a socket gives.
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
		p.logFirst(err)
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

// logFirst logs the first error of a burst.
func (p *Patient) logFirst(err error) {
	over := p.burst == nil || !p.burst.Stop() // the time without an error has passed
	// For a timer with a channel, Stop returns true after its time as well, as long as the channel was not
	// read.
	p.burst = time.AfterFunc(quiet, func() {})
	if !over {
		return
	}
	p.logger.Warn("connections cannot be accepted; the listener goes on", "listener", p.name, "error", err)
}

// wait waits for d. It returns false if the Patient is closed.
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

// Close stops listening, also while Accept waits to retry. It may be called more than once.
func (p *Patient) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
