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

// upstream is what a virtual host stands for. Its addresses are guarded by a list
// of its own.
type upstream struct {
	dest      egress.Dest
	text      string   // as the policy has it; "": the host says
	addresses []string // the same
	list      *egress.List
	match     egress.Match

	credential string // its name; "": none is added
	target     httpproxy.Target
	transport  *http.Transport
}

func missing(format string, args ...any) profiles.Decision {
	return refusal(egress.Gateways, fmt.Sprintf(format, args...))
}

// gate finds what a virtual host stands for. Deciders that differ in it refuse.
func (g *Guest) gate(s standing, d egress.Dest, matches []egress.Match) (*upstream, profiles.Decision) {
	var is *profiles.Gateway
	var headers []string
	for i, decider := range s.deciders {
		next, ok := decider.Gateway(matches[i])
		switch {
		case !ok:
			return nil, missing("the gateway is not granted")
		case is != nil && (next.Upstream != is.Upstream || next.Credential != is.Credential || !slices.Equal(next.Addresses, is.Addresses)):
			return nil, missing("the gateway %s stands for something else in the policy in force than in that of the run", is.Name)
		}
		if is == nil {
			headers = next.Headers
		} else {
			headers = slices.DeleteFunc(slices.Clone(headers), func(h string) bool { return !slices.Contains(next.Headers, h) })
		}
		is = next
	}
	if is == nil {
		return nil, missing("the gateway is not granted")
	}
	up := Upstream{URL: is.Upstream, Addresses: is.Addresses, Credential: is.Credential}
	if up.URL == "" && g.egress.cfg.Upstream != nil {
		if up = g.egress.cfg.Upstream(is.Name); up.Credential == "" {
			up.Credential = is.Credential
		}
	}
	if up.URL == "" {
		return nil, missing("neither the policy nor this host names an upstream for the gateway %s", is.Name)
	}
	key := fmt.Sprintf("%q %q %q %q %q", d.Name, is.Upstream, is.Addresses, headers, up)
	g.mu.Lock()
	defer g.mu.Unlock()
	if u := g.upstreams[key]; u != nil {
		return u, profiles.Decision{Verdict: profiles.Allow}
	}
	u, err := g.stand(d, is, up, headers)
	if err != nil {
		return nil, missing("the upstream of the gateway %s cannot be used: %s", is.Name, err)
	}
	if g.upstreams == nil {
		g.upstreams = map[string]*upstream{}
	}
	g.upstreams[key] = u
	return u, profiles.Decision{Verdict: profiles.Allow}
}

// stand makes an upstream.
func (g *Guest) stand(d egress.Dest, is *profiles.Gateway, up Upstream, headers []string) (*upstream, error) {
	url, err := egress.ReadUpstream(up.URL)
	if err != nil {
		return nil, err
	}
	u := &upstream{dest: url.Dest, text: is.Upstream, addresses: is.Addresses, credential: up.Credential, target: httpproxy.Target{Virtual: d.Name, Upstream: url, Headers: headers}}
	if u.list, err = httpproxy.Guard(url.Dest, up.Addresses); err != nil {
		return nil, err
	}
	var why *egress.Refusal
	if u.match, why = u.list.Match(url.Dest, g.egress.cfg.Now()); why != nil {
		return nil, why
	}
	u.transport = httpproxy.NewTransport(func(ctx context.Context) (net.Conn, error) {
		door, _ := ctx.Value(byDoor{}).(string)
		l, err := g.dial(ctx, wanted{door: door, dest: d, reads: true, via: u, spent: true, secret: u.credential})
		if err != nil {
			return nil, err
		}
		return &kept{Conn: &Conn{l: l}}, nil
	}, g.egress.cfg.Roots)
	return u, nil
}

// byDoor is the key of a context that says by which door a request came.
type byDoor struct{}

// secret gives the credential of an upstream. Why there is none is not repeated:
// it may say where secrets are.
func (g *Guest) secret(ctx context.Context, u *upstream) (httpproxy.Secret, profiles.Decision) {
	if u.credential == "" {
		return httpproxy.Secret{}, profiles.Decision{Verdict: profiles.Allow}
	}
	none := missing("this host has no credential %s for the gateway", u.credential)
	if g.egress.cfg.Secret == nil {
		return httpproxy.Secret{}, none
	}
	s, err := g.egress.cfg.Secret(ctx, u.credential, u.dest)
	if err != nil || s.Header == "" || s.Value == "" {
		return httpproxy.Secret{}, none
	}
	return httpproxy.Secret{Header: s.Header, Value: s.Value}, profiles.Decision{Verdict: profiles.Allow}
}

