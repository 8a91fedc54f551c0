package worker_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/schema"
)

// hostile lists sources that try to keep a compiler busy or to eat its memory.
// The policy around each is a valid one, so that only the attack is wrong.
func hostile() map[string]schema.Source {
	cue := func(attack string) schema.Source {
		return schema.Source{Name: "attack.cue", Data: []byte("package ringd\n" + attack + `
apiVersion: "ringd/v1", kind: "AgentPolicy"
metadata: {name: "a", revision: 1, owner: "user:x@y"}
spec: {}
`)}
	}
	yaml := func(text string) schema.Source { return schema.Source{Name: "attack.yaml", Data: []byte(text)} }
	repeat := strings.Repeat
	var disjunction, doubling, listDoubling, fields, bomb strings.Builder
	for i := range 22 {
		fmt.Fprintf(&disjunction, "_d%d: {a%d: 1} | {b%d: 2}\n", i, i, i)
	}
	disjunction.WriteString("_d: _d0")
	for i := 1; i < 22; i++ {
		fmt.Fprintf(&disjunction, " & _d%d", i)
	}
	doubling.WriteString("_s0: \"" + repeat("x", 32) + "\"\n")
	listDoubling.WriteString("_l0: [1,2,3,4]\n")
	for i := 1; i <= 26; i++ {
		fmt.Fprintf(&doubling, "_s%d: _s%d + _s%d\n", i, i-1, i-1)
		fmt.Fprintf(&listDoubling, "_l%d: [for x in [1,2] for y in _l%d {y}]\n", i, i-1)
	}
	doubling.WriteString(`metadata: description: _s26`)
	listDoubling.WriteString(`metadata: compliance: [for x in _l26 {"\(x)"}]`)
	for i := range 40_000 {
		fmt.Fprintf(&fields, "_f%d: %d\n", i, i)
	}
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return map[string]schema.Source{
		"disjunction x22":           cue(disjunction.String()),
		"disjunction of enums":      cue(`_e: ` + repeat(`("a"|"b"|"c"|"d") & `, 60) + `string` + "\nmetadata: description: _e"),
		"nested comprehension":      cue("import \"list\"\n_n: [for x in list.Range(0, 3000, 1) for y in list.Range(0, 3000, 1) {x*y}]\nmetadata: compliance: [\"\\(len(_n))\"]"),
		"triple comprehension":      cue("import \"list\"\n_r: list.Range(0, 400, 1)\nmetadata: compliance: [for x in _r for y in _r for z in _r {\"\\(x)\\(y)\\(z)\"}]"),
		"comprehension of fields":   cue("import \"list\"\nmetadata: labels: {for x in list.Range(0, 900000, 1) {\"l\\(x)\": \"v\"}}"),
		"string doubling x26":       cue(doubling.String()),
		"list doubling x26":         cue(listDoubling.String()),
		"list repeat":               cue("import \"list\"\nmetadata: compliance: list.Repeat([\"x\"], 100000000)"),
		"strings repeat":            cue("import \"strings\"\nmetadata: description: strings.Repeat(\"x\", 2000000000)"),
		"repeat of repeat":          cue("import \"strings\"\n_a: strings.Repeat(\"x\", 900000)\n_b: strings.Repeat(_a, 900000)\nmetadata: description: _b"),
		"list flatten":              cue("import \"list\"\n_a: list.Repeat([list.Repeat([1], 900000)], 900)\nmetadata: compliance: [for x in list.FlattenN(_a, 2) {\"\\(x)\"}]"),
		"list sort":                 cue("import \"list\"\n_a: list.Sort([for x in list.Range(0, 200000, 1) {200000-x}], list.Ascending)\nmetadata: compliance: [\"\\(_a[0])\"]"),
		"permutations":              cue("import \"list\"\nmetadata: compliance: [for p in list.Combinations([for x in list.Range(0, 30, 1) {x}], 15) {\"x\"}]"),
		"replace all":               cue("import \"strings\"\n_a: strings.Repeat(\"x\", 900000)\nmetadata: description: strings.Replace(_a, \"x\", _a, -1)"),
		"cycle":                     cue("_a: _b + 1\n_b: _a + 1\nmetadata: description: \"\\(_a)\""),
		"structural cycle":          cue("_t: {next: _t}\nmetadata: labels: {a: \"\\(_t)\"}"),
		"infinite structure":        cue("#L: {v: int, n: #L}\nmetadata: labels: #L"),
		"mutual templates":          cue("_a: {[string]: _b}\n_b: {[string]: _a, x: {}}\n_a: y: z: {}\nmetadata: description: \"x\""),
		"recursive definition":      cue("#F: {n: int, if n > 0 {r: #F & {n: n-1}}}\n_x: #F & {n: 1000000}\nmetadata: description: \"\\(_x.n)\""),
		"fibonacci":                 cue("#F: {n: int, if n < 2 {out: n}, if n >= 2 {let k = n, out: (#F & {n: k-1}).out + (#F & {n: k-2}).out}}\nmetadata: description: \"\\((#F & {n: 40}).out)\""),
		"power":                     cue("import \"math\"\nmetadata: description: \"\\(math.Pow(10, 1000000000))\""),
		"huge integer":              cue("_a: " + repeat("9", 500_000) + "\n_b: _a*_a*_a*_a\nmetadata: description: \"\\(_b)\""),
		"integer squares":           cue("_i0: 7\n" + squares(30) + "metadata: description: \"\\(_i30)\""),
		"regular expression":        cue("_a: \"" + repeat("a", 20_000) + "\" & =~\"^(" + repeat("a*", 400) + ")*$\"\nmetadata: description: _a"),
		"regular expression size":   cue("_a: \"aaaa\" & =~\"((((a{0,100}){0,100}){0,100}){0,100})\"\nmetadata: description: _a"),
		"nested brackets":           cue("_a: " + repeat("[", 20_000) + repeat("]", 20_000)),
		"nested parentheses":        cue("_a: " + repeat("(", 100_000) + "1" + repeat(")", 100_000)),
		"nested braces":             cue("_a: " + repeat("{a:", 30_000) + "1" + repeat("}", 30_000)),
		"unary chain":               cue("_a: " + repeat("-", 200_000) + "1"),
		"binary chain":              cue("_a: " + repeat("1+", 200_000) + "1"),
		"interpolations":            cue("_a: \"" + repeat(`\(`, 5000) + "1" + repeat(`)`, 5000) + "\""),
		"many fields":               cue(fields.String()),
		"one field many times":      cue(repeat("_f: int\n", 90_000)),
		"many conjuncts":            cue("_f: " + repeat("{a?: int} & ", 20_000) + "{}"),
		"pattern constraints":       cue(repeat("_p: [=~\"a.*b.*c\"]: int\n", 2000) + "_p: {" + manyFields(2000) + "}"),
		"let chain":                 cue(lets(26)),
		"yaml alias bomb":           yaml(bomb.String()),
		"yaml nesting":              yaml(repeat("[", 50_000) + repeat("]", 50_000)),
		"yaml block nesting":        yaml(repeat("- ", 50_000) + "x"),
		"yaml long keys":            yaml(repeat("? ", 50_000) + "x"),
		"yaml one million items":    yaml("interpreter_ring:\n  allowed_imports: [" + repeat("a,", 400_000) + "a]\n"),
		"json nesting":              {Name: "attack.json", Data: []byte(repeat(`{"a":`, 100_000) + "1" + repeat("}", 100_000))},
		"json huge number":          {Name: "attack.json", Data: []byte(`{"apiVersion":1e999999999,"x":` + repeat("9", 500_000) + `}`)},
		"bridge schema bomb":        yaml(schemaBomb()),
		"bridge schema regular exp": yaml(bridgePolicy(`{type: string, pattern: "((((a{0,100}){0,100}){0,100}){0,100})"}`)),
		"bridge schema remote":      yaml(bridgePolicy(`{"$ref": "http://169.254.169.254/schema.json"}`)),
		"bridge schema file":        yaml(bridgePolicy(`{"$ref": "file:///etc/passwd"}`)),
		"cue reads a file":          cue("import \"tool/file\"\n_r: file.Read & {filename: \"/etc/passwd\", contents: string}\nmetadata: description: _r.contents"),
		"cue runs a program":        cue("import \"tool/exec\"\n_r: exec.Run & {cmd: \"id\", stdout: string}\nmetadata: description: _r.stdout"),
		"cue embeds a file":         cue("@extern(embed)\n_r: _ @embed(file=/etc/passwd,type=text)\nmetadata: description: _r"),
	}
}

