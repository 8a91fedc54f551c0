package compiler

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// egress compiles the network part.
func (d *document) egress() profiles.Egress {
	n := d.policy.Spec.Network
	out := profiles.Egress{Mode: profiles.EgressOff}
	if n == nil {
		return out
	}
	out.Rule = d.rule("spec.network")
	switch n.Mode {
	case "":
		if d.policy.Compact && len(n.Egress) > 0 {
			out.Mode = profiles.EgressAllowlist // the list is all that the compact form says
		}
	case profiles.EgressOff:
	case profiles.EgressGatewayOnly, profiles.EgressAllowlist:
		out.Mode = n.Mode
	default:
		d.report("spec.network.mode", CodeUnsupported, "", "no network mode is called %q", clip(n.Mode))
	}
	if n.Mode != "" {
		out.Rule = d.rule("spec.network.mode")
	}
	for i, e := range n.Egress {
		if rule, ok := d.egressRule(fmt.Sprintf("spec.network.egress[%d]", i), e); ok {
			out.Allow = append(out.Allow, rule)
		}
	}
	for i, host := range n.Deny {
		at := fmt.Sprintf("spec.network.deny[%d]", i)
		entry, err := readHost(host)
		if err != nil {
			d.report(at, CodeEgressEntry, "", "%q: %s", clip(host), err)
			continue
		}
		if len(entry.Ports) == 0 {
			entry.AnyPort = true
		}
		entry.Rule = d.rule(at)
		out.Deny = append(out.Deny, entry)
	}
	if len(out.Allow) > 0 && out.Mode == profiles.EgressOff {
		d.warn("spec.network.egress", CodeEgressUnused, "network mode allowlist opens what is listed", "hosts are listed, and the network is off: none of them can be reached")
	}
	return out
}

// egressRule compiles one granted host; false when it is none.
func (d *document) egressRule(at string, e schema.Egress) (profiles.EgressRule, bool) {
	entry, err := readHost(e.Host)
	if err != nil {
		d.report(at+".host", CodeEgressEntry, "an entry is a host, *.host, an address or a range, with :port where it is not 443", "%q: %s", clip(e.Host), err)
		return entry, false
	}
	entry.Methods, entry.Paths, entry.Reason, entry.Rule = e.Methods, e.Paths, e.Reason, d.rule(at)
	entry.Ports = append(entry.Ports, e.Ports...)
	for j, p := range e.Ports {
		if p < 1 || p > 65535 {
			d.report(fmt.Sprintf("%s.ports[%d]", at, j), CodeEgressEntry, "", "%d is not a port", p)
		}
	}
	slices.Sort(entry.Ports)
	if entry.Ports = slices.Compact(entry.Ports); len(entry.Ports) == 0 && !entry.AnyPort {
		entry.Ports = []int{443}
	}
	if why := neverReached(entry.Host); why != "" {
		d.warn(at+".host", CodeNeverMatches, "", "%s is never reached: it is %s", entry.Host, why)
	}
	if e.Methods != nil && len(e.Methods) == 0 {
		d.report(at+".methods", CodeNeverMatches, "leave the field out to grant every method", "names no method")
	}
	if e.Paths != nil && len(e.Paths) == 0 {
		d.report(at+".paths", CodeNeverMatches, "leave the field out to grant every path", "names no path")
	}
	for j, p := range e.Paths {
		if strings.ContainsAny(p, "?#\\%*") || strings.ContainsFunc(p, unseen) || path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/" {
			d.report(fmt.Sprintf("%s.paths[%d]", at, j), CodePath, "write the path alone: no query, no escapes, no . or ..", "%q is not a clean path of a request", clip(p))
		}
	}
	return entry, true
}

// readHost reads one entry: host, *.host, address, [address] or range, with an
// optional :port or :*. *.host is every name below host, not host itself.
func readHost(text string) (profiles.EgressRule, error) {
	var r profiles.EgressRule
	host, err := cutPort(text, &r)
	if err != nil {
		return r, err
	}
	if host == "" {
		return r, errors.New("the host is empty")
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		inner, after, closed := strings.Cut(bare, "]")
		if !closed || after != "" && !strings.HasPrefix(after, "/") {
			return r, errors.New("the bracket is not closed")
		}
		bare = inner + after
	}
	if bracketed || strings.Contains(bare, ":") || strings.Contains(bare, "/") || numericHost(bare) {
		r.Host, err = readAddress(bare, bracketed)
		return r, err
	}
	r.Host, err = readName(bare)
	return r, err
}

// cutPort takes the port off. A text with several colons and no bracket is a
// bare IPv6 address.
func cutPort(text string, r *profiles.EgressRule) (string, error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasSuffix(text, "]") || strings.HasPrefix(text, "[") && i < strings.IndexByte(text, ']') ||
		!strings.HasPrefix(text, "[") && strings.Count(text, ":") > 1 {
		return text, nil
	}
	host, port := text[:i], text[i+1:]
	if port == "*" {
		r.AnyPort = true
		return host, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return "", fmt.Errorf("%q is not a port", clip(port))
	}
	r.Ports = []int{int(n)}
	return host, nil
}

// numericHost reports whether resolvers may read the name as an address.
func numericHost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if strings.HasPrefix(last, "0x") {
		return true
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func readAddress(text string, bracketed bool) (string, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return "", errors.New("not a range such as 10.0.0.0/8")
		}
		if p != p.Masked() {
			return "", fmt.Errorf("the range has bits outside its mask; write %s", p.Masked())
		}
		if p.Addr().Is4In6() {
			return "", errors.New("write the IPv4 range itself")
		}
		if bracketed && p.Addr().Is4() {
			return "", errors.New("brackets are for IPv6")
		}
		if p.Bits() == 0 {
			return "", errors.New("the range is the whole internet")
		}
		return p.String(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return "", errors.New("not an address in its usual form")
	}
	if a.Zone() != "" {
		return "", errors.New("an address has no zone here")
	}
	if bracketed && a.Is4() {
		return "", errors.New("brackets are for IPv6")
	}
	return a.Unmap().String(), nil
}

// neverReached says why no connection is made to a listed address, "" where
// one may be.
func neverReached(host string) string {
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return ""
	case a.IsUnspecified():
		return "no address of a host"
	case a.IsMulticast(), a.Is4() && a.As4()[0] >= 240:
		return "no address of one host"
	case a.IsLinkLocalUnicast():
		return "link-local, where metadata services are"
	default:
		return ""
	}
}

// readName reads a DNS name, or a wildcard over one that is no top-level
// domain. Every *.d is of any depth, so **.d is the same.
func readName(host string) (string, error) {
	name, wild := strings.CutPrefix(host, "**.")
	if !wild {
		name, wild = strings.CutPrefix(host, "*.")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case strings.Contains(name, "*"):
		return "", errors.New("a * stands only at the front, before a dot")
	case name == "" || len(name) > 253:
		return "", errors.New("a name has 1 to 253 characters")
	case wild && !strings.Contains(name, "."):
		return "", errors.New("a wildcard needs a domain below a top-level one")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return "", errors.New("a part of the name has 1 to 63 characters")
		}
		for _, c := range label {
			if c >= 0x80 {
				return "", errors.New("write the name in its ASCII form, xn--…")
			}
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return "", fmt.Errorf("%q cannot stand in a name", c)
			}
		}
	}
	if wild {
		return "*." + name, nil
	}
	return name, nil
}
