package layers_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema"
)

// gen makes random documents of few names, so that they often meet.
type gen struct{ *rand.Rand }

func (g gen) some(words ...string) []string {
	switch g.IntN(5) {
	case 0:
		return nil
	case 1:
		return append([]string{}, words[g.IntN(len(words))])
	}
	out := []string{}
	for _, w := range words {
		if g.IntN(2) == 0 {
			out = append(out, w)
		}
	}
	return out
}

func (g gen) one(words ...string) string { return words[g.IntN(len(words))] }

func maybe[T any](g gen, odds int, v T) *T {
	if g.IntN(odds) == 0 {
		return nil
	}
	return &v
}

func (g gen) number() *int64 { return maybe(g, 2, int64(1+g.IntN(4))) }

func (g gen) limits() *schema.Limits {
	if g.IntN(2) == 0 {
		return nil
	}
	return &schema.Limits{CPU: g.one("", "1s", "2s"), Memory: g.one("", "", "64MiB", "128MiB"),
		Wall: g.one("", "1m", "2m"), Output: g.one("", "1KiB", "1MiB"), Processes: g.number(), Files: g.number()}
}

func (g gen) spec() schema.Spec {
	s := schema.Spec{Audit: g.one("", "strict"), Limits: g.limits()}
	if g.IntN(6) > 0 {
		s.Executors = &schema.Executors{
			Allowed: g.one2(nil, []string{"js", "python", "shell"}, []string{"python", "shell"}),
			MinTier: g.one("", "wasm", "os-sandbox")}
		if g.IntN(4) > 0 {
			s.Executors.Python = &schema.Python{Limits: g.limits(), DenyBuiltins: g.some("eval", "exec"),
				OnDenied: g.one("", "end", "report"), Imports: &schema.PythonImports{
					Allow: g.some("json", "os", "os.path", "pandas", "pandas.core", "urllib", "*"),
					Deny:  g.some("pandas.io", "socket", "requests"), DenyProcess: g.some("ctypes")}}
		}
		if g.IntN(4) > 0 {
			s.Executors.Shell = g.shell()
		}
	}
	if g.IntN(4) > 0 {
		s.Filesystem = &schema.Filesystem{Read: g.some("/a", "/a/b", "/", "$WORKSPACE"),
			Write: g.some("/a", "$WORKSPACE/x", "/c"), Deny: g.some("/a/b/c", "/c/d")}
	}
	if g.IntN(4) > 0 {
		s.Network = g.network()
	}
	if g.IntN(4) > 0 {
		s.Bridges = []schema.Bridge{}
		for _, name := range []string{"one", "two", "three"} {
			if g.IntN(3) > 0 {
				s.Bridges = append(s.Bridges, g.bridge(name))
			}
		}
	}
	if g.IntN(2) == 0 {
		s.Sessions = &schema.Sessions{MaxAge: g.one("", "1h", "2h"), MaxSize: g.one("", "1MiB", "2MiB")}
	}
	return s
}

func (g gen) one2(lists ...[]string) []string { return lists[g.IntN(len(lists))] }

func (g gen) bridge(name string) schema.Bridge {
	b := schema.Bridge{Name: name, DataClass: g.one("", "internal", "public"), Audit: g.one("", "full", "metadata")}
	if g.IntN(2) == 0 {
		b.Limits = &schema.BridgeLimits{CallsPerRun: g.number(), Concurrent: g.number(), SpawnPerCall: g.number(),
			Queue: g.number(), WhenFull: g.one("", "wait", "refuse"),
			RequestBytes: g.one("", "1KiB", "2KiB")}
	}
	if g.IntN(2) == 0 {
		b.Approval = &schema.Approval{Required: true, From: g.one2(
			nil, []string{"group:a"}, []string{"group:a", "group:b"}), ExpiresAfter: g.one("", "1h", "2h"),
			When: g.one("", "", "input.args.a > 1")}
		if b.Approval.From != nil {
			b.Approval.Count = maybe(g, 2, int64(1+g.IntN(2)))
		}
	}
	return b
}

