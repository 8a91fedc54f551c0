package proxy

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

const (
	bufferBytes = 16 << 10
	// spliceAfter is how many bytes a direction copies before it uses splice.
	spliceAfter = 256 << 10
	pipeBytes   = 1 << 20
	// maxPipes limits the pipes of a pump; a direction without one copies. Up to keptPipes stay open for
	// later use.
	maxPipes  = 24
	keptPipes = 4
)

// errUsedUp ends a direction whose meter allows no more bytes.
var errUsedUp = errors.New("a limit is used up")

// relayStream is a connection whose directions can be closed separately: a *net.TCPConn or a *net.UnixConn.
type relayStream interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// byteMeter limits and counts one direction. If it is Bounded, Take is called before bytes are read, so that
// emptyRead above a limit is read. A shared meter is called concurrently.
type byteMeter interface {
	// Bounded reports whether Take may currently return less than n.
	Bounded() bool
	// Take counts up to n bytes and returns how many may pass. 0 means that no more may.
	Take(n int) int
	// Back returns bytes that were taken and did not pass.
	Back(n int)
}

// pump copies between connections. An idle direction costs little: a buffer or a pipe is held only while
// there are bytes to move. It is safe for concurrent use.
type pump struct {
	buffers sync.Pool
	pipes   pipes
}

// newPump returns a Pump.
func newPump() *pump {
	return &pump{buffers: sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}}
}

// Close closes the idle pipes.
func (p *pump) Close() { p.pipes.close() }

// Tunnel copies between a and b until both directions have ended, in two goroutines started with start, and
// returns at once. The end of one direction closes the writing side of its target. An error or a used-up
// limit in one direction resets both connections. up counts what a sends, down what b sends. done is called
// once, after both connections are closed, with the first error.
func (p *pump) Tunnel(start func(func()), a, b relayStream, up, down byteMeter, done func(error)) {
	t := &tunnel{pump: p, a: a, b: b, done: done, left: 2}
	start(func() { t.run(b, a, up) })
	start(func() { t.run(a, b, down) })
}

type tunnel struct {
	pump *pump
	a, b relayStream
	done func(error)

	mu   sync.Mutex
	left int
	err  error
}

func (t *tunnel) run(dst, src relayStream, m byteMeter) {
	err := t.pump.Copy(dst, src, m)
	t.mu.Lock()
	t.left--
	last := t.left == 0
	if err != nil && t.err == nil {
		t.err = err
	}
	err = t.err
	t.mu.Unlock()
	switch {
	case err != nil:
		resetConn(t.a)
		resetConn(t.b)
	case last: // the close below also ends dst
		t.a.Close()
		t.b.Close()
	default:
		// If the target is already gone, the next read of it reports that.
		_ = dst.CloseWrite()
	}
	if last {
		t.done(err)
	}
}

// resetConn closes a connection with a reset, so that its peer sees an error and not a normal end. After it
// returns, nothing passes.
func resetConn(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0) // already closed, so there is no peer to notify
	}
	c.Close()
}

// Copy copies from src to dst until src ends, and then returns nil, or until an error. It closes neither.
func (p *pump) Copy(dst, src relayStream, m byteMeter) error {
	d, err := newDirection(p, dst, src, m)
	if err != nil {
		return err
	}
	return d.run()
}
