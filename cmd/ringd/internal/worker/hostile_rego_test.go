package worker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/schema"
)

// maxPeak is what a compile child may take, whatever it reads.
const maxPeak = 512 << 20

// hostileRego is a policy whose Rego attacks what compiles and asks it. code is that of
// the first finding; "": one of those that say that something took too much. msg is in
// its text. body is the guardrail after its package.
type hostileRego struct {
	name, body string
	code, msg  string
}

// tooMuch are the codes of what was stopped: which limit is reached first depends on the
// host.
func tooMuch() []string {
	return []string{guardrail.CodeInvalid, worker.CodeTimeout, worker.CodeMemory, worker.CodeBusy}
}

// statements makes a body of n lines after a first one, each of which names the line
// before.
func statements(first, line string, n int) string {
	var b strings.Builder
	b.WriteString(first + "\n")
	for i := 1; i <= n; i++ {
		b.WriteString(strings.NewReplacer("NEW", fmt.Sprint(i), "OLD", fmt.Sprint(i-1)).Replace(line) + "\n")
	}
	return b.String()
}

// evaluated attack by what they make while they are asked.
func evaluated() []hostileRego {
	deny := func(body string) string { return "deny contains \"x\" if {\n  " + body + "\n}\n" }
	double := statements(`t0 := "`+strings.Repeat("x", 64)+`"`, `tNEW := concat("", [tOLD, tOLD])`, 34)
	lists := statements("l0 := numbers.range(1, 64)", "lNEW := array.concat(lOLD, lOLD)", 34)
	half := statements(`t0 := "`+strings.Repeat("x", 64)+`"`, `tNEW := concat("", [tOLD, tOLD])`, 14) // 1 MiB
	return []hostileRego{
		{name: "cross product", body: deny("r := numbers.range(1, 3000); some i in r; some j in r; some k in r; i * j * k == -1")},
		{name: "endless comprehension", body: deny("r := numbers.range(1, 100000); count([1 | r[_]; r[_]; r[_]]) == 0")},
		{name: "endless every", body: deny("r := numbers.range(1, 100000); every i in r { every j in r { i + j > 0 } }")},
		{name: "endless set", body: deny("r := numbers.range(1, 100000); count({[i, j] | some i in r; some j in r}) == 0")},
		{name: "object of lists", body: "o[i] := numbers.range(1, 5000) if some i in numbers.range(1, 100000)\n" + deny("count(o) == 0")},
		{name: "function in a cross product", body: "f(i, j) := i * j\n" + deny("r := numbers.range(1, 100000); some i in r; some j in r; f(i, j) == -1")},
		{name: "range of a billion", body: deny("count(numbers.range(1, 1000000000)) == 0")},
		{name: "range beyond numbers", body: deny("count(numbers.range(1, 1000000000000000000000000)) == 0")},
		{name: "text doubled", body: double + deny(`t34 == ""`)},
		{name: "text doubled by sprintf", body: statements(`t0 := "xxxxxxxx"`, `tNEW := sprintf("%s%s", [tOLD, tOLD])`, 40) + deny(`t40 == ""`)},
		{name: "text doubled by base64", body: statements(`t0 := "`+strings.Repeat("x", 1000)+`"`, `tNEW := base64.encode(tOLD)`, 80) + deny(`t80 == ""`)},
		{name: "text doubled by hex", body: statements(`t0 := "xxxxxxxx"`, `tNEW := hex.encode(tOLD)`, 40) + deny(`t40 == ""`)},
		{name: "text doubled by JSON", body: statements(`t0 := ["\\\"\\\""]`, `tNEW := [json.marshal(tOLD)]`, 40) + deny(`count(t40) == 0`)},
		{name: "replace each by all", body: half + deny(`count(replace(t14, "x", t14)) == 0`)},
		{name: "replace between letters", body: half + deny(`count(replace(t14, "", t14)) == 0`)},
		{name: "replace_n", body: half + deny(`count(strings.replace_n({"x": t14}, t14)) == 0`)},
		{name: "regular expression that replaces", body: half + deny(`count(regex.replace(t14, "x", t14)) == 0`)},
		{name: "regular expression that repeats", body: half + deny(`regex.match("`+strings.Repeat("(x*)*", 200)+`y", t14)`)},
		{name: "join of many", body: half + deny(`count(concat(t14, [t14 | numbers.range(1, 100000)[_]])) == 0`)},
		{name: "split and cross", body: half + deny(`s := split(t14, ""); some i, _ in s; some j, _ in s; i + j == -1`)},
		{name: "find all", body: half + deny(`some i in numbers.range(1, 1000000); count(regex.find_n("x*?", t14, i)) < 0`)},
		{name: "lists doubled", body: lists + deny("count(l34) == 0")},
		{name: "lists of lists doubled", body: statements("l0 := [1]", "lNEW := [lOLD, lOLD, lOLD, lOLD]", 30) + deny("count(json.marshal(l30)) == 0")},
		{name: "walk over what is doubled", body: statements("l0 := [1]", "lNEW := [lOLD, lOLD, lOLD, lOLD]", 30) + deny("some x; walk(l30, [x, 7])")},
		{name: "walk times walk", body: deny("some a; walk(input, [a, _]); some b; walk(input, [b, _]); some c; walk(input, [c, _]); some d; walk(input, [d, _]); count(a) + count(b) + count(c) + count(d) == -1")},
		{name: "shift by a billion", body: deny("bits.lsh(1, 1000000000000) == 0")},
		{name: "shift beyond memory", code: worker.CodeMemory, msg: "needs more than 256 MiB", body: deny("bits.lsh(1, 9000000000000000000) == 0")},
		{name: "shift of shifts", body: statements("b0 := bits.lsh(1, 1000000)", "bNEW := bits.lsh(bOLD, 900000000)", 10) + deny("b10 == 0")},
		{name: "squares", body: statements("n0 := 1234567890123", "nNEW := nOLD * nOLD", 40) + deny("n40 == 0")},
		{name: "a number of a billion digits", body: deny("ceil(1e999999999) == 0")},
		{name: "a text of a billion digits", body: deny(`floor(to_number("1e999999999")) == 0`)},
		{name: "digits of a large number", body: deny(`format_int(1e900000000, 2) == "0"`)},
		{name: "bytes of a large number", body: deny(`units.parse_bytes("1e999999999GiB") == 0`)},
		{name: "units of a large number", body: deny(`units.parse("1e999999999G") == 0`)},
		{name: "product of many", body: deny("product(numbers.range(1, 1000000)) == 0")},
		{name: "wide sprintf", body: deny(`r := numbers.range(1, 100000); count([sprintf("%999999d", [i]) | some i in r]) == 0`)},
		{name: "sets of sets", body: statements("s0 := {1}", "sNEW := {[sOLD, x] | some x in numbers.range(1, 300)} | {[x, y] | some x in sOLD; some y in sOLD}", 8) + deny("count(s8) == 0")},
		{name: "unions of objects", body: deny(`count(object.union_n([{sprintf("%d-%d", [i, j]): i} | some i in numbers.range(1, 100000); some j in numbers.range(1, 1000)])) == 0`)},
		{name: "ten million denials", code: "", body: "deny contains sprintf(\"%d\", [i]) if some i in numbers.range(1, 10000000)\n"},
		{name: "a denial of megabytes", code: guardrail.CodeDenied, msg: "…", body: half + "deny contains t14\n"},
		{name: "a denial that writes on the terminal", code: guardrail.CodeDenied, msg: "agent a:  [2J done", body: "deny contains \"\\u001b[2J\\u0000done\"\n"},
	}
}

