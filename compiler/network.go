package compiler

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	has "github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/schema"
)

// network compiles the hosts and gateways of a document.
type network struct{ *document }

// egress compiles the network.
func (d network) egress() profiles.Egress {
	n := d.policy.Spec.Network
	out := profiles.Egress{Mode: profiles.EgressOff}
	if n == nil {
		d.idleFetch()
		return out
	}
	out.Rule = d.ruleOr("spec.network.mode", d.rule("spec.network"))
	switch n.Mode {
	case "":
		if d.policy.Compact && len(n.Egress) > 0 {
			out.Mode = profiles.EgressAllowlist // the compact form has only a list
		}
	case profiles.EgressOff:
	case profiles.EgressGatewayOnly, profiles.EgressAllowlist:
		out.Mode = n.Mode
	default:
		d.report("spec.network.mode", CodeUnsupported, "", "no network mode is called %q", clip(n.Mode))
	}
	for i, e := range n.Egress {
		if rule, ok := d.egressRule(fmt.Sprintf("spec.network.egress[%d]", i), e); ok {
			out.Allow = append(out.Allow, rule)
		}
	}
	for i, host := range n.Deny {
		if rule, ok := d.deniedHost(fmt.Sprintf("spec.network.deny[%d]", i), host); ok {
			out.Deny = append(out.Deny, rule)
		}
	}
	out.Gateways = d.gateways(n.Gateways)
	if out.Mode == profiles.EgressGatewayOnly && n.Gateways == nil {
		out.Gateways = []profiles.Gateway{{Name: layers.DefaultGateway, Rule: out.Rule}}
	}
	d.unusedEgress(n, out.Mode)
	if out.Mode == profiles.EgressOff {
		d.idleFetch()
	}
	if len(out.Allow) == len(n.Egress) && len(out.Deny) == len(n.Deny) { // otherwise the positions do not match
		d.overlaps(n, &out)
	}
	return out
}

// unusedEgress warns of entries that the network mode ignores. In the compact form the hosts and the mode
// belong to different rings. There, hosts are no mistake if the mode is gateway-only: the author may keep them
// for later.
func (d network) unusedEgress(n *schema.Network, mode string) {
	const allowlist = "network mode allowlist opens what is listed"
	switch {
	case len(n.Egress) > 0 && mode == profiles.EgressOff:
		d.warn("spec.network.egress", codeEgressUnused, allowlist,
			"hosts are listed, and the network is off: none of them can be reached")
	case len(n.Egress) > 0 && mode == profiles.EgressGatewayOnly && !d.policy.Compact:
		d.warn("spec.network.egress", codeEgressUnused, allowlist,
			"hosts are listed, and the network reaches only gateways: none of them can be reached")
	}
	switch {
	case len(n.Gateways) > 0 && mode == profiles.EgressOff:
		d.warn("spec.network.gateways", codeEgressUnused, "network mode gateway-only opens them",
			"gateways are set up, and the network is off: none of them can be reached")
	case n.Gateways != nil && len(n.Gateways) == 0 && mode == profiles.EgressGatewayOnly:
		d.warn("spec.network.gateways", codeEgressUnused,
			"leave the field out for the gateway of the host's configuration",
			"names no gateway, and the network reaches only gateways")
	}
}

// idleFetch warns of the bridge fetch if the network is off.
func (d network) idleFetch() {
	for i, b := range d.policy.Spec.Bridges {
		if b.Name == "fetch" {
			d.warn(fmt.Sprintf("spec.bridges[%d].name", i), codeEgressUnused,
				"network mode allowlist opens what is listed, gateway-only the gateways",
				"the network is off: fetch reaches nothing, unless a host performs it in another way")
		}
	}
}

