package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UpstreamURL is the upstream of a gateway. The zero UpstreamURL is invalid.
type UpstreamURL struct {
	TLS    bool
	Dest   Dest
	Prefix string // prepended to every path: empty or a clean path without a trailing slash
}

// String returns the upstream in the form that ReadUpstream reads.
func (u UpstreamURL) String() string {
	scheme, standard := "http", uint16(80)
	if u.TLS {
		scheme, standard = "https", 443
	}
	host := u.Dest.String()
	if u.Dest.Port == standard {
		host = strings.TrimSuffix(host, ":"+strconv.Itoa(int(standard)))
	}
	return scheme + "://" + host + u.Prefix
}

// ReadUpstream reads https://host[:port][/prefix]. It accepts http:// only for loopback and private
// addresses, since the credential would cross any other network unencrypted. Errors do not quote the text,
// which may hold a secret.
func ReadUpstream(text string) (UpstreamURL, error) {
	var u UpstreamURL
	rest, plain := strings.CutPrefix(text, "http://")
	if !plain {
		if rest, u.TLS = strings.CutPrefix(text, "https://"); !u.TLS {
			return UpstreamURL{}, errors.New("want https://host, with :port or /path where they are needed")
		}
	}
	host, prefix, _ := strings.Cut(rest, "/")
	switch {
	case strings.ContainsRune(host, '@'):
		return UpstreamURL{}, errors.New("a name or password does not belong in it; the credential is added by the " +
			"host")
	case strings.ContainsAny(rest, "?#"):
		return UpstreamURL{}, errors.New("it has neither a query nor a fragment")
	}
	port := uint16(80)
	if u.TLS {
		port = 443
	}
	var err error
	if u.Dest, err = readHostPort(host, port); err != nil {
		return UpstreamURL{}, err
	}
	if _, virtual := Label(u.Dest.Name); virtual {
		return UpstreamURL{}, fmt.Errorf("names below %s are virtual hosts, and none of them is an upstream", Domain)
	}
	if a := u.Dest.Addr; plain && !a.IsLoopback() && !a.IsPrivate() {
		return UpstreamURL{}, errors.New("http:// is for a loopback or private address alone: want https://")
	}
	u.Prefix = strings.TrimSuffix("/"+prefix, "/")
	if !CleanPath("/" + prefix) {
		return UpstreamURL{}, errors.New("its path has no escapes, no empty parts, no . and no ..")
	}
	return u, nil
}

// readHostPort reads host, host:port or [IPv6]:port.
func readHostPort(text string, port uint16) (Dest, error) {
	host, number, ported := text, "", false
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, number, ported = text[:i], text[i+1:], true
	}
	if ported {
		var err error
		if port, err = readPort(number); err != nil {
			return Dest{}, errors.New("want a port from 1 to 65535 after the colon")
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !closed || err != nil || !a.Is6() || a.Zone() != "" {
			return Dest{}, errors.New("want an IPv6 address in the brackets")
		}
		return Dest{Addr: a.Unmap(), Port: port}, nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return Dest{Addr: a, Port: port}, nil
	}
	if name, err := readName(host); err != nil || name != host {
		return Dest{}, errors.New("want a name in lower case, an IPv4 address, or an IPv6 address in brackets")
	}
	return Dest{Name: host, Port: port}, nil
}

// CleanPath reports whether text is a request path in the form of policies: absolute, decoded, without a
// query, escapes, empty parts, . or .., and only of visible characters. It may end in a slash.
func CleanPath(text string) bool {
	if strings.ContainsAny(text, "?#\\%*") || strings.ContainsFunc(
		text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return false
	}
	return path.IsAbs(text) && (text == "/" || path.Clean(text) == strings.TrimSuffix(text, "/")) &&
		!strings.Contains(text, "//")
}
