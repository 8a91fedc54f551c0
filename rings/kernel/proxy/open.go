package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/pace"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// ErrClosed says that the Egress, or the Guest, was closed.
var ErrClosed = errors.New("egress is closed")

// Egress opens connections. Make one with New; it is safe for concurrent use.
type Egress struct {
	cfg    Config
	pump   *pump
	reads  *httpproxy.Forwarder
	pace   *pace.Buckets[route]                 // of dials of one agent
	all    *pace.Shared[netip.AddrPort, string] // of dials of all agents
	heads  sync.Pool                            // *[firstBytes]byte
	room   room                                 // for more of them
	prefix string                               // of the names of connections
	count  atomic.Uint64

	// walk is held by a Recheck: what it says of connections is said in order.
	walk   sync.Mutex
	expiry expiry

	guards guards

	mu     sync.Mutex
	guests map[*Guest]struct{}
	closed bool
}

// New returns an Egress with nothing open. It refuses a Config that lacks what
// decides, dials or records.
func New(cfg Config) (*Egress, error) {
	if cfg.Go == nil || cfg.Now == nil || cfg.Resolve == nil || cfg.Record == nil {
		return nil, errors.New("egress: Go, Now, Resolve and Record are needed")
	}
	if slices.ContainsFunc([]int{cfg.Connections, cfg.Undecided, cfg.Most, cfg.Heads, cfg.Dials}, func(n int) bool { return n < 0 }) ||
		slices.ContainsFunc([]time.Duration{cfg.FirstBytes, cfg.DialWithin, cfg.DialEvery}, func(d time.Duration) bool { return d < 0 }) {
		return nil, errors.New("egress: a limit is negative")
	}
	cfg.Connections = or(cfg.Connections, defaultConnections)
	cfg.Undecided = or(cfg.Undecided, defaultUndecided)
	cfg.Heads = or(cfg.Heads, defaultHeads)
	cfg.FirstBytes = or(cfg.FirstBytes, defaultFirstBytes)
	cfg.DialWithin = or(cfg.DialWithin, defaultDialWithin)
	cfg.Dials = or(cfg.Dials, defaultDials)
	cfg.DialEvery = or(cfg.DialEvery, defaultDialEvery)
	return newEgress(cfg, (*Egress).answers, (*Egress).address)
}

// newEgress is New with the two guards over addresses.
func newEgress(cfg Config, first answersGuard, second addressGuard) (*Egress, error) {
	e := &Egress{cfg: cfg, guards: guards{first, second}, pump: newPump(), guests: map[*Guest]struct{}{}, room: room{most: cfg.Heads, of: map[string]int{}}}
	var err error
	if e.reads, err = httpproxy.New(httpproxy.Config{Go: cfg.Go, Now: cfg.Now, Denied: answerDenied}); err != nil {
		return nil, err
	}
	if e.pace, err = pace.New[route](pace.Config{Now: cfg.Now, Every: cfg.DialEvery, Burst: cfg.Dials}); err != nil {
		return nil, err
	}
	shared := pace.Config{Now: cfg.Now, Every: max(cfg.DialEvery/agentsAtOnce, 1), Burst: cfg.Dials * agentsAtOnce}
	if e.all, err = pace.NewShared[netip.AddrPort, string](shared); err != nil {
		return nil, err
	}
	e.prefix = strconv.FormatInt(cfg.Now().UnixMilli(), 36) + "-"
	e.expiry.fire = e.Recheck
	return e, nil
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Close cuts everything, and returns when nothing of it runs any more. What is
// opened or dialed afterwards is refused with ErrClosed.
func (e *Egress) Close() {
	e.mu.Lock()
	e.closed = true
	open := make([]*Guest, 0, len(e.guests))
	for g := range e.guests {
		open = append(open, g)
	}
	e.mu.Unlock()
	e.expiry.stop()
	for _, g := range open {
		g.Close()
	}
	e.pump.Close()
}

// Open gives a holder its use of egress, until it is closed. After Close of the
// Egress the Guest refuses everything.
func (e *Egress) Open(h Holder) *Guest {
	g := &Guest{
		egress: e, holder: h, links: map[*link]struct{}{}, clients: map[net.Conn]struct{}{},
		doors: map[io.Closer]struct{}{}, tallies: map[string]*usageTally{},
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		g.closed = true
		return g
	}
	e.guests[g] = struct{}{}
	return g
}

// Guest is what one holder has open. It is safe for concurrent use.
type Guest struct {
	egress *Egress
	holder Holder
	work   sync.WaitGroup // goroutines, and links

	mu        sync.Mutex
	closed    bool
	links     map[*link]struct{}
	clients   map[net.Conn]struct{} // of its doors, until a tunnel takes them over
	doors     map[io.Closer]struct{}
	undecided int // clients of which nothing is decided
	reading   int // clients whose requests are read
	tallies   map[string]*usageTally
	upstreams map[string]*upstream
	refusals  refusals
	allowed   map[alike]*more
	names     fakeAddresses
	timed     standing // whose next expiry is waited for
}

// Close closes the doors of the guest, cuts its connections, and returns when all
// of them have ended and are on record. It may be called twice.
func (g *Guest) Close() {
	g.mu.Lock()
	g.closed = true
	cut := make([]*link, 0, len(g.links))
	for l := range g.links {
		cut = append(cut, l)
	}
	for d := range g.doors {
		d.Close()
	}
	g.mu.Unlock()
	for _, l := range cut {
		l.cut(ending{how: EndClosed})
	}
	g.mu.Lock()
	for c := range g.clients {
		resetConn(c)
	}
	g.mu.Unlock()
	g.work.Wait()
	for _, u := range g.upstreams {
		u.transport.CloseIdleConnections()
	}
	g.flush()
	g.egress.mu.Lock()
	delete(g.egress.guests, g)
	g.egress.mu.Unlock()
}

// begin counts one more piece of work, unless the guest is closed.
func (g *Guest) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Add(1)
	return true
}

// standing is what decides for a holder at one moment.
type standing struct {
	deciders   []*profiles.Decider
	generation int64
}

func (g *Guest) standing() standing {
	var s standing
	if g.holder.Generation != nil {
		s.generation = g.holder.Generation()
	}
	if g.holder.Deciders != nil {
		s.deciders = g.holder.Deciders()
	}
	return s
}

func (s standing) same(o standing) bool { return slices.Equal(s.deciders, o.deciders) }
