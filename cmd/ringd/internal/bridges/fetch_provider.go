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

// Config is what a Provider needs.
type Config struct {
	// Egress opens the connections, and stands behind the virtual hosts.
	Egress *proxy.Egress
	// Roots verify servers; nil: those of the system.
	Roots *x509.CertPool
	// Generation in force, for the record.
	Generation func() int64
	// UserAgent is sent where a program names none; "" is ringd.
	UserAgent string
}

const (
	// maxIdle is how many connections a run keeps for later requests, and idleFor how
	// long one stays open.
	maxIdle = 6
	idleFor = 15 * time.Second
)

// Fetch is the provider of the bridge fetch. It is safe for concurrent use. A
// call is never repeated by itself: what a request does is not known here.
type Fetch struct {
	cfg Config

	mu     sync.Mutex
	runs   map[string]*run
	closed bool
}

// NewFetch returns a Provider that has nothing open.
func NewFetch(cfg Config) (*Fetch, error) {
	if cfg.Egress == nil {
		return nil, errors.New("fetch: Egress is needed")
	}
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "ringd")
	return &Fetch{cfg: cfg, runs: map[string]*run{}}, nil
}

// Call performs one request, and the redirects that it is answered with. An error
// is a *profiles.Denial, an *binding.Failure, or a fault.
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
		return nil, explain(ctx, err)
	}
	return a.value()
}

// resultBytes is the least of what the policies that bind the run let fetch return.
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

// run is what one run has open.
type run struct {
	provider *Fetch
	deciders func() []*profiles.Decider
	guest    *proxy.Guest
	tls      *tls.Config

	mu     sync.Mutex
	idle   map[lane][]*line
	kept   int
	closed bool
}

// open finds or makes what the call's run has, which is there until RunEnded.
func (p *Fetch) open(c contract.Call) (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, proxy.ErrClosed
	}
	if r := p.runs[c.Run]; r != nil {
		return r, nil
	}
	id := c.Run
	r := &run{provider: p, deciders: c.Deciders, idle: map[lane][]*line{}}
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

// RunEnded closes what a run has open, whose life is over.
func (p *Fetch) RunEnded(id string) {
	p.mu.Lock()
	r := p.runs[id]
	delete(p.runs, id)
	p.mu.Unlock()
	if r != nil {
		r.close()
	}
}

// Close closes what every run has open. Calls fail from then on.
func (p *Fetch) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.runs
	p.runs = map[string]*run{}
	p.mu.Unlock()
	for _, r := range all {
		r.close()
	}
	return nil
}

// close ends the run's use of the network and all of its connections.
func (r *run) close() {
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