// written attack by what they are.
func written() []hostileRego {
	const deny = "deny contains \"x\" if false\n"
	const invalid = guardrail.CodeInvalid
	out := []hostileRego{
		{"deep brackets", "deny contains \"x\" if " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "\n", invalid, "nested deeper than 32"},
		{"deep comprehensions", deny + "x := " + strings.Repeat("[1 | ", 31) + "true" + strings.Repeat("]", 31) + "\n", "", ""},
		{"a long line", deny + "# " + strings.Repeat("x", 100_000) + "\n", invalid, "more than 65536 bytes"},
		{"a long chain", deny + "x := 1" + strings.Repeat("+1", 30_000) + "\n", "", ""},
		{"many rules", "deny contains \"x\"\n" + strings.Repeat("deny contains \"x\" if input.now\n", 2_000), guardrail.CodeDenied, "x"},
		{"many faults", deny + strings.Repeat("f(a) if input.x\n", 4_000), invalid, ""},
		{"recursion", "deny contains x if deny[x]\n", invalid, "recursive"},
		{"recursion of functions", "f(x) := g(x)\ng(x) := f(x)\ndeny contains \"x\" if f(1)\n", invalid, "recursive"},
		{"recursion through data", "deny contains x if data.ringd.guardrails[_][x]\n", invalid, "recursive"},
		{"types doubled", statements("a0 := [1, \"x\"]", "aNEW := {\"l\": aOLD, \"r\": aOLD}", 40) + "deny contains \"x\" if a40.l.r.nothing\n", invalid, "undefined ref"},
		{"unions of types doubled", statements("a0 := 1", "aNEW := x if some x in [[aOLD, 1], {\"k\": aOLD}, aOLD]", 16) + "deny contains \"x\"\n", guardrail.CodeDenied, "x"},
		{"network", deny + "x := http.send({\"method\": \"GET\", \"url\": \"http://169.254.169.254/\"})\n", invalid, "undefined function http.send"},
		{"names", deny + "x := net.lookup_ip_addr(\"example.com\")\n", invalid, "undefined function net.lookup_ip_addr"},
		{"environment", deny + "x := opa.runtime()\n", invalid, "undefined function opa.runtime"},
		{"time", deny + "x := time.now_ns()\n", invalid, "undefined function time.now_ns"},
		{"chance", deny + "x := rand.intn(\"x\", 2)\n", invalid, "undefined function rand.intn"},
		{"a template", deny + "x := strings.render_template(\"{{range .x}}{{.}}{{end}}\", {\"x\": []})\n", invalid, "undefined function strings.render_template"},
		{"a schema from afar", deny + "x := json.match_schema({}, {\"$ref\": \"file:///etc/passwd\"})\n", invalid, "undefined function json.match_schema"},
		{"GraphQL", deny + "x := graphql.is_valid(\"{a}\", \"type Query {a: Int}\")\n", invalid, "undefined function graphql.is_valid"},
		{"keys", deny + "x := io.jwt.decode(\"x\")\n", invalid, "undefined function io.jwt.decode"},
		{"Rego in Rego", deny + "x := rego.parse_module(\"x\", \"package x\")\n", invalid, "undefined function rego.parse_module"},
		{"cidr expanded", deny + "x := net.cidr_expand(\"::/0\")\n", invalid, "undefined function net.cidr_expand"},
		{"data", "deny contains x if data.secrets[x]\n", invalid, "there is no data to read"},
		{"another input", "deny contains \"x\" if count(input.layers) > 9 with input as {}\n", invalid, "with `with`"},
	}
	return out
}

