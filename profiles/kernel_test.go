package profiles_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
)

func anyRules(r *rand.Rand) (out []profiles.PathRule) {
	for range r.IntN(4) {
		p := pick(r, "", "", "", "$WORKSPACE", "~")
		for range r.IntN(4) {
			p += "/" + pick(r, "a", "b", "ab")
		}
		if p == "" {
			p = "/"
		}
		out = append(out, profiles.PathRule{Path: p, Rule: profiles.Rule{Line: r.IntN(100)}})
	}
	return out
}

func anyKernel(r *rand.Rand) profiles.Kernel {
	few := func() int64 { return int64(r.IntN(3)) }
	return profiles.Kernel{
		Executor: pick(r, "shell", "shell", "shell", "python"),
		Read:     anyRules(r), Write: anyRules(r), Deny: anyRules(r)[:0], Exec: anyRules(r), Helpers: anyRules(r),
		Libraries: anyRules(r), Scratch: r.IntN(2) > 0,
		Network: pick(r, "", profiles.NetworkOff, profiles.NetworkOwn), JIT: r.IntN(2) > 0,
		CPUMillis: few(), WallMillis: few(), MemoryBytes: few(), Processes: few(), Files: few(), FileBytes: few(),
		TempBytes: few(), OutputBytes: few(),
	}
}

// less returns k with one thing taken away, by name.
func less(k profiles.Kernel, r *rand.Rand) map[string]profiles.Kernel {
	out := map[string]profiles.Kernel{}
	change := func(name string, f func(*profiles.Kernel)) {
		c := k
		f(&c)
		out[name] = c
	}
	change("deny", func(c *profiles.Kernel) {
		c.Deny = append(
			slices.Clip(c.Deny), profiles.PathRule{Path: anyPath(r)})
	})
	for _, name := range []string{"Read", "Write", "Exec", "Helpers", "Libraries"} {
		list := reflect.ValueOf(&k).Elem().FieldByName(name).Interface().([]profiles.PathRule)
		if len(list) > 0 {
			i := r.IntN(len(list))
			change(name, func(c *profiles.Kernel) {
				reflect.ValueOf(c).Elem().FieldByName(name).Set(
					reflect.ValueOf(slices.Delete(slices.Clone(list), i, i+1)))
			})
		}
	}
	for _, name := range limitNames {
		if at := reflect.ValueOf(k).FieldByName(name).Int(); at > 1 || at == 1 && name != "WallMillis" &&
			name != "Processes" {
			change(name, func(c *profiles.Kernel) { reflect.ValueOf(c).Elem().FieldByName(name).SetInt(at - 1) })
		}
	}
	change("a wall", func(c *profiles.Kernel) {
		if c.WallMillis == 0 {
			c.WallMillis = 5
		}
	})
	change("network", func(c *profiles.Kernel) { c.Network = profiles.NetworkOff })
	change("jit", func(c *profiles.Kernel) { c.JIT = false })
	change("scratch", func(c *profiles.Kernel) { c.Scratch = false })
	change("everything", func(c *profiles.Kernel) { *c = profiles.Kernel{Executor: k.Executor, WallMillis: 1} })
	return out
}

var limitNames = []string{"CPUMillis", "WallMillis", "MemoryBytes", "Processes", "Files", "FileBytes", "TempBytes",
	"OutputBytes"}

func digest(t *testing.T, k profiles.Kernel) string {
	t.Helper()
	d, err := k.Digest()
	if err != nil || !strings.HasPrefix(d, "sha256:") {
		t.Fatalf("Digest of %+v: %q, %v", k, d, err)
	}
	return d
}

// TestLimitsAllCompared keeps the tests below from missing a field.
func TestLimitsAllCompared(t *testing.T) {
	var have []string
	typ := reflect.TypeFor[profiles.Kernel]()
	for i := range typ.NumField() {
		if typ.Field(i).Type.Kind() == reflect.Int64 {
			have = append(have, typ.Field(i).Name)
		}
	}
	if diff := cmp.Diff(limitNames, have); diff != "" {
		t.Error(diff)
	}
	if n := typ.NumField() - len(have); n != 11 {
		t.Errorf("Kernel has %d fields that are no limits; this test and Within know 11", n)
	}
}

