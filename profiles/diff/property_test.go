package diff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/diff"
	"github.com/ringd/ringd/profiles/egress"
)

func now() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }

// source makes random values from small alphabets, so that they meet.
type source struct{ *rand.Rand }

func (r source) of(choices ...string) string { return choices[r.IntN(len(choices))] }
func (r source) one(n int) bool              { return r.IntN(n) == 0 }

func some[T any](r source, most int, of func() T) (out []T) {
	for range r.IntN(most + 1) {
		out = append(out, of())
	}
	return out
}

func (r source) module() string {
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = r.of("a", "b", "os", "json", "path", "ctypes", "pandas")
	}
	return strings.Join(parts, r.of(".", "/"))
}

func (r source) path() string {
	p := r.of("", "", "$WORKSPACE", "~")
	for range 1 + r.IntN(3) {
		p += "/" + r.of("a", "b", "workspace", "home", "agent", "ab")
	}
	return p
}

func (r source) words(first ...string) []string {
	out := append([]string{}, first...)
	for range r.IntN(3) {
		out = append(out, r.of("-r", "-f", "-rf", "--force", "--recursive", "push", "clean", "-delete", "x", "--",
			"-C"))
	}
	return out
}

func (r source) rules() []profiles.ImportRule {
	return some(r, 4, func() profiles.ImportRule {
		out := profiles.ImportRule{Name: r.module()}
		return out
	})
}

func (r source) paths() []profiles.PathRule {
	return some(r, 3, func() profiles.PathRule { return profiles.PathRule{Path: r.path()} })
}

func (r source) expiry() *time.Time {
	if !r.one(4) {
		return nil
	}
	at := now().Add(time.Duration(r.IntN(5)-2) * time.Hour)
	return &at
}

func (r source) host() string {
	return r.of("a.test", "b.a.test", "*.a.test", "*.b.a.test", "c.test", "10.0.0.0/8", "10.1.2.3", "93.184.216.34",
		"93.184.216.0/24", "127.0.0.1", "8.0.0.0/5")
}

func (r source) list(most int, choices ...string) []string {
	return some(r, most, func() string { return r.of(choices...) })
}

func (r source) entry() profiles.EgressRule {
	e := profiles.EgressRule{Host: r.host(), AnyPort: r.one(4), ECH: r.one(3), Expires: r.expiry()}
	if !e.AnyPort {
		e.Ports = []int{[]int{80, 443, 8080}[r.IntN(3)]}
		if r.one(3) {
			e.Ports = append(e.Ports, 444)
		}
	}
	if r.one(3) {
		e.Methods, e.Paths = r.list(2, "GET", "POST"), r.list(2, "/v1", "/v2/a", "/")
	}
	return e
}

func (r source) denial() profiles.EgressRule {
	e := profiles.EgressRule{Host: r.host(), AnyPort: r.one(2)}
	if !e.AnyPort {
		e.Ports = []int{[]int{80, 443}[r.IntN(2)]}
	}
	return e
}

func (r source) approval() *profiles.Approval {
	if r.one(2) {
		return nil
	}
	return &profiles.Approval{Count: int64(1 + r.IntN(2)), From: r.list(2, "group:a", "group:b"),
		When: r.of("", "", "w1", "w2"), ExpiresMillis: int64(1 + r.IntN(2))}
}

func (r source) bridge(name string) profiles.Bridge {
	return profiles.Bridge{Name: name, Executors: r.list(2, "js", "python", "shell"), Approval: r.approval(),
		Limits: profiles.BridgeLimits{ArgumentBytes: int64(10 + r.IntN(3)*40), CallsPerRun: 10, Concurrent: 1}}
}

func (r source) patterns(n int) []profiles.Pattern {
	return some(r, n, func() profiles.Pattern {
		w := r.words(r.of("push", "clean", "-r", "x"))
		return profiles.Pattern{Words: w, Text: strings.Join(w, " ")}
	})
}

func (r source) binary(path string) profiles.Binary {
	b := profiles.Binary{Path: path, Deny: r.patterns(2), MaxArgs: int64(r.IntN(3)), SafeConfig: r.one(2)}
	if r.one(3) {
		b.Allow = append([]profiles.Pattern{}, r.patterns(3)...)
	}
	for _, p := range r.patterns(1) {
		b.Ask = append(b.Ask, profiles.AskRule{Pattern: p, Approval: profiles.Approval{Count: 1}})
	}
	return b
}