func (g gen) shell() *schema.Shell {
	sh := &schema.Shell{AllowPipes: maybe(g, 2, g.IntN(2) == 0), AllowRedirects: maybe(g, 2, g.IntN(2) == 0),
		Limits: g.limits()}
	for _, name := range []string{"git", "jq", "rg"} {
		if g.IntN(3) > 0 {
			b := schema.Binary{Path: "/usr/bin/" + name}
			if g.IntN(2) == 0 {
				b.Args = &schema.Args{Subcommands: g.one2(nil, []string{"status"}, []string{"status", "remote"},
					[]string{"remote show"}), DenyFlags: g.some("--force", "-x"), MaxArgs: maybe(g, 2, 2+g.IntN(3))}
				if g.IntN(2) == 0 {
					b.Args.Deny = []schema.DenyWords{{Words: g.one("remote add", "push")}}
				}
			}
			sh.Binaries = append(sh.Binaries, b)
		}
	}
	for _, p := range g.some("rm -rf", "jq", "git push") {
		sh.DenyPatterns = append(sh.DenyPatterns, schema.DenyPattern{Pattern: p})
	}
	return sh
}

func (g gen) network() *schema.Network {
	n := &schema.Network{Mode: g.one("allowlist", "allowlist", "gateway-only", "off", ""),
		Deny: g.some("evil.a.test", "10.1.0.0/16", "b.test:80")}
	if g.IntN(5) > 0 {
		n.Egress = []schema.Egress{}
		for _, host := range g.some("*.a.test", "b.a.test", "*.b.a.test", "b.test", "10.0.0.0/8", "10.1.2.3",
			"evil.a.test", "8.0.0.0/5") {
			e := schema.Egress{Host: host, Expires: g.one("", "", "2027-01-01", "2028-01-01")}
			switch g.IntN(4) {
			case 0:
				e.Ports = []int{80}
				e.Methods, e.Paths = g.one2(nil, []string{"GET"}, []string{"GET", "POST"}),
					g.one2(nil, []string{"/v1"}, []string{"/v1/a", "/"})
			case 1:
				e.Ports = []int{80, 8443}
			}
			if g.IntN(3) == 0 {
				e.Limits = &schema.EgressLimits{Up: g.one("", "1KiB", "2KiB"), Rate: g.one("", "1/m", "2/m"),
					Connections: g.number()}
			}
			n.Egress = append(n.Egress, e)
		}
	}
	if g.IntN(3) == 0 {
		for _, name := range g.some("one", "two", "gateway") {
			n.Gateways = append(n.Gateways, schema.Gateway{Name: name,
				Upstream: g.one("https://b.test", "https://b.a.test/v1", "https://c.test", ""),
				Methods:  g.one2(nil, []string{"GET"}, []string{"GET", "POST"})})
		}
	}
	return n
}

// places says where each document stands; a document made here has no text.
func document(kind, name, parent string, s schema.Spec) schema.Policy {
	p := schema.Policy{File: name + ".yaml", Kind: kind, Metadata: schema.Metadata{
		Name: name, Revision: 1, Owner: "team:x@y", Parent: parent}, Spec: s,
		Origins: map[string]schema.Origin{"": {Pos: schema.Pos{File: name + ".yaml", Line: 1, Column: 1}}}}
	return p
}

// alone compiles a document as an agent, so that it can be asked; false: it is none.
func alone(p schema.Policy) (profiles.Agent, bool) {
	if p.Kind != layers.KindAgent { // what a ceiling leaves out it does not bound
		e := schema.Executors{}
		if p.Spec.Executors != nil {
			e = *p.Spec.Executors
		}
		if p.Spec.Executors = &e; e.Allowed == nil {
			e.Allowed = []string{"js", "python", "shell"}
		}
	}
	p.Kind, p.Metadata.Parent, p.Layers = layers.KindAgent, "", nil
	set, _ := compiler.Compile(compiler.Config{Policies: []schema.Policy{p}})
	a, ok := set.Agents[p.Metadata.Name]
	return a, ok
}