// TestWithinIsAnOrder holds that Within is reflexive, transitive, and
// antisymmetric up to the digest.
func TestWithinIsAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := 0
	for range 400 {
		top := anyKernel(r)
		top.Deny = anyRules(r)
		if !top.Within(top) {
			t.Fatalf("not within itself: %+v", top)
		}
		some := []profiles.Kernel{top, anyKernel(r)}
		for range 3 { // a chain downwards, so that there is something to compare
			all := less(some[len(some)-1], r)
			for _, k := range all {
				some = append(some, k)
				break
			}
			for _, k := range less(top, r) {
				some = append(some, k)
				break
			}
		}
		digests, within := make([]string, len(some)), make([][]bool, len(some))
		for i, a := range some {
			digests[i] = digest(t, a)
			for _, b := range some {
				within[i] = append(within[i], a.Within(b))
			}
		}
		for i, a := range some {
			for j, b := range some {
				if !within[i][j] {
					continue
				}
				if within[j][i] != (digests[i] == digests[j]) {
					t.Fatalf("within each other and digest:\n%+v\n%+v\n%v", a, b, within[j][i])
				}
				seen++
				for k, c := range some {
					if within[j][k] && !within[i][k] {
						t.Fatalf("not transitive:\n%+v\n%+v\n%+v", a, b, c)
					}
				}
			}
		}
	}
	if seen < 3_000 {
		t.Errorf("only %d pairs were within each other", seen)
	}
}

// TestLessIsWithin holds that taking away a grant, lowering a limit and adding a
// denial each give a profile within, and that the way back does not, unless
// nothing was taken: then the digest is the same.
func TestLessIsWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	strict := map[string]int{}
	for range 400 {
		k := anyKernel(r)
		for name, c := range less(k, r) {
			if !c.Within(k) {
				t.Fatalf("%s: not within:\n%+v\n%+v", name, c, k)
			}
			same := digest(t, c) == digest(t, k)
			if k.Within(c) != same {
				t.Fatalf("%s: wider is within: %v, same digest: %v\n%+v\n%+v", name, k.Within(c), same, c, k)
			}
			if !same {
				strict[name]++
			}
		}
	}
	for _, name := range append(slices.Clone(limitNames), "Read", "Write", "Exec", "Helpers", "Libraries", "scratch",
		"network", "jit", "deny", "a wall", "everything") {
		if strict[name] == 0 {
			t.Errorf("taking away %s never made a difference", name)
		}
	}
}

// TestWithinMeansNoMore holds Within against what the profiles say about paths.
func TestWithinMeansNoMore(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	allows := func(list, deny []profiles.PathRule, p string) bool {
		has := func(rules []profiles.PathRule) bool {
			return slices.ContainsFunc(rules, func(r profiles.PathRule) bool {
				return r.Path == "/" || p == r.Path || strings.HasPrefix(p, r.Path+"/")
			})
		}
		return has(list) && !has(deny)
	}
	pairs, refused := 0, 0
	for range 4000 {
		a := profiles.Kernel{Read: anyRules(r), Write: anyRules(r), Deny: anyRules(r)}
		b := profiles.Kernel{Read: append(anyRules(r), a.Read...), Write: append(anyRules(r), a.Write...),
			Deny: anyRules(r)}
		if r.IntN(2) > 0 {
			b.Deny = a.Deny
		}
		if !a.Within(b) {
			refused++
			continue
		}
		pairs++
		for range 50 {
			p := anyPath(r)
			if allows(a.Read, a.Deny, p) && !allows(b.Read, b.Deny, p) || allows(a.Write, a.Deny, p) &&
				!allows(b.Write, b.Deny, p) {
				t.Fatalf("within, and allows more: %s\n%+v\n%+v", p, a, b)
			}
		}
	}
	if pairs < 500 || refused < 500 {
		t.Errorf("%d pairs within, %d not: too few", pairs, refused)
	}
}