// hostileBuiltins lists attacks that lie in what CUE brings with it.
func hostileBuiltins() map[string]schema.Source {
	var chain, closed strings.Builder
	chain.WriteString("_a0: {x: 1}\n")
	for i := 1; i < 24; i++ {
		fmt.Fprintf(&chain, "_a%d: matchIf(_a%d, _a%d, _a%d)\n", i, i-1, i-1, i-1)
	}
	for i := range 40 {
		fmt.Fprintf(&closed, "a%d?: #A, ", i)
	}
	attacks := map[string]string{
		"find all":        "import (\"regexp\", \"strings\")\n_a: regexp.FindAll(\"a*\", strings.Repeat(\"ab\", 400000), -1)\nmetadata: compliance: [\"\\(len(_a))\"]",
		"replace by more": "import (\"regexp\", \"strings\")\nmetadata: description: regexp.ReplaceAll(\"a\", strings.Repeat(\"a\", 900000), strings.Repeat(\"b\", 900000))",
		"join of repeats": "import (\"list\", \"strings\")\nmetadata: description: strings.Join(list.Repeat([strings.Repeat(\"x\", 900000)], 9000), \",\")",
		"split and cross": "import \"strings\"\n_a: strings.Split(strings.Repeat(\"x\", 900000), \"\")\n_b: [for x in _a for y in _a {x+y}]\nmetadata: compliance: [\"\\(len(_b))\"]",
		"sorting sort": "import \"list\"\n_l: [for x in list.Range(0, 3000, 1) {3000-x}]\n" +
			"_s: list.Sort(_l, {x: int, y: int, less: list.Sort([for z in list.Range(0, 50, 1) {50-z}], list.Ascending)[0] < 1 && x < y})\nmetadata: compliance: [\"\\(_s[0])\"]",
		"fields of fields": "import \"list\"\nmetadata: labels: {for x in list.Range(0, 300, 1) {\"a\\(x)\": {for y in list.Range(0, 300, 1) {\"b\\(y)\": {for z in list.Range(0, 20, 1) {\"c\\(z)\": x+y+z}}}}}}",
		"match chain":      chain.String() + "metadata: labels: _a23 & {x: 1}",
		"closed recursion": "#A: {" + closed.String() + "}\n_x: #A & {" + strings.Repeat("a7: {", 400) + strings.Repeat("}", 401),
		"list by index":    "import \"list\"\n_f: list.Range(0, 900000, 1)\n_g: [for i, x in _f {_f[i]+x}]\nmetadata: compliance: [\"\\(list.Sum(_g))\"]",
	}
	out := map[string]schema.Source{}
	for name, attack := range attacks {
		out[name] = schema.Source{Name: "attack.cue", Data: []byte("package ringd\n" + attack + `
apiVersion: "ringd/v1", kind: "AgentPolicy"
metadata: {name: "a", revision: 1, owner: "user:x@y"}
spec: {}
`)}
	}
	return out
}

