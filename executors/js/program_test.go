package js_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Frames and syntax errors are at the author's place, whatever was translated.
func TestAuthorsLines(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, file, source string
		state              executors.State
		error              string
		want               []executors.Frame
	}{
		{"javascript", "plan.js", "const a = 1\n\nfunction pick(x) {\n  return x.y.z\n}\npick({})", executors.StateFailed, "TypeError",
			[]executors.Frame{{Function: "pick", File: "plan.js", Line: 4, Column: 10},
				{File: "plan.js", Line: 6, Column: 1}}},
		{"typescript", "plan.ts", "enum E { A }\ninterface I { x: number }\n\nfunction pick(x: any): I {\n  const y: number = 1\n  return x.y.z as I\n}\npick({})", executors.StateFailed, "TypeError",
			[]executors.Frame{{Function: "pick", File: "plan.ts", Line: 6, Column: 10},
				{File: "plan.ts", Line: 8, Column: 1}}},
		{"after an await", "plan.ts", "type T = number\nasync function f(): Promise<T> {\n  await null\n  throw new RangeError('x')\n}\nawait f()", executors.StateFailed, "RangeError",
			[]executors.Frame{{Function: "f", File: "plan.ts", Line: 4, Column: 13}}},
		{"joined with modules", "plan.js", "import { answer } from 'policy:math'\n\nanswer()\nnull.x", executors.StateFailed, "TypeError",
			[]executors.Frame{{File: "plan.js", Line: 4, Column: 1}}},
		{"in a module", "plan.js", "import { boom } from 'policy:boom'\n\nboom({})", executors.StateFailed, "TypeError",
			[]executors.Frame{{Function: "boom", File: "policy:boom", Line: 3, Column: 10},
				{File: "plan.js", Line: 3, Column: 1}}},
		{"in a typescript module, static", "plan.js", "import { typed } from 'policy:typed-boom'\ntyped({})", executors.StateFailed, "TypeError",
			[]executors.Frame{{Function: "typed", File: "policy:typed-boom", Line: 3, Column: 11},
				{File: "plan.js", Line: 2, Column: 1}}},
		{"in a typescript module, dynamic", "plan.js", "const n = 'policy:typed-boom'\nconst { typed } = await import(n)\ntyped({})", executors.StateFailed, "TypeError",
			[]executors.Frame{{Function: "typed", File: "policy:typed-boom", Line: 3, Column: 11},
				{File: "plan.js", Line: 3, Column: 1}}},
		{"after a hashbang, typescript", "plan.ts", "#!/usr/bin/env ringd\nconst x: any = null\nx.y", executors.StateFailed, "TypeError",
			[]executors.Frame{{File: "plan.ts", Line: 3, Column: 1}}},
		{"after a hashbang, with exports", "plan.js", "#!/usr/bin/env ringd\nexport default 1\nnull.y", executors.StateFailed, "TypeError",
			[]executors.Frame{{File: "plan.js", Line: 3, Column: 1}}},
		{"generated code has no place", "plan.js", "import { answer } from 'policy:math'\nanswer()\nrequire('fs')", executors.StateFailed, "Error",
			[]executors.Frame{{File: "plan.js", Line: 3, Column: 1}}},
		{"a deadlock after an error", "plan.js", "let done\nconst p = new Promise((r) => { done = r });\n(async () => { null.x; done() })()\nawait p", executors.StateLimit, "Deadlock",
			[]executors.Frame{{File: "plan.js", Line: 3, Column: 16}}},
		{"syntax, javascript", "plan.js", "const a = 1\nlet = = 2", executors.StateFailed, "SyntaxError",
			[]executors.Frame{{File: "plan.js", Line: 2, Column: 7}}},
		{"syntax, typescript", "plan.ts", "const a = 1\n\n  let x: = 2", executors.StateFailed, "SyntaxError",
			[]executors.Frame{{File: "plan.ts", Line: 3, Column: 10}}},
		{"syntax, with imports", "plan.js", "import { answer } from 'policy:math'\nlet x = ;", executors.StateFailed, "SyntaxError",
			[]executors.Frame{{File: "plan.js", Line: 2, Column: 9}}},
		{"an export that a module has not", "plan.js", "import { question } from 'policy:math'\nquestion()", executors.StateFailed, "SyntaxError",
			[]executors.Frame{{File: "plan.js", Line: 1, Column: 10}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := program(tt.source)
			r.Program.Name = tt.file
			addModules(&r)
			addModule(&r, "policy:typed-boom", "enum E { A, B }\nexport function typed(o: any): number {\n  return "+
				"(o.p as any).y + E.A\n}\n")
			addModule(&r, "policy:boom", "// a\nexport function boom(o) {\n  return o.p.y\n}\n")
			out := mustRun(t, e, r)
			if out.State != tt.state || out.Error == nil || out.Error.Name != tt.error {
				t.Fatalf("%s %+v", out.State, out.Error)
			}
			got := out.Error.Frames[:min(len(out.Error.Frames), len(tt.want))]
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s: -want +got\n%s", out.Error.Message, d)
			}
			if at := tt.want[0]; tt.error == "SyntaxError" && tt.name != "syntax, javascript" &&
				!strings.HasPrefix(out.Error.Message, fmt.Sprintf("%s:%d:%d: ", at.File, at.Line, at.Column)) {
				t.Errorf("message %q does not begin with the place", out.Error.Message)
			}
		})
	}
}

