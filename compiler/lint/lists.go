package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// network checks the hosts of one document.
func (c *check) network(p *schema.Policy) {
	n := p.Spec.Network
	if n == nil {
		return
	}
	for i, e := range n.Egress {
		here := fmt.Sprintf("spec.network.egress[%d]", i)
		host, port := split(e.Host)
		if strings.HasPrefix(host, "*.") || strings.HasPrefix(host, "**.") {
			c.report(p, here+".host", codeWildcard, "name the hosts that are meant", "",
				"%s matches every name below a domain, including future ones", e.Host)
		}
		if port == "*" {
			c.report(p, here+".host", codeAnyPort, "name the ports: ports: [443]", "", "%s is every port of the host",
				e.Host)
		}
		if len(e.Methods) == 0 && port != "*" && isPlainHTTP(e, port) {
			c.report(p, here, codeAnyMethod, "methods: [GET, HEAD] if nothing has to be sent", "",
				"requests to %s can be read, and every method is allowed", e.Host)
		}
		if e.Expires != "" {
			c.checkDate(p, here+".expires", e.Expires, codeExpired, codeExpiring,
				"remove the entry, or renew it with a reason", e.Host)
		}
	}
	for i, g := range n.Gateways {
		here := fmt.Sprintf("spec.network.gateways[%d]", i)
		if len(g.Methods) == 0 {
			c.report(p, here, codeAnyMethod, "methods: [POST] and paths: [/v1/…] limit it to its purpose", "",
				"gateway %s allows every method, with the host's credential", g.Name)
		}
		if g.Expires != "" {
			c.checkDate(p, here+".expires", g.Expires, codeExpired, codeExpiring,
				"remove the gateway, or renew it with a reason", "gateway "+g.Name)
		}
	}
}

