package profiles_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/ringd/ringd/profiles"
)

// narrowings returns copies of an agent with one grant less or one denial more.
func narrowings(a profiles.Agent, r *rand.Rand) map[string]profiles.Agent {
	out := map[string]profiles.Agent{}
	drop := func(n int) int { return r.IntN(n) }
	if a.JS != nil {
		js := *a.JS
		js.Imports.Deny = append(slices.Clip(js.Imports.Deny), profiles.ImportRule{Name: anyModule(r)})
		b := a
		b.JS = &js
		out["js deny"] = b
		if n := len(a.JS.Imports.Allow); n > 0 {
			js := *a.JS
			i := drop(n)
			js.Imports.Allow = slices.Delete(slices.Clone(js.Imports.Allow), i, i+1)
			b := a
			b.JS = &js
			out["js allow"] = b
		}
		b = a
		b.JS = nil
		out["no js"] = b
	}
	if a.Python != nil {
		py := *a.Python
		py.Imports.Deny = append(slices.Clip(py.Imports.Deny), profiles.ImportRule{Name: anyModule(r)})
		b := a
		b.Python = &py
		out["python deny"] = b
		py3 := *a.Python
		py3.JIT = false
		b.Python = &py3
		out["python jit"] = b
		py2 := *a.Python
		py2.Imports.Default = false
		b.Python = &py2
		out["python default"] = b
		py4 := *a.Python
		py4.Imports.Any = nil
		b.Python = &py4
		out["python any"] = b
		py5 := *a.Python
		py5.Imports.Process = append(slices.Clip(py5.Imports.Process), profiles.ImportRule{Name: anyModule(r)})
		b.Python = &py5
		out["python process"] = b
		if n := len(a.Python.Imports.Allow); n > 0 {
			py := *a.Python
			i := drop(n)
			py.Imports.Allow = slices.Delete(slices.Clone(py.Imports.Allow), i, i+1)
			b.Python = &py
			out["python allow"] = b
		}
	}
	if a.Shell != nil {
		sh := *a.Shell
		sh.DeniedPatterns = append(slices.Clip(sh.DeniedPatterns), pattern(anyPattern(r)))
		b := a
		b.Shell = &sh
		out["pattern"] = b
		sh2 := *a.Shell
		sh2.JIT = false
		c := a
		c.Shell = &sh2
		out["shell jit"] = c
		if n := len(a.Shell.Binaries); n > 0 {
			sh := *a.Shell
			i := drop(n)
			sh.Binaries = slices.Delete(slices.Clone(sh.Binaries), i, i+1)
			b := a
			b.Shell = &sh
			out["binary"] = b
		}
	}
	for name := range a.Bridges {
		b := a
		b.Bridges = maps.Clone(a.Bridges)
		delete(b.Bridges, name)
		out["bridge"] = b
		c := a
		c.Bridges = maps.Clone(a.Bridges)
		g := c.Bridges[name]
		g.Limits.ArgumentBytes--
		c.Bridges[name] = g
		out["argument bytes"] = c
		e := a
		e.Bridges = maps.Clone(a.Bridges)
		g = e.Bridges[name]
		g.Approval = &profiles.Approval{Count: 1, When: pick(r, "", "when")}
		e.Bridges[name] = g
		out["approval"] = e
		break
	}
	for name, e := range egressNarrowings(a.Egress, r) {
		b := a
		b.Egress = e
		out[name] = b
	}
	b := a
	b.Files.Deny = append(slices.Clip(a.Files.Deny), profiles.PathRule{Path: anyPath(r)})
	out["file deny"] = b
	if n := len(a.Files.Read); n > 0 {
		b := a
		i := drop(n)
		b.Files.Read = slices.Delete(slices.Clone(a.Files.Read), i, i+1)
		out["file read"] = b
	}
	return out
}

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

func anyModule(r *rand.Rand) string {
	sep := pick(r, ".", "/")
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = pick(r, "a", "b", "os", "json", "path")
	}
	return strings.Join(parts, sep)
}

func anyPath(r *rand.Rand) string {
	p := pick(r, "", "", "$WORKSPACE", "~")
	for range 1 + r.IntN(3) {
		p += "/" + pick(r, "a", "b", "workspace", "home", "agent", "..", "ab")
	}
	return p
}

func anyPattern(r *rand.Rand) string {
	p := pick(r, "git", "rm", "find", "/usr/bin/rm", "ls")
	for range r.IntN(3) {
		p += " " + pick(r, "-r", "-f", "-rf", "--force", "--recursive", "push", "clean", "-delete", "x", "--")
	}
	return p
}

func anyArgv(r *rand.Rand) []string {
	argv := []string{pick(r, "/usr/bin/git", "/usr/bin/rm", "/usr/bin/find", "/bin/ls", "rm", "/usr/bin/env")}
	for range r.IntN(5) {
		argv = append(argv, pick(r, "-r", "-f", "-rfv", "--force", "--forc", "--recursive=x", "push", "clean",
			"-delete", "x", "--", "-C", "-exec"))
	}
	return argv
}

