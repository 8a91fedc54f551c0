// Package proxy opens connections for guests, and nothing else does. A guest has
// listeners in its own network namespace, or calls fetch; whatever comes in by
// one of these doors is decided by the profile in force (package profiles/egress),
// put on record, and only then dialed, at the address that was decided on. A
// policy that changes cuts the connections that no longer pass, and no other.
//
// It refuses when in doubt: a holder without a profile reaches nothing, what
// cannot be recorded is not dialed, and the socket that is about to connect is
// held against the decision once more. The kernel ring hands over the listeners;
// cmd/ringd constructs the one Egress of a daemon.
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
	// Now is the clock that rules expire by, and that events are taken the time of.
	Now func() time.Time
	// Resolve asks for all addresses of an absolute name (lower case, with its last
	// dot), once for a connection.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Record puts an event on record. What it cannot record does not happen.
	Record func(Event) error
	// Observe counts; nil: nobody does.
	Observe func(Figure)
	// Logger is told of a door that cannot accept; nil: nobody is.
	Logger *slog.Logger
	// Secret gives the credential of a gateway by its name in the policy, for
	// requests to an upstream. It is an error when the credential is for others.
	Secret func(ctx context.Context, name string, upstream egress.Dest) (Secret, error)
	// Upstream is that of a gateway for which the policy names none; the zero
	// Upstream when the host's configuration has none either.
	Upstream func(gateway string) Upstream
	// Roots is what the upstreams of gateways chain to; nil: the roots of the system.
	Roots *x509.CertPool
	// Own lists addresses of the daemon itself, which nothing reaches. One without
	// an address stands for all addresses of this host.
	Own []netip.AddrPort

	// Connections is how many a holder may have open at once, Undecided how many of
	// what it has opened may wait for their first bytes and a decision.
	Connections int // 0: 1,024
	Undecided   int // 0: 256
	// Most is how many connections all holders together may have, each of which takes
	// up to two descriptors; those of one agent may have three quarters of them.
	Most int // 0: as many as they like
	// Heads is how many bytes all holders together may take for heads of requests, of
	// answers and of TLS that are not complete. One agent may have a quarter of them, and
	// less when others have some as well.
	Heads int // 0: 64 MiB
	// FirstBytes is how long a client may take to say what it wants.
	FirstBytes time.Duration // 0: 10 s
	// DialWithin is how long a lookup and the dial after it may take.
	DialWithin time.Duration // 0: 15 s
	// Dials is how many connections an agent may open to one address and port in a
	// row. Each further one waits for the next DialEvery, within DialWithin. All agents
	// together may open as many as three of them, and then take turns.
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

// Holder is for whom a connection is: a guest, or a run that calls fetch.
type Holder struct {
	Agent    string
	Executor string
	Run      func() string // that it serves now; "": none yet
	// Deciders are in force at this moment, and each has to allow; none, or nil:
	// everything is refused.
	Deciders func() []*profiles.Decider
	// Generation in force, for the record.
	Generation func() int64
}

// Doors of a guest.
const (
	DoorConnect     = "connect"
	DoorHTTP        = "http"
	DoorSOCKS       = "socks5"
	DoorTransparent = "transparent"
	DoorDNS         = "dns"
	DoorFetch       = "fetch"
)

// Ends of a connection.
const (
	EndEOF     = "eof"
	EndCut     = "cut"     // the profile in force no longer allows it
	EndBudget  = "budget"  // a limit of its rule is used up
	EndRefused = "refused" // by its first bytes
	EndError   = "error"   // it could not be dialed, or broke
	EndClosed  = "closed"  // its holder ended
)

// Event is what goes on record. Without an End it says what was decided, before
// anything comes of it; with one, what became of it.
type Event struct {
	Agent, Executor, Run string
	Generation           int64  // that decided; of a cut: that cut it
	Before               int64  // of a cut: that had allowed it
	Connection           string // the same in what was decided and what became of it
	Door                 string
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
	Count                int64 // events like this one that were not recorded on their own; Up, Down and Took are those of all
}

// Figure is one thing to count.
type Figure struct {
	Door    string
	Verdict profiles.Verdict
	Code    profiles.Code
	End     string        // "": a decision
	Dialed  time.Duration // 0: nothing was dialed
	Up      int64
	Down    int64
	Open    int // change of the number of open connections
}

// Upstream is what a gateway stands for on this host, all of it: nothing of it
// is mixed with what a policy says.
type Upstream struct {
	URL        string   // as egress.ReadUpstream takes it
	Addresses  []string // as profiles.Gateway has them
	Credential string   // its name; "": the one of the policy
}

// Secret is a credential as it goes into a request.
type Secret struct {
	Header string // Authorization
	Value  string // "Bearer …"
}
