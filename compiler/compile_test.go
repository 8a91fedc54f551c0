package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

func compact() schema.Policy {
	imports := &schema.Imports{Allow: []string{"pandas", "numpy", "tappass_agent"}, Deny: []string{"requests", "urllib3", "collibra_client"}}
	return schema.Policy{File: "policy.yaml", Compact: true, Spec: schema.Spec{
		Executors: &schema.Executors{Allowed: []string{"js", "python", "shell"},
			JS: &schema.JS{Imports: imports}, Python: &schema.Python{Imports: imports},
			Shell: &schema.Shell{Binaries: []schema.Binary{{Path: "/usr/bin/git"}},
				DenyPatterns: []schema.DenyPattern{{Pattern: "rm -rf", Kind: "literal"}, {Pattern: "curl", Kind: "literal"}}}},
		Network: &schema.Network{Mode: "gateway-only"},
	}, Origins: map[string]schema.Origin{
		"spec.executors.python.imports.deny[1]": {Pos: schema.Pos{File: "policy.yaml", Line: 5, Column: 7}, Path: "interpreter_ring.denied_imports[1]"},
		"spec.executors.js.imports.deny[1]":     {Pos: schema.Pos{File: "policy.yaml", Line: 5, Column: 7}, Path: "interpreter_ring.denied_imports[1]"},
	}}
}

func compile(t *testing.T, cfg compiler.Config) profiles.Set {
	t.Helper()
	set, found := compiler.Compile(cfg)
	if len(found) > 0 {
		t.Fatalf("findings:\n%v", found)
	}
	return set
}

func TestCompactForm(t *testing.T) {
	set := compile(t, compiler.Config{Policies: []schema.Policy{compact()}})
	d := set.Decider("default", profiles.Environment{})
	want := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeImportDenied, Reason: "import of urllib3 is denied",
		Rule: &profiles.Rule{File: "policy.yaml", Line: 5, Column: 7, Path: "interpreter_ring.denied_imports[1]"}, Revision: set.Revision}
	for _, executor := range []string{"js", "python"} {
		if diff := cmp.Diff(want, d.Import(executor, "urllib3")); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", executor, diff)
		}
	}
	if got := d.Import("python", "pandas.core"); got.Verdict != profiles.Allow {
		t.Errorf("pandas.core: %+v", got)
	}
	if got := d.Import("js", "pandas"); got.Code != profiles.CodeImportNotAllowed {
		t.Errorf("pandas in JavaScript: %+v", got)
	}
}
