package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// gateways holds the upstreams of the virtual hosts that a guest has used.
type gateways struct {
	guest *Guest

	mu        sync.Mutex
	upstreams map[string]*upstream
}

// upstream is the upstream of a virtual host. A list of its own guards its addresses.
type upstream struct {
	dest      egress.Dest
	text      string   // from the policy; empty: from the host's configuration
	addresses []string // from the policy
	decision  egress.Decision

	credential string // its name; empty: none
	target     httpproxy.Target
	transport  *http.Transport
}

func missing(format string, args ...any) profiles.Decision {
	return refusal(egress.Gateways, fmt.Sprintf(format, args...))
}

// allowed is the decision that nothing is missing on this host.
func allowed() profiles.Decision { return profiles.Decision{Verdict: profiles.Allow} }

// upstream finds the upstream of a virtual host. If the policies name different ones, it denies.
func (w *gateways) upstream(c profiles.Connection, d egress.Dest) (*upstream, profiles.Decision) {
	var is *profiles.Gateway
	var headers []string
	for _, next := range c.Rules() {
		switch {
		case next == nil:
			return nil, missing("the gateway is not granted")
		case is == nil:
			headers = next.Headers
		case next.Upstream != is.Upstream || next.Credential != is.Credential ||
			!slices.Equal(next.Addresses, is.Addresses):
			return nil, missing("the gateway %s is different in the policy in force and in that of the run", is.Name)
		default:
			headers = slices.DeleteFunc(slices.Clone(headers),
				func(h string) bool { return !slices.Contains(next.Headers, h) })
		}
		is = next
	}
	if is == nil {
		return nil, missing("the gateway is not granted")
	}
	cfg := &w.guest.egress.cfg
	up := Upstream{URL: is.Upstream, Addresses: is.Addresses, Credential: is.Credential}
	if up.URL == "" && cfg.Upstream != nil {
		if up = cfg.Upstream(is.Name); up.Credential == "" {
			up.Credential = is.Credential
		}
	}
	if up.URL == "" {
		return nil, missing("neither the policy nor this host names an upstream for the gateway %s", is.Name)
	}
	key := fmt.Sprintf("%q %q %q %q %q", d.Name, is.Upstream, is.Addresses, headers, up)
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.upstreams[key]; u != nil {
		return u, allowed()
	}
	u, err := w.newUpstream(d, is, up, headers)
	if err != nil {
		return nil, missing("the upstream of the gateway %s cannot be used: %s", is.Name, err)
	}
	if w.upstreams == nil {
		w.upstreams = map[string]*upstream{}
	}
	w.upstreams[key] = u
	return u, allowed()
}

func (w *gateways) newUpstream(d egress.Dest, is *profiles.Gateway, up Upstream, headers []string) (*upstream, error) {
	url, err := egress.ReadUpstream(up.URL)
	if err != nil {
		return nil, err
	}
	list, err := httpproxy.Guard(url.Dest, up.Addresses)
	if err != nil {
		return nil, err
	}
	g := w.guest
	u := &upstream{
		dest: url.Dest, text: is.Upstream, addresses: is.Addresses, credential: up.Credential,
		decision: list.Decide(url.Dest, g.egress.cfg.Now()),
		target:   httpproxy.Target{Virtual: d.Name, Upstream: url, Headers: headers},
	}
	if why := u.decision.Refusal(); why != nil {
		return nil, why
	}
	u.transport = httpproxy.NewTransport(func(ctx context.Context) (net.Conn, error) {
		listener, _ := ctx.Value(listenerKey{}).(string)
		c, err := g.dial(ctx, dialSpec{listener: listener, dest: d, reads: true, via: u, spent: true,
			secret: u.credential})
		if err != nil {
			return nil, err
		}
		return &upstreamConn{Conn: &Conn{c}}, nil
	}, g.egress.cfg.Roots)
	return u, nil
}

// listenerKey is the context key for the listener of a request.
type listenerKey struct{}

// secret returns the credential of an upstream. An error of the host is not quoted, since it may contain the
// location of secrets.
func (w *gateways) secret(ctx context.Context, u *upstream) (httpproxy.Secret, profiles.Decision) {
	if u.credential == "" {
		return httpproxy.Secret{}, allowed()
	}
	none := missing("this host has no credential %s for the gateway", u.credential)
	cfg := &w.guest.egress.cfg
	if cfg.Secret == nil {
		return httpproxy.Secret{}, none
	}
	s, err := cfg.Secret(ctx, u.credential, u.dest)
	if err != nil || s.Header == "" || s.Value == "" {
		return httpproxy.Secret{}, none
	}
	return httpproxy.Secret{Header: s.Header, Value: s.Value}, allowed()
}