// ready says whether a request to a virtual host could be sent, before anything
// is: the name of the credential that would go with it.
func (g *Guest) ready(ctx context.Context, s standing, q httpproxy.Request, matches []egress.Match) (credential string, dec profiles.Decision) {
	u, dec := g.gate(s, q.Dest, matches)
	if dec.Verdict != profiles.Allow {
		return "", dec
	}
	if _, dec := g.secret(ctx, u); dec.Verdict != profiles.Allow {
		return "", dec
	}
	return u.credential, dec
}

// RoundTrip sends a request that Ask has granted to what its virtual host stands
// for.
func (r reader) RoundTrip(ctx context.Context, q httpproxy.Request, client net.Conn, m *http.Request) (*http.Response, error) {
	g := r.guest
	s := g.standing()
	matches, dec := s.match(q.Dest, g.egress.cfg.Now())
	var u *upstream
	var secret httpproxy.Secret
	if dec.Verdict == profiles.Allow {
		u, dec = g.gate(s, q.Dest, matches)
	}
	if dec.Verdict == profiles.Allow {
		secret, dec = g.secret(ctx, u)
	}
	if dec.Verdict != profiles.Allow {
		return nil, g.refuse(Event{Generation: s.generation, Door: q.Door, Dest: q.Dest, Method: q.Method, Path: q.Path, Decision: dec})
	}
	ctx = context.WithValue(ctx, byDoor{}, q.Door)
	return u.target.Send(ctx, u.transport, m, secret, &flight{q: q, client: client})
}

// RoundTrip decides a request for a virtual host, by the door fetch, and sends it
// to what the host stands for; the answer streams. No redirect is followed. The
// error is a *profiles.Denial, or a fault that says nothing of the upstream.
func (e *Egress) RoundTrip(ctx context.Context, g *Guest, q *http.Request) (*http.Response, error) {
	d, why := egress.ParseHost(q.URL.Hostname(), 80)
	if why == nil && (q.URL.Scheme != "http" || q.URL.Port() != "" && q.URL.Port() != "80") {
		why = &egress.Refusal{Code: egress.Port, Why: "a gateway is reached by http:// on port 80", Entry: -1}
	}
	asked := httpproxy.Request{Door: DoorFetch, Dest: d, Method: q.Method, Path: q.URL.EscapedPath()}
	if asked.Path == "" {
		asked.Path = "/"
	}
	asked.Says = asked.Says.Query(q.URL.RawQuery)
	for name := range q.Header {
		asked.Says = asked.Says.Field(name)
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
		return nil, r.guest.refuse(Event{Door: DoorFetch, Dest: d, Decision: missing("the target is not a gateway")})
	}
	sent := q.Clone(ctx)
	sent.URL.Opaque = asked.Path
	return r.RoundTrip(ctx, asked, nil, sent)
}

// kept is a connection to an upstream, which requests use one after the other.
type kept struct {
	*Conn
	mu     sync.Mutex
	flight *flight
}

// flight is one request under way to an upstream.
type flight struct {
	q      httpproxy.Request
	client net.Conn // nil: there is none

	mu sync.Mutex
	on *kept
}

// Took holds the policy in force against the request from now on, and once more
// now.
func (f *flight) Took(conn net.Conn) {
	k, ok := conn.(*kept)
	if !ok {
		_ = conn.Close() // it was not dialed here: nothing is sent over it
		return
	}
	f.mu.Lock()
	f.on = k
	f.mu.Unlock()
	k.mu.Lock()
	k.flight = f
	k.mu.Unlock()
	(&readConn{l: k.l}).Begin(f.q, f.client)
	g := k.l.guest
	c, _ := k.l.current()
	s := g.standing()
	if _, dec := s.allows(c, g.egress.own, g.egress.cfg.Now()); dec.Verdict != profiles.Allow {
		k.l.cut(ending{how: EndCut, decision: &dec, after: s.generation})
	}
}

// Over says that the request is; its connection may carry another one by now.
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
		(&readConn{l: k.l}).End()
	}
}
