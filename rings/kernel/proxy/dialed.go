package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// Conn is a connection that was decided, recorded and dialed. Written bytes count as sent, read bytes as
// received. Its owner must close it, even after a cut; its end is recorded then. It may be used concurrently
// like any net.Conn.
type Conn struct{ *conn }

// ErrCut is the error of a Conn that the policy or a limit has cut.
var ErrCut = errors.New("the policy in force cut the connection")

// Dial decides on a target by the profile in force and opens a connection to it. A target whose requests must
// be read is denied. The error is a recorded *profiles.Denial, ErrClosed, or a fault.
func (g *Guest) Dial(ctx context.Context, listener string, d egress.Dest) (*Conn, error) {
	return g.open(ctx, dialSpec{listener: listener, dest: d})
}

// DialRequest is Dial for a caller that reads the requests. It also decides on the first request. The caller
// calls Use for each further request.
func (g *Guest) DialRequest(ctx context.Context, q httpproxy.Request) (*Conn, error) {
	return g.open(ctx, dialSpec{listener: q.Listener, dest: q.Dest, reads: true, method: q.Method, path: q.Path,
		overrides: q.Overrides})
}

func (g *Guest) open(ctx context.Context, spec dialSpec) (*Conn, error) {
	c, err := g.dial(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &Conn{c}, nil
}

// Use sets the decided request in flight, so that policy changes apply to it. The zero Request means none. It
// returns false if the connection was cut, or if the request counts against other limits than the connection.
func (c *Conn) Use(q httpproxy.Request) bool {
	c.mu.Lock()
	c.request.method, c.request.path, c.request.overrides = q.Method, q.Path, q.Overrides
	good := !c.over
	c.mu.Unlock()
	return good && (q.Method == "" || c.counted())
}

// Read reads from the target.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.upstream.Read(b)
	if got := (*downMeter)(c.conn).Take(n); got < n {
		c.cut(c.usedUp())
		return got, c.explain(errUsedUp)
	}
	return n, c.explain(err)
}

// Write writes to the target.
func (c *Conn) Write(b []byte) (int, error) {
	may := (*upMeter)(c.conn).Take(len(b))
	n, err := c.upstream.Write(b[:may])
	(*upMeter)(c.conn).Back(may - n)
	if err == nil && may < len(b) {
		c.cut(c.usedUp())
		err = errUsedUp
	}
	return n, c.explain(err)
}

// explain replaces the error of a connection that was cut.
func (c *Conn) explain(err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // as a net.Conn returns it
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if why := c.end.decision; why != nil {
		return fmt.Errorf("%w: %w", ErrCut, denial(*why))
	}
	return err
}

// CloseWrite closes the writing side.
func (c *Conn) CloseWrite() error { return c.upstream.CloseWrite() }

// Close ends the connection.
func (c *Conn) Close() error {
	c.close(EndEOF)
	return nil
}

// LocalAddr returns the local address, which is one of this host.
func (c *Conn) LocalAddr() net.Addr { return c.upstream.LocalAddr() }

// RemoteAddr returns the dialed address. It must not reach the guest.
func (c *Conn) RemoteAddr() net.Addr { return c.upstream.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.upstream.SetDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.upstream.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.upstream.SetWriteDeadline(t) }
