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

// Values of redirect.
const (
	follow = "follow"
	manual = "manual"
	fails  = "error"
)

// follow sends q and follows redirects. Each hop is decided on its own.
func (r *fetchRun) follow(ctx context.Context, q *fetchRequest, most int64) (*response, error) {
	u, no := dest.ParseURL(q.url)
	if no != nil {
		return nil, r.guest.Refuse(httpproxy.Request{Listener: proxy.ListenerFetch, Method: q.method}, no)
	}
	for hops := 0; ; hops++ {
		a, err := r.exchange(ctx, u, q, most)
		if err != nil {
			return nil, redirectError(hops, err)
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
			return nil, argumentError("it was redirected, and redirect is 'error'")
		case hops == dest.MaxRedirects:
			return nil, r.refuse(u, q, dest.Redirect, "it was redirected more than 20 times")
		}
		next, no := u.Parse(location)
		if no != nil {
			return nil, redirectError(
				hops+1,
				r.guest.Refuse(httpproxy.Request{Listener: proxy.ListenerFetch, Method: q.method},
					no),
			)
		}
		q.redirected(a.status, u, next)
		u = next
	}
}

// refuse records a refusal that no list decides.
func (r *fetchRun) refuse(u dest.URL, q *fetchRequest, code dest.Code, why string) error {
	return r.guest.Refuse(egressRequest(u, q), &dest.Refusal{Code: code, Why: why, Entry: -1})
}

// egressRequest returns a request in the form that is decided.
func egressRequest(u dest.URL, q *fetchRequest) httpproxy.Request {
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

// message returns the HTTP request of q for one hop.
func (r *fetchRun) message(ctx context.Context, u dest.URL, q *fetchRequest) (*http.Request, error) {
	host := strings.TrimPrefix(u.Text, u.Scheme+"://")
	if i := strings.IndexByte(host, '/'); i >= 0 {
		host = host[:i]
	}
	m := (&http.Request{
		Method: q.method, Host: host, Header: q.header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL: &url.URL{Scheme: u.Scheme, Host: host, Opaque: u.Path, RawQuery: u.Query},
	}).WithContext(ctx)
	if isVirtual(u.Dest) || strings.HasPrefix(u.Path, "//") { // net/url would parse a path with // as a host
		path, err := url.PathUnescape(u.Path)
		if err != nil {
			return nil, argumentError("the path has a percent sign that does not begin an escape")
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

// exchange sends one request to one target and reads the response.
func (r *fetchRun) exchange(ctx context.Context, u dest.URL, q *fetchRequest, most int64) (*response, error) {
	m, err := r.message(ctx, u, q)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && dest.Inspected(u.Dest) {
		return nil, r.refuse(u, q, dest.NotTLS, "port 443 is for TLS, and http: has no TLS")
	}
	if isVirtual(u.Dest) {
		return r.gateway(ctx, u, q, m, most)
	}
	for {
		l, used, err := r.connection(ctx, u, q)
		if err != nil {
			return nil, err
		}
		answer, err := l.transport.RoundTrip(m)
		if used && errors.Is(err, errSpent) { // closed since then; nothing was sent
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
			r.putIdle(l)
		}
		return a, err
	}
}

// isVirtual reports whether a target is below the domain of gateways.
func isVirtual(d dest.Dest) bool {
	return d.Name == dest.Domain || strings.HasSuffix(d.Name, "."+dest.Domain)
}

func (r *fetchRun) gateway(
	ctx context.Context,
	u dest.URL,
	q *fetchRequest,
	m *http.Request,
	most int64,
) (*response, error) {
	answer, err := r.provider.cfg.Egress.RoundTrip(ctx, r.guest, m)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	a, _, err := read(u, q.method, answer, most)
	return a, err
}

// connKey identifies requests that may share a connection.
type connKey struct {
	scheme string
	to     dest.Dest
}

// clientConn is one connection with its HTTP transport, which does not dial.
type clientConn struct {
	lane      connKey
	conn      *proxy.Conn
	transport *http.Transport
}

var errSpent = errors.New("the connection is closed")

// connection decides a request and returns a connection for it: an idle one, or a new one.
func (r *fetchRun) connection(ctx context.Context, u dest.URL, q *fetchRequest) (l *clientConn, used bool, err error) {
	for l = r.take(connKey{u.Scheme, u.Dest}); l != nil; l = r.take(connKey{u.Scheme, u.Dest}) {
		if !l.conn.Use(egressRequest(u, q)) {
			l.close()
			continue
		}
		if err := r.guest.Ask(egressRequest(u, q)); err != nil {
			l.conn.Use(httpproxy.Request{})
			r.putIdle(l)
			return nil, false, err
		}
		return l, true, nil
	}
	conn, err := r.guest.DialRequest(ctx, egressRequest(u, q))
	if err != nil {
		return nil, false, err
	}
	var given atomic.Bool
	l = &clientConn{lane: connKey{u.Scheme, u.Dest}, conn: conn}
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

func (r *fetchRun) take(at connKey) *clientConn {
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

// putIdle makes a connection idle for a later request.
func (r *fetchRun) putIdle(l *clientConn) {
	l.conn.Use(httpproxy.Request{})
	r.mu.Lock()
	var over *clientConn
	if r.closed {
		over = l
	} else {
		r.idle[l.lane] = append(r.idle[l.lane], l)
		r.kept++
	}
	if r.kept > maxIdle {
		for at, all := range r.idle { // of any lane; its oldest one
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

func (l *clientConn) close() {
	l.transport.CloseIdleConnections()
	_ = l.conn.Close()
}