// egressRule compiles one granted host. It returns false if the host is invalid.
func (d network) egressRule(at string, e schema.Egress) (profiles.EgressRule, bool) {
	rule, ok := d.entry(at+".host", e.Host)
	if !ok {
		return rule, false
	}
	rule.Methods, rule.Paths, rule.Reason, rule.Rule = e.Methods, e.Paths, e.Reason, d.rule(at)
	if len(e.Ports) > 0 && (rule.AnyPort || len(rule.Ports) > 0) {
		d.report(at+".ports", codeEgressEntry, "write it once", "%q names its port already", clip(e.Host))
	}
	rule.Ports = append(rule.Ports, e.Ports...)
	for j, p := range e.Ports {
		if p < 1 || p > 65535 {
			d.report(fmt.Sprintf("%s.ports[%d]", at, j), codeEgressEntry, "", "%d is not a port", p)
		}
	}
	slices.Sort(rule.Ports)
	if rule.Ports = slices.Compact(rule.Ports); len(rule.Ports) == 0 && !rule.AnyPort {
		rule.Ports = []int{443}
	}
	tls := rule.AnyPort || slices.Contains(rule.Ports, 443)
	if e.TLS != "" && e.TLS != "passthrough" {
		d.report(at+".tls", CodeUnsupported,
			"a gateway to the host reads its requests, and no certificate is forged for it",
			"nothing opens TLS to read it")
	}
	d.requests(at, e.Methods, e.Paths)
	d.opaque(at, rule, tls)
	if rule.ECH = e.ECH != nil && *e.ECH; rule.ECH && !tls {
		d.warn(at+".ech", codeNeverMatches, "",
			"only connections to port 443 are checked for it, and the entry has another port")
	}
	rule.Limits, rule.Expires = d.egressLimits(at+".limits", e.Limits), d.expiry(at+".expires", e.Expires)
	if id, end := d.grantingException(at); id != "" {
		if rule.Exception = id; rule.Expires == nil || end.Before(*rule.Expires) {
			rule.Expires = end
		}
	}
	rule.Powers, rule.Under = touchedPowers(e.Powers), sharedBudgets(e.Under)
	d.outward(at+".powers", e.Powers, has.OfHost(rule))
	d.warnBroad(at+".host", rule.Host)
	d.warnUnreachable(at+".host", rule.Host)
	if a, err := netip.ParseAddr(rule.Host); err == nil && a.IsLoopback() && rule.AnyPort {
		d.warn(at+".host", codeNeverMatches, "name the ports",
			"%s can be reached only on ports that an entry names, and this entry names none", rule.Host)
	}
	return rule, true
}

// deniedHost compiles one denied host. Without a port it is denied on every port.
func (d network) deniedHost(at, host string) (profiles.EgressRule, bool) {
	rule, ok := d.entry(at, host)
	if len(rule.Ports) == 0 {
		rule.AnyPort = true
	}
	rule.Rule = d.rule(at)
	return rule, ok
}

// entry reads a listed host with its port.
func (d network) entry(at, text string) (profiles.EgressRule, bool) {
	e, err := egress.ReadEntry(text)
	if err != nil {
		d.report(at, codeEgressEntry, "an entry is a host, *.host, an address or a range, with :port where it is "+
			"not 443", "%q: %s", clip(text), err)
		return profiles.EgressRule{}, false
	}
	if _, virtual := egress.Label(strings.TrimPrefix(e.Host, "*.")); virtual &&
		!strings.HasPrefix(at, "spec.network.deny") {
		d.report(at, codeEgressEntry, "name it in network.gateways", "%q: names below %s are gateways", clip(text),
			egress.Domain)
		return profiles.EgressRule{}, false
	}
	return profiles.EgressRule{Host: e.Host, Ports: e.Ports, AnyPort: e.AnyPort}, true
}

// requests checks the methods and paths of a rule.
func (d network) requests(at string, methods, paths []string) {
	if methods != nil && len(methods) == 0 {
		d.report(at+".methods", codeNeverMatches, "leave the field out to grant every method", "names no method")
	}
	if paths != nil && len(paths) == 0 {
		d.report(at+".paths", codeNeverMatches, "leave the field out to grant every path", "names no path")
	}
	for j, p := range paths {
		if !egress.CleanPath(p) {
			d.report(fmt.Sprintf("%s.paths[%d]", at, j), codePath,
				"write the path alone: no query, no escapes, no . or ..", "%q is not a clean path of a request",
				clip(p))
		}
	}
}

// opaque rejects methods and paths where requests cannot be read.
func (d network) opaque(at string, rule profiles.EgressRule, tls bool) {
	if !tls {
		return
	}
	why := "port 443 carries TLS, so ringd cannot read the requests"
	if rule.AnyPort {
		why = "ringd cannot read the requests of every port"
	}
	const hint = "grant a gateway for the host (network.gateways): its requests are read; or leave them out to " +
		"grant the whole host"
	if len(rule.Methods) > 0 {
		d.report(at+".methods", codeEgressOpaque, hint, "methods have no effect here: %s", why)
	}
	if len(rule.Paths) > 0 {
		d.report(at+".paths", codeEgressOpaque, hint, "paths have no effect here: %s", why)
	}
}