// TestNarrowing merges random triples: the order of the documents counts for nothing,
// the effective policy under the same ceilings is itself, and no action that it allows
// is refused by a layer that speaks of it.
func TestNarrowing(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 500
	}
	merged, judged, allowed := 0, 0, 0
	for round := range rounds {
		g := gen{rand.New(rand.NewPCG(uint64(round), 8))}
		docs := []schema.Policy{document("OrgPolicy", "org", "", g.spec()),
			document("TeamPolicy", "team", "org", g.spec()), document("AgentPolicy", "agent", "team", g.spec())}
		out := layers.Merge(layers.Config{Policies: docs})
		swapped := layers.Merge(layers.Config{Policies: []schema.Policy{docs[2], docs[0], docs[1]}})
		if diff := cmp.Diff(out.Effective, swapped.Effective); diff != "" {
			t.Fatalf("round %d: another order of documents: %s", round, diff)
		}
		if len(out.Effective) != 1 {
			t.Fatalf("round %d: %d effective policies", round, len(out.Effective))
		}
		effective := out.Effective[0]
		again := effective
		again.Layers = nil
		// What the ceilings say stays: only the agent's mistakes are gone.
		team := layers.Merge(layers.Config{Policies: docs[:2]}).Found
		second := layers.Merge(layers.Config{Policies: []schema.Policy{docs[0], docs[1], again}})
		if len(second.Found) != len(team) {
			t.Fatalf("round %d: the effective policy is wider than its ceilings: %v", round, second.Found)
		}
		if diff := cmp.Diff(effective.Spec, second.Effective[0].Spec); diff != "" {
			t.Fatalf("round %d: merged twice (-once +twice)\n%s", round, diff)
		}
		merged++
		a, ok := alone(effective)
		if !ok {
			continue
		}
		judged++
		whole := docs[:2]
		if len(team) > 0 { // where a team is refused, what stands is what is above it
			whole = docs[:1]
		}
		for _, above := range whole {
			if up, ok := alone(above); ok {
				allowed += below(t, round, &above.Spec, a, up)
			}
		}
	}
	t.Logf("%d merged, %d judged, %d actions allowed", merged, judged, allowed)
	if judged < rounds/20 || allowed < rounds {
		t.Errorf("%d of %d triples judged, and %d actions allowed: too few to say anything", judged, rounds, allowed)
	}
}

// TestNarrowingOfHosts is TestNarrowing of networks alone, in which most entries have
// limits: what the entries below one above have together stays within it.
func TestNarrowingOfHosts(t *testing.T) {
	allowed := 0
	for round := range 600 {
		g := gen{rand.New(rand.NewPCG(uint64(round), 9))}
		list := func(hosts ...string) schema.Spec {
			s := schema.Spec{Executors: &schema.Executors{Allowed: []string{"python"}},
				Network: &schema.Network{Mode: "allowlist", Egress: []schema.Egress{}}}
			for _, host := range hosts {
				e := schema.Egress{Host: host, Ports: g.ports()}
				if g.IntN(3) > 0 {
					e.Limits = &schema.EgressLimits{Up: g.one("", "1KiB", "2KiB"), Rate: g.one("", "1/m", "2/m"),
						Connections: g.number()}
				}
				s.Network.Egress = append(s.Network.Egress, e)
			}
			return s
		}
		docs := []schema.Policy{
			document("OrgPolicy", "org", "", list("*.a.test", g.one("b.a.test", "*.b.a.test", "b.test"))),
			document("TeamPolicy", "team", "org", list(g.some("*.a.test", "b.a.test", "*.b.a.test")...)),
			document("AgentPolicy", "agent", "team",
				list(g.some("*.a.test", "x.a.test", "b.a.test", "c.b.a.test", "evil.a.test")...))}
		effective := layers.Merge(layers.Config{Policies: docs}).Effective[0]
		a, ok := alone(effective)
		if !ok {
			continue
		}
		whole := docs[:2]
		if len(layers.Merge(layers.Config{Policies: docs[:2]}).Found) > 0 {
			whole = docs[:1]
		}
		for _, above := range whole {
			if up, ok := alone(above); ok {
				allowed += below(t, round, &above.Spec, a, up)
			}
		}
	}
	if allowed < 200 {
		t.Errorf("%d targets reached: too few to say anything", allowed)
	}
}

