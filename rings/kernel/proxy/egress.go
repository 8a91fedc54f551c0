package proxy

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/rings/kernel/pace"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// ErrClosed is the error of an Egress, or a Guest, that was closed.
var ErrClosed = errors.New("egress is closed")

// Egress opens connections. It is made with New and safe for concurrent use.
type Egress struct {
	cfg    Config
	pump   *pump
	reads  *httpproxy.Forwarder
	pace   *pace.Buckets[route]                 // dials of each agent
	all    *pace.Shared[netip.AddrPort, string] // dials of all agents
	heads  sync.Pool                            // *[firstBytes]byte
	room   room                                 // for larger heads
	prefix string                               // of connection IDs
	count  atomic.Uint64

	// walk is held during a Recheck, so that cuts are recorded in the order of the policies.
	walk   sync.Mutex
	expiry expiry

	guards guards

	mu     sync.Mutex
	guests map[*Guest]struct{}
	closed bool
}

// New returns an Egress without connections. It rejects a Config that cannot decide, dial or record.
func New(cfg Config) (*Egress, error) {
	if cfg.Go == nil || cfg.Now == nil || cfg.Resolve == nil || cfg.Record == nil {
		return nil, errors.New("egress: Go, Now, Resolve and Record are needed")
	}
	numbers := []int{cfg.Connections, cfg.Undecided, cfg.Most, cfg.Heads, cfg.Dials}
	times := []time.Duration{cfg.FirstBytes, cfg.DialWithin, cfg.DialEvery}
	if slices.ContainsFunc(numbers, func(n int) bool { return n < 0 }) ||
		slices.ContainsFunc(times, func(d time.Duration) bool { return d < 0 }) {
		return nil, errors.New("egress: a limit is negative")
	}
	cfg.Connections = or(cfg.Connections, defaultConnections)
	cfg.Undecided = or(cfg.Undecided, defaultUndecided)
	cfg.Heads = or(cfg.Heads, defaultHeads)
	cfg.FirstBytes = or(cfg.FirstBytes, defaultFirstBytes)
	cfg.DialWithin = or(cfg.DialWithin, defaultDialWithin)
	cfg.Dials = or(cfg.Dials, defaultDials)
	cfg.DialEvery = or(cfg.DialEvery, defaultDialEvery)
	return newEgress(cfg, guards{(*Egress).guardAnswers, (*Egress).guardSocket})
}

// newEgress is New with the two address guards.
func newEgress(cfg Config, both guards) (*Egress, error) {
	e := &Egress{cfg: cfg, guards: both, pump: newPump(), guests: map[*Guest]struct{}{},
		room: room{most: cfg.Heads, of: map[string]int{}}}
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

// Close cuts everything, and returns when all goroutines have ended. Later calls of Dial fail with ErrClosed,
// and Open returns a closed Guest.
func (e *Egress) Close() {
	e.mu.Lock()
	e.closed = true
	open := slices.Collect(maps.Keys(e.guests))
	e.mu.Unlock()
	e.expiry.stop()
	for _, g := range open {
		g.Close()
	}
	e.pump.Close()
}

// Open returns the Guest of a holder, which must be closed. After Close of the Egress it denies everything.
func (e *Egress) Open(h Holder) *Guest {
	g := newGuest(e, h)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		g.closed, g.journal.closed = true, true
		return g
	}
	e.guests[g] = struct{}{}
	return g
}

func (e *Egress) observe(f Figure) {
	if e.cfg.Observe != nil {
		e.cfg.Observe(f)
	}
}

// crowdedReason returns why an agent may have no further connection now, or "". Each connection needs up to two
// descriptors of this process, which also needs descriptors to start guests and commands. One agent leaves a
// quarter to the others.
func (e *Egress) crowdedReason(agent string) string {
	if e.cfg.Most == 0 {
		return ""
	}
	e.mu.Lock()
	guests := slices.Collect(maps.Keys(e.guests))
	e.mu.Unlock()
	all, mine := 0, 0
	for _, g := range guests {
		n := g.openCount()
		all += n
		if g.holder.Agent == agent {
			mine += n
		}
	}
	each := (3*e.cfg.Most + 3) / 4
	switch {
	case mine >= each:
		return "as many connections are open as one agent may have on this host: " + strconv.Itoa(each)
	case all >= e.cfg.Most:
		return "as many connections are open as all agents together may have on this host: " + strconv.Itoa(e.cfg.Most)
	default:
		return ""
	}
}
