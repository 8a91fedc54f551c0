package js_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
)

// TestSessionDeclaresAgain: the programs of a session may declare what the ones
// before declared, in JavaScript and TypeScript, import again, and have the lines
// of their author.
func TestSessionDeclaresAgain(t *testing.T) {
	n := &notebook{t: t, e: cold(t)}
	for i, tt := range []struct{ file, source, want string }{
		{"a.js", "const x = 1, { y, z: [w] } = { y: 2, z: [3] }; class A { n() { return x } } new A().n() + y + w", "6"},
		{"a.js", "const x = 10, { y, z: [w] } = { y: 20, z: [30] }; class A { n() { return x } } new A().n() + y + w", "60"},
		{"b.ts", "enum E { A = 1, B }\nconst x: number = E.B; class A<T> { constructor(readonly v: T) {} }\nnew A(x).v", "2"},
		{"c.ts", "enum E { C = 5 }\nclass A { m(): number { return E.C } }\nnamespace N { export const a = 1 }\n[new A().m(), (E as any).A ?? 'gone', x, N.a]", `[5,"gone",2,1]`},
		{"c.ts", "export enum E { D = 6 }\nnamespace N { export const b = 2 }\nnamespace N { export const c = 3 }\n[E.D, Object.keys(E).length, Object.keys(N)]", `[6,2,["b","c"]]`},
		{"a.js", "import { next } from 'policy:counter'\nexport const first = next()\nfirst", "1"},
		{"a.js", "import { next, self } from 'policy:counter'\nself.kept = true; next()", "2"},
		{"d.ts", "import { seven } from 'policy:typed'\nimport { self } from 'policy:counter'\nconst first: number = seven(1)\nexport default [first, (self as any).kept, next()]", "[8,true,3]"},
		{"a.js", "seven(x) + next()", "13"},
		{"a.js", "import * as math from 'policy:math'\nconst base = 1, answer = math.answer(); answer", "42"},
		{"a.js", "let next = await echo(4); next", "4"},
	} {
		out := n.run(tt.file, tt.source, nil)
		if out.State != executors.StateDone || string(out.Value) != tt.want || out.Snapshot == nil {
			t.Errorf("program %d: %s %s %+v %s, want %s", i, out.State, out.Value, out.Error, out.Unkept, tt.want)
		}
	}
	for _, tt := range []struct {
		file, source, name string
		want               []executors.Frame
	}{
		{"a.js", "const x = 3\n\nthrow new TypeError('here')", "TypeError", []executors.Frame{{File: "a.js", Line: 3, Column: 11}}},
		{"a.js", "import { next } from 'policy:counter'\n\nconst x = { a: 1 };   x.y.z", "TypeError", []executors.Frame{{File: "a.js", Line: 3, Column: 23}}},
		{"d.ts", "export const x: number = 1\n\nexport default (() => { throw new TypeError('no') })()", "TypeError", nil},
		{"a.js", "import { nothing } from 'policy:counter'", "SyntaxError", nil},
		{"a.js", "function fn() {}\n", "", nil},
		{"a.js", "const fn = 1", "SyntaxError", []executors.Frame{{File: "a.js", Line: 1, Column: 1}}},
	} {
		out := n.run(tt.file, tt.source, nil)
		if tt.name == "" {
			continue
		}
		if out.State != executors.StateFailed || out.Error.Name != tt.name || out.Snapshot == nil {
			t.Errorf("%s: %s %+v", tt.source, out.State, out.Error)
			continue
		}
		if diff := cmp.Diff(tt.want, out.Error.Frames); tt.want != nil && diff != "" {
			t.Errorf("%s:\n%s", tt.source, diff)
		}
		for _, f := range out.Error.Frames {
			if f.File != tt.file || f.Line < 1 || f.Line > 3 {
				t.Errorf("%s: frame %+v", tt.source, f)
			}
		}
	}
	if out := n.run("a.js", "const before = 1\nimport x from 'requests'", nil); out.State != executors.StateDenied ||
		len(out.Denials) != 1 || out.Snapshot != nil {
		t.Errorf("%s %+v", out.State, out.Error)
	}
	if out := n.run("a.js", "typeof before", nil); string(out.Value) != `"undefined"` {
		t.Errorf("a program that was refused has run: %s %+v", out.Value, out.Error)
	}
}

// A session does not hand out a module that the policy has changed or taken away
// since, nor one that imports it. What did not change stays one.
func TestSessionGetsTheModulesOfThePolicy(t *testing.T) {
	const read = "import { v } from 'policy:v'\nimport { w } from 'policy:outer'\nimport { next } from " +
		"'policy:counter'\n;[v(), w(), next()]"
	n := &notebook{t: t, e: cold(t)}
	run := func(source string, change func(*executors.Run)) executors.Outcome {
		t.Helper()
		out := n.run("plan.js", source, func(r *executors.Run) {
			addModule(r, "policy:v", "export const v = () => 1")
			addModule(r, "policy:outer", "import { v } from 'policy:v'\nexport const w = () => 10 * v()\nexport "+
				"const boom = (o) => o.p.q")
			if change != nil {
				change(r)
			}
		})
		if out.Snapshot == nil && out.State != executors.StateDenied {
			t.Fatalf("%s %+v %s", out.State, out.Error, out.Unkept)
		}
		return out
	}
	value := func(want string, out executors.Outcome) {
		t.Helper()
		if string(out.Value) != want {
			t.Errorf("%s %s %+v, want %s", out.State, out.Value, out.Error, want)
		}
	}
	newer := func(r *executors.Run) { addModule(r, "policy:v", "export const v = () => 2") }
	typed := func(r *executors.Run) {
		addModule(r, "policy:v", "type N = number\nexport const v = (o: any): N =>\n  o.p.q")
	}
	value("[1,10,1]", run(read, nil))
	value("[1,10,2]", run(read, nil))
	value("[2,20,1]", run(read, newer))
	value("[1,10,3]", run(read, nil))
	gone := func(r *executors.Run) { delete(r.Modules, "policy:v") }
	for _, source := range []string{read, "const n = 'policy:v'; await import(n)",
		"const n = 'policy:outer'; await import(n)"} {
		if out := run(source, gone); out.State != executors.StateDenied || out.Error.Name != "ImportDenied" {
			t.Errorf("%s: %s %s %+v", source, out.State, out.Value, out.Error)
		}
	}
	want := []executors.Frame{{Function: "v", File: "policy:v", Line: 3, Column: 3},
		{File: "plan.js", Line: 3, Column: 2}}
	out := run("import { v } from 'policy:v'\nglobalThis.later = v\n;v({})", typed)
	if diff := cmp.Diff(want, out.Error.Frames); diff != "" {
		t.Errorf("%+v\n%s", out.Error, diff)
	}
	out = run("later({})", typed)
	if diff := cmp.Diff(want[:1], out.Error.Frames[:1]); diff != "" {
		t.Errorf("%+v\n%s", out.Error, diff)
	}
	out = run("\nlater({})", newer) // its lines are not known any more
	if diff := cmp.Diff([]executors.Frame{{File: "plan.js", Line: 2, Column: 1}}, out.Error.Frames); diff != "" {
		t.Errorf("%+v\n%s", out.Error, diff)
	}
}
