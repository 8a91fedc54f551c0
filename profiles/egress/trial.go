package egress

import (
	"net/netip"
	"strings"

	"github.com/ringd/ringd/profiles/egress/clienthello"
	"github.com/ringd/ringd/profiles/egress/httphead"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// connect decides a CONNECT as the proxy reads it.
func (t *trial) connect() Decision {
	if t.Method != "" && t.Method != "CONNECT" && t.Path == "" {
		return denied(refusal(Request, "a tunnel is asked for with CONNECT"))
	}
	wire := t.wire
	if wire == nil {
		var r *Refusal
		if wire, r = t.write("CONNECT", t.Target, t.Target); r != nil {
			return denied(r)
		}
	}
	var req httphead.Request
	n, err := req.Read(wire)
	if err != nil {
		return denied(UnreadHead(err))
	}
	if req.Form != httphead.Authority {
		return denied(refusal(Request, "a tunnel is asked for with CONNECT"))
	}
	d, r := ParseTunnel(&req)
	if r != nil {
		return denied(r)
	}
	return t.tunnel(d, wire[n:])
}

// write builds the head of a request. It denies text with a line break, which would become another line on
// the wire.
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

// tunnel decides on a tunnel to target and on its first bytes. early are the bytes that the client sent
// together with the CONNECT.
func (t *trial) tunnel(target Dest, early []byte) Decision {
	d := t.open(target)
	if !d.Allowed() {
		return d
	}
	first := append(early, t.Payload...)
	switch {
	case Inspected(target):
		return t.hello(d, first)
	case d.Match().Reads:
		return t.inside(d, first)
	default:
		return d
	}
}

// hello decides on the first bytes, if the action has any.
func (t *trial) hello(d Decision, first []byte) Decision {
	var h clienthello.Hello
	var err error
	switch {
	case len(first) > 0 || t.TLS == "none":
		h, err = clienthello.Parse(first)
	case t.SNI != nil:
		h = clienthello.Hello{Name: *t.SNI, HasName: *t.SNI != "", ECH: t.ECH}
	case t.ECH:
		h = clienthello.Hello{Name: d.Target().Name, HasName: d.Target().Name != "", ECH: true}
	default:
		return d
	}
	return d.Hello(h, err, t.now)
}

// inside decides the first request in a tunnel whose requests are read. Further requests are decided when
// they arrive.
func (t *trial) inside(d Decision, first []byte) Decision {
	switch {
	case t.SNI != nil || t.ECH:
		return denied(refusal(Request, "requests are read here, and no request can be read in TLS"))
	case len(first) == 0 && (t.Method != "" && t.Method != "CONNECT" || t.Path != ""):
		method, path := t.Method, t.Path
		if method == "" || method == "CONNECT" {
			method = "GET"
		}
		if path == "" {
			path = "/"
		}
		return d.Request(method, path, t.overrides(path), t.now)
	case len(first) == 0 && t.TLS == "":
		return d
	}
	var req httphead.Request
	if _, err := req.Read(first); err != nil {
		return denied(UnreadHead(err))
	}
	if req.Form != httphead.Origin {
		return denied(refusal(Request, "the target of a request in a tunnel begins with a slash"))
	}
	if r := SameHost(d.Target(), string(req.Host), 80); r != nil {
		return denied(r)
	}
	return d.Request(string(req.Method), string(req.Path), OverridesOf(&req), t.now)
}

// overrides is OverridesOf for a request that is described field by field.
func (t *trial) overrides(path string) (s Overrides) {
	for _, h := range t.Headers {
		s = s.Field(h[0])
	}
	_, query, _ := strings.Cut(path, "?")
	return s.Query(query)
}

// http decides the first request to a plain proxy. Further requests are decided when they arrive.
func (t *trial) http() Decision {
	wire := t.wire
	if wire == nil {
		var r *Refusal
		if wire, r = t.absolute(); r != nil {
			return denied(r)
		}
	}
	var req httphead.Request
	if _, err := req.Read(wire); err != nil {
		return denied(UnreadHead(err))
	}
	if req.Form != httphead.Absolute {
		return denied(refusal(Request, "the target of a request to a proxy begins with http://"))
	}
	target, path, r := ParseAbsolute(string(req.Target))
	if r != nil {
		return denied(r)
	}
	if req.Host != nil {
		if r := SameHost(target, string(req.Host), 80); r != nil {
			return denied(r)
		}
	}
	d := t.list.Decide(target, t.now)
	if Inspected(target) {
		return d.Hello(clienthello.Hello{}, clienthello.ErrNotTLS, t.now)
	}
	return t.address(d.Request(string(req.Method), path, OverridesOf(&req), t.now))
}

// absolute builds the request to a plain proxy.
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
func (t *trial) socks() Decision {
	if t.wire != nil {
		return t.socksWire()
	}
	if t.Cmd != "" && t.Cmd != "connect" {
		return denied(refusal(Request, "SOCKS opens connections and does nothing else"))
	}
	i := strings.LastIndexByte(t.Target, ':')
	if i < 0 {
		return denied(refusal(Target, "the target is not host:port"))
	}
	// On the wire the port is a number, so any host will do to parse it.
	port, r := ParseAuthority("x" + t.Target[i:])
	if r != nil {
		return denied(r)
	}
	host := t.Target[:i]
	addr, atyp := parseLiteral(host)
	if t.Atyp != "" && t.Atyp != atyp {
		atyp = t.Atyp
		if atyp != "domain" {
			return denied(refusal(Target, "the target is no address of the type that is given"))
		}
	}
	var d Dest
	if atyp == "domain" {
		d, r = ParseSOCKS(host, netip.Addr{}, port.Port)
	} else {
		d, r = ParseSOCKS("", addr, port.Port)
	}
	if r != nil {
		return denied(r)
	}
	return t.tunnel(d, nil)
}

// parseLiteral reads an address as a client would before it sends the address, and returns its SOCKS type.
func parseLiteral(host string) (netip.Addr, string) {
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

// socksWire decides the bytes of a client: greeting, request and the bytes after them.
func (t *trial) socksWire() Decision {
	n, err := socks.ReadGreeting(t.wire)
	if err != nil {
		return denied(UnreadSOCKS(err))
	}
	req, m, err := socks.ReadRequest(t.wire[n:])
	if err != nil {
		return denied(UnreadSOCKS(err))
	}
	d, r := ParseSOCKS(req.Domain, req.Addr, req.Port)
	if r != nil {
		return denied(r)
	}
	return t.tunnel(d, t.wire[n+m:])
}
