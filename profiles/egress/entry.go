package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// ReadEntry reads one entry of a list: host, *.host, address, [address] or range, with an optional :port or
// :*. The entry *.host covers every name below host at any depth, but not host itself. **.host means the
// same. A name is converted to its A-labels. An entry without a port has no Ports. In the list of allowed
// hosts that means port 443, and in the list of denied hosts it means every port.
func ReadEntry(text string) (Entry, error) {
	var e Entry
	host, err := e.cutPort(text)
	if err != nil {
		return Entry{}, err
	}
	if host == "" {
		return Entry{}, errors.New("the host is empty")
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		inner, after, closed := strings.Cut(bare, "]")
		if !closed || after != "" && !strings.HasPrefix(after, "/") {
			return Entry{}, errors.New("the bracket is not closed")
		}
		bare = inner + after
	}
	if bracketed || strings.ContainsAny(bare, ":/") || numeric(strings.TrimSuffix(bare, ".")) {
		e.Host, err = readRange(bare, bracketed)
	} else {
		e.Host, err = readWildcard(bare)
	}
	if err != nil {
		return Entry{}, err
	}
	return e, nil
}

// cutPort splits off the port. A text with several colons and no bracket is a bare IPv6 address.
func (e *Entry) cutPort(text string) (string, error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasPrefix(text, "[") && i < strings.IndexByte(text, ']') ||
		!strings.HasPrefix(text, "[") && strings.Count(text, ":") > 1 {
		return text, nil
	}
	host, port := text[:i], text[i+1:]
	if port == "*" {
		e.AnyPort = true
		return host, nil
	}
	n, err := readPort(port)
	if err != nil {
		return "", fmt.Errorf("%s is not a port", quoted(port))
	}
	e.Ports = []int{int(n)}
	return host, nil
}

// readRange reads an address or a range of addresses.
func readRange(text string, bracketed bool) (string, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			return "", errors.New("not an address in its usual form")
		case a.Zone() != "":
			return "", errors.New("an address has no zone here")
		case bracketed && a.Is4():
			return "", errors.New("brackets are for IPv6")
		}
		return a.Unmap().String(), nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return "", errors.New("not a range such as 10.0.0.0/8")
	case p != p.Masked():
		return "", fmt.Errorf("the range has bits outside its mask; write %s", p.Masked())
	case p.Addr().Is4In6():
		return "", errors.New("write the IPv4 range itself")
	case bracketed && p.Addr().Is4():
		return "", errors.New("brackets are for IPv6")
	case p.Bits() == 0:
		return "", errors.New("the range is the whole internet")
	}
	return p.String(), nil
}

// readWildcard reads a name, or a wildcard below a name that is not a top-level domain.
func readWildcard(text string) (string, error) {
	name, wild := strings.CutPrefix(text, "**.")
	if !wild {
		name, wild = strings.CutPrefix(text, "*.")
	}
	if strings.Contains(name, "*") {
		return "", errors.New("a * stands only at the front, before a dot")
	}
	name, err := mapName(name)
	if err != nil {
		return "", err
	}
	if !wild {
		return name, nil
	}
	if !strings.Contains(name, ".") {
		return "", errors.New("a wildcard needs a domain below a top-level one")
	}
	return "*." + name, nil
}

// readHost reads the Host of an Entry. It accepts only the canonical form.
func readHost(host string) (Pattern, error) {
	if p, err := netip.ParsePrefix(host); err == nil {
		if p != p.Masked() || p.Addr().Is4In6() || p.Bits() == 0 {
			return Pattern{}, errors.New("not a range in its canonical form")
		}
		return Pattern{block: p, text: host}, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" || a.Is4In6() {
			return Pattern{}, errors.New("not an address in its canonical form")
		}
		return Pattern{block: netip.PrefixFrom(a, a.BitLen()), text: host}, nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	if back, err := readName(name); err != nil || back != name || wild && !strings.Contains(name, ".") {
		return Pattern{}, errors.New("not a name in its canonical form")
	}
	return Pattern{name: name, wild: wild, text: host}, nil
}

// Expiry returns the time at which an entry expires. For nil, which means no expiry, it returns the zero
// time. If the expiry itself is the zero time, which is in the past, it returns a time just after that.
func Expiry(at *time.Time) time.Time {
	switch {
	case at == nil:
		return time.Time{}
	case at.IsZero():
		return at.Add(1)
	default:
		return *at
	}
}
