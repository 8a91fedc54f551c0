package compilechild

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// testWall is the wall time of all tests of a policy, where a Config does not say.
const testWall = 20 * time.Second

// CheckRequest is a compiled set whose guardrails on the policy are to be asked
// again, before it comes in force. Previous is what is in force; nil: nothing.
type CheckRequest struct {
	Set, Previous *profiles.Set
	Now           time.Time // zero: nobody says, and the guardrails see null
	Target        string    // that they see; "": guardrail.TargetHost
}

// Check asks the guardrails of a compiled set in a child, under the limits of Run.
// Findings that refuse mean that the set must not come in force: one of them denies,
// or cannot tell, or the child was killed. The error is as that of Run. A set
// without guardrails starts no child.
func Check(ctx context.Context, cfg Config, req CheckRequest) (schema.Diagnostics, error) {
	if !req.Set.Guarded() {
		return nil, nil
	}
	set, err := only(req.Set, nil)
	if err != nil {
		return nil, fmt.Errorf("check guardrails: %w", err)
	}
	wire := request{Kind: kindCheck, Set: set, Target: req.Target, Now: req.Now, DiagnosticsOnly: true}
	if req.Previous != nil {
		if wire.Previous, err = only(req.Previous, req.Set); err != nil {
			return nil, fmt.Errorf("check guardrails: %w", err)
		}
	}
	got, err := run(ctx, cfg, wire)
	return got.Diagnostics, err
}

// only is the text of a set without its modules, which no guardrail sees, and
// without the agents that are not in of.
func only(set, of *profiles.Set) ([]byte, error) {
	out := profiles.Set{Agents: map[string]profiles.Agent{}}
	for name, a := range set.Agents {
		if _, ok := of.Agent(name); of == nil || ok {
			out.Agents[name] = a
		}
	}
	_, text, err := out.Seal()
	return text, err
}

// checkSet is the child's side of Check.
func checkSet(ctx context.Context, req request) schema.Diagnostics {
	refuse := func(what string, err error) schema.Diagnostics {
		return schema.Diagnostics{{Code: guardrail.CodeInvalid, Msg: what + " cannot be read: " + err.Error()}}
	}
	set, err := profiles.DecodeSet(req.Set)
	if err != nil {
		return refuse("the set", err)
	}
	var previous *profiles.Set
	if len(req.Previous) > 0 {
		if previous, err = profiles.DecodeSet(req.Previous); err != nil {
			return refuse("the set in force", err)
		}
	}
	return guardrail.Check(ctx, set, previous, stamp(req.Now), cmp.Or(req.Target, guardrail.TargetHost)).Sort()
}

// stamp is a time as guardrails see it.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}

// TestRequest is a policy with the tests of its guardrails: Files holds guardrails/x.rego
// and guardrails/x_test.rego.
type TestRequest struct {
	Sources []schema.Source
	Files   map[string][]byte
	// Part says that Sources are some of those beside Files: tests of no guardrail of
	// theirs are those of others, and do not run. Else they are findings.
	Part bool
}

// RegoTest is how one test of a guardrail ended. Line and Column are those of the
// test, Msg says why it did not pass.
type RegoTest struct {
	Guardrail string        `json:"guardrail"` // its name
	File      string        `json:"file"`
	Line      int           `json:"line"`
	Column    int           `json:"column"`
	Name      string        `json:"name"` // test_x
	Passed    bool          `json:"passed"`
	Msg       string        `json:"message,omitempty"`
	Elapsed   time.Duration `json:"elapsed"`
}

// TestResult is how the tests of a policy's guardrails ended. With findings that
// refuse, those of the files with findings did not run.
type TestResult struct {
	Tests       []RegoTest
	Diagnostics schema.Diagnostics
	Usage       Usage
}

// TestRego runs the tests of the guardrails of a policy in a child: guardrails/x_test.rego
// holds those of the guardrail that is called x, or whose file is guardrails/x.rego. Each
// guardrail is tested alone. The error is as that of Run.
func TestRego(ctx context.Context, cfg Config, req TestRequest) (TestResult, error) {
	cfg.Wall = cmp.Or(cfg.Wall, testWall)
	got, err := run(ctx, cfg, request{Kind: kindTest, Sources: req.Sources, Files: req.Files, Part: req.Part, DiagnosticsOnly: true})
	return TestResult{got.tests, got.Diagnostics, got.Usage}, err
}

// testRego is the child's side of TestRego.
func (w *worker) testRego(req request) (out []RegoTest, found schema.Diagnostics) {
	policies, bad := schema.Decode(req.Sources)
	if bad.Refused() {
		return nil, bad
	}
	tests := map[string]guardrail.Text{}
	for name, text := range req.Files {
		if strings.HasPrefix(name, guardrail.Folder) && strings.HasSuffix(name, "_test.rego") {
			tests[name] = guardrail.Text{Name: name, Text: string(text)}
		}
	}
	used := map[string]bool{}
	for _, p := range policies {
		for _, g := range p.Spec.Guardrails {
			text := guardrail.Text{Name: cmp.Or(g.File, p.File+"#"+g.Name), Text: g.Rego}
			if g.File != "" {
				text.Text = string(req.Files[g.File])
			}
			for _, name := range slices.Compact([]string{guardrail.Folder + g.Name + "_test.rego", strings.TrimSuffix(g.File, ".rego") + "_test.rego"}) {
				if one, ok := tests[name]; ok && !used[g.Name+"\x00"+name] {
					used[name], used[g.Name+"\x00"+name] = true, true
					some, bad := guardrail.Test(w.ctx, cmp.Or(g.On, guardrail.OnPolicy), text, []guardrail.Text{one}, w.now)
					for _, t := range some {
						out = append(out, RegoTest{g.Name, t.File, t.Line, t.Column, t.Name, t.Passed, t.Msg, t.Elapsed})
					}
					found = append(found, placed(bad)...)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if !used[name] && !req.Part {
			found = append(found, schema.Diagnostic{Pos: schema.Pos{File: name, Line: 1, Column: 1}, Code: guardrail.CodeInvalid,
				Msg:  "tests no guardrail: none is called " + strings.TrimSuffix(path.Base(name), "_test.rego"),
				Hint: "name the file after the guardrail, or after its file"})
		}
	}
	return out, found.Sort()
}

func placed(bad []guardrail.Placed) (out schema.Diagnostics) {
	for _, b := range bad {
		out = append(out, schema.Diagnostic{Pos: schema.Pos{File: b.File, Line: b.Line, Column: b.Column},
			Code: guardrail.CodeInvalid, Msg: b.Msg, Hint: b.Hint})
	}
	return out
}
