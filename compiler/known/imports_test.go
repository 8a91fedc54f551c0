package known_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/known"
	"github.com/ringd/ringd/profiles"
)

func TestNothing(t *testing.T) {
	if got := known.CheckImports(known.ImportsConfig{}); got != nil {
		t.Errorf("without Python: %+v", got)
	}
	if got := known.CheckImports(known.ImportsConfig{Agent: profiles.Agent{Python: &profiles.Python{}}}); got != nil {
		t.Errorf("without lists: %+v", got)
	}
}

func rules(names ...string) (out []profiles.ImportRule) {
	for i, n := range names {
		out = append(out, profiles.ImportRule{Name: n, Rule: profiles.Rule{Line: i + 1}})
	}
	return out
}

// TestNoNoise: lists that mean what they say have no finding.
func TestNoNoise(t *testing.T) {
	a := profiles.Agent{
		Files: profiles.Files{Write: []profiles.PathRule{{Path: "$WORKSPACE/out"}, {Path: "/tmp/x"}}},
		Python: &profiles.Python{
			Imports: profiles.Imports{
				Allow: rules("pandas", "numpy", "yaml", "attr", "attrs", "regex", "typing_extensions", "json",
					"ringd", "_io", "myteam", "tomli", "ujson", "jose", "acme_agent"),
				Deny:    rules("requests", "urllib3", "statistics", "antlr4"),
				Process: rules("multiprocessing", "subprocess"),
			},
			DenyBuiltins: rules("eval", "exec", "__import__", "input"),
			Environments: []profiles.PythonEnvironment{{Path: "/srv/venv"}, {Path: "/srv/venv2"}},
		}}
	if got := known.CheckImports(known.ImportsConfig{Agent: a}); got != nil {
		t.Errorf("got %+v", got)
	}
	a.Python.Imports.Allow = rules("lodash", "pandas", "JSON")
	if got := known.CheckImports(known.ImportsConfig{Agent: a, Compact: true}); got != nil {
		t.Errorf("the compact form lists modules of JavaScript too: %+v", got)
	}
}

// TestAnyDenied: "*" with all of what reaches outside denied is what its author means.
func TestAnyDenied(t *testing.T) {
	a := profiles.Agent{Python: &profiles.Python{Imports: profiles.Imports{Any: &profiles.Rule{Line: 1},
		Process: rules("ctypes", "subprocess", "socket", "multiprocessing", "posix", "pty")}}}
	for _, f := range known.CheckImports(known.ImportsConfig{Agent: a}) {
		if f.Code == known.CodeAny {
			t.Errorf("got %+v", f)
		}
	}
}

// TestWasm: what the WebAssembly engine lacks is told.
func TestWasm(t *testing.T) {
	a := profiles.Agent{Python: &profiles.Python{Engine: profiles.PythonWasm, JIT: true,
		Imports:      profiles.Imports{Allow: rules("json", "numpy")},
		Environments: []profiles.PythonEnvironment{{Path: "/srv/venv"}}}}
	var got []string
	for _, f := range known.CheckImports(known.ImportsConfig{Agent: a}) {
		got = append(got, f.Code)
	}
	if diff := cmp.Diff([]string{known.CodeEnvironment, known.CodeImportNever, known.CodeImportNever},
		got); diff != "" {
		t.Error(diff)
	}
}

func TestOverruled(t *testing.T) {
	for _, tt := range []struct {
		allow, deny []string
		sep         byte
		want        []known.Overrule
	}{
		{[]string{"json", "xml.etree", "pandas.*"}, []string{"xml", "pandas"}, '.', []known.Overrule{{1, 0}, {2, 1}}},
		{[]string{"json"}, []string{"js", "json.decoder", "json"}, '.', nil},
		{[]string{"@a/b/c", "@a/bc"}, []string{"@a/b"}, '/', []known.Overrule{{0, 0}}},
		{[]string{"", ".", "*"}, []string{"x"}, '.', nil},
	} {
		if diff := cmp.Diff(tt.want, known.Overruled(tt.allow, tt.deny, tt.sep)); diff != "" {
			t.Errorf("%v and %v (-want +got)\n%s", tt.allow, tt.deny, diff)
		}
	}
}
