package profiles_test

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

func egressNow() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// anyHost is an entry of a list, anyTarget what somebody asks for.
func anyHost(r *rand.Rand) string {
	return pick(r, "a.test", "b.a.test", "c.b.a.test", "*.a.test", "*.b.a.test", "x.test", "*.x.test", "a.test.test",
		"gateway.ringd.internal", "models.ringd.internal",
		"*.ringd.internal", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "8.0.0.0/5", "127.0.0.0/8", "127.0.0.1", "127.0.0.1/32", "100.64.0.0/10", "100.0.0.0/8", "93.184.0.0/16",
		"93.184.215.14", "2001:db8::/32", "2001:db8::1", "::1", "fc00::/6", "fd00::/8", "fd00::1", "64:ff9b::/96", "64:ff9b::a01:203", "64:ff9b::7f00:1", "169.254.0.0/16")
}

func anyTarget(r *rand.Rand) egress.Dest {
	d := egress.Dest{Port: uint16(pickInt(r, 80, 443, 444, 8080))}
	if r.IntN(2) > 0 {
		d.Name = pick(r, "a.test", "b.a.test", "c.b.a.test", "d.c.b.a.test", "x.test", "y.x.test", "test",
			"gateway.ringd.internal", "models.ringd.internal", "ringd.internal")
		return d
	}
	d.Addr = anyAddress(r)
	return d
}

func anyAddress(r *rand.Rand) netip.Addr {
	return netip.MustParseAddr(pick(r, "10.1.2.3", "10.1.9.9", "10.9.9.9", "127.0.0.1", "127.0.0.2", "100.64.0.1",
		"100.1.1.1", "100.100.100.200", "93.184.215.14", "93.184.1.1",
		"1.1.1.1", "2001:db8::1", "2606:4700::1", "::1", "fd00::1", "fd00::2", "fe80::1", "64:ff9b::a01:203", "64:ff9b::7f00:1", "64:ff9b::5db8:d70e", "169.254.169.254"))
}

func pickInt(r *rand.Rand, choices ...int) int { return choices[r.IntN(len(choices))] }

func someOf(r *rand.Rand, words ...string) (out []string) {
	for _, w := range words {
		if r.IntN(2) > 0 {
			out = append(out, w)
		}
	}
	return out
}

func anyLimits(r *rand.Rand) profiles.EgressLimits {
	some := func() int64 { return int64(r.IntN(3)) * int64(r.IntN(100)) }
	if r.IntN(2) > 0 {
		return profiles.EgressLimits{}
	}
	return profiles.EgressLimits{UpBytes: some(), DownBytes: some(), Connections: some(), PerMinute: some()}
}

func anyExpiry(r *rand.Rand) *time.Time {
	if r.IntN(3) > 0 {
		return nil
	}
	at := egressNow().Add(time.Duration(r.IntN(5)-2) * time.Hour)
	return &at
}

func anyEgressRule(r *rand.Rand) profiles.EgressRule {
	e := profiles.EgressRule{Host: anyHost(r), AnyPort: r.IntN(5) == 0, ECH: r.IntN(2) == 0, Limits: anyLimits(r),
		Expires: anyExpiry(r)}
	if !e.AnyPort {
		e.Ports = []int{pickInt(r, 80, 443, 443, 444)}
		if r.IntN(3) == 0 {
			e.Ports = append(e.Ports, 8080)
		}
	}
	if r.IntN(3) == 0 {
		e.Methods, e.Paths = someOf(r, "GET", "POST"), someOf(r, "/v1", "/v2/a")
	}
	return e
}

func anyEgress(r *rand.Rand) profiles.Egress {
	e := profiles.Egress{Mode: pick(r, profiles.EgressOff, profiles.EgressAllowlist, profiles.EgressAllowlist,
		profiles.EgressAllowlist, profiles.EgressGatewayOnly)}
	for range r.IntN(6) {
		e.Allow = append(e.Allow, anyEgressRule(r))
	}
	for range r.IntN(3) {
		e.Deny = append(e.Deny, profiles.EgressRule{Host: anyHost(r), AnyPort: r.IntN(2) > 0, Ports: []int{443}})
	}
	for _, name := range someOf(r, "gateway", "models") {
		e.Gateways = append(e.Gateways, profiles.Gateway{Name: name, Methods: someOf(r, "GET", "POST"),
			Paths: someOf(r, "/v1", "/v2/a"), Limits: anyLimits(r), Expires: anyExpiry(r)})
	}
	return e
}