// The text of a refused import names the module, the rule and what is allowed.
func TestImportRefusals(t *testing.T) {
	e := executor(t, nil)
	for _, tt := range []struct {
		name, source string
		code         profiles.Code
		want         []string
	}{
		{"static, denied by a rule", "import x from 'requests'; x", profiles.CodeImportDenied, []string{`"requests"`, "policy.yaml:12", "denied_imports[0]", "allowed: policy:bad, policy:base"}},
		{"static, not listed", "import x from 'left-pad'; x", profiles.CodeImportNotAllowed, []string{`"left-pad"`, "allowed: policy:bad, policy:base"}},
		{"static, in a module", "import { x } from 'policy:bad'; x", profiles.CodeImportDenied, []string{`"requests"`, "policy.yaml:12"}},
		{"re-export", "export * from 'requests'", profiles.CodeImportDenied, []string{`"requests"`}},
		{"dynamic, denied by a rule", "await import('requests')", profiles.CodeImportDenied, []string{`"requests"`, "policy.yaml:12", "allowed: policy:bad, policy:base"}},
		{"dynamic, name made at run time", "await import('req' + 'uests')", profiles.CodeImportDenied, []string{`"requests"`}},
		{"dynamic, in a module that is loaded at run time", "const n = 'policy:bad'; await import(n)", profiles.CodeImportDenied, []string{`"requests"`}},
		{"allowed and not shipped", "import x from 'pandas'; x", profiles.CodeImportNotAllowed, []string{`"pandas"`}},
		{"deny wins over allow", "import x from 'requests/sub'; x", profiles.CodeImportDenied, []string{`"requests/sub"`}},
		{"a file", "import x from './secret.js'; x", profiles.CodeImportNotAllowed, nil},
		{"a file by url", "import x from 'file:///etc/passwd'; x", profiles.CodeImportNotAllowed, nil},
		{"the network", "import x from 'https://evil/x.js'; x", profiles.CodeImportNotAllowed, nil},
		{"required by typescript", "import fs = require('requests'); fs", profiles.CodeImportDenied, []string{`"requests"`}},
		{"with attributes", "import x from 'policy:base' with { type: 'json' }; x", profiles.CodeImportDenied, []string{`"policy:base"`, "attributes"}},
		{"the engine's own", "await import('qjs:os')", profiles.CodeImportNotAllowed, nil},
		{"data url", "await import('data:text/javascript,1')", profiles.CodeImportNotAllowed, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := program("await echo('before')\n"+tt.source, "echo")
			addModules(&r)
			if strings.Contains(tt.name, "typescript") {
				r.Program.Name = "plan.ts"
			}
			addModule(&r, "policy:bad", "import y from 'requests'\nexport const x = y\n")
			r.Agent.JS.Imports.Deny = []profiles.ImportRule{
				{Name: "requests", Rule: profiles.Rule{File: "policy.yaml", Line: 12, Column: 7, Path: "interpreter_ring.denied_imports[0]"}}}
			r.Agent.JS.Imports.Allow = append(r.Agent.JS.Imports.Allow, profiles.ImportRule{Name: "pandas"},
				profiles.ImportRule{Name: "requests/sub"})
			out := mustRun(t, e, r)
			if out.State != executors.StateDenied || out.Error == nil || out.Error.Name != "ImportDenied" {
				t.Fatalf("%s %+v", out.State, out.Error)
			}
			if len(out.Denials) == 0 || out.Denials[0].Code != tt.code || out.Denials[0].Verdict != profiles.Deny {
				t.Errorf("denials %+v, want %s", out.Denials, tt.code)
			}
			for _, w := range tt.want {
				if !strings.Contains(out.Error.Message, w) {
					t.Errorf("%q does not say %q", out.Error.Message, w)
				}
			}
			static := !strings.Contains(tt.source, "import(")
			if began := out.Usage.Calls["echo"] > 0; began == static {
				t.Errorf("the program began: %v", began)
			}
		})
	}
}