// policies are hostile by how many guardrails they have, or by Rego that is none. Their
// bodies are whole policies.
func policies() []hostileRego {
	var many, slow strings.Builder
	head := strings.SplitAfter(guarded(""), "guardrails:\n")[0]
	many.WriteString(head)
	slow.WriteString(head)
	for i := range 101 {
		fmt.Fprintf(&many, "    - {name: g%d, rego: \"package ringd.guardrails\\ndeny contains 1 if false\"}\n", i)
	}
	for i := range 100 { // each within its second
		fmt.Fprintf(&slow, "    - {name: g%d, rego: \"package ringd.guardrails\\ndeny contains \\\"x\\\" if {some i "+
			"in numbers.range(1, 100000); i == -%d}\"}\n", i, i+1)
	}
	bridge := strings.Split(guarded(""), "  guardrails:\n")[0]
	when := func(text string) string {
		return bridge + "      approval: {required: true, when: '" + text + "'}\n"
	}
	return []hostileRego{
		{"101 guardrails", many.String(), guardrail.CodeInvalid, "101 guardrails, at most 100"},
		{"100 slow guardrails", slow.String(), "", ""},
		{"a condition of brackets", when(strings.Repeat("(", 2_000) + "true" + strings.Repeat(")", 2_000)), "condition-syntax", "nested deeper than 16"},
		{"a condition that sends", when(`http.send({"url": "http://169.254.169.254/"}).status_code == 200`), "condition-function", "may not use http.send"},
		{"a condition without end", when("input.args.x == 1" + strings.Repeat(" ", 100_000)), "condition-syntax", "more than 4096 bytes"},
		{"a file above its folder", strings.Replace(guarded(""), "rego: |", "file: guardrails/../../../etc/passwd", 1), schema.CodeSchema, "below guardrails/"},
		{"a guardrail that is none", guarded("package system.authz\nallow := true\n"), guardrail.CodeInvalid, "is in package ringd.guardrails"},
	}
}

// TestHostileRego: whatever Rego stands in a policy, the policy is refused with a code
// and a message, and the child keeps its limits.
func TestHostileRego(t *testing.T) {
	run := func(tt hostileRego, policy string) {
		t.Run(tt.name, func(t *testing.T) {
			cfg := compileConfig(t)
			cfg.Wall = worker.DefaultCompileWall
			got, err := worker.Compile(t.Context(), cfg, oneSource("attack.yaml", policy))
			if err != nil {
				t.Fatal(err)
			}
			if got.Set != nil || !got.Diagnostics.Refused() {
				t.Fatalf("compiled with %.300v", got.Diagnostics)
			}
			first := got.Diagnostics[0]
			t.Logf("%v cpu, %d MiB, %s: %.200s", got.Usage.CPU, got.Usage.PeakBytes>>20, first.Code, first.Msg)
			codes := tooMuch()
			if tt.code != "" {
				codes = []string{tt.code}
			}
			if first.Code != worker.CodeBusy && (!slices.Contains(codes, first.Code) || first.Msg == "" ||
				!strings.Contains(first.Msg, tt.msg)) {
				t.Errorf("got %s: %.300s, want one of %v: %s", first.Code, first.Msg, codes, tt.msg)
			}
			if first.Pos.File != "attack.yaml" || first.Pos.Line < 1 {
				t.Errorf("found at %v", first.Pos)
			}
			if worker.RaceSlowdown == 1 && got.Usage.PeakBytes > maxPeak {
				t.Errorf("the child took %d MiB", got.Usage.PeakBytes>>20)
			}
		})
	}
	for _, tt := range append(evaluated(), written()...) {
		run(tt, guarded("package ringd.guardrails\n"+tt.body))
	}
	for _, tt := range policies() {
		run(tt, tt.body)
	}
}