// egressNarrowings returns copies of a network with one grant less, one denial
// more, or a grant for less.
func egressNarrowings(e profiles.Egress, r *rand.Rand) map[string]profiles.Egress {
	out := map[string]profiles.Egress{}
	with := func(name string, change func(*profiles.Egress)) {
		c := e
		c.Allow, c.Deny, c.Gateways = slices.Clone(e.Allow), slices.Clone(e.Deny), slices.Clone(e.Gateways)
		change(&c)
		out["egress "+name] = c
	}
	before := egressNow().Add(-time.Hour)
	with("off", func(c *profiles.Egress) { c.Mode = profiles.EgressOff })
	with("deny", func(c *profiles.Egress) {
		c.Deny = append(c.Deny, profiles.EgressRule{Host: anyHost(r), AnyPort: r.IntN(2) > 0, Ports: []int{80}})
	})
	if e.Mode == profiles.EgressAllowlist {
		with("gateways alone", func(c *profiles.Egress) { c.Mode = profiles.EgressGatewayOnly })
	}
	if n := len(e.Allow); n > 0 {
		i := r.IntN(n)
		with("allow", func(c *profiles.Egress) { c.Allow = slices.Delete(c.Allow, i, i+1) })
		_, addr := netip.ParseAddr(e.Allow[i].Host)
		_, block := netip.ParsePrefix(e.Allow[i].Host)
		switch named := addr != nil && block != nil; {
		case e.Allow[i].AnyPort && named: // for a private address any port is less than one that is written
			with("any port", func(c *profiles.Egress) { c.Allow[i].AnyPort, c.Allow[i].Ports = false, []int{443, 444} })
		case len(e.Allow[i].Ports) > 1:
			with("port", func(c *profiles.Egress) { c.Allow[i].Ports = c.Allow[i].Ports[:1] })
		}
		with("expires", func(c *profiles.Egress) { c.Allow[i].Expires = &before })
		with("ech", func(c *profiles.Egress) { c.Allow[i].ECH = false })
		if e.Allow[i].Methods == nil {
			with("methods", func(c *profiles.Egress) { c.Allow[i].Methods = []string{"GET"} })
		}
		if e.Allow[i].Paths == nil {
			with("paths", func(c *profiles.Egress) { c.Allow[i].Paths = []string{"/v2"} })
		}
	}
	if n := len(e.Gateways); n > 0 {
		i := r.IntN(n)
		with("gateway", func(c *profiles.Egress) { c.Gateways = slices.Delete(c.Gateways, i, i+1) })
		with("gateway expires", func(c *profiles.Egress) { c.Gateways[i].Expires = &before })
		if e.Gateways[i].Methods == nil {
			with("gateway methods", func(c *profiles.Egress) { c.Gateways[i].Methods = []string{"GET"} })
		}
		if e.Gateways[i].Paths == nil {
			with("gateway paths", func(c *profiles.Egress) { c.Gateways[i].Paths = []string{"/v2"} })
		}
	}
	return out
}

func anyEgressAction(r *rand.Rand) egress.Action {
	d := anyTarget(r)
	a := egress.Action{Kind: pick(r, "connect", "connect", "http", "socks5", "fetch", "dns"), Target: d.String()}
	for range r.IntN(3) {
		a.ResolvesTo = append(a.ResolvesTo, anyAddress(r).String())
	}
	if r.IntN(2) > 0 {
		a.ResolveMode = "rrset"
	}
	switch a.Kind {
	case "http":
		host := d.String()
		a.Target, a.Method, a.HostHeader = "http://"+host+pick(r, "/v1", "/v1/x", "/v2/a/b", "/"),
			pick(r, "GET", "POST"), &host
	case "fetch":
		a.Target, a.Method = pick(r, "http://", "https://")+d.String()+pick(r, "/v1", "/v2/a", "/"),
			pick(r, "GET", "POST")
	case "socks5":
		a.Atyp = "domain"
		if d.Addr.Is4() {
			a.Atyp = "ipv4"
		} else if d.Addr.IsValid() {
			a.Atyp = "ipv6"
		}
	case "dns":
		a.Target = d.Host()
	}
	if sni := cmp.Or(d.Name, "other.test"); r.IntN(3) == 0 {
		a.SNI, a.ECH = &sni, r.IntN(3) == 0
	}
	if r.IntN(5) == 0 { // an encrypted hello
		name := pick(r, "a.test", "b.a.test", "c.b.a.test", "x.test")
		return egress.Action{Kind: "connect", Target: name + ":443", SNI: &name, ECH: true}
	}
	if r.IntN(5) == 0 {
		host := pick(r, "gateway", "models") + "." + egress.Domain
		return egress.Action{Kind: "http", Target: "http://" + host + pick(r, "/v1", "/v1/x", "/v2/a/b"),
			Method: pick(r, "GET", "POST"), HostHeader: &host}
	}
	return a
}

// looser says in what a network lets more pass than another does for one target;
// "" when in nothing.
func looser(r *rand.Rand, wide, thin *profiles.Decider) (what string, narrower bool) {
	now, d := egressNow(), anyTarget(r)
	before, after := profiles.Connect(d, now, wide), profiles.Connect(d, now, thin)
	switch {
	case after.Allowed() && !before.Allowed():
		return "reaches " + d.String(), false
	case !after.Allowed():
		return "", before.Allowed()
	case before.Match().Reads && !after.Match().Reads:
		return "does not read the requests to " + d.String(), false
	}
	answers := []netip.Addr{anyAddress(r), anyAddress(r), anyAddress(r)}
	was, is := before.Addresses(answers, now).Dial(), after.Addresses(answers, now).Dial()
	for _, a := range is {
		if !slices.Contains(was, a) {
			return "dials " + a.String() + " for " + d.String(), false
		}
	}
	method, path := pick(r, "GET", "POST", "PUT"), pick(r, "/v1", "/v1/x", "/v2/a/b", "/")
	asked, stays := before.Request(method, path, "", now), after.Request(method, path, "", now)
	if stays.Allowed() && !asked.Allowed() {
		return "sends " + method + " " + path + " to " + d.String(), false
	}
	if stays.Allowed() {
		if why := looserLimits(asked, stays); why != "" {
			return why + " for " + method + " " + path + " to " + d.String(), false
		}
	}
	if why := looserLimits(before, after); why != "" {
		return why + " for " + d.String(), false
	}
	return "", len(is) < len(was)
}