func TestDigestIgnoresPositionsAndOrder(t *testing.T) {
	rule := func(p string, line int) profiles.PathRule {
		return profiles.PathRule{Path: p, Rule: profiles.Rule{File: "policy.cue", Line: line}}
	}
	one := profiles.Kernel{Executor: "shell", Read: []profiles.PathRule{rule("/a", 1), rule("/b", 2)},
		Deny: []profiles.PathRule{rule("/a/x", 3)}, Processes: 1}
	for _, tt := range []struct {
		name  string
		other profiles.Kernel
		same  bool
	}{
		{"another order", profiles.Kernel{Executor: "shell", Read: []profiles.PathRule{rule("/b", 9), rule("/a", 8)}, Deny: []profiles.PathRule{rule("/a/x", 7)}, Processes: 1}, true},
		{"a rule twice, and one that is covered", profiles.Kernel{Executor: "shell", Network: "off", Read: []profiles.PathRule{rule("/b", 9), rule("/a", 8), rule("/a/c", 1), rule("/a", 2)}, Deny: []profiles.PathRule{rule("/a/x", 7)}, Processes: 1}, true},
		{"one less denial", profiles.Kernel{Executor: "shell", Read: one.Read, Processes: 1}, false},
		{"another path", profiles.Kernel{Executor: "shell", Read: []profiles.PathRule{rule("/a", 1), rule("/bb", 2)}, Deny: one.Deny, Processes: 1}, false},
		{"written, not read", profiles.Kernel{Executor: "shell", Write: one.Read, Deny: one.Deny, Processes: 1}, false},
		{"a large limit", profiles.Kernel{Executor: "shell", Read: one.Read, Deny: one.Deny, Processes: 1<<53 + 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if same := digest(t, one) == digest(t, tt.other); same != tt.same {
				t.Errorf("same digest: %v, want %v", same, tt.same)
			}
		})
	}
	a, b := one, one
	if a.Processes = 0; digest(t, a) != digest(t, one) || !one.Within(a) {
		t.Error("a guest is at least one process")
	}
	a = one
	a.Files, b.Files = 1<<53, 1<<53+1
	if digest(t, a) == digest(t, b) {
		t.Error("numbers that no double tells apart have one digest")
	}
}

func TestAgentKernel(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	limits := profiles.Limits{CPUMillis: n(1000), WallMillis: n(2000), MemoryBytes: n(64 << 20), OutputBytes: n(3000),
		Processes: n(4), Files: n(5)}
	files := profiles.Files{Read: paths(1, "/r"), Write: paths(2, "/w"), Deny: paths(3, "/r/x")}
	agent := profiles.Agent{
		JS: &profiles.JS{Limits: limits}, Python: &profiles.Python{Limits: limits},
		Shell: &profiles.Shell{Limits: limits, JIT: true, Binaries: []profiles.Binary{
			{Path: "/usr/bin/git", Rule: profiles.Rule{Line: 7}}}},
		Files: files, Egress: profiles.Egress{Mode: profiles.EgressAllowlist}, Limits: limits,
	}
	native := profiles.Kernel{
		Executor: "python", Read: files.Read, Write: files.Write, Deny: files.Deny, Network: profiles.NetworkOwn,
		CPUMillis: 3_600_000, MemoryBytes: 128 << 20, Processes: 20, Files: 37, FileBytes: 1 << 30, TempBytes: 64 << 20,
		OutputBytes: 1 << 40,
		Path:        true, Scratch: true, // no wall time: a guest waits for its program, which has one of its own
	}
	shell := native
	shell.CPUMillis, shell.OutputBytes = 1000, 3000 // of one script
	shell.Executor, shell.JIT, shell.Exec = "shell", true, []profiles.PathRule{
		{Path: "/usr/bin/git", Rule: profiles.Rule{Line: 7}}}
	for name, want := range map[string]profiles.Kernel{
		"js": {Executor: "js", Network: profiles.NetworkOff, JIT: true, CPUMillis: 600_000, MemoryBytes: 640 << 20,
			Processes: 512, Files: 64, FileBytes: 64 << 20},
		"python": native, "shell": shell,
	} {
		got, ok := agent.Kernel(name)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %v\n%s", name, ok, diff)
		}
	}
	large := agent
	large.JS = &profiles.JS{Limits: profiles.Limits{CPUMillis: n(1 << 40), MemoryBytes: n(1 << 30)}}
	large.Limits = large.JS.Limits
	if k, _ := large.Kernel("js"); k.CPUMillis != 2<<40 || k.MemoryBytes != 2<<30+392<<20 {
		t.Errorf("js with large limits: %+v", k)
	}
	for _, mode := range []string{"", profiles.EgressOff, "wide-open"} {
		agent.Egress.Mode = mode
		if k, _ := agent.Kernel("shell"); k.Network != profiles.NetworkOff {
			t.Errorf("egress %q gives network %q", mode, k.Network)
		}
	}
	for _, name := range []string{"", "js", "python", "shell", "ruby"} {
		if k, ok := (profiles.Agent{Files: files}).Kernel(name); ok || !reflect.ValueOf(k).IsZero() {
			t.Errorf("an agent without executors has a profile for %q: %+v", name, k)
		}
	}
}

