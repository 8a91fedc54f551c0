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

// Secret is a credential in the form of a request header. The zero Secret adds none.
//
// It is only in the request to the upstream: never in an error, and never in a header of the response, even
// if the upstream repeats it. Bodies are not searched.
type Secret struct {
	Header string
	Value  string
}

// Target is the upstream of a virtual host. It converts a request for the virtual host to one for the
// upstream, and the response back. Only listed fields of a client pass, so its own credentials do not. The
// zero Target is invalid, and is never sent to.
type Target struct {
	Virtual  string // gateway.ringd.internal
	Upstream egress.UpstreamURL
	Headers  []string // of a client; forwarded in addition to those of egress.FieldPasses; lower case
}

// scheme returns the scheme of the upstream and its default port.
func (t Target) scheme() (name string, port uint16) {
	if t.Upstream.TLS {
		return "https", 443
	}
	return "http", 80
}

// host returns the authority of the upstream for a Host field.
func (t Target) host() string {
	d := t.Upstream.Dest
	if _, port := t.scheme(); d.Port == port {
		return strings.TrimSuffix(d.String(), ":"+strconv.Itoa(int(port)))
	}
	return d.String()
}

// Guard lists the addresses of the upstream that may be dialed: public ones, and the addresses and ranges in
// addresses.
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

// Request returns the request for the upstream made from q, whose path must be clean (see egress.Joins). The
// body is that of q. A WebSocket upgrade of q is kept.
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
		// Opaque is sent as it is, so the decided path is the path that is sent.
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
		if !t.forwardsField(name) || s.Header != "" && egress.FieldName(name) == egress.FieldName(s.Header) {
			delete(out.Header, name)
		}
	}
	if upgrade {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", "websocket")
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // no field, instead of the transport's default
	}
	if s.Header != "" && s.Value != "" {
		out.Header.Set(s.Header, s.Value)
	}
	return out, nil
}

// forwardsField reports whether a field of a client is forwarded to the upstream. A list that a policy could not
// have is ignored.
func (t Target) forwardsField(name string) bool {
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

// Response converts the upstream's response for the client of the virtual host. Cookies of the upstream
// belong to the host's credential, which the client does not have, so they are removed. So is a header that
// contains the secret.
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
		if s.containedIn(name) {
			delete(r.Header, name)
			continue
		}
		for _, v := range values {
			if s.containedIn(v) {
				delete(r.Header, name)
				break
			}
		}
	}
	// The upstream chooses its status text and trailers freely, so they are dropped.
	r.Status = strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode)
	r.Trailer = nil
}

// location translates a URL of the upstream to one of the virtual host.
func (t Target) location(text string) string {
	l, err := url.Parse(text)
	if err != nil {
		return text
	}
	path := l.EscapedPath()
	scheme, port := t.scheme()
	switch {
	case l.Host == "" && l.Scheme == "" && strings.HasPrefix(text, "/"):
	case l.Host != "" && (l.Scheme == scheme || l.Scheme == "") && t.isAtUpstream(l, uint64(port)):
		if path == "" {
			path = "/"
		}
	default:
		return text
	}
	rest, below := strings.CutPrefix(path, t.Upstream.Prefix)
	if !below || rest != "" && rest[0] != '/' {
		return text // outside the prefix, where the client has no access
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

// isAtUpstream reports whether a URL is at the upstream.
func (t Target) isAtUpstream(l *url.URL, port uint64) bool {
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

// containedIn reports whether text contains the secret, or the part of it after its scheme. It also finds it as a part
// of a URL, in hexadecimal or in base64 with surrounding bytes. If the secret is base64 itself, its decoded
// form is searched as well.
func (s Secret) containedIn(text string) bool {
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

// inBase64 reports whether text contains token in base64 of either alphabet, after and before any bytes.
func inBase64(text, token string) bool {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(text)
	for before := range 3 {
		form := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + token))
		if (before+len(token))%3 != 0 {
			form = form[:len(form)-1] // the last character has bits of the following byte
		}
		if form = form[(before*8+5)/6:]; len(form) >= 4 && strings.Contains(text, form) {
			return true
		}
	}
	return false
}
