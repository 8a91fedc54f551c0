package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxQuoted is the longest part of a target that a denial quotes.
const maxQuoted = 80

// refusal returns a denial that no entry caused.
func refusal(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Why: fmt.Sprintf(format, args...), Entry: -1}
}

func quoted(text string) string {
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "…"
	}
	return strconv.QuoteToASCII(text)
}

// ParseAuthority reads the target of a CONNECT, host:port. The host is a name or an address, with IPv6 in
// brackets. The port is required. Nothing is decoded.
func ParseAuthority(text string) (Dest, *Refusal) {
	host, port, ok := cutAuthority(text)
	if !ok {
		return Dest{}, refusal(Target, "the target %s is not host:port", quoted(text))
	}
	n, err := readPort(port)
	if err != nil {
		return Dest{}, refusal(Target, "the target %s: %s", quoted(text), err)
	}
	return ParseHost(host, n)
}

// cutAuthority splits at the one colon outside of brackets.
func cutAuthority(text string) (host, port string, ok bool) {
	end := 0
	if strings.HasPrefix(text, "[") {
		end = strings.IndexByte(text, ']') + 1
		if end == 0 || end == len(text) || text[end] != ':' {
			return "", "", false
		}
	} else if end = strings.IndexByte(text, ':'); end < 0 {
		return "", "", false
	}
	return text[:end], text[end+1:], true
}

// ParseHost reads a host without a port: a name, a dotted quad, or IPv6 in brackets.
func ParseHost(text string, port uint16) (Dest, *Refusal) {
	wrong := func(err error) (Dest, *Refusal) {
		return Dest{}, refusal(Target, "the host %s: %s", quoted(text), err)
	}
	if port == 0 {
		return wrong(errPort)
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || strings.IndexByte(inner, ':') < 0 {
			return wrong(fmt.Errorf("brackets hold an IPv6 address"))
		}
		a, err := readLiteral(inner)
		if err != nil {
			return wrong(err)
		}
		return Dest{Addr: a, Port: port}, nil
	}
	if isDottedQuad(text) {
		a, err := readLiteral(text)
		if err != nil {
			return wrong(err)
		}
		return Dest{Addr: a, Port: port}, nil
	}
	name, err := readName(text)
	if err != nil {
		return wrong(err)
	}
	return Dest{Name: name, Port: port}, nil
}

// isDottedQuad reports whether a text has only characters of a dotted quad.
func isDottedQuad(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return strings.Count(text, ".") == 3 && text[len(text)-1] != '.'
}

// ParseSOCKS reads the target of a SOCKS5 request: a domain or an address. A domain that spells an address is
// denied, because the protocol has an address type.
func ParseSOCKS(domain string, addr netip.Addr, port uint16) (Dest, *Refusal) {
	switch {
	case port == 0:
		return Dest{}, refusal(Target, "%s", errPort)
	case domain != "" && addr.IsValid():
		return Dest{}, refusal(Target, "the request has a domain and an address")
	case domain != "":
		name, err := readName(domain)
		if err != nil {
			return Dest{}, refusal(Target, "the domain %s: %s", quoted(domain), err)
		}
		return Dest{Name: name, Port: port}, nil
	case addr.IsValid() && addr.Zone() == "":
		return Dest{Addr: addr.Unmap(), Port: port}, nil
	default:
		return Dest{}, refusal(Target, "the request has no target")
	}
}

// ParseAbsolute reads the target of a plain HTTP request to a proxy: http://, an authority without userinfo,
// and a path with its query as it is forwarded, which begins with a slash.
func ParseAbsolute(target string) (d Dest, path string, r *Refusal) {
	const scheme = "http://"
	if len(target) < len(scheme) || !strings.EqualFold(target[:len(scheme)], scheme) {
		return Dest{}, "", refusal(Target, "the target %s does not begin with http://", quoted(target))
	}
	authority, path := target[len(scheme):], "/"
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority, path = authority[:i], authority[i:]
	}
	if path[0] == '?' {
		path = "/" + path
	}
	if why := badTarget(path); why != "" {
		return Dest{}, "", refusal(Target, "the path %s %s", quoted(path), why)
	}
	d, r = parseWithDefault(authority, 80)
	return d, path, r
}

// badTarget returns the error in a path and query on the wire, or "".
func badTarget(path string) string {
	for i := range len(path) {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f:
			return "has a character that stands in no target"
		case c == '#':
			return "has a fragment"
		case c == '\\':
			return "has a backslash"
		}
	}
	return ""
}

// parseWithDefault reads an authority whose port may be omitted. A colon requires a number.
func parseWithDefault(authority string, port uint16) (Dest, *Refusal) {
	if strings.HasSuffix(authority, "]") || strings.IndexByte(authority, ':') < 0 {
		return ParseHost(authority, port)
	}
	return ParseAuthority(authority)
}

// SameHost denies a Host header that names another host than d. host is the value of the header, or "" if the
// request has no such header, which is denied as well. If the header has no port, port is used.
func SameHost(d Dest, host string, port uint16) *Refusal {
	h, r := parseWithDefault(host, port)
	if r != nil {
		r.Code = Request
		r.Why = "the Host header is not valid: " + r.Why
		return r
	}
	if h != d {
		return refusal(Request, "the Host header %s is not that of the target", quoted(host))
	}
	return nil
}

// HostOf returns the text that looks like the host of a target, for suggestions.
func HostOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		target = rest
	}
	if i := strings.IndexAny(target, ":/?#\\"); i >= 0 {
		target = target[:i]
	}
	return target
}

// ReadDest is the inverse of [Dest.String], which records contain. It accepts nothing else.
func ReadDest(text string) (Dest, bool) {
	if a, err := netip.ParseAddrPort(text); err == nil {
		d := Dest{Addr: a.Addr(), Port: a.Port()}
		return d, d.String() == text
	}
	name, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	d := Dest{Name: name, Port: uint16(n)}
	return d, err == nil && name != "" && d.String() == text
}