func squares(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "_i%d: _i%d*_i%d\n", i, i-1, i-1)
	}
	return b.String()
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "axbxc%d: 1\n", i)
	}
	return b.String()
}

func lets(n int) string {
	var b strings.Builder
	b.WriteString("_o: {\nlet L0 = {a: 1, b: 2}\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "let L%d = {a: L%d, b: L%d}\n", i, i-1, i-1)
	}
	fmt.Fprintf(&b, "out: L%d\n}\nmetadata: labels: _o.out", n)
	return b.String()
}

func bridgePolicy(arguments string) string {
	return `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:x@y"}
spec:
  executors: {allowed: [js]}
  bridges:
    - name: call
      powers: {sensitive: false, untrusted: false, external: false}
      arguments: ` + arguments + "\n"
}

func schemaBomb() string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/d0", "$defs": {`)
	for i := range 200 {
		fmt.Fprintf(&b, `d%d: {allOf: [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	b.WriteString(`d200: {type: string}}}`)
	return bridgePolicy(b.String())
}

// harmless names attacks that a compiler may as well answer with a policy: they
// are cheap here, or the part that was to hurt is never needed.
func harmless(name string) bool {
	switch name {
	case "list sort", "many fields", "one field many times", "many conjuncts", "pattern constraints",
		"mutual templates",
		"nested brackets", "binary chain", "unary chain", "yaml one million items", "disjunction of enums",
		"nested parentheses", "closed recursion", "regular expression", "disjunction x22", "structural cycle", "recursive definition":
		return true
	default:
		return false
	}
}

func TestHostileSources(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sources := hostile()
	maps.Copy(sources, hostileBuiltins())
	for name, src := range sources {
		t.Run(name, func(t *testing.T) {
			cfg := compileConfig(t)
			cfg.Wall = worker.DefaultCompileWall // with the race detector as well
			got, err := worker.Compile(t.Context(), cfg, worker.CompileRequest{Sources: []schema.Source{src}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v cpu, %d MiB, %.300v", got.Usage.CPU, got.Usage.PeakBytes>>20, got.Diagnostics)
			if len(got.Diagnostics) == 0 && !harmless(name) {
				t.Error("compiled, want a finding")
			}
			if got.Set != nil && got.Diagnostics.Refused() {
				t.Error("refused and compiled")
			}
			for _, d := range got.Diagnostics {
				if d.Code == worker.CodeCrashed && !strings.Contains(d.Msg, "nests too deep") {
					t.Errorf("crashed: %v", d)
				}
			}
		})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 5<<20 {
		t.Errorf("the parent grew by %d KiB", grown>>10)
	}
}
