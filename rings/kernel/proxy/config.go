// Package proxy opens the connections of guests. A guest has listeners in its own network
// namespace, or calls fetch. Each connection is decided by the profile in force (package
// profiles/egress), recorded, and only then dialed, at the address that was decided. A policy
// that changes cuts the connections that no longer pass, and no others.
//
// It refuses when in doubt: a holder without a profile reaches nothing, a connection that
// cannot be recorded is not dialed, and each socket that is about to connect is compared with
// the decision once more.
//
// The kernel ring hands over the listeners. cmd/ringd constructs the one Egress of a daemon.
package proxy

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/netip"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Config is what an Egress needs.
type Config struct {
	// Go starts goroutines; Close waits for them.
	Go func(func())
	// Now is the clock for the expiry of rules and for the times of events.
	Now func() time.Time
	// Resolve returns all addresses of an absolute name (lower case, with its last dot). It is
	// called once for a connection.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Record records an event. An act that it cannot record does not happen.
	Record func(Event) error
	// Observe counts; may be nil.
	Observe func(Figure)
	// Logger logs a listener that cannot accept; may be nil.
	Logger *slog.Logger
	// Secret returns the credential of a gateway by its name in the policy, for requests to an
	// upstream. It is an error if the credential is for another upstream.
	Secret func(ctx context.Context, name string, upstream egress.Dest) (Secret, error)
	// Upstream returns the upstream of a gateway for which the policy names none, or the zero
	// Upstream if the host's configuration has none either.
	Upstream func(gateway string) Upstream
	// Roots verify the certificates of the upstreams of gateways. If nil, the roots of the
	// system do.
	Roots *x509.CertPool
	// Own lists addresses of the daemon itself, which no connection may reach. One without an
	// address stands for all addresses of this host.
	Own []netip.AddrPort

	// Connections is how many connections a holder may have open at once, Undecided how many of
	// those that it opened may wait for their first bytes and a decision.
	Connections int // 0: 1,024
	Undecided   int // 0: 256
	// Most is how many connections all holders together may have; each takes up to two
	// descriptors. One agent may have three quarters of them.
	Most int // 0: no limit
	// Heads is how many bytes all holders together may take for incomplete heads of requests,
	// of answers and of TLS. One agent may have a quarter of them, and less if others have some
	// as well.
	Heads int // 0: 64 MiB
	// FirstBytes is how long a client may take to send its request.
	FirstBytes time.Duration // 0: 10 s
	// DialWithin is how long a lookup and the dial after it may take.
	DialWithin time.Duration // 0: 15 s
	// Dials is how many connections an agent may open to one address and port in a row. Each
	// further one waits for the next DialEvery, within DialWithin. All agents together may open
	// as many as three of them, and then take turns.
	Dials     int           // 0: 1,000
	DialEvery time.Duration // 0: 10 ms
}

const (
	defaultConnections = 1024
	defaultUndecided   = 256
	defaultHeads       = 64 << 20
	defaultFirstBytes  = 10 * time.Second
	defaultDialWithin  = 15 * time.Second
	defaultDials       = 1000
	defaultDialEvery   = 10 * time.Millisecond
)

// Holder is the owner of connections: a guest, or a run that calls fetch.
type Holder struct {
	Agent    string
	Executor string
	Run      func() string // that it serves now; empty if none yet
	// Deciders returns the policies in force at this moment. Each has to allow. Without a
	// decider everything is refused.
	Deciders func() []*profiles.Decider
	// Generation in force, for the record.
	Generation func() int64
}

// Listeners of a guest, by which a connection comes.
const (
	ListenerConnect     = "connect"
	ListenerHTTP        = "http"
	ListenerSOCKS       = "socks5"
	ListenerTransparent = "transparent"
	ListenerDNS         = "dns"
	ListenerFetch       = "fetch" // the bridge: it has no socket
)

// Ends of a connection.
const (
	EndEOF     = "eof"
	EndCut     = "cut"     // the profile in force no longer allows it
	EndBudget  = "budget"  // a limit of its rule is used up
	EndRefused = "refused" // its first bytes were refused
	EndError   = "error"   // it could not be dialed, or broke
	EndClosed  = "closed"  // its holder ended
)

// Event is recorded. Without an End it is a decision, recorded before the act. With an End it
// is how a connection ended.
type Event struct {
	Agent, Executor, Run string
	Generation           int64  // that decided; for a cut, the one that cut
	Before               int64  // for a cut: the generation that had allowed
	Connection           string // the same in the decision and in the end
	Listener             string
	Dest                 egress.Dest
	Method               string
	Path                 string // without its query
	SNI                  string
	Decision             profiles.Decision
	Answers              []netip.Addr
	Dial                 netip.AddrPort // pinned
	Credential           string         // its name
	End                  string
	Up, Down             int64 // bytes, from and to the guest
	Took                 time.Duration
	// Count is the number of events like this one that have no record of their own. Up, Down
	// and Took are sums over them.
	Count int64
}

// Figure is one thing to count.
type Figure struct {
	Listener string
	Verdict  profiles.Verdict
	Code     profiles.Code
	End      string        // empty for a decision
	Dialed   time.Duration // 0 if nothing was dialed
	Up       int64
	Down     int64
	Open     int // change of the number of open connections
}

// Upstream is what a gateway stands for on this host. It replaces all that a policy says of
// the upstream, but for the name of the credential if Credential is empty.
type Upstream struct {
	URL        string   // as egress.ReadUpstream takes it
	Addresses  []string // as profiles.Gateway has them
	Credential string
}

// Secret is a credential as it goes into a request.
type Secret struct {
	Header string // Authorization
	Value  string // "Bearer …"
}