func anyAgent(r *rand.Rand) profiles.Agent {
	a := profiles.Agent{Name: "a", Bridges: map[string]profiles.Bridge{}}
	list := func(of func(*rand.Rand) string) (out []string) {
		for range r.IntN(6) {
			out = append(out, of(r))
		}
		return out
	}
	if r.IntN(8) > 0 {
		a.JS = &profiles.JS{Imports: imports(list(anyModule), list(anyModule))}
	}
	if r.IntN(8) > 0 {
		a.Python = &profiles.Python{Imports: imports(list(anyModule), list(anyModule))}
		a.Python.Imports.Default, a.Python.JIT = r.IntN(2) > 0, r.IntN(2) > 0
		a.Python.Imports.Process = imports(nil, list(anyModule)).Deny
		if r.IntN(4) == 0 {
			a.Python.Imports.Any = &profiles.Rule{File: "p.yaml", Line: 1}
		}
	}
	if r.IntN(8) > 0 {
		a.Shell = &profiles.Shell{JIT: r.IntN(2) > 0}
		for _, p := range []string{"/usr/bin/git", "/usr/bin/rm", "/usr/bin/find", "/bin/ls", "/usr/bin/env"} {
			if r.IntN(3) > 0 {
				a.Shell.Binaries = append(a.Shell.Binaries, profiles.Binary{Path: p})
			}
		}
		for range r.IntN(4) {
			a.Shell.DeniedPatterns = append(a.Shell.DeniedPatterns, pattern(anyPattern(r)))
		}
	}
	for _, n := range []string{"one", "two", "tools.search"} {
		if r.IntN(2) > 0 {
			a.Bridges[n] = bridge(n)
		}
	}
	a.Files = profiles.Files{Read: paths(1, list(anyPath)...), Write: paths(1, list(anyPath)...),
		Deny: paths(1, list(anyPath)[:0]...)}
	if r.IntN(2) > 0 {
		a.Files.Deny = paths(1, list(anyPath)...)
	}
	a.Egress = anyEgress(r)
	return a
}

func anyAction(r *rand.Rand) profiles.Action {
	switch r.IntN(5) {
	case 4:
		e := anyEgressAction(r)
		return profiles.Action{Egress: &e}
	case 0:
		return profiles.Action{Import: &profiles.ImportAction{
			Executor: pick(r, "js", "python"), Module: anyModule(r), Origin: pick(r, "", "agent", "library")}}
	case 1:
		return profiles.Action{Bridge: &profiles.BridgeAction{
			Name: pick(r, "one", "two", "tools.search", "x"), Executor: pick(r, "", "js", "python"),
			Args: json.RawMessage(strings.Repeat("1", r.IntN(102)))}}
	case 2:
		return profiles.Action{Exec: &profiles.ExecAction{Argv: anyArgv(r)}}
	default:
		return profiles.Action{File: &profiles.FileAction{Op: pick(r, "read", "write"),
			Path: strings.NewReplacer("$WORKSPACE", "/workspace", "~", "/home/agent").Replace(anyPath(r))}}
	}
}

// TestNarrowingNeverWidens holds, over random policies and actions, that a
// grant taken away and a denial added never loosen any verdict.
func TestNarrowingNeverWidens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{} // narrowed verdicts by kind: the test must see some
	policies := 900
	if os.Getenv("RINGD_LONG") != "" {
		policies = 5000
	}
	for range policies {
		a := anyAgent(r)
		wide := profiles.NewDecider(a, "", home)
		narrow := narrowings(a, r)
		deciders := map[string]*profiles.Decider{}
		for name, b := range narrow {
			deciders[name] = profiles.NewDecider(b, "", home)
		}
		for range 40 {
			action := anyAction(r)
			before := wide.Decide(action)
			for name, d := range deciders {
				after := d.Decide(action)
				if after.Verdict > before.Verdict {
					b, _ := json.Marshal(action)
					t.Fatalf("%s: %s was %+v and became %+v", name, b, before, after)
				}
				if after.Verdict < before.Verdict {
					seen[name]++
				}
			}
		}
	}
	for _, kind := range []string{"js deny", "js allow", "no js", "python deny", "python default", "python any",
		"python process", "python allow", "pattern", "binary", "bridge",
		"argument bytes", "approval", "file deny", "file read", "egress off", "egress deny", "egress gateways alone", "egress allow", "egress any port", "egress port",
		"egress expires", "egress ech", "egress methods", "egress paths", "egress gateway", "egress gateway expires", "egress gateway methods"} {
		if seen[kind] == 0 {
			t.Errorf("%s never changed a verdict: the test proves nothing about it", kind)
		}
	}
}