// split separates host and port of an entry. port is "" if there is none.
func split(text string) (host, port string) {
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") && strings.Count(text, ":") == 1 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// isPlainHTTP reports whether an entry is only for port 80, which carries plain HTTP. Other ports may carry any
// protocol.
func isPlainHTTP(e schema.Egress, port string) bool {
	if port != "" {
		return port == "80"
	}
	return len(e.Ports) > 0 && !slices.ContainsFunc(e.Ports, func(p int) bool { return p != 80 })
}

// lists finds entries that another entry of the same list covers.
func (c *check) lists(p *schema.Policy) {
	if e := p.Spec.Executors; e != nil {
		if e.JS != nil && e.JS.Imports != nil {
			c.names(p, "spec.executors.js.imports.deny", e.JS.Imports.Deny)
		}
		if e.Python != nil && e.Python.Imports != nil {
			im := e.Python.Imports
			c.names(p, "spec.executors.python.imports.allow", im.Allow)
			c.names(p, "spec.executors.python.imports.deny", im.Deny)
			c.names(p, "spec.executors.python.imports.denyProcess", im.DenyProcess)
		}
	}
	if f := p.Spec.Filesystem; f != nil {
		c.folders(p, "spec.filesystem.read", f.Read)
		c.folders(p, "spec.filesystem.write", f.Write)
		c.folders(p, "spec.filesystem.deny", f.Deny)
	}
	if n := p.Spec.Network; n != nil {
		c.hosts(p, n.Egress)
		c.denied(p, n.Deny)
	}
}

// shadowed reports entry i of a list, which entry j covers.
func (c *check) shadowed(p *schema.Policy, list string, i, j int, suffix, what, by string) {
	other := fmt.Sprintf("%s[%d]%s", list, j, suffix)
	c.report(p, fmt.Sprintf("%s[%d]%s", list, i, suffix), codeShadowed, "leave one of them out", other,
		"%s is covered by %s", what, by)
}

// covering reports each entry that another one covers. Of two equal ones the first stays. The size of a file
// limits the lists. covers is called for each pair of entries that share a key.
func (c *check) covering(p *schema.Policy, list, suffix string, entries []string, above func(entry string) []string) {
	first := map[string]int{}
	for i, e := range entries {
		if _, ok := first[e]; !ok {
			first[e] = i
		}
	}
	for i, e := range entries {
		for _, by := range above(e) {
			if j, ok := first[by]; ok && j != i && by != e {
				c.shadowed(p, list, i, j, suffix, e, by)
				break
			}
		}
	}
}

// names checks a list of modules: a name covers its submodules, and "*" covers everything.
func (c *check) names(p *schema.Policy, list string, entries []string) {
	cut := make([]string, len(entries))
	for i, e := range entries {
		cut[i] = strings.TrimSuffix(e, ".*")
	}
	c.covering(p, list, "", cut, func(e string) (out []string) {
		if !modules.Dotted(e) {
			return nil
		}
		for i := strings.LastIndexByte(e, '.'); i > 0; i = strings.LastIndexByte(e[:i], '.') {
			out = append(out, e[:i])
		}
		return append(out, "*")
	})
}

// folders checks a list of paths: each covers everything below it.
func (c *check) folders(p *schema.Policy, list string, entries []string) {
	cut := make([]string, len(entries))
	for i, e := range entries {
		if cut[i] = strings.TrimRight(e, "/"); cut[i] == "" {
			cut[i] = "/"
		}
	}
	c.covering(p, list, "", cut, func(e string) (out []string) {
		for i := strings.LastIndexByte(e, '/'); i > 0; i = strings.LastIndexByte(e[:i], '/') {
			out = append(out, e[:i])
		}
		if strings.HasPrefix(e, "/") && e != "/" {
			out = append(out, "/")
		}
		return out
	})
}

// hosts finds egress entries that a wider one always covers. Only an entry without restrictions and expiry
// covers another.
func (c *check) hosts(p *schema.Policy, list []schema.Egress) {
	patterns := make([]egress.Pattern, len(list))
	valid := make([]bool, len(list))
	for i, e := range list {
		host, _ := split(e.Host)
		var err error
		patterns[i], err = egress.ReadPattern(host)
		valid[i] = err == nil
	}
	index := egress.NewPatternIndex(patterns)
	for i, e := range list {
		if !valid[i] {
			continue
		}
		for _, j := range index.Covering(patterns[i]) {
			if j == i || !valid[j] || !wider(list[j], e) || wider(e, list[j]) && patterns[i].Covers(patterns[j]) &&
				i < j {
				continue
			}
			c.shadowed(p, "spec.network.egress", i, j, ".host", e.Host, list[j].Host)
			break
		}
	}
}

// wider reports whether an entry allows everything that another one does, for at least as long. The hosts are
// already compared. An entry with limits of its own counts separately.
func wider(a, b schema.Egress) bool {
	if a.Methods != nil || a.Paths != nil || a.Expires != "" || a.Binaries != nil || a.Limits != nil ||
		b.Limits != nil || b.ECH != nil && (a.ECH == nil || *a.ECH != *b.ECH) || b.Powers != nil {
		return false
	}
	return !slices.ContainsFunc(ports(b), func(port string) bool {
		have := ports(a)
		return !slices.Contains(have, port) && !slices.Contains(have, "*")
	})
}

// ports returns the ports of an entry as text; "*" is every port.
func ports(e schema.Egress) []string {
	if _, port := split(e.Host); port != "" {
		return []string{port}
	}
	if len(e.Ports) == 0 {
		return []string{"443"}
	}
	out := make([]string, len(e.Ports))
	for i, p := range e.Ports {
		out[i] = strconv.Itoa(p)
	}
	return out
}

// denied finds denied hosts that another denial covers. A denial with a port covers only that port.
func (c *check) denied(p *schema.Policy, list []string) {
	var patterns []egress.Pattern
	var of []int
	for i, e := range list {
		host, port := split(e)
		pattern, err := egress.ReadPattern(host)
		if err != nil || port != "" {
			continue
		}
		patterns, of = append(patterns, pattern), append(of, i)
	}
	index := egress.NewPatternIndex(patterns)
	for i, e := range list {
		host, _ := split(e)
		pattern, err := egress.ReadPattern(host)
		if err != nil {
			continue
		}
		for _, j := range index.Covering(pattern) {
			if of[j] != i && list[of[j]] != e {
				c.shadowed(p, "spec.network.deny", i, of[j], "", e, list[of[j]])
				break
			}
		}
	}
}
