// Package proxy opens the network connections of guests. A guest has listeners in its own
// network namespace, or calls fetch. Each connection is decided by the profile in force
// (package profiles/egress), recorded, and then dialed at a decided address. A policy change
// cuts exactly the connections that it no longer allows.
//
// It denies in doubt: a holder without a profile reaches nothing, a connection that cannot
// be recorded is not dialed, and each socket is checked again just before it connects.
//
// The kernel ring passes the listeners. cmd/ringd creates the one Egress of a daemon.
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

// Config is the configuration of an [Egress].
type Config struct {
	// Go starts goroutines; Close waits for them.
	Go func(func())
	// Now is the clock for the expiry of rules and for the times of events.
	Now func() time.Time
	// Resolve returns all addresses of an absolute name (lower case, with its trailing dot). It is called
	// once for each connection.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Record records an event. If it fails, the recorded act does not happen.
	Record func(Event) error
	// Observe updates metrics; may be nil.
	Observe func(Figure)
	// Logger logs a listener that cannot accept; may be nil.
	Logger *slog.Logger
	// Secret returns the credential of a gateway, by its name in the policy. It returns an error if the
	// credential belongs to another upstream.
	Secret func(ctx context.Context, name string, upstream egress.Dest) (Secret, error)
	// Upstream returns the host's upstream for a gateway without one in the policy, or the zero Upstream if
	// the host has none either.
	Upstream func(gateway string) Upstream
	// Roots verify the certificates of gateway upstreams. nil: the roots of the system.
	Roots *x509.CertPool
	// Own lists addresses of the daemon itself, which no connection may reach. An entry with only a port
	// means all addresses of this host.
	Own []netip.AddrPort

	// Connections is the largest number of open connections of a holder. Undecided is how many of its clients
	// may wait for a decision.
	Connections int // 0: 1,024
	Undecided   int // 0: 256
	// Most is the largest number of connections of all holders. Each needs up to two descriptors. One agent
	// may have three quarters of them.
	Most int // 0: no limit
	// Heads is the largest number of bytes of incomplete heads (requests, responses, TLS) of all holders. One
	// agent may have a quarter of them, and less if others hold some.
	Heads int // 0: 64 MiB
	// FirstBytes is the time limit for a client's request.
	FirstBytes time.Duration // 0: 10 s
	// DialWithin is the time limit for a lookup and the following dial.
	DialWithin time.Duration // 0: 15 s
	// Dials is the number of connections that an agent may open to one address and port at once. Each further
	// one waits for the next DialEvery, within DialWithin. All agents together may open three times as many
	// at once, and then take turns.
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
	Run      func() string // the run that it serves now; may be empty
	// Deciders returns the policies in force now. All of them must allow. Without any, everything is denied.
	Deciders func() []*profiles.Decider
	// Generation is the generation in force, for records.
	Generation func() int64
}

// Listeners of a guest, and fetch.
const (
	ListenerConnect     = "connect"
	ListenerHTTP        = "http"
	ListenerSOCKS       = "socks5"
	ListenerTransparent = "transparent"
	ListenerDNS         = "dns"
	ListenerFetch       = "fetch" // the bridge fetch, which has no socket
)

// Ends of a connection.
const (
	EndEOF     = "eof"
	EndCut     = "cut"     // the profile in force no longer allows it
	EndBudget  = "budget"  // a limit of its rule was used up
	EndRefused = "refused" // its first bytes were denied
	EndError   = "error"   // it could not be dialed, or broke
	EndClosed  = "closed"  // its holder ended
)

// Event is an audit event. Without an End it is a decision, recorded before the act. With an End it is the
// end of a connection.
type Event struct {
	Agent, Executor, Run string
	Generation           int64  // that decided; for a cut, the one that cut
	Before               int64  // for a cut: the generation that had allowed it
	Connection           string // the same ID in the decision and in the end
	Listener             string
	Dest                 egress.Dest
	Method               string
	Path                 string // without the query
	SNI                  string
	Decision             profiles.Decision
	Answers              []netip.Addr
	Dial                 netip.AddrPort // the decided address
	Credential           string         // its name
	End                  string
	Up, Down             int64 // bytes from and to the guest
	Took                 time.Duration
	// Count is the number of such events without a record of their own. Up, Down and Took are their sums.
	Count int64
}

// Figure is one update of the metrics.
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

// Upstream is the host's configuration of a gateway. It replaces the policy's settings of the upstream. If
// Credential is empty, the name in the policy applies.
type Upstream struct {
	URL        string   // in the form of egress.ReadUpstream
	Addresses  []string // as in profiles.Gateway
	Credential string
}

// Secret is a credential in the form of a request header.
type Secret struct {
	Header string // Authorization
	Value  string // "Bearer …"
}
