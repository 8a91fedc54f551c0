package httpproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Sizes of read buffers. A head that does not fit the first size gets the second. A larger one is not
// accepted.
const (
	chunkBytes = 16 << 10
	headBytes  = 64<<10 + 512
)

// errNoRoom means that a head is larger than allowed, errCrowded that incomplete heads take too much room.
var (
	errNoRoom  = errors.New("the head is too large")
	errCrowded = errors.New("there is no room for a larger head")
)

// heads reserves room for heads, like a [Room].
type heads interface {
	Hold(n int) bool
	Release(n int)
}

// pool lends buffers of chunkBytes.
type pool struct{ free sync.Pool }

func (p *pool) take() *[]byte {
	if b, ok := p.free.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, chunkBytes)
	return &b
}

func (p *pool) give(b *[]byte) {
	if b != nil && len(*b) == chunkBytes {
		p.free.Put(b)
	}
}

// side is one connection with its unread bytes. While it waits for a first byte it holds no buffer. Only one
// goroutine at a time reads.
type side struct {
	conn  net.Conn
	raw   syscall.RawConn // nil: the connection has none
	pool  *pool
	heads heads
	now   func() time.Time
	buf   *[]byte
	held  int // bytes of buf for which room was reserved
	r, w  int // unread: buf[r:w]

	// The deadlines as last set. One goroutine reads and one writes.
	readBy, writeBy time.Time

	try  func(fd uintptr) bool // the callback of fill, created once
	got  int
	fail error
}

func newSide(conn net.Conn, p *pool, now func() time.Time, early []byte, h heads) *side {
	s := &side{conn: conn, pool: p, heads: h, now: now}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			s.raw, s.try = raw, s.attempt
		}
	}
	switch n := len(early); {
	case n > chunkBytes:
		b := make([]byte, max(headBytes, n))
		s.buf, s.w = &b, copy(b, early)
	case n > 0:
		s.hold()
		s.w = copy(*s.buf, early)
	}
	return s
}

// unread returns the unread bytes. They are valid until the next fill.
func (s *side) unread() []byte {
	if s.buf == nil {
		return nil
	}
	return (*s.buf)[s.r:s.w]
}

// used consumes the first n unread bytes, and drops the buffer with the last one.
func (s *side) used(n int) {
	s.r += n
	if s.r >= s.w {
		s.drop()
	}
}

// drop returns the buffer with everything in it.
func (s *side) drop() {
	s.pool.give(s.buf)
	s.buf, s.r, s.w = nil, 0, 0
	s.release(s.held)
	s.held = 0
}

func (s *side) release(n int) {
	if n > 0 {
		s.heads.Release(n)
	}
}

// fillHead is fill for more bytes of a head. The bytes of an incomplete head, and the buffer that the next
// fill needs, take room.
func (s *side) fillHead() error {
	if s.buf != nil {
		size := len(*s.buf)
		if s.w == size && s.r == 0 {
			size = max(size, headBytes)
		}
		if !s.take(size) {
			return errCrowded
		}
	}
	return s.fill(headBytes)
}

// take reserves room for a buffer of size bytes.
func (s *side) take(size int) bool {
	if size <= s.held {
		return true
	}
	if !s.heads.Hold(size - s.held) {
		return false
	}
	s.held = size
	return true
}

// fill reads at least one byte after the unread ones. limit is the largest number of unread bytes.
func (s *side) fill(limit int) error {
	if s.buf != nil && !s.room(limit) {
		return errNoRoom
	}
	s.got, s.fail = 0, nil
	var err error
	if s.raw != nil && readable {
		err = s.raw.Read(s.try)
	} else {
		s.hold()
		s.got, s.fail = s.conn.Read((*s.buf)[s.w:])
	}
	switch {
	case s.got > 0:
		s.w += s.got
		return nil
	case err == nil:
		err = s.fail
	}
	if s.r == s.w {
		s.drop()
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// room makes space after the unread bytes.
func (s *side) room(limit int) bool {
	b := *s.buf
	if s.w < len(b) {
		return s.w-s.r < limit
	}
	if s.r > 0 {
		s.w = copy(b, b[s.r:s.w])
		s.r = 0
		return s.w < limit
	}
	if len(b) >= limit {
		return false
	}
	more := make([]byte, limit)
	copy(more, b)
	s.pool.give(s.buf)
	s.buf = &more
	return true
}

func (s *side) hold() {
	if s.buf == nil {
		s.buf = s.pool.take()
	}
}

// setReadTimeout limits the wait of each following read. A deadline is moved only if it is off by more than an
// eighth, because setting one is expensive.
func (s *side) setReadTimeout(d time.Duration) {
	if want := s.now().Add(d); late(s.readBy, want, d) {
		s.readBy = want
		_ = s.conn.SetReadDeadline(want) // fails only on a closed connection, where the read fails too
	}
}

// limitReads limits the wait of all following reads together.
func (s *side) limitReads(d time.Duration) {
	s.readBy = s.now().Add(d)
	_ = s.conn.SetReadDeadline(s.readBy) // as above
}

// setWriteTimeout limits the wait of each following write, like setReadTimeout.
func (s *side) setWriteTimeout(d time.Duration) {
	if want := s.now().Add(d); late(s.writeBy, want, d) {
		s.writeBy = want
		_ = s.conn.SetWriteDeadline(want) // the same
	}
}

func late(set, want time.Time, d time.Duration) bool {
	off := want.Sub(set)
	return off > d/8 || off < 0
}

// write writes all of b.
func (s *side) write(b []byte, within time.Duration) error {
	s.setWriteTimeout(within)
	_, err := s.conn.Write(b)
	return err
}

// reset closes the connection with a reset, so that the peer sees that it broke.
func (s *side) reset() {
	resetConn(s.conn)
	s.drop()
}

// resetConn is reset for a goroutine other than the reading one.
func resetConn(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0) // fails only on a closed connection, which needs no reset
	}
	_ = c.Close() // already closed
}

func (s *side) close() {
	_ = s.conn.Close() // everything was written before
	s.drop()
}

// timeout reports whether an error is a timeout, rather than a broken connection.
func timeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