func FuzzDecodeAction(f *testing.F) {
	for _, seed := range []string{`{"bridge":{"name":"a","args":{"x":[1,"\u0000"]}}}`,
		`{"file":{"op":"read","path":"/a"}}`,
		`{"exec":{"argv":["/usr/bin/git","-C","x","push"]}}`, `{"import":{"executor":"python","module":"a.b"}}`,
		`{"egress":{"kind":"http","target":"x","headers":[["a","b"]],"sni":"","no_dns":true}}`, `{"shell":{"script":"x","cwd":"/"}}`, `{"a":1,"a":2}`,
		`{"egress":{"host":"a.example","port":80,"path":"/x"}}`, `{"egress":{"host":"2001:db8::1"}}`} {
		f.Add([]byte(seed))
	}
	d := profiles.NewDecider(agent(), "r", home)
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := profiles.DecodeAction(line)
		if err != nil {
			return
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := profiles.DecodeAction(text)
		if err != nil {
			t.Fatalf("%s: decoded and not again: %v", text, err)
		}
		one, two := d.Decide(a), d.Decide(again)
		if one.Code == "" || one.Reason == "" || one.Verdict != two.Verdict {
			t.Fatalf("%s: %+v, again %+v", text, one, two)
		}
	})
}

func FuzzDecodeSet(f *testing.F) {
	_, good := sealed(f, agent())
	f.Add(good)
	_, small := sealed(f, profiles.Agent{Name: "a"})
	f.Add(small)
	f.Add([]byte(`{"agents":{},"format":"ringd.set/v1","revision":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := profiles.DecodeSet(b)
		if err != nil {
			return
		}
		again, err := s.Encode()
		if err != nil || string(again) != string(b) {
			t.Fatalf("decoded and not encoded to the same: %v", err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[true,null,"\u20ac\/\b\u001f"],"\ud83d\ude00":1,"é":1.0e2}`,
		`[0,-0,1e21,1e-7,0.1]`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := profiles.Canonical(b)
		if err != nil {
			return
		}
		again, err := profiles.Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%s is not stable: %s, %v", got, again, err)
		}
		if want, err := jcs.Transform(got); err != nil || string(want) != string(got) {
			t.Fatalf("%s is not what jcs gives: %s, %v", got, want, err)
		}
	})
}

func FuzzExec(f *testing.F) {
	f.Add("/usr/bin/rm -rf x", "rm -rf")
	f.Add("/usr/bin/git -C a push -f", "git push --force")
	f.Fuzz(func(t *testing.T, argv, text string) {
		a := profiles.Agent{Shell: &profiles.Shell{Binaries: []profiles.Binary{
			{Path: "/usr/bin/rm"}, {Path: "/usr/bin/git"}}}}
		before := profiles.NewDecider(a, "", home).Exec(profiles.ExecAction{Argv: strings.Split(argv, " ")})
		if words := strings.Fields(text); len(words) > 0 {
			a.Shell.DeniedPatterns = []profiles.Pattern{{Words: words, Text: text}}
		}
		if after := profiles.NewDecider(a, "", home).Exec(profiles.ExecAction{
			Argv: strings.Split(argv, " ")}); after.Verdict > before.Verdict {
			t.Fatalf("%q, pattern %q: %+v became %+v", argv, text, before, after)
		}
	})
}

// large is an agent with n bridges, imports and paths each.
func large(n int) profiles.Agent {
	a := profiles.Agent{Name: "large", JS: &profiles.JS{}, Python: &profiles.Python{},
		Bridges: map[string]profiles.Bridge{}}
	for i := range n {
		name := fmt.Sprintf("tool%d", i)
		a.Bridges[name] = bridge(name)
		a.JS.Imports.Allow = append(a.JS.Imports.Allow, profiles.ImportRule{Name: name, Rule: rule(i, name)})
		a.Files.Read = append(a.Files.Read, profiles.PathRule{Path: "/data/" + name, Rule: rule(i, name)})
	}
	return a
}

func BenchmarkDecide(b *testing.B) {
	d := profiles.NewDecider(large(10_000), "sha256:x", home)
	b.Run("bridge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.Bridge("js", "tool5000", 10)
		}
	})
	b.Run("bridge denied", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.Bridge("js", "toolxyz", 10)
		}
	})
	long := profiles.Agent{Name: "long", JS: &profiles.JS{}, Bridges: map[string]profiles.Bridge{}}
	for i := range 64 {
		name := fmt.Sprintf("tools.%054dsearch", i)
		long.Bridges[name] = bridge(name)
	}
	near := profiles.NewDecider(long, "sha256:x", home)
	b.Run("bridge denied with long names", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			near.Bridge("js", "tools.x"+strings.Repeat("0", 52)+"xsearch", 10)
		}
	})
	b.Run("import", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.Import("js", "tool5000")
		}
	})
	b.Run("file", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.File("read", "/data/tool5000/a/b/c.txt")
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	s := profiles.Set{Agents: map[string]profiles.Agent{"large": large(3_333)}}
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Seal(); err != nil {
				b.Fatal(err)
			}
		}
	})
	_, text, err := s.Seal()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := profiles.DecodeSet(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
