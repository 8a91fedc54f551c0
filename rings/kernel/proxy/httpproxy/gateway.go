// This file turns a request for a virtual host into one for the upstream it
// stands for, and the answer back. It passes the fields of a list and so no credential
// that a client sent, adds that of the host, and takes it out of what comes back. Package egress
// decides, records and dials; what is here neither does.
//
// The secret is in the request to the upstream and nowhere else: not in an error,
// and not in a header of the answer, even when the upstream says it back. Bodies
// are not searched.

package httpproxy

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
)

// Secret is a credential as it goes into a request. The zero Secret adds none.
type Secret struct {
	Header string
	Value  string
}

// Target is what a virtual host stands for. The zero Target is nothing, and is
// never sent to.
type Target struct {
	Virtual  string // gateway.ringd.internal
	Upstream egress.UpstreamURL
	Headers  []string // of a client's, that pass beside those of egress.FieldPasses; lower case
}

// scheme is that of the upstream, and the port that it leaves out.
func (t Target) scheme() (name string, port uint16) {
	if t.Upstream.TLS {
		return "https", 443
	}
	return "http", 80
}

// host is the authority of the upstream as a Host field has it.
func (t Target) host() string {
	d := t.Upstream.Dest
	if _, port := t.scheme(); d.Port == port {
		return strings.TrimSuffix(d.String(), ":"+strconv.Itoa(int(port)))
	}
	return d.String()
}

// Guard lists what of the upstream's addresses may be dialed: public ones, and
// those that addresses has, which are addresses and ranges.
func Guard(d egress.Dest, addresses []string) (*egress.List, error) {
	entries := make([]egress.Entry, 0, 1+len(addresses))
	entries = append(entries, egress.Entry{Host: d.Host(), Ports: []int{int(d.Port)}})
	for _, text := range addresses {
		e, err := egress.ReadEntry(text)
		if err != nil {
			return nil, fmt.Errorf("read the address %q of a gateway: %w", text, err)
		}
		e.Ports, e.AnyPort = []int{int(d.Port)}, false
		entries = append(entries, e)
	}
	return egress.NewList(egress.Allowlist, entries, nil, nil), nil
}

// Request makes what goes to the upstream out of q, whose path is clean (see
// egress.Joins). The body is that of q. Upgrade of q to a websocket is kept.
func (t Target) Request(ctx context.Context, q *http.Request, s Secret) (*http.Request, error) {
	path := q.URL.EscapedPath()
	if q.URL.Opaque != "" {
		path = q.URL.Opaque
	}
	if t.Upstream.Dest == (egress.Dest{}) || !egress.Joins(path) {
		return nil, errors.New("join the path to the upstream: it is not clean")
	}
	scheme, _ := t.scheme()
	out := (&http.Request{
		Method: q.Method,
		// Opaque goes out as it is written, so that what was decided on is what is sent.
		URL: &url.URL{Scheme: scheme, Host: t.Upstream.Dest.String(), Opaque: t.Upstream.Prefix + path,
			RawQuery: q.URL.RawQuery, ForceQuery: q.URL.ForceQuery},
		Host:   t.host(),
		Header: q.Header.Clone(),
		Body:   q.Body, ContentLength: q.ContentLength,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if out.Header == nil {
		out.Header = http.Header{}
	}
	upgrade := strings.EqualFold(q.Header.Get("Upgrade"), "websocket")
	hopByHop(out.Header)
	for name := range out.Header {
		if !t.passes(name) || s.Header != "" && egress.FieldName(name) == egress.FieldName(s.Header) {
			delete(out.Header, name)
		}
	}
	if upgrade {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", "websocket")
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // none, rather than that of the transport
	}
	if s.Header != "" && s.Value != "" {
		out.Header.Set(s.Header, s.Value)
	}
	return out, nil
}

// passes says that a field of a client's goes to the upstream. A list that a policy
// could not have does not count.
func (t Target) passes(name string) bool {
	return egress.FieldPasses(name) || slices.Contains(t.Headers, strings.ToLower(name)) &&
		egress.FieldOfGateway(name, false) == ""
}

func hopByHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for name := range h {
		switch egress.FieldName(name) {
		case "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade":
			delete(h, name)
		}
	}
}

// Response makes of the upstream's answer what the client of the virtual host
// gets. Cookies of the upstream are for the host's credential, which the client
// does not have: they are taken away. A header that says the secret is as well.
func (t Target) Response(r *http.Response, s Secret) {
	upgraded := r.StatusCode == http.StatusSwitchingProtocols
	accept := r.Header.Get("Upgrade")
	hopByHop(r.Header)
	if upgraded {
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", accept)
	}
	for _, name := range []string{"Set-Cookie", "Set-Cookie2", "Proxy-Authenticate", "Proxy-Authentication-Info",
		"Alt-Svc"} {
		r.Header.Del(name)
	}
	for _, name := range []string{"Location", "Content-Location"} {
		if v := r.Header.Get(name); v != "" {
			r.Header.Set(name, t.location(v))
		}
	}
	for name, values := range r.Header {
		if s.in(name) {
			delete(r.Header, name)
			continue
		}
		for _, v := range values {
			if s.in(v) {
				delete(r.Header, name)
				break
			}
		}
	}
	// What the upstream calls its status is its own text, as is a trailer.
	r.Status = strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode)
	r.Trailer = nil
}