// ready decides whether a request to a virtual host could be sent, before anything is sent. It returns the
// name of its credential.
func (w *gateways) ready(ctx context.Context, c profiles.Connection, d egress.Dest) (
	credential string, dec profiles.Decision) {
	u, dec := w.upstream(c, d)
	if dec.Verdict != profiles.Allow {
		return "", dec
	}
	if _, dec := w.secret(ctx, u); dec.Verdict != profiles.Allow {
		return "", dec
	}
	return u.credential, dec
}

// close closes the idle connections to upstreams.
func (w *gateways) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.upstreams {
		u.transport.CloseIdleConnections()
	}
}

// RoundTrip sends a request that Ask has allowed to the upstream of its virtual host.
func (r reader) RoundTrip(ctx context.Context, q httpproxy.Request, client net.Conn, m *http.Request) (
	*http.Response, error) {
	g := r.guest
	d := g.deciders()
	c := d.connect(q.Dest, g.egress.cfg.Now())
	dec := c.Decision()
	var u *upstream
	var secret httpproxy.Secret
	if c.Allowed() {
		u, dec = g.gateways.upstream(c, q.Dest)
	}
	if dec.Verdict == profiles.Allow {
		secret, dec = g.gateways.secret(ctx, u)
	}
	if dec.Verdict != profiles.Allow {
		return nil, g.journal.refuse(Event{Generation: d.generation, Listener: q.Listener, Dest: q.Dest,
			Method: q.Method, Path: q.Path, Decision: dec})
	}
	ctx = context.WithValue(ctx, listenerKey{}, q.Listener)
	return u.target.Send(ctx, u.transport, m, secret, &flight{q: q, client: client})
}

// RoundTrip decides a request of fetch to a virtual host and sends it to the upstream. The response is
// streamed. Redirects are not followed. The error is a *profiles.Denial, or a fault that contains nothing of
// the upstream.
func (e *Egress) RoundTrip(ctx context.Context, g *Guest, q *http.Request) (*http.Response, error) {
	d, why := egress.ParseHost(q.URL.Hostname(), 80)
	if why == nil && (q.URL.Scheme != "http" || q.URL.Port() != "" && q.URL.Port() != "80") {
		why = &egress.Refusal{Code: egress.Port, Why: "a gateway is reached by http:// on port 80", Entry: -1}
	}
	asked := httpproxy.Request{Listener: ListenerFetch, Dest: d, Method: q.Method, Path: q.URL.EscapedPath()}
	if asked.Path == "" {
		asked.Path = "/"
	}
	asked.Overrides = asked.Overrides.Query(q.URL.RawQuery)
	for name := range q.Header {
		asked.Overrides = asked.Overrides.Field(name)
	}
	r := reader{guest: g}
	if why != nil {
		return nil, denial(r.Refuse(asked, why))
	}
	if !g.begin() {
		return nil, ErrClosed
	}
	defer g.work.Done()
	grant, err := r.Ask(asked)
	switch {
	case err != nil:
		return nil, err
	case !grant.Virtual:
		return nil, g.journal.refuse(Event{Listener: ListenerFetch, Dest: d, Decision: missing("the target is not a " +
			"gateway")})
	}
	sent := q.Clone(ctx)
	sent.URL.Opaque = asked.Path
	return r.RoundTrip(ctx, asked, nil, sent)
}

// upstreamConn is a connection to an upstream that carries several requests, one at a time.
type upstreamConn struct {
	*Conn
	mu     sync.Mutex
	flight *flight
}

// flight is one request to an upstream.
type flight struct {
	q      httpproxy.Request
	client net.Conn // may be nil

	mu sync.Mutex
	on *upstreamConn
}

// Took sets the request in flight on a connection, so that policy changes apply to it, and checks the policy
// in force once more.
func (f *flight) Took(conn net.Conn) {
	k, ok := conn.(*upstreamConn)
	if !ok {
		_ = conn.Close() // it was not dialed here, so nothing is sent over it
		return
	}
	f.mu.Lock()
	f.on = k
	f.mu.Unlock()
	k.mu.Lock()
	k.flight = f
	k.mu.Unlock()
	c := k.Conn.conn
	(&readConn{conn: c}).Begin(f.q, f.client)
	g := c.guest
	q, _ := c.current()
	d := g.deciders()
	if now := d.decide(q, g.egress.own, g.egress.cfg.Now()); !now.Allowed() {
		why := now.Decision()
		c.cut(ending{how: EndCut, decision: &why, after: d.generation})
	}
}

// Over ends the request. The connection may already carry another one.
func (f *flight) Over() {
	f.mu.Lock()
	k := f.on
	f.mu.Unlock()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flight == f {
		k.flight = nil
		(&readConn{conn: k.Conn.conn}).End()
	}
}