func (r source) agent() profiles.Agent {
	a := profiles.Agent{Name: "a", Bridges: map[string]profiles.Bridge{}}
	if !r.one(6) {
		a.JS = &profiles.JS{Imports: profiles.Imports{Allow: r.rules(), Deny: r.rules()}}
	}
	if !r.one(6) {
		im := profiles.Imports{Allow: r.rules(), Deny: r.rules(), Default: r.one(2)}
		if r.one(4) {
			im.Process = r.rules()
		}
		if r.one(5) {
			im.Any = &profiles.Rule{File: "p.yaml", Line: 1}
		}
		if r.one(6) {
			im.Only = []string{r.of("a", "json", "os.path")}
		}
		a.Python = &profiles.Python{Imports: im, JIT: r.one(2)}
	}
	if !r.one(6) {
		a.Shell = &profiles.Shell{JIT: r.one(2), Pipes: r.one(2)}
		for _, p := range []string{"/usr/bin/git", "/usr/bin/rm", "/opt/bin/git", "/bin/ls", "/usr/bin/env"} {
			if !r.one(3) {
				a.Shell.Binaries = append(a.Shell.Binaries, r.binary(p))
			}
		}
		a.Shell.DeniedPatterns = some(r, 3, func() profiles.Pattern {
			w := r.words(r.of("git", "rm", "ls", "/usr/bin/rm"))
			return profiles.Pattern{Words: w, Text: strings.Join(w, " ")}
		})
	}
	for _, name := range []string{"one", "two", "tools.search"} {
		if !r.one(2) {
			a.Bridges[name] = r.bridge(name)
		}
	}
	a.Files = profiles.Files{Read: r.paths(), Write: r.paths()}
	if r.one(2) {
		a.Files.Deny = r.paths()
	}
	a.Egress = profiles.Egress{
		Mode: r.of(profiles.EgressOff, profiles.EgressAllowlist, profiles.EgressAllowlist, profiles.EgressAllowlist,
			profiles.EgressGatewayOnly),
		Allow: some(r, 4, r.entry), Deny: some(r, 2, r.denial)}
	for _, name := range []string{"gateway", "models"} {
		if r.one(2) {
			a.Egress.Gateways = append(a.Egress.Gateways, profiles.Gateway{
				Name: name, Methods: r.list(2, "GET", "POST"), Paths: r.list(1, "/v1"), Expires: r.expiry()})
		}
	}
	return a
}

// edit takes some parts of an agent from another one, entry by entry.
func (r source) edit(a, from profiles.Agent) profiles.Agent {
	b := copied(a)
	for range 1 + r.IntN(3) {
		switch r.IntN(9) {
		case 0:
			b.JS = from.JS
		case 1:
			if b.Python != nil && from.Python != nil {
				b.Python.Imports.Allow, b.Python.Imports.Deny = swap(
					r, b.Python.Imports.Allow, from.Python.Imports.Allow),
					swap(r, b.Python.Imports.Deny, from.Python.Imports.Deny)
				if r.one(3) {
					b.Python.Imports.Default = from.Python.Imports.Default
				}
				if r.one(4) {
					b.Python.Imports.Any, b.Python.Imports.Only, b.Python.Imports.Process = from.Python.Imports.Any,
						from.Python.Imports.Only, from.Python.Imports.Process
				}
			} else {
				b.Python = from.Python
			}
		case 2:
			b.Egress.Allow = swap(r, b.Egress.Allow, from.Egress.Allow)
		case 3:
			b.Egress.Deny, b.Egress.Gateways = swap(r, b.Egress.Deny, from.Egress.Deny),
				swap(r, b.Egress.Gateways, from.Egress.Gateways)
		case 4:
			b.Files.Read, b.Files.Deny = swap(r, b.Files.Read, from.Files.Read), swap(r, b.Files.Deny, from.Files.Deny)
		case 5:
			b.Files.Write = swap(r, b.Files.Write, from.Files.Write)
		case 6:
			if b.Shell != nil && from.Shell != nil {
				b.Shell.Binaries, b.Shell.DeniedPatterns = swap(r, b.Shell.Binaries, from.Shell.Binaries),
					swap(r, b.Shell.DeniedPatterns, from.Shell.DeniedPatterns)
				if n := len(b.Shell.Binaries); n > 0 {
					one := &b.Shell.Binaries[r.IntN(n)]
					one.Deny, one.Ask = swap(r, one.Deny, r.patterns(2)),
						one.Ask[:len(one.Ask)-min(len(one.Ask), r.IntN(2))]
					if one.Allow != nil {
						one.Allow = swap(r, one.Allow, r.patterns(2))
					}
				}
			} else {
				b.Shell = from.Shell
			}
		case 7:
			for name, g := range from.Bridges {
				b.Bridges[name] = g
				break
			}
		default:
			b.Egress.Mode = from.Egress.Mode
		}
	}
	return b
}