// TestNarrowedKernel holds that what Narrow gives has a profile within the agent's.
func TestNarrowedKernel(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	strict := 0
	for range 300 {
		a := anyAgent(r)
		a.Egress = profiles.Egress{Mode: pick(r, "off", "gateway-only", "allowlist"),
			Allow: []profiles.EgressRule{{Host: "a.example", Ports: []int{443}}}}
		grants := profiles.Grants{}
		if r.IntN(2) > 0 {
			grants.Hosts = []string{pick(r, "a.example", "b.example")}
		}
		if r.IntN(2) > 0 {
			grants.Bridges = map[string]profiles.GrantOfBridge{}
		}
		narrow, err := a.Narrow(grants)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"js", "python", "shell"} {
			wide, had := a.Kernel(name)
			k, has := narrow.Kernel(name)
			if has && !had || has && !k.Within(wide) {
				t.Fatalf("%s: not within:\n%+v\n%+v", name, k, wide)
			}
			if has && !wide.Within(k) {
				strict++
			}
		}
		for name, less := range narrowings(a, r) {
			for _, executor := range []string{"js", "python", "shell"} {
				wide, had := a.Kernel(executor)
				if k, has := less.Kernel(executor); has && (!had || !k.Within(wide)) {
					t.Fatalf("%s, %s: not within:\n%+v\n%+v", name, executor, k, wide)
				}
			}
		}
	}
	if strict == 0 {
		t.Error("no narrowing ever made a difference")
	}
}

// TestNamesOfPrograms holds that what a name stands for in a guest is a part of
// its profile.
func TestNamesOfPrograms(t *testing.T) {
	of := func(path bool, programs ...string) profiles.Kernel {
		k := profiles.Kernel{Executor: "shell", Path: path}
		for _, p := range programs {
			k.Exec = append(k.Exec, profiles.PathRule{Path: p})
		}
		return k
	}
	one, other := of(true, "/a/git", "/b/git", "/a/tar"), of(true, "/b/git", "/a/tar", "/a/git")
	if one.Within(other) || other.Within(one) || digest(t, one) == digest(t, other) {
		t.Error("git is another program, and the profiles are the same")
	}
	if moved := of(true, "/a/tar", "/a/git", "/b/git"); !moved.Within(one) || digest(t, moved) != digest(t, one) {
		t.Error("the order of other names makes a difference")
	}
	if less := of(true, "/a/git"); !less.Within(one) || !less.Within(other) || one.Within(less) {
		t.Error("one program less is no less")
	}
	if plain := of(false, "/a/git"); !plain.Within(one) || of(true, "/a/git").Within(plain) {
		t.Error("a guest with links is within one without")
	}
	if digest(t, of(false, "/a/git", "/b/git")) != digest(t, of(false, "/b/git", "/a/git")) {
		t.Error("without links their order makes a difference")
	}
}
