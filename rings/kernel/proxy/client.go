package proxy

import (
	"errors"
	"io"
	"time"
)

const (
	firstBytes = 4 << 10  // of a client, until it needs more
	mostBytes  = 80 << 10 // above every limit of the parsers
	// farewell is how long a denied client is still read, so that it gets the answer before its connection is
	// closed.
	farewell      = time.Second
	farewellBytes = 64 << 10
)

// client is a connection of a guest to one of its listeners.
type client struct {
	guest   *Guest
	conn    relayStream
	buf     []byte            // bytes read so far
	first   *[firstBytes]byte // initial storage of buf, returned to the pool
	size    int               // size of the buffer of which buf is a part
	held    int               // bytes reserved in the room
	waiting bool              // undecided so far
	taken   bool              // a conn, or the reader of requests, closes the client
}

// decided frees a slot for another undecided client.
func (c *client) decided() {
	if c.waiting {
		c.waiting = false
		c.guest.mu.Lock()
		c.guest.undecided--
		c.guest.mu.Unlock()
	}
}

func (c *client) leave() {
	c.decided()
	c.guest.mu.Lock()
	delete(c.guest.clients, c.conn)
	c.guest.mu.Unlock()
	c.drop()
	if !c.taken {
		c.conn.Close()
	}
}

var (
	errLate   = errors.New("the client took too long to say what it wants")
	errLong   = errors.New("the client sent more than ringd reads")
	errNoRoom = errors.New("there is no room for a larger head") // the agent has too many bytes in incomplete heads
)

// within limits the time for f to read from and write to the client.
func (c *client) within(d time.Duration, f func() error) error {
	late := time.AfterFunc(d, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !late.Stop() {
		return errLate
	}
	return err
}

// until reads until parse returns an error other than more, or nil.
func (c *client) until(parse func() error, more error) error {
	if err := parse(); !errors.Is(err, more) {
		return err // the usual case: the head arrived in one piece
	}
	return c.within(c.guest.egress.cfg.FirstBytes, func() error {
		for {
			if err := c.more(); err != nil {
				return err
			}
			if err := parse(); !errors.Is(err, more) {
				return err
			}
		}
	})
}

// parse reads until f returns an error other than more, or nil.
func (c *client) parse(f func([]byte) (int, error), more error) (int, error) {
	for {
		n, err := f(c.buf)
		if !errors.Is(err, more) {
			return n, err
		}
		if err := c.more(); err != nil {
			return 0, err
		}
	}
}

// answer sends a response to a client whose connection continues. A client that does not read it is closed.
func (c *client) answer(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return c.within(c.guest.egress.cfg.FirstBytes, func() error {
		_, err := c.conn.Write(text)
		return err
	})
}

// more appends the next bytes to buf. It reserves room for the buffer, but not for the first read of an
// undecided client: a head that arrives in one read needs none.
func (c *client) more() error {
	if len(c.buf) >= mostBytes {
		return errLong
	}
	switch room := cap(c.buf) - len(c.buf); {
	case c.size == 0:
		if !c.waiting {
			if err := c.hold(firstBytes); err != nil {
				return err
			}
		}
		if c.first, _ = c.guest.egress.heads.Get().(*[firstBytes]byte); c.first == nil {
			c.first = new([firstBytes]byte)
		}
		c.buf, c.size = c.first[:0], firstBytes
	case room < firstBytes/8:
		size := max(firstBytes, 2*cap(c.buf))
		if err := c.hold(size); err != nil {
			return err
		}
		next := make([]byte, len(c.buf), size)
		copy(next, c.buf)
		c.buf, c.size = next, size
		if c.first != nil {
			c.guest.egress.heads.Put(c.first)
			c.first = nil
		}
	default:
		if err := c.hold(c.size); err != nil {
			return err
		}
	}
	n, err := c.conn.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// hold reserves room for a buffer of n bytes, which may contain a part of an incomplete head.
func (c *client) hold(n int) error {
	if n <= c.held {
		return nil
	}
	if g := c.guest; !g.egress.room.take(g.holder.Agent, n-c.held) {
		return errNoRoom
	}
	c.held = n
	return nil
}

// drop discards the bytes read so far, and releases their room.
func (c *client) drop() {
	c.buf, c.size = nil, 0
	if c.first != nil {
		c.guest.egress.heads.Put(c.first)
		c.first = nil
	}
	if c.held > 0 {
		c.guest.egress.room.give(c.guest.holder.Agent, c.held)
		c.held = 0
	}
}

// refuse answers an HTTP client and closes it.
func (c *client) refuse(err error) { c.farewell(answerFor(err)) }

// farewell sends a last answer. It keeps reading for a while: if a connection is closed with unread bytes,
// the answer is lost.
func (c *client) farewell(answer []byte) {
	if len(answer) == 0 {
		return
	}
	c.drop()
	_ = c.within(farewell, func() error {
		if _, err := c.conn.Write(answer); err != nil {
			return err
		}
		if err := c.conn.CloseWrite(); err != nil {
			return err
		}
		_, err := io.CopyN(io.Discard, c.conn, farewellBytes)
		return err
	})
}
