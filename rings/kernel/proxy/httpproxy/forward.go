// Package httpproxy carries plain HTTP for guests: each request is read strictly,
// decided and recorded on its own, and sent on over one connection that was
// opened for its target. It serves the clients of the proxy that do not ask for a
// tunnel, and every tunnel and transparent connection whose rule says that
// requests are to be read. Package proxy alone calls it, and does all deciding,
// recording and dialing.
//
// It refuses what two readers could understand differently: a head that is not in
// strict form ends its connection, in either direction.
package httpproxy

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Config is what a Forwarder needs. Times that are zero take their defaults.
type Config struct {
	// Go starts a goroutine that is waited for: one for each request whose body
	// did not come with its head, and one for each WebSocket.
	Go  func(func())
	Now func() time.Time
	// Denied appends a whole answer that refuses: the body is there, and the
	// connection is kept after it if keep says so.
	Denied func(dst []byte, d profiles.Decision, keep bool) []byte
	// Idle is how long a client may take between two requests, Head for one head
	// from its first byte on, Stall how long a body or an answer may stand still.
	Idle  time.Duration // 0: 2 minutes
	Head  time.Duration // 0: 15 seconds
	Stall time.Duration // 0: 15 minutes
}

// Request is one request as it is decided and recorded.
type Request struct {
	Listener string
	Dest     egress.Dest
	Method   string
	Path     string // as sent, without the query
	Says     egress.Saying
}

// Grant is what Guest.Ask allowed. The zero Grant allows nothing.
type Grant struct {
	Granted bool
	// Virtual says that the target is a virtual host: Guest.RoundTrip carries the
	// request, and nothing is dialed for it here.
	Virtual bool
}

// Guest decides, records, and dials for one holder. A refusal is a
// *profiles.Denial, anything else a fault.
type Guest interface {
	// Ask decides one request under the profile in force, takes it from the limits
	// of its rule and puts it on record.
	Ask(r Request) (Grant, error)
	// Refuse puts on record that a request was not in strict form, and gives the
	// decision to answer with. Of its target nothing may be known.
	Refuse(r Request, why *egress.Refusal) profiles.Decision
	// Dial opens a connection for a request that Ask granted; it decides once more.
	// The request is in flight on it, as Conn.Begin says.
	Dial(ctx context.Context, r Request, client net.Conn) (Conn, error)
	// RoundTrip sends a request that Ask granted to what its virtual host stands
	// for. The response streams, and its body has to be closed.
	RoundTrip(ctx context.Context, r Request, client net.Conn, q *http.Request) (*http.Response, error)
}

// Room is where heads that are not complete take their bytes from.
type Room interface {
	// Hold takes room for n bytes of a head, beside those that it has; false: there is
	// none, and Crowded puts that on record. Release gives n bytes back.
	Hold(n int) bool
	Release(n int)
	Crowded(r Request) profiles.Decision
}

// Conn is a connection to a target. It is cut, and its client with it, when the
// request in flight on it no longer passes; without one it is cut alone.
type Conn interface {
	net.Conn
	// Begin says which request is in flight; false: the connection was cut or may
	// not be used again.
	Begin(r Request, client net.Conn) bool
	// End says that none is.
	End()
	// Count adds bytes of bodies and heads, from and to the guest; false: a limit
	// of the rule is used up, and the connection was cut.
	Count(up, down int64) bool
}

// Client is a connection that requests come by.
type Client struct {
	Conn     net.Conn
	Early    []byte // what was read of it already
	Listener string
	Room     Room // needed
	// Dest is what a tunnel leads to, where its requests are read. Zero: of a proxy,
	// whose clients name the target in each request.
	Dest egress.Dest
}

// Forwarder serves clients. Make one with New; it is safe for concurrent use, and
// owns nothing that has to be closed.
type Forwarder struct {
	cfg     Config
	buffers pool
	outs    sync.Pool
}

// New returns a Forwarder. It refuses a Config without Go, Now or Denied.
func New(cfg Config) (*Forwarder, error) {
	if cfg.Go == nil || cfg.Now == nil || cfg.Denied == nil {
		return nil, errors.New("forward: Go, Now and Denied are needed")
	}
	cfg.Idle, cfg.Head, cfg.Stall = or(cfg.Idle, 2*time.Minute), or(cfg.Head, 15*time.Second),
		or(cfg.Stall, 15*time.Minute)
	return &Forwarder{cfg: cfg}, nil
}

func or(v, def time.Duration) time.Duration {
	if v > 0 {
		return v
	}
	return def
}

func (f *Forwarder) out() *[]byte {
	if b, ok := f.outs.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, outBytes)
	return &b
}

// Serve carries the requests of a client, one after the other and answered in
// their order, until there are no more, and closes its connection. When a client
// of a proxy asks for a tunnel (CONNECT), Serve returns true and what it has read
// of that request and behind it, and the connection is open.
func (f *Forwarder) Serve(ctx context.Context, g Guest, c Client) (rest []byte, connect bool) {
	s := &serving{f: f, guest: g, client: c, in: newSide(c.Conn, &f.buffers, f.cfg.Now, c.Early, c.Room)}
	s.client.Early = nil
	end := s.run(ctx)
	s.leave()
	if end == endConnect {
		rest = bytes.Clone(s.in.unread())
		s.in.drop()
		_ = c.Conn.SetDeadline(time.Time{}) // of a closed connection the next read says so
		return rest, true
	}
	switch end {
	case endBroken:
		s.in.reset()
	case endAnswered:
		s.linger()
	default:
		s.in.close()
	}
	return nil, false
}
