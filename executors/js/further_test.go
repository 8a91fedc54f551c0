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
	e := cold(t)
	var in *executors.Resume
	run := func(file, source string) executors.Outcome {
		t.Helper()
		r := program(source, "echo")
		r.Program.Name = file
		addModules(&r)
		r.Session, r.Resume = true, in
		out, err := e.Run(t.Context(), r, plain)
		if err != nil {
			t.Fatal(err)
		}
		if out.Snapshot != nil {
			in = &executors.Resume{Engine: out.Engine, Snapshot: out.Snapshot, Session: true}
		}
		return out
	}
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
		out := run(tt.file, tt.source)
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
		out := run(tt.file, tt.source)
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
	if out := run("a.js", "const before = 1\nimport x from 'requests'"); out.State != executors.StateDenied || len(out.Denials) != 1 || out.Snapshot != nil {
		t.Errorf("%s %+v", out.State, out.Error)
	}
	if out := run("a.js", "typeof before"); string(out.Value) != `"undefined"` {
		t.Errorf("a program that was refused has run: %s %+v", out.Value, out.Error)
	}
}
