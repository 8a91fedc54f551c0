// Package httpproxy forwards plain HTTP for guests. Each request is parsed strictly,
// decided and recorded by itself, and sent over a connection that was opened for its
// target. It serves proxy clients that do not ask for a tunnel, and tunnels and transparent
// connections whose rule requires that requests are read. Package proxy calls it, and does
// all deciding, recording and dialing.
//
// It refuses everything that two readers could understand differently: a malformed head
// ends its connection, in either direction.
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

// Config is the configuration of a [Forwarder]. A zero duration means its default.
type Config struct {
	// Go starts a goroutine that the caller waits for: one for each request whose body did not arrive with
	// its head, and one for each WebSocket.
	Go  func(func())
	Now func() time.Time
	// Denied appends a complete response for a denial. The connection stays open if keep is true.
	Denied func(dst []byte, d profiles.Decision, keep bool) []byte
	// Idle is the time limit between two requests of a client, Head the one for a head from its first byte
	// on, and Stall the one for a body or a response without progress.
	Idle  time.Duration // 0: 2 minutes
	Head  time.Duration // 0: 15 seconds
	Stall time.Duration // 0: 15 minutes
}

// Request is one request as it is decided and recorded.
type Request struct {
	Listener  string
	Dest      egress.Dest
	Method    string
	Path      string // as sent, without the query
	Overrides egress.Overrides
}

// Grant is a positive result of Guest.Ask. The zero Grant allows nothing.
type Grant struct {
	Granted bool
	// Virtual means that the target is a virtual host: Guest.RoundTrip sends the request, and this package
	// dials nothing.
	Virtual bool
}

// Guest decides, records, and dials for one holder. A denial is a *profiles.Denial, any other error a fault.
type Guest interface {
	// Ask decides one request under the profile in force, counts it against the limits of its rule and
	// records it.
	Ask(r Request) (Grant, error)
	// Refuse records a malformed request, and returns the decision for the response. Its target may be
	// unknown.
	Refuse(r Request, why *egress.Refusal) profiles.Decision
	// Dial opens a connection for a request that Ask allowed. It decides once more. The request is in flight
	// on the connection, as after Conn.Begin.
	Dial(ctx context.Context, r Request, client net.Conn) (Conn, error)
	// RoundTrip sends a request that Ask allowed to the upstream of its virtual host. The response is
	// streamed, and its body must be closed.
	RoundTrip(ctx context.Context, r Request, client net.Conn, q *http.Request) (*http.Response, error)
}

// Room limits the bytes of incomplete heads.
type Room interface {
	// Hold reserves n more bytes for a head. If it returns false, there is no room, and Crowded records that.
	// Release releases n bytes.
	Hold(n int) bool
	Release(n int)
	Crowded(r Request) profiles.Decision
}

// Conn is a connection to a target. If the request in flight is no longer allowed, the connection is cut
// together with its client. Without a request in flight it is cut alone.
type Conn interface {
	net.Conn
	// Begin sets the request in flight. It returns false if the connection was cut or must not be reused.
	Begin(r Request, client net.Conn) bool
	// End clears the request in flight.
	End()
	// Count adds bytes of heads and bodies, from and to the guest. It returns false if a limit of the rule is
	// used up and the connection was cut.
	Count(up, down int64) bool
}

// Client is a connection with requests.
type Client struct {
	Conn     net.Conn
	Early    []byte // the bytes that were already read
	Listener string
	Room     Room // required
	// Dest is the target of a tunnel whose requests are read. It is zero for a proxy client, which names a
	// target in each request.
	Dest egress.Dest
}

// Forwarder serves clients. It is made with New, is safe for concurrent use, and needs no Close.
type Forwarder struct {
	cfg     Config
	buffers pool
	outs    sync.Pool
}

// New returns a Forwarder. It rejects a Config without Go, Now or Denied.
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

// Serve forwards the requests of a client, in order, until there are no more, and closes its connection. If a
// proxy client asks for a tunnel (CONNECT), Serve returns true and the bytes from that request on, and leaves
// the connection open.
func (f *Forwarder) Serve(ctx context.Context, g Guest, c Client) (rest []byte, connect bool) {
	s := &serving{f: f, guest: g, client: c, in: newSide(c.Conn, &f.buffers, f.cfg.Now, c.Early, c.Room)}
	s.client.Early = nil
	end := s.run(ctx)
	s.closeUpstream()
	if end == endConnect {
		rest = bytes.Clone(s.in.unread())
		s.in.drop()
		_ = c.Conn.SetDeadline(time.Time{}) // on a closed connection the next read fails
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
