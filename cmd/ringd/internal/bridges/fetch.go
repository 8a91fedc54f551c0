// The bridge fetch: HTTP requests for JavaScript programs. Package egress decides, records and dials each hop
// of a redirect, like any other connection of a guest. docs/FETCH.md has what a program sees. cmd/ringd
// constructs the one [Fetch] of a daemon.
//
// It refuses what it cannot parse strictly: a target that is no http or https URL, a header that the host
// sets, a response larger than granted. It keeps no cookies, uses no proxy and no credential of its own, and
// reads nothing of its environment.

package bridges

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// Config configures a Fetch.
type Config struct {
	// Egress opens the connections, and serves the virtual hosts.
	Egress *proxy.Egress
	// Roots verifies servers. Nil means the roots of the system.
	Roots *x509.CertPool
	// Generation returns the generation in force, for the record.
	Generation func() int64
	// UserAgent is sent if a program names none. Empty means ringd.
	UserAgent string
}

const (
	// maxIdle is the number of idle connections of a run, idleFor the time that one stays open.
	maxIdle = 6
	idleFor = 15 * time.Second
)

// Fetch is the provider of the bridge fetch. It is safe for concurrent use. It never repeats a request,
// because the effect of a request is unknown here.
type Fetch struct {
	cfg Config

	mu     sync.Mutex
	runs   map[string]*fetchRun
	closed bool
}

// NewFetch returns a provider without open connections.
func NewFetch(cfg Config) (*Fetch, error) {
	if cfg.Egress == nil {
		return nil, errors.New("fetch: Egress is needed")
	}
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "ringd")
	return &Fetch{cfg: cfg, runs: map[string]*fetchRun{}}, nil
}

// Call performs one request and its redirects. An error is a *profiles.Denial, a *binding.Failure, or a
// fault.
func (p *Fetch) Call(ctx context.Context, c contract.Call) (json.RawMessage, error) {
	q, err := readRequest(c.Args)
	if err != nil {
		return nil, err
	}
	most, ok := resultBytes(c)
	if !ok {
		return nil, &profiles.Denial{Capability: "egress", Decision: profiles.Decision{
			Code: profiles.CodeClosed, Reason: "no profile is in force"}}
	}
	r, err := p.open(c)
	if err != nil {
		return nil, err
	}
	if q.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.timeout, errLate)
		defer cancel()
	}
	a, err := r.follow(ctx, q, most)
	if err != nil {
		return nil, programError(ctx, err)
	}
	return a.value()
}

// resultBytes returns the smallest result limit of the policies that bind the run.
func resultBytes(c contract.Call) (most int64, ok bool) {
	if c.Deciders == nil {
		return 0, false
	}
	for _, d := range c.Deciders() {
		b, granted := d.BridgeGrant(c.Bridge)
		if !granted {
			return 0, false
		}
		if !ok || b.Limits.ResultBytes < most {
			most, ok = b.Limits.ResultBytes, true
		}
	}
	return most, ok
}

// fetchRun holds the connections of one run.
type fetchRun struct {
	provider *Fetch
	deciders func() []*profiles.Decider
	guest    *proxy.Guest
	tls      *tls.Config

	mu     sync.Mutex
	idle   map[connKey][]*clientConn
	kept   int
	closed bool
}

// open returns the connections of the call's run. They exist until RunEnded.
func (p *Fetch) open(c contract.Call) (*fetchRun, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, proxy.ErrClosed
	}
	if r := p.runs[c.Run]; r != nil {
		return r, nil
	}
	id := c.Run
	r := &fetchRun{provider: p, deciders: c.Deciders, idle: map[connKey][]*clientConn{}}
	r.guest = p.cfg.Egress.Open(proxy.Holder{
		Agent: c.Agent, Executor: profiles.ExecutorJS, Run: func() string { return id },
		Deciders: c.Deciders, Generation: p.cfg.Generation,
	})
	r.tls = &tls.Config{
		RootCAs: p.cfg.Roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(maxIdle),
	}
	p.runs[id] = r
	return r, nil
}

// RunEnded closes the connections of a run.
func (p *Fetch) RunEnded(id string) {
	p.mu.Lock()
	r := p.runs[id]
	delete(p.runs, id)
	p.mu.Unlock()
	if r != nil {
		r.close()
	}
}

// Close closes all connections. Later calls fail.
func (p *Fetch) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.runs
	p.runs = map[string]*fetchRun{}
	p.mu.Unlock()
	for _, r := range all {
		r.close()
	}
	return nil
}

// close ends the run's use of the network.
func (r *fetchRun) close() {
	r.mu.Lock()
	r.closed = true
	all := r.idle
	r.idle, r.kept = nil, 0
	r.mu.Unlock()
	for _, lines := range all {
		for _, l := range lines {
			l.close()
		}
	}
	r.guest.Close()
}
