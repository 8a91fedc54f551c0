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

// Conn is a connection that was decided on, recorded and dialed. What is written
// to it counts as sent, what is read as received. Its owner closes it, also after
// it was cut, and its end is on record then. It is a net.Conn in how it may be
// used concurrently.
type Conn struct{ l *link }

// ErrCut is the error of a Conn that the policy, or a limit, has cut.
var ErrCut = errors.New("the connection was cut by the policy in force")

// Dial decides on a target by the profile in force and opens a connection to it,
// of which nothing more is known: a target whose requests have to be read is
// refused. The error is a *profiles.Denial, which is on record, ErrClosed, or a
// fault.
func (g *Guest) Dial(ctx context.Context, door string, d egress.Dest) (*Conn, error) {
	return g.conn(ctx, wanted{door: door, dest: d})
}

// DialRequest is Dial for who reads the requests: it decides on the first one as
// well. Who sends another one asks Use.
func (g *Guest) DialRequest(ctx context.Context, q httpproxy.Request) (*Conn, error) {
	return g.conn(ctx, wanted{door: q.Door, dest: q.Dest, reads: true, method: q.Method, path: q.Path, says: q.Says})
}

func (g *Guest) conn(ctx context.Context, w wanted) (*Conn, error) {
	l, err := g.dial(ctx, w)
	if err != nil {
		return nil, err
	}
	return &Conn{l: l}, nil
}

// Use says which request is in flight, as it was decided; a policy that changes
// is held against it. With the zero Request none is. It is false once the connection
// was cut, and for a request that counts against other limits than the connection.
func (c *Conn) Use(q httpproxy.Request) bool {
	c.l.mu.Lock()
	c.l.claim.method, c.l.claim.path, c.l.claim.says = q.Method, q.Path, q.Says
	good := !c.l.over
	c.l.mu.Unlock()
	return good && (q.Method == "" || c.l.counted())
}

// Read reads what the target sends.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.l.upstream.Read(b)
	if got := (*downMeter)(c.l).Take(n); got < n {
		c.l.cut(c.l.usedUp())
		return got, c.explain(errUsedUp)
	}
	return n, c.explain(err)
}

// Write sends to the target.
func (c *Conn) Write(b []byte) (int, error) {
	may := (*upMeter)(c.l).Take(len(b))
	n, err := c.l.upstream.Write(b[:may])
	(*upMeter)(c.l).Back(may - n)
	if err == nil && may < len(b) {
		c.l.cut(c.l.usedUp())
		err = errUsedUp
	}
	return n, c.explain(err)
}

// explain says that a connection was cut, where it was.
func (c *Conn) explain(err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // as a net.Conn gives it
		return err
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	switch {
	case c.l.end.decision != nil:
		return fmt.Errorf("%w: %w", ErrCut, denial(*c.l.end.decision))
	default:
		return err
	}
}

// CloseWrite tells the target that nothing more is sent.
func (c *Conn) CloseWrite() error { return c.l.upstream.CloseWrite() }

// Close ends the connection.
func (c *Conn) Close() error {
	c.l.close(EndEOF)
	return nil
}

// LocalAddr is that of this host.
func (c *Conn) LocalAddr() net.Addr { return c.l.upstream.LocalAddr() }

// RemoteAddr is the address that was dialed. It is not for the guest to know.
func (c *Conn) RemoteAddr() net.Addr { return c.l.upstream.RemoteAddr() }

// SetDeadline is that of net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.l.upstream.SetDeadline(t) }

// SetReadDeadline is that of net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.l.upstream.SetReadDeadline(t) }

// SetWriteDeadline is that of net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.l.upstream.SetWriteDeadline(t) }