// A module whose text is not the one the policy pins is not given out.
func TestModuleDigest(t *testing.T) {
	e := executor(t, nil)
	for _, source := range []string{"import { answer } from 'policy:math'; answer()",
		"const { answer } = await import('policy:math'); answer()"} {
		r := program(source)
		addModules(&r)
		m := r.Modules["policy:math"]
		m.Source += "// changed"
		r.Modules["policy:math"] = m
		out := mustRun(t, e, r)
		if out.State != executors.StateDenied || len(out.Denials) != 1 ||
			!strings.Contains(out.Error.Message, "digest") {
			t.Errorf("%s: %s %+v", source, out.State, out.Error)
		}
	}
}

// The guest is never told the source of a module that its agent may not import.
func TestModulesOfOthers(t *testing.T) {
	e := executor(t, nil)
	r := program("const n = 'policy:math'; await import(n)")
	addModules(&r)
	r.Agent.JS.Imports.Allow = nil
	out := mustRun(t, e, r)
	if out.State != executors.StateDenied || !strings.Contains(out.Error.Message, "no modules are allowed here") {
		t.Errorf("%s %+v", out.State, out.Error)
	}
}

func TestDenyGlobals(t *testing.T) {
	e := executor(t, nil)
	r := program("[typeof eval, typeof WeakRef, typeof Function]")
	r.Agent.JS.DenyGlobals = []profiles.ImportRule{{Name: "eval"}, {Name: "Function"}, {Name: "WeakRef"}}
	if out := mustRun(t, e, r); string(out.Value) != `["undefined","undefined","undefined"]` {
		t.Errorf("%s %s %+v", out.State, out.Value, out.Error)
	}
}

// A bridge that is granted to another executor only does not exist here.
func TestBridgesOfOtherExecutors(t *testing.T) {
	e := executor(t, nil)
	r := program("typeof pythonOnly", "pythonOnly")
	r.Agent.Bridges["pythonOnly"] = profiles.Bridge{Name: "pythonOnly", Executors: []string{"python"}}
	if out := mustRun(t, e, r); string(out.Value) != `"undefined"` {
		t.Errorf("%s %s", out.State, out.Value)
	}
}

// A text that exhausts the translator ends its own run only.
func TestHostileTypeScript(t *testing.T) {
	e := executor(t, nil)
	for name, source := range map[string]string{
		"deep brackets": "const x: any = " + strings.Repeat("[", 2<<20),
		"deep types":    "let x: " + strings.Repeat("Array<", 1<<20),
		"deep imports":  "import 'policy:math'\n" + strings.Repeat("(", 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			r := program(source)
			r.Program.Name = "plan.ts"
			addModules(&r)
			out := mustRun(t, e, r)
			if out.State != executors.StateFailed && out.State != executors.StateLimit {
				t.Errorf("%s %+v", out.State, out.Error)
			}
			if next := mustRun(t, e, program("1 + 1")); string(next.Value) != "2" {
				t.Errorf("the next run: %s %+v", next.State, next.Error)
			}
		})
	}
}

// A ready guest has given up new descriptors, files and being traced.
func TestSealed(t *testing.T) {
	e := executor(t, nil)
	mustRun(t, e, program("1"))
	guests := 0
	for _, pid := range children(t) {
		cmd, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err != nil || !strings.Contains(string(cmd), verb) {
			continue
		}
		guests++
		limits, err := os.ReadFile("/proc/" + pid + "/limits")
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(string(limits)), " ")
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			t.Fatal(err)
		}
		// In a ring the filter of the seal refuses descriptors, above the ring's own.
		inRing := strings.Contains(strings.Join(strings.Fields(string(status)), " "), "Seccomp_filters: 2")
		if !inRing && !strings.Contains(words, "Max open files 0 0 files") {
			t.Errorf("guest %s can make descriptors:\n%s", pid, limits)
		}
		for _, want := range []string{"Max file size 0 0 bytes", "Max core file size 1 1 bytes"} {
			if !strings.Contains(words, want) {
				t.Errorf("guest %s: no %q in\n%s", pid, want, limits)
			}
		}
		fds, err := os.ReadDir("/proc/" + pid + "/fd")
		if errors.Is(err, fs.ErrPermission) && os.Getuid() != 0 {
			continue // nobody but root may look into a sealed guest
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			to, err := os.Readlink("/proc/" + pid + "/fd/" + fd.Name())
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(to, ":")
			switch {
			case to == "/dev/null", kind == "socket", kind == "anon_inode", strings.HasPrefix(to, "/memfd:"):
			case strings.HasPrefix(to, "/sys/fs/cgroup/"): // the Go runtime's
			default:
				t.Errorf("guest %s has descriptor %s open on %s", pid, fd.Name(), to)
			}
		}
	}
	if guests == 0 {
		t.Fatal("no guest found")
	}
}