// egressLimits compiles the limits of a rule.
func (d network) egressLimits(at string, l *schema.EgressLimits) (out profiles.EgressLimits) {
	if l == nil {
		return out
	}
	const none = "leave it out for no limit"
	for _, f := range []struct {
		name, text string
		read       func(path, text string) (int64, bool)
		to         *int64
	}{
		{"up", l.Up, d.size, &out.UpBytes},
		{"down", l.Down, d.size, &out.DownBytes},
		{"rate", l.Rate, d.rate, &out.PerMinute},
	} {
		if f.text == "" {
			continue
		}
		n, ok := f.read(at+"."+f.name, f.text)
		if *f.to = n; ok && n < 1 {
			d.report(at+"."+f.name, CodeLimit, none, "must be above 0")
		}
	}
	if c := l.Connections; c != nil {
		if out.Connections = *c; *c < 1 {
			d.report(at+".connections", CodeLimit, none, "must be above 0")
		}
	}
	return out
}

// sharedBudgets compiles the entries of the layers above whose limits apply in addition to the rule's own. The
// merge of the layers has already parsed those entries.
func sharedBudgets(list []schema.Entry) (out []profiles.Budget) {
	for _, e := range list {
		out = append(out, profiles.Budget{Host: e.Host, Ports: e.Ports, AnyPort: e.AnyPort, Methods: e.Methods,
			Paths: e.Paths, Rule: ruleAt(schema.Origin{Pos: e.Pos, Path: e.Path, Layer: e.Layer}),
			Limits: profiles.EgressLimits{UpBytes: e.Up, DownBytes: e.Down, Connections: e.Connections,
				PerMinute: e.PerMinute}})
	}
	return out
}

// rate reads a rate such as 60/m as a number for each minute.
func (d network) rate(path, text string) (int64, bool) {
	n, ok := schema.Rate(text)
	if !ok {
		d.report(path, codeRate, "", "%q is not a rate such as 60/m or 10/s", clip(text))
	}
	return n, ok
}

// expiry reads the time at which a rule expires. A date means its first moment. There is no clock here, so an
// expiry in the past is accepted.
func (d *document) expiry(path, text string) *time.Time {
	if text == "" {
		return nil
	}
	if at, ok := layers.ExceptionEnd(text); ok {
		return &at
	}
	d.report(path, codeDate, "", "%q is no day of the calendar, or no time of a day", clip(text))
	return nil
}

// warnBroad warns of very broad entries.
func (d network) warnBroad(at, host string) {
	const hint = "name what is needed"
	if domain, wild := strings.CutPrefix(host, "*."); wild {
		if suffix, _ := publicsuffix.PublicSuffix(domain); suffix == domain {
			d.warn(at, codeEgressBroad, hint, "anyone can register a name below %s", domain)
		}
		return
	}
	if p, err := netip.ParsePrefix(host); err == nil && (p.Addr().Is4() && p.Bits() < 8 || p.Addr().Is6() &&
		p.Bits() < 16) {
		d.warn(at, codeEgressBroad, hint, "the range holds a large part of the internet")
	}
}

// kinds lists the ranges of special addresses. Some of these ranges are reached only if the policy lists them
// in an entry of their own. The others are never reached.
func kinds() []struct{ what, text string } {
	return []struct{ what, text string }{
		{"no address of a host", "0.0.0.0/8"}, {"loopback", "127.0.0.0/8"}, {"loopback", "::1/128"},
		{"link-local, where metadata services are", "169.254.0.0/16"}, {"link-local", "fe80::/10"},
		{"a metadata service", "100.100.100.200/32"}, {"a metadata service", "168.63.129.16/32"},
		{"a metadata service", "192.0.0.192/32"},
		{"a metadata service", "fd00:ec2::254/128"}, {"a metadata service", "fd20:ce::254/128"},
		{"multicast", "224.0.0.0/4"}, {"multicast", "ff00::/8"}, {"reserved", "240.0.0.0/4"},
		{"private", "10.0.0.0/8"}, {"private", "172.16.0.0/12"}, {"private", "192.168.0.0/16"}, {"private", "fc00::/7"},
		{"shared by carriers", "100.64.0.0/10"}, {"6to4", "2002::/16"}, {"Teredo", "2001::/32"},
	}
}