// swap drops entries, or adds some of another list, and turns the order round.
func swap[T any](r source, a, from []T) []T {
	out := slices.Clone(a)
	if n := len(out); n > 0 && r.one(2) {
		i := r.IntN(n)
		out = slices.Delete(out, i, i+1)
	}
	if n := len(from); n > 0 && r.one(2) {
		out = append(out, from[r.IntN(n)])
	}
	return out
}

func copied(a profiles.Agent) profiles.Agent {
	raw, err := json.Marshal(a)
	var out profiles.Agent
	if err != nil || json.Unmarshal(raw, &out) != nil {
		panic(fmt.Sprint("copy: ", err))
	}
	if out.Bridges == nil {
		out.Bridges = map[string]profiles.Bridge{}
	}
	return out
}

func (r source) action() profiles.Action {
	switch r.IntN(5) {
	case 4:
		host := r.of("a.test", "b.a.test", "z.b.a.test", "c.test", "10.1.2.3", "10.9.9.9", "93.184.216.34", "127.0.0.1",
			"gateway.ringd.internal", "other.test", "9.9.9.9")
		port := r.of("80", "443", "444", "8080", "9999")
		e := egress.Action{Kind: "connect", Target: host + ":" + port}
		if host[0] > '9' {
			e.ResolvesTo = []string{r.of("93.184.216.34", "93.184.216.34", "10.1.2.3")}
		}
		if r.one(2) {
			e = egress.Action{Kind: "fetch", Target: "http://" + host + ":" + port + r.of("/v1/x", "/v2/a", "/", "/v2"),
				Method: r.of("GET", "POST"), ResolvesTo: e.ResolvesTo}
		}
		return profiles.Action{Egress: &e}
	case 0:
		return profiles.Action{Import: &profiles.ImportAction{
			Executor: r.of("js", "python", "python"), Module: r.module(), Origin: r.of("", "agent", "library")}}
	case 1:
		return profiles.Action{Bridge: &profiles.BridgeAction{
			Name: r.of("one", "two", "tools.search", "x"), Executor: r.of("", "js", "python", "shell"),
			Args: json.RawMessage(strings.Repeat("1", r.IntN(102)))}}
	case 2:
		argv := r.words(r.of("/usr/bin/git", "/usr/bin/rm", "git", "/bin/ls", "rm", "/usr/bin/env", "/opt/bin/git"))
		return profiles.Action{Exec: &profiles.ExecAction{Argv: append(argv, r.words()...)}}
	default:
		return profiles.Action{File: &profiles.FileAction{Op: r.of("read", "write"),
			Path: strings.NewReplacer("$WORKSPACE", "/workspace", "~", "/home/agent").Replace(r.path())}}
	}
}

// TestNoWideningLoosensNothing holds over random pairs: where no change widens, no
// action gets a looser verdict, in any place that a host may give to $WORKSPACE and ~.
// Conditions are answered by their text, so that two of them differ.
func TestNoWideningLoosensNothing(t *testing.T) {
	pairs := 10_000
	if os.Getenv("RINGD_LONG") != "" {
		pairs = 200_000
	}
	r := source{rand.New(rand.NewPCG(8, 6))}
	envs := []profiles.Environment{
		{Workspace: "/workspace", Home: "/home/agent", Now: now(), Condition: asks},
		{Workspace: "/a", Home: "/a/b", Now: now(), Condition: asks},
		{Workspace: "/home/agent/workspace", Home: "/home", Now: now(), Condition: asks},
	}
	classes, looser := map[diff.Class]int{}, 0
	for i := range pairs {
		a := r.agent()
		b := r.edit(a, r.agent())
		rep := diff.Compare(&profiles.Set{Agents: map[string]profiles.Agent{"a": a}},
			&profiles.Set{Agents: map[string]profiles.Agent{"a": b}}, diff.Config{Now: now()})
		classes[rep.Class]++
		env := envs[r.IntN(len(envs))]
		before, after := profiles.NewDecider(a, "", env), profiles.NewDecider(b, "", env)
		for range 40 {
			action := r.action()
			was, is := before.Decide(action), after.Decide(action)
			if is.Verdict <= was.Verdict {
				continue
			}
			looser++
			if rep.Class != diff.Widens {
				text, _ := json.Marshal(action)
				x, _ := json.Marshal(a)
				y, _ := json.Marshal(b)
				changes, _ := json.MarshalIndent(rep.Changes(), "", " ")
				t.Fatalf("pair %d is %s, and %s was %+v and became %+v\nold %s\nnew %s\n%s", i, rep.Class, text, was,
					is, x, y, changes)
			}
		}
	}
	t.Logf("%v, %d verdicts became looser", classes, looser)
	for _, class := range []diff.Class{diff.Widens, diff.Narrows, diff.Neutral} {
		if classes[class] < pairs/50 {
			t.Errorf("only %d of %d pairs are %s: the test proves little", classes[class], pairs, class)
		}
	}
	if looser < pairs/20 {
		t.Errorf("only %d verdicts became looser", looser)
	}
}

