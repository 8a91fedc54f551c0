package bridges

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	dest "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/rings/kernel/proxy/httpproxy"
)

// What redirect may be.
const (
	follow = "follow"
	manual = "manual"
	fails  = "error"
)

// follow sends q, and goes where the answers lead. Every hop is decided on its own.
func (r *run) follow(ctx context.Context, q *asking, most int64) (*response, error) {
	u, no := dest.ParseURL(q.url)
	if no != nil {
		return nil, r.guest.Refuse(httpproxy.Request{Listener: proxy.ListenerFetch, Method: q.method}, no)
	}
	for hops := 0; ; hops++ {
		a, err := r.exchange(ctx, u, q, most)
		if err != nil {
			return nil, hop(hops, err)
		}
		a.redirected = hops > 0
		location := a.header.Get("Location")
		if !redirects(a.status) || location == "" {
			return a, nil
		}
		switch {
		case q.redirect == manual:
			a.opaque = true
			return a, nil
		case q.redirect == fails:
			return nil, wrong("it was redirected, and redirect is 'error'")
		case hops == dest.MaxRedirects:
			return nil, r.refuse(u, q, dest.Redirect, "it was redirected more than 20 times")
		}
		next, no := u.Parse(location)
		if no != nil {
			return nil, hop(hops+1, r.guest.Refuse(httpproxy.Request{Listener: proxy.ListenerFetch, Method: q.method},
				no))
		}
		q.redirected(a.status, u, next)
		u = next
	}
}

// refuse puts on record what no list refuses.
func (r *run) refuse(u dest.URL, q *asking, code dest.Code, why string) error {
	return r.guest.Refuse(of(u, q), &dest.Refusal{Code: code, Why: why, Entry: -1})
}

// of is a request as it is decided.
func of(u dest.URL, q *asking) httpproxy.Request {
	asked := httpproxy.Request{Listener: proxy.ListenerFetch, Dest: u.Dest, Method: q.method, Path: u.Path}
	asked.Overrides = asked.Overrides.Query(u.Query)
	for name := range q.header {
		asked.Overrides = asked.Overrides.Field(name)
	}
	return asked
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// message is q for one hop.
func (r *run) message(ctx context.Context, u dest.URL, q *asking) (*http.Request, error) {
	host := strings.TrimPrefix(u.Text, u.Scheme+"://")
	if i := strings.IndexByte(host, '/'); i >= 0 {
		host = host[:i]
	}
	m := (&http.Request{
		Method: q.method, Host: host, Header: q.header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL: &url.URL{Scheme: u.Scheme, Host: host, Opaque: u.Path, RawQuery: u.Query},
	}).WithContext(ctx)
	if virtual(u.Dest) || strings.HasPrefix(u.Path, "//") { // the latter would be read as a host
		path, err := url.PathUnescape(u.Path)
		if err != nil {
			return nil, wrong("the path has a percent sign that does not begin an escape")
		}
		m.URL.Opaque, m.URL.Path, m.URL.RawPath = "", path, u.Path
	}
	if q.body != nil {
		m.ContentLength = int64(len(q.body))
		m.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.body)), nil }
		m.Body, _ = m.GetBody()
		if len(q.body) == 0 {
			m.Body = http.NoBody
		}
	}
	if m.Header.Get("User-Agent") == "" {
		m.Header.Set("User-Agent", r.provider.cfg.UserAgent)
	}
	if m.Header.Get("Accept") == "" {
		m.Header.Set("Accept", "*/*")
	}
	m.Header.Set("Accept-Encoding", "gzip")
	return m, nil
}

// exchange sends one request to one target and reads the answer.
func (r *run) exchange(ctx context.Context, u dest.URL, q *asking, most int64) (*response, error) {
	m, err := r.message(ctx, u, q)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && dest.Inspected(u.Dest) {
		return nil, r.refuse(u, q, dest.NotTLS, "on port 443 there is TLS, and http: has none")
	}
	if virtual(u.Dest) {
		return r.gateway(ctx, u, q, m, most)
	}
	for {
		l, used, err := r.line(ctx, u, q)
		if err != nil {
			return nil, err
		}
		answer, err := l.transport.RoundTrip(m)
		if used && errors.Is(err, errSpent) { // closed since; nothing was sent
			l.close()
			if m, err = r.message(ctx, u, q); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			l.close()
			return nil, err
		}
		a, again, err := read(u, q.method, answer, most)
		_ = answer.Body.Close()
		if err != nil || !again {
			l.close()
		} else {
			r.keep(l)
		}
		return a, err
	}
}

// virtual reports whether a target is below the domain of gateways.
func virtual(d dest.Dest) bool {
	return d.Name == dest.Domain || strings.HasSuffix(d.Name, "."+dest.Domain)
}

func (r *run) gateway(ctx context.Context, u dest.URL, q *asking, m *http.Request, most int64) (*response, error) {
	answer, err := r.provider.cfg.Egress.RoundTrip(ctx, r.guest, m)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	a, _, err := read(u, q.method, answer, most)
	return a, err
}

// lane is what a connection may be used again for.
type lane struct {
	scheme string
	to     dest.Dest
}

// line is one connection, with what speaks HTTP over it. It dials nothing itself.
type line struct {
	lane      lane
	conn      *proxy.Conn
	transport *http.Transport
}

var errSpent = errors.New("the connection is closed")

// line is a connection for a request that is decided now: one that is there, or a
// new one.
func (r *run) line(ctx context.Context, u dest.URL, q *asking) (l *line, used bool, err error) {
	for l = r.take(lane{u.Scheme, u.Dest}); l != nil; l = r.take(lane{u.Scheme, u.Dest}) {
		if !l.conn.Use(of(u, q)) {
			l.close()
			continue
		}
		if err := r.guest.Ask(of(u, q)); err != nil {
			l.conn.Use(httpproxy.Request{})
			r.keep(l)
			return nil, false, err
		}
		return l, true, nil
	}
	conn, err := r.guest.DialRequest(ctx, of(u, q))
	if err != nil {
		return nil, false, err
	}
	var given atomic.Bool
	l = &line{lane: lane{u.Scheme, u.Dest}, conn: conn}
	l.transport = &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if given.Swap(true) {
				return nil, errSpent
			}
			return conn, nil
		},
		TLSClientConfig: r.tls, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true, MaxIdleConnsPerHost: 1, IdleConnTimeout: idleFor, MaxResponseHeaderBytes: 64 << 10,
	}
	return l, false, nil
}

func (r *run) take(at lane) *line {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.idle[at]
	if len(all) == 0 {
		return nil
	}
	l := all[len(all)-1]
	if all = all[:len(all)-1]; len(all) == 0 {
		delete(r.idle, at)
	} else {
		r.idle[at] = all
	}
	r.kept--
	return l
}

// keep puts a line aside for a later request.
func (r *run) keep(l *line) {
	l.conn.Use(httpproxy.Request{})
	r.mu.Lock()
	var over *line
	if r.closed {
		over = l
	} else {
		r.idle[l.lane] = append(r.idle[l.lane], l)
		r.kept++
	}
	if r.kept > maxIdle {
		for at, all := range r.idle { // any of them, and the oldest there
			if at == l.lane && len(r.idle) > 1 {
				continue
			}
			over = all[0]
			if r.idle[at] = all[1:]; len(all) == 1 {
				delete(r.idle, at)
			}
			r.kept--
			break
		}
	}
	r.mu.Unlock()
	if over != nil {
		over.close()
	}
}

func (l *line) close() {
	l.transport.CloseIdleConnections()
	_ = l.conn.Close()
}
