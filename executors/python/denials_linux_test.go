package python_test

import (
	"testing"

	"github.com/ringd/ringd/profiles"
)

// TestDenialsAreRuled: of a refused import the host says the rule and what is allowed
// instead, not the guest.
func TestDenialsAreRuled(t *testing.T) {
	e := executor(t, nil)
	rule := profiles.Rule{File: "p.yaml", Line: 7, Column: 3, Path: "spec.executors.python.imports.deny[0]"}
	a := agent(func(p *profiles.Python) {
		p.Imports = profiles.Imports{
			Allow: []profiles.ImportRule{{Name: "json"}, {Name: "statistics"}},
			Deny:  []profiles.ImportRule{{Name: "colorsys", Rule: rule}},
		}
	})
	o := play(t, e, run(a, "for name in 'colorsys', 'statistic':\n    try: __import__(name)\n    except ImportError: "+
		"pass"))
	if len(o.Denials) != 2 {
		t.Fatal(brief(o))
	}
	if got := o.Denials[0].Rule; got == nil || *got != rule {
		t.Errorf("the rule is %+v", got)
	}
	if got := o.Denials[1].Instead; len(got) == 0 || got[0] != "statistics" {
		t.Errorf("instead of statistic: %q", got)
	}
}
