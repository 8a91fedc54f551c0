package jsguest

// In the package: the translation has no exported name.

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

func withModules(language string) jsproto.Options {
	o := jsproto.Options{File: "plan." + language, Language: language, Modules: map[string]profiles.Module{}}
	for name, src := range map[string]string{"m": "import d from 'd'; export let a = 1; export default d",
		"d": "export default 7", "e": "export const e = (n) => import(n)"} {
		sum := sha256.Sum256([]byte(src))
		o.Modules[name] = profiles.Module{Source: src, Digest: "sha256:" + hex.EncodeToString(sum[:])}
		o.Imports.Allow = append(o.Imports.Allow, profiles.ImportRule{Name: name})
	}
	return o
}

// What needs no translation is not touched, so that places and meaning stay.
func TestPlainTextIsNotTouched(t *testing.T) {
	for _, src := range []string{
		"1 + 1", "await import('m')", "const s = 'import x from y'; s", "// export everything\n2",
		"with ({ a: 1 }) a // import x", "let = = 3", "",
	} {
		got, end := translate(withModules("js"), newModules(withModules("js"), time.Time{}), src)
		if end != nil || got.source != src || got.maps != nil {
			t.Errorf("%q: %+v %+v", src, got, end)
		}
	}
}

func TestJoin(t *testing.T) {
	for _, tt := range []struct{ name, source, has, hasNot string }{
		{"modules come first", "import d, { a } from 'm'\nd + a", "d_default", "import "},
		{"a constant dynamic import is the same module", "import { a } from 'm'\nawait import('m')", "m_exports", "import("},
		{"a refused dynamic import stays", "import { a } from 'm'\nawait import('x')", `import("x")`, "import {"},
		{"an unknown name makes the engine load", "import d, { a } from 'm'\nawait import(d + a)", `const ringdModule0 = await import("m");` + "\n", "import {"},
		{"so does one in a module", "import { e } from 'e'\ne", `const ringdModule0 = await import("e");`, "import {"},
		{"a name of the link is free", "import { a } from 'm'\nconst ringdModule0 = a\nawait import(String(ringdModule0))", "ringdModule02 = import_m.a", "import {"},
		{"exports are dropped", "export const v = 1\nv", "var v = 1;", "export"},
		{"a default export is the result", "export const v = 1\nexport default v + 1", "plan_default;\n", "export {"},
		{"an export clause in a text stays", "export const v = 1\n`\nexport {\n x\n};\n`", "export {\n x", "export {\n  v"},
		{"a hashbang is a comment", "#!/usr/bin/env x\nimport { a } from 'm'\na", "///usr/bin/env x", "#!"},
		{"the last expression stays though it does nothing", "import { a } from 'm'\na;\n({ x: 1 })", "({ x: 1 })", "import "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, language := range []string{"js", "ts"} {
				got, end := translate(withModules(language), newModules(withModules(language), time.Time{}), tt.source)
				if end != nil {
					t.Fatalf("%+v", end.Error)
				}
				if !strings.HasPrefix(got.source, strings.TrimSpace(strict)) || !strings.Contains(got.source, tt.has) ||
					strings.Contains(got.source, tt.hasNot) {
					t.Errorf("%s: want %q and no %q in\n%s", language, tt.has, tt.hasNot, got.source)
				}
			}
		})
	}
}

// What nests too deep for the translator is refused before it, and what nests as
// deep as is allowed is translated.
func TestNesting(t *testing.T) {
	for _, tt := range []struct{ name, open, middle, end string }{
		{"parentheses", "(", "1", ")"}, {"arrays", "[", "", "]"}, {"blocks", "{", "", "}"}, {"templates", "`${", "1", "}`"},
		{"arrows", "a=>", "1", ""}, {"conditions", "a?b:", "c", ""}, {"not", "!", "1", ""}, {"minus", "- ", "1", ""}, {"minus on lines", "-\n", "1", ""},
		{"type arguments", "let a: A<", "1", ""}, {"objects", "({a:", "1", "})"}, {"functions", "function f(){", "", "}"}, {"calls", "f(", "", ")"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := func(n int) string { return strings.Repeat(tt.open, n) + tt.middle + strings.Repeat(tt.end, n) }
			_, end := translate(withModules("ts"), newModules(withModules("ts"), time.Time{}), text(maxNesting+2))
			if end == nil || end.Error.Name != "SyntaxError" || !strings.Contains(end.Error.Message, "nests deeper") {
				t.Errorf("%+v", end)
			}
			if n := nesting(text(maxNesting / 4)); n > maxNesting || n < maxNesting/4 {
				t.Fatalf("nesting %d of %d", n, maxNesting/4)
			}
			n := maxNesting / 4
			if tt.name == "arrows" || tt.name == "functions" {
				n = 100 // their time grows with the square; the processor time limit holds them
			}
			for _, source := range []string{text(n), "export default " + text(n)} { // a syntax error is an answer too
				if got, end := translate(withModules("ts"), newModules(withModules("ts"), time.Time{}),
					source); got == nil && end == nil {
					t.Error("neither a program nor an end")
				}
			}
		})
	}
	if n := nesting(strings.Repeat("const f = (a, b = 1 < 2) => a?.b ?? c[d] - -1; if (x > 1 && !y) { f(1) }\n",
		1000)); n > 20 {
		t.Errorf("an ordinary program nests %d deep", n)
	}
}

// A text that maps to nothing is a program all the same.
func TestNothingIsMapped(t *testing.T) {
	for source, want := range map[string]string{
		"'a text'": strict + "\"a text\";\n", "": strict, "// nothing": strict, "interface A {}": strict, "type T = 1;": strict, "#!/bin/x": strict + "///bin/x\n",
	} {
		got, end := translate(withModules("ts"), newModules(withModules("ts"), time.Time{}), source)
		if end != nil || got.source != want {
			t.Errorf("%q: %+v %+v", source, got, end)
		}
	}
}

// No text reads a file or makes the translator fall: it ends as a program or as
// a typed end. What a joined program imports statically is gone from it.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{
		"import d, { a as b } from 'm'; export { b as 'x y' }; export default class {}", "export * from 'm'; 1", "import x from '/etc/passwd'",
		"enum A { B }; @dec class C { accessor x = 1 }", "import('m'); require('fs')", "export default await 1", "import x from 'data:text/javascript,1'",
		"import x, * as y from 'd' with { type: 'json' }; y", "`\nexport {\n`", "namespace N { export import x = require('y') }",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, source string, ts bool) {
		language := jsproto.JavaScript
		if ts {
			language = jsproto.TypeScript
		}
		o := withModules(language)
		m := newModules(o, time.Time{})
		got, end := translate(o, m, source)
		if (got == nil) == (end == nil) {
			t.Fatalf("%v and %v", got, end)
		}
		if end != nil {
			if end.Error == nil || end.State != executors.StateFailed && end.State != executors.StateDenied {
				t.Fatalf("%+v", end)
			}
			if (end.State == executors.StateDenied) != (len(end.Denials) > 0) {
				t.Fatalf("state %s with denials %v", end.State, end.Denials)
			}
		}
	})
}