// counting is the rule or the gateway whose limits count for a connection.
func counting(c profiles.Connection) (rule *profiles.EgressRule, gateway *profiles.Gateway) {
	for rule, gateway = range c.Rules() {
		break
	}
	return rule, gateway
}

func looserLimits(wide, thin profiles.Connection) string {
	x, before := counting(wide)
	y, after := counting(thin)
	if before != nil && after != nil {
		if before.Name != after.Name || before.Limits != after.Limits {
			return "another gateway"
		}
		return ""
	}
	if x == nil || y == nil {
		return "no rule"
	}
	grown := func(a, b int64) bool { return a > 0 && (b == 0 || b > a) }
	switch {
	case grown(x.Limits.UpBytes, y.Limits.UpBytes), grown(x.Limits.DownBytes, y.Limits.DownBytes),
		grown(x.Limits.Connections, y.Limits.Connections), grown(x.Limits.PerMinute, y.Limits.PerMinute):
		return "larger limits"
	case x.Limits != (profiles.EgressLimits{}) && cmp.Or(x.Of, x.Host) != cmp.Or(y.Of, y.Host):
		return "limits of its own"
	}
	return ""
}

// A network narrowed by a list of hosts reaches no more, dials no more, sends no
// more, and has no more of any limit: parts of one entry share it.
func TestNarrowNeverWidensEgress(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	narrowed, kept := 0, 0
	for range 3000 {
		a := profiles.Agent{Egress: anyEgress(r)}
		g := profiles.Grants{Hosts: []string{}}
		for range 1 + r.IntN(6) {
			g.Hosts = append(g.Hosts, anyHost(r))
		}
		b, err := a.Narrow(g)
		if err != nil {
			t.Fatalf("%q: %v", g.Hosts, err)
		}
		env := profiles.Environment{Now: egressNow()}
		wide, thin := profiles.NewDecider(a, "", env), profiles.NewDecider(b, "", env)
		for range 20 {
			what, less := looser(r, wide, thin)
			if what != "" {
				t.Fatalf("narrowed by %q it %s:\n%+v\nbecame\n%+v", g.Hosts, what, a.Egress, b.Egress)
			}
			if less {
				narrowed++
			}
			if d := anyTarget(r); !granted(t, g.Hosts, d.Host()) {
				if profiles.Connect(d, egressNow(), thin).Allowed() {
					t.Fatalf("narrowed by %q it reaches %s: %+v", g.Hosts, d, b.Egress)
				}
			}
			action := anyEgressAction(r)
			x, y := wide.Egress(action), thin.Egress(action)
			if y.Verdict > x.Verdict {
				t.Fatalf("narrowed by %q: %+v was %+v and became %+v", g.Hosts, action, x, y)
			}
			if y.Verdict == profiles.Allow {
				kept++
			}
		}
	}
	if narrowed < 200 || kept < 200 {
		t.Errorf("%d narrowed, %d kept: the test proves nothing", narrowed, kept)
	}
}

// granted reports whether a list of hosts holds one.
func granted(t *testing.T, list []string, host string) bool {
	t.Helper()
	one, err := egress.ReadPattern(host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(text string) bool {
		p, err := egress.ReadPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return p.Covers(one)
	})
}

// What only changes the network changes nothing of how a guest is enclosed, so a
// list of hosts that is pushed keeps the guests that are there.
func TestKernelKnowsNoHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	a := profiles.Agent{Python: &profiles.Python{}, Shell: &profiles.Shell{}, JS: &profiles.JS{}}
	for range 50 {
		one, two := a, a
		one.Egress, two.Egress = anyEgress(r), anyEgress(r)
		if one.Egress.Mode == profiles.EgressOff || two.Egress.Mode == profiles.EgressOff {
			continue
		}
		for _, executor := range []string{profiles.ExecutorPython, profiles.ExecutorShell, profiles.ExecutorJS} {
			x, _ := one.Kernel(executor)
			y, _ := two.Kernel(executor)
			dx, errx := x.Digest()
			dy, erry := y.Digest()
			if errx != nil || erry != nil || dx != dy || !x.Within(y) || !y.Within(x) {
				t.Fatalf("%s: %+v and %+v (%v, %v)", executor, x, y, errx, erry)
			}
			if want := map[bool]string{true: profiles.NetworkOff,
				false: profiles.NetworkOwn}[executor == profiles.ExecutorJS]; x.Network != want {
				t.Fatalf("%s has the network %s", executor, x.Network)
			}
		}
	}
}
