package egress

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// connect decides a CONNECT, as the proxy reads it.
func (t *trial) connect() (Outcome, *Refusal) {
	if t.Method != "" && t.Method != "CONNECT" && t.Path == "" {
		return Outcome{}, refusal(Request, "a tunnel is asked for with CONNECT")
	}
	wire := t.wire
	if wire == nil {
		var r *Refusal
		if wire, r = t.write("CONNECT", t.Target, t.Target); r != nil {
			return Outcome{}, r
		}
	}
	var req httphead.Request
	n, err := req.Read(wire)
	if err != nil {
		return Outcome{}, UnreadHead(err)
	}
	if req.Form != httphead.Authority {
		return Outcome{}, refusal(Request, "a tunnel is asked for with CONNECT")
	}
	d, r := ParseTunnel(&req)
	if r != nil {
		return Outcome{}, r
	}
	return t.tunnel(d, wire[n:])
}

// ParseTunnel reads the target of a CONNECT. Its Host, where there is one, names the
// same; a port that it leaves out is that of the target.
func ParseTunnel(req *httphead.Request) (Dest, *Refusal) {
	d, r := ParseAuthority(string(req.Authority))
	if r != nil {
		return Dest{}, r
	}
	if req.Host != nil {
		if r := SameHost(d, string(req.Host), d.Port); r != nil {
			return Dest{}, r
		}
	}
	return d, nil
}

// UnreadHead is the refusal of a head that package httphead does not read.
func UnreadHead(err error) *Refusal {
	code := Request
	switch {
	case errors.Is(err, httphead.ErrTarget), errors.Is(err, httphead.ErrUser), errors.Is(err, httphead.ErrScheme):
		code = Target
	case errors.Is(err, httphead.ErrMethod):
		code = Method
	}
	return refusal(code, "%s", err)
}

// SayingOf lists what a request says of itself beside its first line.
func SayingOf(req *httphead.Request) (s Saying) {
	for f := range req.Fields() {
		s = s.Field(string(f.Name))
	}
	return s.Query(string(req.Query))
}

// UnreadSOCKS is the refusal of a greeting or a request that package socks does
// not read.
func UnreadSOCKS(err error) *Refusal {
	code := Request
	if errors.Is(err, socks.ErrDomain) || errors.Is(err, socks.ErrType) {
		code = Target
	}
	return refusal(code, "%s", err)
}

// write makes the head of a request. What would break out of its line is
// refused here: on the wire it would be another line.
func (t *trial) write(method, target, host string) ([]byte, *Refusal) {
	if strings.ContainsFunc(method+target, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return nil, refusal(Target, "the first line has a space or a control character in it")
	}
	headers := t.Headers
	if t.HostHeader != nil {
		host = *t.HostHeader
	}
	given := false
	for _, h := range headers {
		given = given || strings.EqualFold(h[0], "Host")
	}
	if !given || t.HostHeader != nil {
		headers = append([][2]string{{"Host", host}}, headers...)
	}
	wire := []byte(method + " " + target + " HTTP/1.1\r\n")
	for _, h := range headers {
		if strings.ContainsAny(h[0]+h[1], "\r\n\x00") {
			return nil, refusal(Request, "a header has a line break or a NUL in it")
		}
		wire = append(wire, h[0]+": "+h[1]+"\r\n"...)
	}
	return append(wire, "\r\n"...), nil
}

// tunnel decides what goes through a tunnel to d; early is what came with its
// request.
func (t *trial) tunnel(d Dest, early []byte) (Outcome, *Refusal) {
	out, r := t.open(d)
	if r != nil {
		return Outcome{}, r
	}
	first := append(early, t.Payload...)
	switch {
	case Inspected(d):
		r = t.hello(out, first)
	case out.Match.Reads:
		out.Match, r = t.inside(out, first)
	}
	if r != nil {
		return Outcome{}, r
	}
	return out, nil
}

// hello decides on the first bytes, where the description has any.
func (t *trial) hello(out Outcome, first []byte) *Refusal {
	var h clienthello.Hello
	var err error
	switch {
	case len(first) > 0 || t.TLS == "none":
		h, err = clienthello.Parse(first)
	case t.SNI != nil:
		h = clienthello.Hello{Name: *t.SNI, HasName: *t.SNI != "", ECH: t.ECH}
	case t.ECH:
		h = clienthello.Hello{Name: out.Dest.Name, HasName: out.Dest.Name != "", ECH: true}
	default:
		return nil
	}
	return t.list.Hello(out.Dest, out.Match, h, err, t.now)
}