// location says of a place at the upstream where it is for the client.
func (t Target) location(text string) string {
	l, err := url.Parse(text)
	if err != nil {
		return text
	}
	path := l.EscapedPath()
	scheme, port := t.scheme()
	switch {
	case l.Host == "" && l.Scheme == "" && strings.HasPrefix(text, "/"):
	case l.Host != "" && (l.Scheme == scheme || l.Scheme == "") && t.names(l, uint64(port)):
		if path == "" {
			path = "/"
		}
	default:
		return text
	}
	rest, below := strings.CutPrefix(path, t.Upstream.Prefix)
	if !below || rest != "" && rest[0] != '/' {
		return text // above the prefix: the client cannot get there
	}
	out := url.URL{Scheme: "http", Host: t.Virtual, Path: "/", RawQuery: l.RawQuery, ForceQuery: l.ForceQuery,
		Fragment: l.Fragment, RawFragment: l.RawFragment}
	if rest != "" {
		if out.Path, err = url.PathUnescape(rest); err != nil {
			return text
		}
		out.RawPath = rest
	}
	if l.Host == "" {
		out.Scheme, out.Host = "", ""
	}
	return out.String()
}

// names says that a place is at the upstream.
func (t Target) names(l *url.URL, port uint64) bool {
	if p := l.Port(); p != "" {
		var err error
		if port, err = strconv.ParseUint(p, 10, 16); err != nil {
			return false
		}
	}
	if port == 0 {
		return false
	}
	host := l.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	d, refusal := egress.ParseHost(host, uint16(port))
	return refusal == nil && d == t.Upstream.Dest
}

// in says that text holds the secret, or the part of it behind its scheme; also as
// a part of a URL, in hexadecimal or in base64, with what is around it, and where
// it is base64 itself, what it stands for.
func (s Secret) in(text string) bool {
	if s.Value == "" || text == "" {
		return false
	}
	token := s.Value
	if _, after, ok := strings.Cut(token, " "); ok && after != "" {
		token = after
	}
	forms := []string{token}
	if plain, err := base64.StdEncoding.DecodeString(token); err == nil && len(plain) > 0 {
		forms = append(forms, string(plain))
	}
	texts := []string{text}
	if plain, err := url.QueryUnescape(text); err == nil {
		texts = append(texts, plain)
	}
	if plain, err := url.PathUnescape(text); err == nil {
		texts = append(texts, plain)
	}
	digits := hex.EncodeToString([]byte(token))
	for _, text := range texts {
		if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) ||
			strings.Contains(strings.ToLower(text), digits) || inBase64(text, token) {
			return true
		}
	}
	return false
}

// inBase64 says that text holds token in base64 of either alphabet, behind any
// number of bytes, and before any.
func inBase64(text, token string) bool {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(text)
	for before := range 3 {
		form := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + token))
		if (before+len(token))%3 != 0 {
			form = form[:len(form)-1] // it has bits of what follows
		}
		if form = form[(before*8+5)/6:]; len(form) >= 4 && strings.Contains(text, form) {
			return true
		}
	}
	return false
}