func (g gen) ports() []int {
	return [][]int{nil, nil, {80}, {443, 8443}, {80, 443, 8443}}[g.IntN(5)]
}

// below holds what an agent allows to what a layer above, asked as an agent, allows. Of
// a part that the layer leaves out nothing is asked.
func below(t *testing.T, round int, above *schema.Spec, a, up profiles.Agent) (allowed int) {
	t.Helper()
	now := time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)
	env := profiles.Environment{Workspace: "/ws", Home: "/home/x", Now: now}
	low, high := profiles.NewDecider(a, "", env), profiles.NewDecider(up, "", env)
	check := func(what string, l, h profiles.Decision) {
		if l.Verdict != profiles.Deny {
			allowed++
		}
		if l.Verdict > h.Verdict {
			t.Fatalf("round %d: %s is %s below and %s above: %s / %s", round, what, l.Verdict, h.Verdict, l.Reason,
				h.Reason)
		}
	}
	e := above.Executors
	if e != nil && e.Python != nil && a.Python != nil {
		if e.Python.Imports.Allow != nil {
			for _, m := range []string{"json", "os", "os.path", "pandas", "pandas.core.x", "pandas.io", "urllib",
				"urllib.request", "socket", "requests", "numpy", "csv", "ctypes"} {
				check("import "+m, low.Import("python", m), high.Import("python", m))
			}
		}
		least(t, round, &a.Python.Limits, &up.Python.Limits, e.Python.Limits)
	}
	if e != nil && e.Shell != nil && a.Shell != nil && e.Shell.Binaries != nil {
		for _, argv := range [][]string{{"/usr/bin/git", "status"}, {"/usr/bin/git", "remote", "show"},
			{"/usr/bin/git", "remote", "add", "x"}, {"/usr/bin/git", "push", "--force"},
			{"/usr/bin/jq", "-x", "a"}, {"/usr/bin/rg", "a", "b", "c", "d", "e"}, {"/usr/bin/rg", "--force"}, {"/bin/ls"}} {
			check(fmt.Sprint(argv), low.Exec(profiles.ExecAction{Argv: argv}),
				high.Exec(profiles.ExecAction{Argv: argv}))
		}
		if e.Shell.AllowPipes != nil && a.Shell.Pipes && !up.Shell.Pipes {
			t.Fatalf("round %d: pipes", round)
		}
	}
	if fs := above.Filesystem; fs != nil {
		for _, p := range []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/c", "/c/d/e", "/ws/x", "/ws", "/etc"} {
			if fs.Read != nil {
				check("read "+p, low.File("read", p), high.File("read", p))
			}
			if fs.Write != nil {
				check("write "+p, low.File("write", p), high.File("write", p))
			}
		}
	}
	if above.Bridges != nil {
		for name, b := range a.Bridges {
			allowed++
			h, ok := up.Bridges[name]
			if !ok || h.Approval != nil && (b.Approval == nil || b.Approval.Count < h.Approval.Count ||
				h.Approval.When == "" && b.Approval.When != "") {
				t.Fatalf("round %d: bridge %s: %+v above %+v", round, name, b, h)
			}
		}
	}
	if n := above.Network; n != nil && n.Mode != "" && n.Egress != nil {
		allowed += reaches(t, round, low, high, now)
	}
	return allowed
}

// least holds limits to those that a layer states.
func least(t *testing.T, round int, low, high *profiles.Limits, stated *schema.Limits) {
	t.Helper()
	if stated != nil && stated.Memory != "" && *low.MemoryBytes > *high.MemoryBytes || stated != nil &&
		stated.CPU != "" && *low.CPUMillis > *high.CPUMillis {
		t.Fatalf("round %d: memory %d, processor %d above %+v", round, *low.MemoryBytes, *low.CPUMillis, *stated)
	}
}