// A refusal that the program catches is still in the outcome.
func TestCaughtImport(t *testing.T) {
	r := program("let n; try { await import('requests') } catch (e) { n = e.name }\nn")
	out := mustRun(t, executor(t, nil), r)
	if out.State != executors.StateDone || string(out.Value) != `"ImportDenied"` {
		t.Fatalf("%s %s %+v", out.State, out.Value, out.Error)
	}
	if len(out.Denials) != 1 || out.Denials[0].Code != profiles.CodeImportNotAllowed {
		t.Errorf("denials %+v, want one", out.Denials)
	}
}

// TestOneInstanceOfAModule: a module is evaluated once, however the program and
// other modules come to it.
func TestOneInstanceOfAModule(t *testing.T) {
	e := cold(t)
	for _, tt := range []struct{ name, source, want string }{
		{"computed", "import { next } from 'policy:counter'\nconst n = 'policy:' + 'counter'\nconst m = await import(n)\n;[next(), m.next(), next()]", "[1,2,3]"},
		{"computed and constant", "import { self } from 'policy:counter'\nconst n = 'policy:' + 'counter'\n;[(await import(n)).self === self, (await import('policy:counter')).self === self]", "[true,true]"},
		{"within another module", "import { next } from 'policy:counter'\nimport { at } from 'policy:around'\nconst n = 'policy:' + 'around'\n;[next(), at(), (await import(n)).at(), next()]", "[1,2,3,4]"},
		{"a module that computes", "import { self } from 'policy:counter'\nimport { by } from 'policy:by'\n(await by('counter')).self === self", "true"},
		{"a variable that changes", "import d, { n, add } from 'policy:live'\nimport * as all from 'policy:live'\nconst before = n\nadd()\nconst m = await import('policy:' + 'live')\nadd()\n;[d, before, n, all.n, m.n, Object.keys(all).sort().join()]", `["d",0,2,2,2,"add,default,n"]`},
		{"in order", "import 'policy:second'\nimport 'policy:first'\nawait import('policy:' + 'first')\nglobalThis.order.join()", `"second,first"`},
	} {
		for _, file := range []string{"p.js", "p.ts"} {
			t.Run(tt.name+" "+file, func(t *testing.T) {
				r := program(tt.source)
				r.Program.Name = file
				addModules(&r)
				addModule(&r, "policy:around", "import { next } from 'policy:counter'\nexport const at = () => "+
					"next()\n")
				addModule(&r, "policy:by", "export const by = (n) => import('policy:' + n)\n")
				addModule(&r, "policy:live", "export let n = 0\nexport const add = () => { n++ }\nexport default 'd'\n")
				addModule(&r, "policy:first", "(globalThis.order ??= []).push('first')\n")
				addModule(&r, "policy:second", "(globalThis.order ??= []).push('second')\n")
				out, err := e.Run(t.Context(), r, plain)
				if err != nil || out.State != executors.StateDone || string(out.Value) != tt.want {
					t.Errorf("%v %s %s %+v, want %s", err, out.State, out.Value, out.Error, tt.want)
				}
			})
		}
	}
	// What a linked program does wrong is found before it begins, at its place.
	for _, source := range []string{"import { nothing } from 'policy:counter'\nawait import('policy:' + 'math')",
		"import x from 'requests'\nawait import('policy:' + 'math')"} {
		r := program(source)
		addModules(&r)
		out, err := e.Run(t.Context(), r, plain)
		if err != nil || out.State == executors.StateDone || len(out.Error.Frames) != 1 ||
			out.Error.Frames[0].Line != 1 {
			t.Errorf("%q: %v %s %+v", source, err, out.State, out.Error)
		}
	}
	// And what goes wrong later has the author's place.
	r := program("import { next } from 'policy:counter'\nawait import('policy:' + 'math')\n  next().x.y")
	addModules(&r)
	out, err := e.Run(t.Context(), r, plain)
	if err != nil || out.State != executors.StateFailed || len(out.Error.Frames) != 1 || out.Error.Frames[0].Line != 3 {
		t.Errorf("%v %s %+v", err, out.State, out.Error)
	}
}
