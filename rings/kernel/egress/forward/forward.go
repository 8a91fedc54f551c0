// Package forward carries plain HTTP for guests: each request is read strictly,
// decided and recorded on its own, and sent on over one connection that was
// opened for its target. It serves the clients of the proxy that do not ask for a
// tunnel, and every tunnel and transparent connection whose rule says that
// requests are to be read. Package egress alone calls it, and does all deciding,
// recording and dialing.
//
// It refuses what two readers could understand differently: a head that is not in
// strict form ends its connection, in either direction.
package forward

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Config is what a Forwarder needs. Times that are zero take their defaults.
type Config struct {
	// Go starts a goroutine that is waited for: one for each request whose body
	// did not come with its head.
	Go  func(func())
	Now func() time.Time
	// Denied appends a whole answer that refuses: the body is there, and the
	// connection is kept after it if keep says so.
	Denied func(dst []byte, d profiles.Decision, keep bool) []byte
	// Idle is how long a client may take between two requests, Head for one head
	// from its first byte on, Stall how long a body or an answer may stand still.
	Idle, Head, Stall time.Duration
}

// Request is one request as it is decided and recorded.
type Request struct {
	Door   string
	Dest   egress.Dest
	Method string
	Path   string // as sent, without the query
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