func asks(when string, _ profiles.Call) (bool, error) { return when == "w1", nil }

// TestOrderMakesNoDifference holds that lists in another order have no change.
func TestOrderMakesNoDifference(t *testing.T) {
	r := source{rand.New(rand.NewPCG(1, 1))}
	for range 500 {
		a := r.agent()
		if a.Shell != nil { // which of two programs a name stands for is a matter of order
			a.Shell.Binaries = slices.DeleteFunc(a.Shell.Binaries,
				func(b profiles.Binary) bool { return b.Path == "/opt/bin/git" })
		}
		b := copied(a)
		for _, im := range []*profiles.Imports{importsOf(b.JS), pythonOf(b.Python)} {
			slices.Reverse(im.Allow)
			slices.Reverse(im.Deny)
		}
		slices.Reverse(b.Files.Read)
		slices.Reverse(b.Files.Deny)
		slices.Reverse(b.Egress.Deny)
		slices.Reverse(b.Egress.Gateways)
		if b.Shell != nil {
			slices.Reverse(b.Shell.Binaries)
			slices.Reverse(b.Shell.DeniedPatterns)
		}
		rep := diff.Compare(&profiles.Set{Agents: map[string]profiles.Agent{"a": a}},
			&profiles.Set{Agents: map[string]profiles.Agent{"a": b}}, diff.Config{})
		if n := len(rep.Changes()); n != 0 {
			t.Fatalf("%d changes: %+v", n, rep.Changes())
		}
	}
}

func importsOf(js *profiles.JS) *profiles.Imports {
	if js == nil {
		return &profiles.Imports{}
	}
	return &js.Imports
}

func pythonOf(py *profiles.Python) *profiles.Imports {
	if py == nil {
		return &profiles.Imports{}
	}
	return &py.Imports
}

// TestNarrowNeverWidens holds that what Narrow makes of an agent is never more.
func TestNarrowNeverWidens(t *testing.T) {
	r := source{rand.New(rand.NewPCG(3, 3))}
	for range 2000 {
		a := r.agent()
		a.Egress.Allow = slices.DeleteFunc(a.Egress.Allow, func(e profiles.EgressRule) bool { return e.Host[0] <= '9' })
		g := profiles.Grants{}
		if r.one(2) {
			g.Hosts = r.list(2, "a.test", "b.a.test", "*.a.test", "gateway.ringd.internal")
		}
		if r.one(2) {
			g.Imports = r.list(2, "a", "json", "os", "pandas")
		}
		if r.one(2) {
			g.Bridges = map[string]profiles.GrantOfBridge{"one": {}}
		}
		b, err := a.Narrow(g)
		if err != nil {
			t.Fatal(err)
		}
		rep := diff.Compare(&profiles.Set{Agents: map[string]profiles.Agent{"a": a}},
			&profiles.Set{Agents: map[string]profiles.Agent{"a": b}}, diff.Config{Now: now()})
		if rep.Class == diff.Widens {
			wider := slices.DeleteFunc(rep.Changes(), func(c diff.Change) bool { return c.Class != diff.Widens })
			x, _ := json.Marshal(a.Egress)
			y, _ := json.Marshal(b.Egress)
			t.Fatalf("%+v by %+v: %+v\n%s\n%s", slices.Sorted(maps.Keys(a.Bridges)), g, wider, x, y)
		}
	}
}
