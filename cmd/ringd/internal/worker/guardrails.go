package worker

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

// testWall is the wall time of all tests of a policy, if CompileConfig sets none.
const testWall = 20 * time.Second

// CheckRequest is a compiled set whose guardrails on the policy are asked again before it comes into
// force. Previous is the set in force; nil if there is none.
type CheckRequest struct {
	Set, Previous *profiles.Set
	Now           time.Time // if zero, the guardrails see null
	Target        string    // that they see; empty means guardrail.TargetHost
}

// CheckGuardrails asks the guardrails of a compiled set in a child, under the limits of [Compile].
// Findings that refuse mean that the set must not come into force: a guardrail denies or fails, or
// the child was killed. The error is that of [Compile]. A set without guardrails starts no child.
func CheckGuardrails(ctx context.Context, cfg CompileConfig, req CheckRequest) (schema.Diagnostics, error) {
	if !req.Set.Guarded() {
		return nil, nil
	}
	set, err := encodeAgents(req.Set, nil)
	if err != nil {
		return nil, fmt.Errorf("check guardrails: %w", err)
	}
	wire := diagnose(kindCheck, nil)
	wire.Set, wire.Target, wire.Now = set, req.Target, req.Now
	if req.Previous != nil {
		if wire.Previous, err = encodeAgents(req.Previous, req.Set); err != nil {
			return nil, fmt.Errorf("check guardrails: %w", err)
		}
	}
	got, err := runCompile(ctx, cfg, wire)
	return got.Diagnostics, err
}

// encodeAgents encodes a set without its modules, which no guardrail sees, and without the agents
// that are not in of. If of is nil, it encodes all agents.
func encodeAgents(set, of *profiles.Set) ([]byte, error) {
	out := profiles.Set{Agents: map[string]profiles.Agent{}}
	for name, a := range set.Agents {
		if _, ok := of.Agent(name); of == nil || ok {
			out.Agents[name] = a
		}
	}
	_, text, err := out.Seal()
	return text, err
}

// checkSet is the child's side of [CheckGuardrails].
func checkSet(ctx context.Context, req compileRequest) schema.Diagnostics {
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
	return guardrail.Check(ctx, set, previous, formatTime(req.Now), cmp.Or(req.Target, guardrail.TargetHost)).Sort()
}

// formatTime is the time that guardrails see; nil if t is zero.
func formatTime(t time.Time) *string {
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
	// Part says that Sources are a part of the policies that use Files. A test file without its
	// guardrail is then skipped. Otherwise it is a finding.
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

// TestResult is the result of the tests of a policy's guardrails. Tests of files with findings that
// refuse did not run.
type TestResult struct {
	Tests       []RegoTest
	Diagnostics schema.Diagnostics
	Usage       Usage
}

// TestRego runs the tests of the guardrails of a policy in a child. guardrails/x_test.rego has the
// tests of the guardrail that is called x, or whose file is guardrails/x.rego. Each guardrail is
// tested alone. The error is that of [Compile].
func TestRego(ctx context.Context, cfg CompileConfig, req TestRequest) (TestResult, error) {
	cfg.Wall = cmp.Or(cfg.Wall, testWall)
	wire := diagnose(kindTest, req.Sources)
	wire.Files, wire.Part = req.Files, req.Part
	got, err := runCompile(ctx, cfg, wire)
	return TestResult{got.tests, got.Diagnostics, got.Usage}, err
}

// testRego is the child's side of [TestRego].
func (w *compileServer) testRego(req compileRequest) (out []RegoTest, found schema.Diagnostics) {
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
	ran, used := map[[2]string]bool{}, map[string]bool{}
	for _, p := range policies {
		for _, g := range p.Spec.Guardrails {
			text := guardrail.Text{Name: cmp.Or(g.File, p.File+"#"+g.Name), Text: g.Rego}
			if g.File != "" {
				text.Text = string(req.Files[g.File])
			}
			for _, name := range testFiles(g) {
				file, ok := tests[name]
				if !ok || ran[[2]string{g.Name, name}] {
					continue
				}
				ran[[2]string{g.Name, name}], used[name] = true, true
				some, bad := guardrail.Test(
					w.ctx,
					cmp.Or(g.On, guardrail.OnPolicy),
					text,
					[]guardrail.Text{file},
					w.now,
				)
				for _, t := range some {
					out = append(out, RegoTest{g.Name, t.File, t.Line, t.Column, t.Name, t.Passed, t.Msg, t.Elapsed})
				}
				found = append(found, guardrailFindings(bad)...)
			}
		}
	}
	if !req.Part {
		found = append(found, unusedTests(tests, used)...)
	}
	return out, found.Sort()
}

// testFiles are the names of the files that may have the tests of a guardrail.
func testFiles(g schema.Guardrail) []string {
	return slices.Compact([]string{
		guardrail.Folder + g.Name + "_test.rego",
		strings.TrimSuffix(g.File, ".rego") + "_test.rego",
	})
}

// unusedTests are findings on files of tests whose guardrail does not exist.
func unusedTests(tests map[string]guardrail.Text, used map[string]bool) (found schema.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if !used[name] {
			found = append(
				found,
				schema.Diagnostic{Pos: schema.Pos{File: name, Line: 1, Column: 1}, Code: guardrail.CodeInvalid,
					Msg:  "tests no guardrail: none is called " + strings.TrimSuffix(path.Base(name), "_test.rego"),
					Hint: "name the file after the guardrail, or after its file"},
			)
		}
	}
	return found
}

func guardrailFindings(bad []guardrail.Placed) (out schema.Diagnostics) {
	for _, b := range bad {
		out = append(out, schema.Diagnostic{Pos: schema.Pos{File: b.File, Line: b.Line, Column: b.Column},
			Code: guardrail.CodeInvalid, Msg: b.Msg, Hint: b.Hint})
	}
	return out
}
