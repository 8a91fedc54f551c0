// This file copies bytes between two connections, both ways, at little cost
// for one that is idle: a buffer, or the pipe of a splice, is held only while
// there are bytes to move. It knows nothing of policy; a Meter says how much may
// pass, and counts it. Package egress calls it.

package proxy

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

const (
	bufferBytes = 16 << 10
	// spliceAfter is how much one direction copies before it moves pages instead.
	spliceAfter = 256 << 10
	pipeBytes   = 1 << 20
	// maxPipes bounds the pipes of a Pump; a direction without one copies. As many
	// as keptPipes wait for the next direction that is busy.
	maxPipes  = 24
	keptPipes = 4
)

// errUsedUp ends a direction whose Meter lets nothing more pass.
var errUsedUp = errors.New("a limit is used up")

// relayStream is a connection with two directions that end on their own: a
// *net.TCPConn or a *net.UnixConn.
type relayStream interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// byteMeter bounds and counts one direction. Where it is Bounded it is asked before
// bytes are read, so that nothing above a limit is. Its methods are called
// concurrently where a Meter is shared.
type byteMeter interface {
	// Bounded says whether Take may give less than it is asked for, as it stands.
	Bounded() bool
	// Take says how many of n bytes may pass, and counts them; 0: none any more.
	Take(n int) int
	// Back gives back what was taken and did not pass.
	Back(n int)
}

// pump copies. It keeps the buffers and pipes of all that it copies; make one
// with New. It is safe for concurrent use.
type pump struct {
	buffers sync.Pool
	pipes   pipes
}

// newPump returns a Pump.
func newPump() *pump {
	return &pump{buffers: sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}}
}

// Close lets go of the pipes that nothing uses.
func (p *pump) Close() { p.pipes.close() }

// Tunnel copies between a and b until both directions have ended, in two
// goroutines that start makes, and returns at once. The end of one direction
// closes the writing half of its target. A direction that breaks, or is used up,
// resets both connections. Up counts what a sends, down what b sends. Done is
// called once, after both have ended, with what broke first; the connections are
// closed by then.
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
	case last: // which tells dst of the end as well
		t.a.Close()
		t.b.Close()
	default:
		// A target that is gone already says so when it is next read from.
		_ = dst.CloseWrite()
	}
	if last {
		t.done(err)
	}
}

// resetConn closes a connection at once; its other end is told of an error, and not
// of an end. When it returns nothing passes any more.
func resetConn(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0) // closed already: there is nobody to tell
	}
	c.Close()
}

// Copy copies from src to dst until src ends, which is nil, or something breaks.
// It closes neither.
func (p *pump) Copy(dst, src relayStream, m byteMeter) error {
	d, err := newDirection(p, dst, src, m)
	if err != nil {
		return err
	}
	return d.run()
}
