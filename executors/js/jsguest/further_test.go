package jsguest

import (
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/jsproto"
)

func ofSession(language string) jsproto.Options {
	o := withModules(language)
	o.Keep = true
	return o
}

func TestFurtherProgramsText(t *testing.T) {
	const need = `if (!(k in m))`
	for _, tt := range []struct{ name, source, has, hasNot string }{
		{"names", "import d, { a as b } from 'm'\nb", `const { default: d, a: b } = ((m) => { for (const k of ["default", "a"]) ` + need, "import d"},
		{"all names", "import * as ns from 'm'\nns", `const ns = await import("m");`, "import *"},
		{"default and all names", "import d, * as ns from 'm'\nns", "{ default: d } = ns;", "import d"},
		{"effects", "import 'd'\n1", `await import("d");`, `import "d"`},
		{"over lines", "import {\n  a,\n  b as c,\n} from 'm'\na", "const { a: a, b: c } =", "import {"},
		{"a name that is a text", "import { 'a b, c' as x } from 'm'\nx", `const { "a b, c": x } = ((m) => { for (const k of ["a b, c"])`, "import {"},
		{"declarations stay what they are", "import { a } from 'm'\nexport const v = 1\nexport class C {}\nexport let w = 2", "       const v = 1;", "export class"},
		{"a default expression is the result", "export default 1 + 1\nconst x = 5;", "const _default=1 + 1;;\nconst x = 5;\n_default;\n", "export"},
		{"a default class without a name", "export default class {}\n;(1)", "_default=class {\n};\n", "export"},
		{"a default function is the result", "export default function f() {}\n5", "f;\n", "_default"},
		{"clauses go", "const v = 1\nexport { v as w }\nv", "v;\n", "export"},
		{"from elsewhere", "export { a } from 'm'\nexport * from 'd'\n1", `await import("d");`, "export"},
		{"a text stays", "import { a } from 'm'\n`\nimport x from 'y'\nexport const z\n`", "\nimport x from 'y'\nexport const z\n", "import {"},
		{"a text after a text stays", "import { a } from 'm'\n`\n${a}\nimport x from 'y'\n${`\nexport default 1`}`", "\nimport x from 'y'\n", "_default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, language := range []string{"js", "ts"} {
				got, end := translate(ofSession(language), newModules(ofSession(language), time.Time{}), tt.source)
				if end != nil {
					t.Fatalf("%s: %+v", language, end.Error)
				}
				if !strings.HasPrefix(got.source, strict) || !strings.Contains(got.source, tt.has) ||
					strings.Contains(got.source, tt.hasNot) {
					t.Errorf("%s: want %q and no %q in\n%s", language, tt.has, tt.hasNot, got.source)
				}
			}
		})
	}
}

func TestFurtherPlainTextIsNotTouched(t *testing.T) {
	for _, src := range []string{"const s = 'import x from y'; s", "// export everything\n2",
		"with ({ a: 1 }) a // import x", "await import('m') // import m", "let = = 3 // export"} {
		got, end := translate(ofSession("js"), newModules(ofSession("js"), time.Time{}), src)
		if end != nil || got.source != src || got.maps != nil {
			t.Errorf("%q: %+v %+v", src, got, end)
		}
	}
}

// TestFurtherRefuses: an import that the policy refuses is refused before anything
// runs, as in a program without a session.
func TestFurtherRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		state        executors.State
		text         string
		line         int
	}{
		{"not allowed", "const before = 1\n\nimport x from 'requests'", executors.StateDenied, "requests", 3},
		{"exported from a module that is not allowed", "export * from 'requests'", executors.StateDenied, "requests", 1},
		{"attributes", "import x from 'm' with { type: 'json' }", executors.StateDenied, "attributes", 1},
		{"a syntax error", "import { from 'm'", executors.StateFailed, "plan.js:1", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newModules(ofSession("js"), time.Time{})
			_, end := translate(ofSession("js"), m, tt.source)
			if end == nil || end.State != tt.state || !strings.Contains(end.Error.Message, tt.text) {
				t.Fatalf("%+v", end)
			}
			if len(end.Error.Frames) != 1 || end.Error.Frames[0].Line != tt.line {
				t.Errorf("%+v", end.Error.Frames)
			}
			if tt.state == executors.StateDenied && len(end.Denials) != 1 {
				t.Errorf("%d denials", len(end.Denials))
			}
		})
	}
}

// FuzzFurther: no program makes the translation panic, move a line, or leave an
// import or export of the program where it stood.
func FuzzFurther(f *testing.F) {
	for _, s := range []string{
		"import d, { a as b } from 'm'\nb", "import * as ns from 'm'; ns", "export default class {}\n(1)", "`\nimport 'm'\n${1}`\nexport {}", "import {\n'x y' as z } from 'd'",
		"/*!\nimport x from 'm'\n*/ export const a = 1", "import 'm' with {}", "export * as x from 'd'", "export default async function* g() {}", "import'\"'", "import 'a\\x07'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got, end := translate(ofSession("ts"), newModules(ofSession("ts"), time.Time{}), source)
		if (got == nil) == (end == nil) {
			t.Fatalf("%+v %+v", got, end)
		}
		if end != nil && end.Error.Name == "TranslateError" {
			t.Errorf("%q: %s", source, end.Error.Message)
		}
	})
}