// warnUnreachable warns of addresses that stay unreachable despite a listed address or range.
func (d network) warnUnreachable(at, host string) {
	listed, err := netip.ParsePrefix(host)
	if a, ok := netip.ParseAddr(host); ok == nil {
		listed, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	if err != nil {
		return
	}
	var apart []string
	hint := ""
	for _, k := range kinds() {
		inner := netip.MustParsePrefix(k.text)
		if !inner.Overlaps(listed) {
			continue
		}
		if listed.Bits() > inner.Bits() {
			inner = listed
		}
		sample := inner.Addr()
		if !inner.IsSingleIP() {
			sample = sample.Next() // the first address of a range may be of another kind
		}
		alone := egress.Upstream(sample, []netip.Prefix{netip.PrefixFrom(sample, sample.BitLen())}) == nil
		switch {
		case egress.Upstream(sample, []netip.Prefix{listed}) == nil:
			continue
		case inner == listed && !alone:
			d.warn(at, codeNeverMatches, "", "%s is never reached: it is %s", host, k.what)
			return
		case alone:
			hint = "list the needed addresses of these kinds in separate entries"
		}
		apart = append(apart, fmt.Sprintf("%s (%s)", inner, k.what))
	}
	if len(apart) > 0 {
		d.warn(at, codeNeverMatches, hint, "the range %s does not allow these addresses in it: %s", host,
			strings.Join(apart, ", "))
	}
}

// overlaps warns of rules that have no effect because of another rule.
func (d network) overlaps(n *schema.Network, out *profiles.Egress) {
	denied, opaque := indexRules(out.Deny, nil), indexRules(out.Allow,
		func(r *profiles.EgressRule) bool { return len(r.Methods) == 0 && len(r.Paths) == 0 })
	for i := range out.Allow {
		r := &out.Allow[i]
		at := fmt.Sprintf("spec.network.egress[%d]", i)
		// identical texts are a finding of package schema
		if j := denied.covering(r); j >= 0 && n.Deny[j] != n.Egress[i].Host {
			other := d.origin(fmt.Sprintf("spec.network.deny[%d]", j))
			d.add(d.origin(at+".host"), schema.Diagnostic{Code: codeDenyWins, Severity: schema.Warning,
				Related: []schema.Pos{other.Pos},
				Msg:     fmt.Sprintf("%s is denied at %s, and a denial wins", clip(n.Egress[i].Host), other.Pos)})
		}
		if len(r.Methods) == 0 && len(r.Paths) == 0 {
			continue
		}
		if j := opaque.covering(r); j >= 0 {
			other := d.origin(fmt.Sprintf("spec.network.egress[%d]", j))
			d.add(d.origin(at), schema.Diagnostic{Code: codeNeverMatches, Severity: schema.Warning,
				Related: []schema.Pos{other.Pos},
				Msg: fmt.Sprintf("its methods and paths have no effect: the entry at %s grants every request",
					other.Pos),
				Hint: "give that entry methods and paths as well, or other ports"})
		}
	}
}

// ruleIndex finds the rules that cover another one completely.
type ruleIndex struct {
	rules []*profiles.EgressRule
	at    []int
	hosts egress.PatternIndex
}

// indexRules indexes the rules for which wanted is true, or all if it is nil.
func indexRules(rules []profiles.EgressRule, wanted func(*profiles.EgressRule) bool) ruleIndex {
	var x ruleIndex
	var patterns []egress.Pattern
	for i := range rules {
		p, err := egress.ReadPattern(rules[i].Host)
		if err != nil || wanted != nil && !wanted(&rules[i]) {
			continue
		}
		patterns, x.rules, x.at = append(patterns, p), append(x.rules, &rules[i]), append(x.at, i)
	}
	x.hosts = egress.NewPatternIndex(patterns)
	return x
}

// covering returns the position of a rule that covers every host and port of r, or -1.
func (x ruleIndex) covering(r *profiles.EgressRule) int {
	p, err := egress.ReadPattern(r.Host)
	if err != nil {
		return -1
	}
	for _, i := range x.hosts.Covering(p) {
		ports := x.rules[i]
		if ports.AnyPort || !r.AnyPort && !slices.ContainsFunc(r.Ports,
			func(p int) bool { return !slices.Contains(ports.Ports, p) }) {
			return x.at[i]
		}
	}
	return -1
}