// inside decides the first request in a tunnel that is read. What comes behind it
// is decided when it comes.
func (t *trial) inside(out Outcome, first []byte) (Match, *Refusal) {
	switch {
	case t.SNI != nil || t.ECH:
		return Match{}, refusal(Request, "requests are read here, and no request can be read in TLS")
	case len(first) == 0 && (t.Method != "" && t.Method != "CONNECT" || t.Path != ""):
		method, path := t.Method, t.Path
		if method == "" || method == "CONNECT" {
			method = "GET"
		}
		if path == "" {
			path = "/"
		}
		return t.list.Request(out.Dest, out.Match, method, path, t.says(path), t.now)
	case len(first) == 0 && t.TLS == "":
		return out.Match, nil
	}
	var req httphead.Request
	if _, err := req.Read(first); err != nil {
		return Match{}, UnreadHead(err)
	}
	if req.Form != httphead.Origin {
		return Match{}, refusal(Request, "the target of a request in a tunnel begins with a slash")
	}
	if r := SameHost(out.Dest, string(req.Host), 80); r != nil {
		return Match{}, r
	}
	return t.list.Request(out.Dest, out.Match, string(req.Method), string(req.Path), SayingOf(&req), t.now)
}

// says is SayingOf for a request that is described in parts.
func (t *trial) says(path string) (s Saying) {
	for _, h := range t.Headers {
		s = s.Field(h[0])
	}
	_, query, _ := strings.Cut(path, "?")
	return s.Query(query)
}

// http decides the first request to a plain proxy. What comes behind it is
// decided when it comes.
func (t *trial) http() (Outcome, *Refusal) {
	wire := t.wire
	if wire == nil {
		var r *Refusal
		if wire, r = t.absolute(); r != nil {
			return Outcome{}, r
		}
	}
	var req httphead.Request
	if _, err := req.Read(wire); err != nil {
		return Outcome{}, UnreadHead(err)
	}
	if req.Form != httphead.Absolute {
		return Outcome{}, refusal(Request, "the target of a request to a proxy begins with http://")
	}
	d, path, r := ParseAbsolute(string(req.Target))
	if r != nil {
		return Outcome{}, r
	}
	if req.Host != nil {
		if r := SameHost(d, string(req.Host), 80); r != nil {
			return Outcome{}, r
		}
	}
	m, r := t.list.Match(d, t.now)
	switch {
	case r != nil:
		return Outcome{}, r
	case Inspected(d):
		return Outcome{}, t.list.Hello(d, m, clienthello.Hello{}, clienthello.ErrNotTLS, t.now)
	}
	if m, r = t.list.Request(d, m, string(req.Method), path, SayingOf(&req), t.now); r != nil {
		return Outcome{}, r
	}
	return t.address(d, m)
}

// absolute makes the request for a plain proxy.
func (t *trial) absolute() ([]byte, *Refusal) {
	method, target := t.Method, t.Target
	if method == "" {
		method = "GET"
	}
	_, rest, _ := strings.Cut(target, "://")
	authority, _, found := strings.Cut(rest, "/")
	if i := strings.IndexAny(authority, "?#"); i >= 0 {
		authority, found = authority[:i], true
	}
	if !found {
		target += t.Path
	}
	return t.write(method, target, authority)
}

// socks decides a SOCKS5 request.
func (t *trial) socks() (Outcome, *Refusal) {
	if t.wire != nil {
		return t.socksWire()
	}
	if t.Cmd != "" && t.Cmd != "connect" {
		return Outcome{}, refusal(Request, "SOCKS opens connections and does nothing else")
	}
	i := strings.LastIndexByte(t.Target, ':')
	if i < 0 {
		return Outcome{}, refusal(Target, "the target is not host:port")
	}
	// The port goes over the wire as a number: any host does for reading it.
	port, r := ParseAuthority("x" + t.Target[i:])
	if r != nil {
		return Outcome{}, r
	}
	host := t.Target[:i]
	addr, atyp := literal(host)
	if t.Atyp != "" && t.Atyp != atyp {
		atyp = t.Atyp
		if atyp != "domain" {
			return Outcome{}, refusal(Target, "the target is no address of the type that is given")
		}
	}
	var d Dest
	if atyp == "domain" {
		d, r = ParseSOCKS(host, netip.Addr{}, port.Port)
	} else {
		d, r = ParseSOCKS("", addr, port.Port)
	}
	if r != nil {
		return Outcome{}, r
	}
	return t.tunnel(d, nil)
}

// literal reads an address as a client would before it sends it, and says of
// which type it is.
func literal(host string) (netip.Addr, string) {
	inner, open := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	a, err := netip.ParseAddr(inner)
	switch {
	case err != nil || a.Zone() != "" || open != closed || open && a.Is4():
		return netip.Addr{}, "domain"
	case a.Is4():
		return a, "ipv4"
	default:
		return a, "ipv6"
	}
}

// socksWire decides what a client sends: greeting, request, and what follows.
func (t *trial) socksWire() (Outcome, *Refusal) {
	n, err := socks.ReadGreeting(t.wire)
	if err != nil {
		return Outcome{}, UnreadSOCKS(err)
	}
	req, m, err := socks.ReadRequest(t.wire[n:])
	if err != nil {
		return Outcome{}, UnreadSOCKS(err)
	}
	d, r := ParseSOCKS(req.Domain, req.Addr, req.Port)
	if r != nil {
		return Outcome{}, r
	}
	return t.tunnel(d, t.wire[n+m:])
}
