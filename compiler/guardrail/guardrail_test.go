package guardrail_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles"
)

const head = "package ringd.guardrails\n"

// agent has a bridge that all three powers meet in, and Python.
func agent() profiles.Agent {
	n := int64(1)
	return profiles.Agent{Name: "a", Policy: "p", MinTier: profiles.TierProcess,
		Bridges: map[string]profiles.Bridge{
			"send": {Name: "send", Powers: profiles.Powers{Sensitive: true, External: true}}},
		Python: &profiles.Python{Imports: profiles.Imports{Allow: []profiles.ImportRule{{Name: "json"}}},
			Limits: profiles.Limits{CPUMillis: &n}},
		Egress: profiles.Egress{Mode: profiles.EgressAllowlist,
			Allow: []profiles.EgressRule{{Host: "api.example.com", Ports: []int{443}}}},
	}
}

func input() guardrail.Input {
	return guardrail.Input{Effective: guardrail.View(agent()), Layers: []guardrail.Layer{},
		Target: guardrail.TargetSources}
}

// What compiles, and what it says of the agent above.
func TestDeny(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a bridge with two powers", `deny contains msg if {
			some b in input.effective.bridges
			b.powers.sensitive
			b.powers.external
			msg := sprintf("bridge %s may not both", [b.name])
		}`, "bridge send may not both"},
		{"nothing", `deny contains "x" if input.effective.mode == "audit"`, ""},
		{"an import of rego.v1", "import rego.v1\ndeny contains \"x\" if input.effective.agent == \"a\"", "x"},
		{"an object", `deny contains {"msg": "m", "path": "spec.network"} if input.effective.network.mode != "off"`, "spec.network: m"},
		{"two rules", "deny contains \"a\" if input.now == null\ndeny contains \"b\" if count(input.layers) == 0", "a, b"},
		{"a set at once", `deny := {b.name | some b in input.effective.bridges}`, "send"},
		{"functions", "wide(b) if b.powers.external\ndeny contains b.name if {\n some b in input.effective.bridges\n wide(b)\n}", "send"},
		{"null has no fields", `deny contains "js" if input.effective.executors.js.limits.cpuMillis > 0`, ""},
		{"fields of what is granted", `deny contains "py" if input.effective.executors.python.limits.cpuMillis > 0`, "py"},
		{"no previous", `deny contains "new" if { some b in input.effective.bridges; not b.name in {x.name | some x in input.previous.bridges} }`, "new"},
		{"what a function gives", "first(l) := l[0]\ndeny contains b.name if { b := first(input.effective.bridges); b.powers.external }", "send"},
		{"what is made by key", "by := {b.name: b | some b in input.effective.bridges}\ndeny contains \"x\" if by.send.powers.external\ndeny contains \"y\" if by.other.powers.external", "x"},
		{"what is walked", "deny contains \"x\" if { walk(input.effective, [_, v]); v.external == true }", "x"},
		{"what a pattern gets of a list", "deny contains b if { [a, b] := split(input.effective.executors.minTier, \"o\"); a == \"pr\" }", "cess"},
		{"another package cannot be seen", `deny contains "x" if "json" in input.effective.executors.python.imports.allow`, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := guardrail.Compile(guardrail.OnPolicy, head+tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Deny(t.Context(), input())
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, d := range got {
				w := d.Msg
				if d.Path != "" {
					w = d.Path + ": " + w
				}
				words = append(words, w)
			}
			if have := strings.Join(words, ", "); have != tt.want {
				t.Errorf("got %q, want %q", have, tt.want)
			}
		})
	}
}

// What a guardrail may not be: each is a finding at its place, and none is a
// guardrail that lets everything pass.
func TestCompileRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a typo in a path", head + `deny contains "x" if input.effective.brigdes`, "2:22: undefined ref: input.effective.brigdes"},
		{"a typo behind a name", head + "deny contains b.name if {\n  some b in input.effective.bridges\n  b.powers.sensitve\n}", "4:3: undefined ref"},
		{"a typo in input", head + `deny contains "x" if input.efective.mode == "audit"`, "2:22: undefined ref"},
		{"http.send", head + `deny contains "x" if http.send({"method": "get", "url": "http://x"}).status_code == 200`, "undefined function http.send"},
		{"opa.runtime", head + `deny contains "x" if opa.runtime().env.HOME`, "undefined function opa.runtime"},
		{"render_template", head + `deny contains strings.render_template("{{.a}}", {"a": 1})`, "undefined function strings.render_template"},
		{"time", head + `deny contains "x" if time.now_ns() > 1`, "undefined function time.now_ns"},
		{"chance", head + `deny contains "x" if rand.intn("a", 2) == 1`, "undefined function rand.intn"},
		{"names of hosts", head + `deny contains "x" if count(net.lookup_ip_addr("x")) > 0`, "undefined function net.lookup_ip_addr"},
		{"json.match_schema", head + `deny contains "x" if json.match_schema({}, {})[0]`, "undefined function json.match_schema"},
		{"recursion", head + "a if b\nb if a\ndeny contains \"x\" if a", "recursive"},
		{"deny as boolean", head + `deny if input.effective.mode == "audit"`, "2:1: deny is one value"},
		{"deny with a default", head + "default deny := []\ndeny := [\"x\"] if input.effective.mode == \"audit\"", "2:1: deny has a default"},
		{"a default that is a set", head + "default deny := set()", "deny has a default"},
		{"deny as a list", head + `deny := ["x"]`, "deny is one value"},
		{"deny as a function", head + "deny(x) := {x}", "deny is a function"},
		{"deny of denies", head + `deny.a contains "x" if true`, "is an object"},
		{"deny that may be undefined", head + `deny := {"x"} if input.effective.mode == "audit"`, "deny is one value"},
		{"no deny", head + `allow if true`, "could never refuse"},
		{"a deny that is misspelled", head + `denny contains "x" if true`, "could never refuse"},
		{"another package", "package other\ndeny contains \"x\" if true", "1:1: a guardrail on the policy is in package ringd.guardrails"},
		{"the package of calls", "package ringd.calls\ndeny contains \"x\" if true", "is in package ringd.guardrails"},
		{"data of others", head + `deny contains "x" if data.allow`, "no data to read"},
		{"an import of data", head + "import data.other as o\ndeny contains \"x\" if o.x", "there is no data.other"},
		{"with", head + `deny contains "x" if input.effective.mode == "audit" with input as {"effective": {"mode": "enforce"}}`, "cannot replace its input with"},
		{"schema by annotation", "# METADATA\n# scope: package\n# schemas:\n# - input: {}\n" + head + `deny contains "x" if input.effective.brigdes`, "undefined ref"},
		{"not Rego", head + "deny contains {", "2:"},
		{"empty", "", "is not Rego"},
		{"a variable of nothing", head + `deny contains x if y`, "unsafe"},
		{"an unused variable", head + "deny contains \"x\" if { y := input.now }", "y"},
		{"an object taken apart", head + `deny contains m if {"mode": m} := input.effective`, "2:20: a pattern that takes an object apart"},
		{"an object compared apart", head + `deny contains m if {"mode": m} = input.effective`, "2:20: a pattern"},
		{"an object taken apart by some", head + `deny contains n if some {"name": n} in input.effective.bridges`, "2:25: a pattern"},
		{"an object taken apart by a function", head + "f({\"name\": n}) := n\ndeny contains f(b) if some b in input.effective.bridges", "2:3: a pattern"},
		{"an object taken apart by walk", head + `deny contains n if walk(input.effective, [_, {"name": n}])`, "2:46: a pattern"},
		{"brackets", head + "deny contains \"x\" if " + strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50), "brackets"},
		{"large", head + strings.Repeat("# x\n", 20_000), "more than"},
		{"no text", head + "# \xff", "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := guardrail.Compile(guardrail.OnPolicy, tt.text)
			var found guardrail.Findings
			if !errors.As(err, &found) || len(found) == 0 {
				t.Fatalf("got %v, want findings", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// A wrong path says what could be meant.
func TestHint(t *testing.T) {
	_, err := guardrail.Compile(guardrail.OnPolicy, head+`deny contains "x" if input.effective.brigdes`)
	var found guardrail.Findings
	if !errors.As(err, &found) || !strings.Contains(found[0].Hint, "want one of: agent, audit, bridges") {
		t.Errorf("got %+v", found)
	}
}

// What compiles and cannot tell refuses: an error, never an empty list.
func TestFailsClosed(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an error of a function", `deny contains "x" if to_number("a") > 1`, "does not take"},
		{"kinds that do not compare", `deny contains "x" if input.effective.network.mode > 3`, "text does not compare with number"},
		{"null does not compare", `deny contains "x" if input.now < "2027"`, "null does not compare with text"},
		{"an object that is no reason", `deny contains {"message": "x"} if true`, "neither a text"},
		{"a number as a reason", `deny contains 7 if true`, "neither a text"},
		{"a field of an argument", "f(x) if x.nothing\ndeny contains \"x\" if f(input.effective)", "x.nothing is not there"},
		{"a field of what a function gives", "f(x) := x\ndeny contains \"x\" if f(input.effective).nothing", "nothing is not there"},
		{"a field of a name of that", "f(x) := x\ndeny contains \"x\" if { y := f(input.effective); z := y; z.nothing }", "z.nothing is not there"},
		{"a field of one of those", "f(x) := x\ndeny contains \"x\" if { some b in f(input.effective.bridges); b.nothing }", "b.nothing is not there"},
		{"a field of a rule of that", "f(x) := x\nbs := f(input.effective.bridges)\ndeny contains \"x\" if bs[_].nothing", "nothing is not there"},
		{"a conflict", "v := 1 if input.now == null\nv := 2 if input.target == \"sources\"\ndeny contains \"x\" if v == 3", "two values"},
		{"without end", `deny contains "x" if count([1 | some i in numbers.range(1, 100000); some j in numbers.range(1, 100000); i == j]) == 0`, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := guardrail.Compile(guardrail.OnPolicy, head+tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Deny(t.Context(), input())
			if err == nil || len(got) > 0 {
				t.Fatalf("got %v, %v", got, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	var none *guardrail.Guardrail
	if _, err := none.Deny(t.Context(), input()); err == nil {
		t.Error("no guardrail lets everything pass")
	}
	g, err := guardrail.Compile(guardrail.OnPolicy, head+`deny contains "x" if input.now == null`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.DenyCall(t.Context(), guardrail.Call{}); err == nil {
		t.Error("a guardrail on the policy was asked about a call")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Deny(over, input()); !errors.Is(err, guardrail.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// Guardrails on calls look into arguments that no schema knows: what is not there
// refuses, so that a wrong name never lets a call pass.
func TestDenyCall(t *testing.T) {
	const calls = "package ringd.calls\n"
	one := func(args string) guardrail.Call {
		return guardrail.Call{Agent: "a", Bridge: "send", Executor: "js", Powers: guardrail.Powers{External: true},
			Args: json.RawMessage(args)}
	}
	for _, tt := range []struct{ name, text, args, deny, fails string }{
		{"an amount", `deny contains "too much" if { input.bridge == "send"; input.args.amount > 100 }`, `{"amount": 101}`, "too much", ""},
		{"less", `deny contains "too much" if { input.bridge == "send"; input.args.amount > 100 }`, `{"amount": 10}`, "", ""},
		{"another bridge is not looked into", `deny contains "x" if { input.bridge == "other"; input.args.nothing }`, `{}`, "", ""},
		{"a misspelled argument", `deny contains "too much" if { input.bridge == "send"; input.args.amuont > 100 }`, `{"amount": 101}`, "", "input.args.amuont is not there"},
		{"an argument that is left out", `deny contains "too much" if { input.bridge == "send"; input.args.amount > 100 }`, `{}`, "", "is not there"},
		{"an argument of another kind", `deny contains "too much" if { input.args.amount > 100 }`, `{"amount": "5"}`, "", "text does not compare with number"},
		{"behind a name", `deny contains "x" if { some to in input.args.to; to.domian == "evil" }`, `{"to": [{"domain": "evil"}]}`, "", "to.domian is not there"},
		{"behind two names", `deny contains "x" if { a := input.args; a.b.c == 1 }`, `{"b": {"d": 1}}`, "", "a.b.c is not there"},
		{"in a function", "bad(m) if m.host == \"evil\"\ndeny contains \"x\" if bad(input.args)", `{"hots": "evil"}`, "", "m.host is not there"},
		{"in a rule", "tos contains to.address if some to in input.args.to\ndeny contains \"x\" if \"evil\" in tos", `{"to": [{"adress": "evil"}]}`, "", "to.address is not there"},
		{"negated", `deny contains "no ticket" if not input.args.ticket`, `{}`, "", "is not there"},
		{"what may be left out", `deny contains "no ticket" if object.get(input.args, "ticket", "") == ""`, `{}`, "no ticket", ""},
		{"a key that is a value", `deny contains k if { some k, v in input.args; v == "x" }`, `{"a": "x"}`, "a", ""},
		{"an index that is a value", `deny contains "x" if { some i; input.args.l[i] == 3 }`, `{"l": [1, 3]}`, "x", ""},
		{"a step behind an index", `deny contains "x" if { some i, _ in input.args.l; input.args.l[i].v == 3 }`, `{"l": [{"v": 3}]}`, "x", ""},
		{"powers", `deny contains "x" if { input.powers.external; input.executor == "js"; input.agent == "a" }`, `{}`, "x", ""},
		{"a list", `deny contains "x" if input.args[1] == 2`, `[1, 2]`, "x", ""},
		{"behind a rule", "args := input.args\ndeny contains \"x\" if args.typo == 1", `{"tpyo": 1}`, "", "args.typo is not there"},
		{"behind a rule, there", "args := input.args\ndeny contains \"x\" if args.n == 1", `{"n": 1}`, "x", ""},
		{"behind a rule by its path", "args := input.args\ndeny contains \"x\" if data.ringd.calls.args.typo == 1", `{}`, "", "args.typo is not there"},
		{"behind the package", "import data.ringd.calls as me\nargs := input.args\ndeny contains \"x\" if me.args.typo == 1", `{}`, "", "me.args.typo is not there"},
		{"behind the package, there", "import data.ringd.calls as me\nargs := input.args\ndeny contains \"x\" if me.args.n == 1", `{"n": 1}`, "x", ""},
		{"behind an import", "import input.args as a\ndeny contains \"x\" if a.typo == 1", `{}`, "", "a.typo is not there"},
		{"behind an import, there", "import input.args as a\ndeny contains \"x\" if a.n == 1", `{"n": 1}`, "x", ""},
		{"behind an import of the input", "import input as i\ndeny contains \"x\" if i.args.typo == 1", `{}`, "", "i.args.typo is not there"},
		{"a name that is an import too", "import input.args as a\ndeny contains \"y\" if a.l == 2\ndeny contains \"x\" if { some a in input.args.l; a.typo == 1 }", `{"l": [{"n": 1}]}`, "", "a.typo is not there"},
		{"a name that is a rule too", "a := 1\ndeny contains \"x\" if { a := input.args; a.typo == 1 }", `{}`, "", "a.typo is not there"},
		{"behind a function", "f(x) := x\ndeny contains \"x\" if f(input.args).typo == 1", `{}`, "", "typo is not there"},
		{"behind a function, there", "f(x) := x\ndeny contains \"x\" if f(input.args).n == 1", `{"n": 1}`, "x", ""},
		{"behind a list", `deny contains "x" if [input.args][0].typo == 1`, `{}`, "", "typo is not there"},
		{"behind an object", `deny contains "x" if {"a": input.args}.a.typo == 1`, `{}`, "", "typo is not there"},
		{"behind a comprehension", `deny contains "x" if [a | a := input.args][0].typo == 1`, `{}`, "", "typo is not there"},
		{"behind an index that is a value", `deny contains "x" if { some i; input.args.l[i].typo == 3 }`, `{"l": [{"v": 3}]}`, "", "typo is not there"},
		{"behind any index", `deny contains "x" if input.args.l[_].typo == 3`, `{"l": [{"v": 3}]}`, "", "typo is not there"},
		{"behind any index, there", `deny contains "x" if input.args.l[_].v == 3`, `{"l": [{"v": 1}, {"v": 3}]}`, "x", ""},
		{"behind any index of a name", `deny contains "x" if { l := input.args.l; l[_].a.typo == 3 }`, `{"l": [{"a": {"v": 3}}]}`, "", "typo is not there"},
		{"behind any argument", `deny contains "x" if input.args[_].typo == 3`, `{"a": {"v": 3}}`, "", "typo is not there"},
		{"behind a field that is a value", `deny contains "x" if { k := "args"; input[k].typo == 3 }`, `{}`, "", "typo is not there"},
		{"in the argument of a function", "f(x) := {\"r\": x}\ndeny contains \"x\" if f(input.args.typo).r == 1", `{}`, "", "input.args.typo is not there"},
		{"in a key of a rule", "by[input.args.typo] := 1 if input.agent == \"a\"\ndeny contains \"x\" if by[_] == 1", `{}`, "", "input.args.typo is not there"},
		{"for every", `deny contains "x" if { every v in input.args.l { v.typo == 1 } }`, `{"l": [{"n": 1}]}`, "", "v.typo is not there"},
		{"a key of a map of one's own", "by[k] := 1 if some k in [\"pay\"]\ndeny contains \"x\" if by.other == 1", `{}`, "", ""},
		{"a member of a set of one's own", "bad := {\"evil\"}\ndeny contains \"x\" if bad.good\ndeny contains \"y\" if { s := {input.args.to}; s.evil }", `{"to": "evil"}`, "y", ""},
		{"a key that is a name", `deny contains k if { some k in ["a", "b"]; input.args[k] == 1 }`, `{"b": 1}`, "b", ""},
		{"beyond the list", `deny contains "x" if input.args[7] == 2`, `[1, 2]`, "", "is not there"},
		{"in the reason", `deny contains sprintf("no %s", [input.args.to]) if input.bridge == "send"`, `{"to": "x"}`, "no x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := guardrail.Compile(guardrail.OnCall, calls+tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.DenyCall(t.Context(), one(tt.args))
			switch {
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("got %v, %v, want %s", got, err, tt.fails)
			case tt.fails == "" && err != nil:
				t.Error(err)
			case tt.deny != "" && (len(got) != 1 || got[0].Msg != tt.deny), tt.deny == "" && len(got) > 0:
				t.Errorf("got %v, want %q", got, tt.deny)
			}
		})
	}
	if _, err := guardrail.Compile(guardrail.OnCall, calls+`deny contains "x" if input.brigde == "send"`); err == nil ||
		!strings.Contains(err.Error(), "undefined ref") {
		t.Errorf("got %v", err)
	}
}

// The functions that may be called exist, and none of them is known to look outside.
func TestFunctions(t *testing.T) {
	for _, name := range guardrail.Functions() {
		for _, no := range []string{"http.", "opa.", "rand.", "time.now", "uuid.", "io.jwt", "crypto.x509",
			"net.lookup", "strings.render", "json.match", "json.verify", "providers.", "graphql", "rego.", "trace", "time.format", "time.date", "time.clock", "time.weekday"} {
			if strings.HasPrefix(name, no) {
				t.Errorf("%s may be called", name)
			}
		}
	}
}

func BenchmarkDeny(b *testing.B) {
	g, err := guardrail.Compile(guardrail.OnPolicy, head+"deny contains b.name if {\n  some b in "+
		"input.effective.bridges\n  b.powers.untrusted\n}")
	if err != nil {
		b.Fatal(err)
	}
	in := input()
	b.ReportAllocs()
	for b.Loop() {
		if got, err := g.Deny(b.Context(), in); err != nil || len(got) > 0 {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guardrail.Compile(guardrail.OnPolicy, head+
			"deny contains b.name if {\n  some b in input.effective.bridges\n  b.powers.untrusted\n}"); err != nil {
			b.Fatal(err)
		}
	}
}

// A denial for one port is not shown as one for every port: a guardrail that wants a host
// denied would be content with it.
func TestDeniedPorts(t *testing.T) {
	g, err := guardrail.Compile(guardrail.OnPolicy, head+`deny contains h if {
		some h in {"pastebin.com", "10.0.0.0/8", "2001:db8::1"}
		not h in input.effective.network.deny
	}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ports []int
		any   bool
		want  int
	}{{nil, true, 0}, {[]int{81}, false, 3}, {nil, false, 0}} {
		a := agent()
		for _, host := range []string{"pastebin.com", "10.0.0.0/8", "2001:db8::1"} {
			a.Egress.Deny = append(a.Egress.Deny, profiles.EgressRule{Host: host, Ports: tt.ports, AnyPort: tt.any})
		}
		in := input()
		in.Effective = guardrail.View(a)
		got, err := g.Deny(t.Context(), in)
		if err != nil || len(got) != tt.want {
			t.Errorf("%v: %v, %v; want %d", network(a)["deny"], got, err, tt.want)
		}
	}
	a := agent()
	a.Egress.Deny = []profiles.EgressRule{{Host: "2001:db8::1", Ports: []int{22, 80}}}
	if got := network(a)["deny"]; !cmp.Equal(got, []string{"[2001:db8::1]:22", "[2001:db8::1]:80"}) {
		t.Error(got)
	}
}

func network(a profiles.Agent) map[string]any { return guardrail.View(a)["network"].(map[string]any) }