func reaches(t *testing.T, round int, low, high *profiles.Decider, now time.Time) (allowed int) {
	t.Helper()
	sums := map[*profiles.EgressRule][]profiles.Budget{}
	for _, port := range []uint16{80, 443, 8443} {
		for _, host := range []string{"x.a.test", "b.a.test", "c.b.a.test", "evil.a.test", "b.test", "10.1.2.3",
			"10.2.0.1", "9.1.1.1", "c.test"} {
			to := egress.Dest{Name: host, Port: port}
			if addr, err := netip.ParseAddr(host); err == nil {
				to = egress.Dest{Addr: addr, Port: port}
			}
			below := profiles.Connect(to, now, low)
			if !below.Allowed() {
				continue
			}
			allowed++
			above := profiles.Connect(to, now, high)
			if !above.Allowed() || above.Match().Reads && !below.Match().Reads {
				t.Fatalf("round %d: %s is reached below and not above: %s", round, to, above.Decision().Reason)
			}
			if to.Addr.IsValid() && below.Addresses(nil, now).Allowed() && !above.Addresses(nil, now).Allowed() {
				t.Fatalf("round %d: %s is dialed below and not above", round, to)
			}
			if !below.Match().Reads && !above.Match().Reads {
				bounded(t, round, to, ruleOf(below), ruleOf(above))
				share(sums, ruleOf(above), ruleOf(below))
			}
			for _, request := range [][2]string{{"GET", "/v1/a"}, {"POST", "/v1"}, {"GET", "/x"}} {
				l, h := below.Request(request[0], request[1], "", now), above.Request(request[0], request[1], "", now)
				if !l.Allowed() {
					continue
				}
				if !h.Allowed() {
					t.Fatalf("round %d: %s %v is sent below and not above: %s", round, to, request, h.Decision().Reason)
				}
				bounded(t, round, to, ruleOf(l), ruleOf(h))
				share(sums, ruleOf(h), ruleOf(l))
			}
		}
	}
	for h, common := range sums {
		least := profiles.EgressLimits{}
		for _, b := range common {
			least = strictest(least, b.Limits)
		}
		if over(least, h.Limits) {
			t.Fatalf("round %d: what lies below %s has more together: %+v, and share %+v", round, h.Host, h.Limits,
				common)
		}
	}
	return allowed
}

// ruleOf is the rule whose limits count for a connection.
func ruleOf(c profiles.Connection) (rule *profiles.EgressRule) {
	for rule = range c.Rules() {
		break
	}
	return rule
}

// share keeps of the budgets of an entry above those that all entries below it count
// against: what they have together is the least of them.
func share(sums map[*profiles.EgressRule][]profiles.Budget, high, low *profiles.EgressRule) {
	known, met := sums[high]
	if !met {
		sums[high] = slices.Clone(low.Under)
		return
	}
	sums[high] = slices.DeleteFunc(known, func(b profiles.Budget) bool {
		return !slices.ContainsFunc(low.Under, func(o profiles.Budget) bool { return cmp.Equal(b, o) })
	})
}

// over reports whether limits are above others; 0 is none.
func over(l, h profiles.EgressLimits) bool {
	more := func(l, h int64) bool { return h > 0 && (l == 0 || l > h) }
	return more(l.UpBytes, h.UpBytes) || more(l.DownBytes, h.DownBytes) || more(l.PerMinute, h.PerMinute) ||
		more(l.Connections, h.Connections)
}

// bounded holds the limits that count below to those that count above.
func bounded(t *testing.T, round int, to egress.Dest, low, high *profiles.EgressRule) {
	t.Helper()
	l, h := low.Limits, high.Limits
	if over(l, h) {
		t.Fatalf("round %d: %s has more by %s than by %s: %+v, %+v", round, to, low.Host, high.Host, l, h)
	}
}

func strictest(a, b profiles.EgressLimits) profiles.EgressLimits {
	least := func(a, b int64) int64 {
		if a == 0 || b == 0 {
			return max(a, b)
		}
		return min(a, b)
	}
	return profiles.EgressLimits{UpBytes: least(a.UpBytes, b.UpBytes), DownBytes: least(a.DownBytes, b.DownBytes),
		Connections: least(a.Connections, b.Connections), PerMinute: least(a.PerMinute, b.PerMinute)}
}
