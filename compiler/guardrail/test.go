package guardrail

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// testTimeout is the time limit of one test.
const testTimeout = time.Second

// Text is a file of Rego.
type Text struct {
	Name string
	Text string
}

// Placed is a finding in a file.
type Placed struct {
	File string
	finding
}

// testResult is the result of one test. Msg is the reason if it did not pass.
type testResult struct {
	File         string
	Line, Column int
	Name         string // test_x
	Passed       bool
	Msg          string
	Elapsed      time.Duration
}

// Test runs the tests of a guardrail. A test is a rule of a test module whose name begins with test_, and
// passes if it is true. A test module is in the package of the guardrail, or in that package with _test
// appended, and sets the input with `with input as`. now is the clock. If there are findings, no test ran.
func Test(ctx context.Context, on string, guardrail Text, tests []Text, now func() time.Time) ([]testResult, []Placed) {
	modules, found := read(on, guardrail, tests)
	if len(found) > 0 {
		return nil, found
	}
	compiler, err := build(on, modules)
	if err != nil {
		return nil, placed(err, guardrail.Name)
	}
	var out []testResult
	for _, t := range tests {
		m := modules[t.Name]
		for _, r := range m.Rules {
			name := r.Head.Ref().String()
			if !strings.HasPrefix(name, "test_") || slices.ContainsFunc(out,
				func(o testResult) bool { return o.Name == name && o.File == t.Name }) {
				continue
			}
			one := testResult{File: t.Name, Line: r.Location.Row, Column: r.Location.Col, Name: name}
			begun := now()
			one.Passed, one.Msg = test(ctx, compiler, m.Package.Path.String()+"."+name)
			one.Elapsed = now().Sub(begun)
			out = append(out, one)
		}
	}
	return out, nil
}

// test runs one test.
func test(ctx context.Context, compiler *ast.Compiler, path string) (passed bool, msg string) {
	query, err := compiler.QueryCompiler().Compile(ast.MustParseBody("denials = " + path))
	if err != nil {
		return false, findings(err).Error()
	}
	msg = "is undefined: something in it does not hold"
	err = run(ctx, compiler, query, nil, testTimeout, func(b topdown.QueryResult) error {
		t := b[ast.Var("denials")]
		passed = t != nil && t.Value.Compare(ast.Boolean(true)) == 0
		msg = "is not true"
		return nil
	})
	switch {
	case err != nil:
		return false, err.Error()
	case passed:
		return true, ""
	default:
		return false, msg
	}
}

// read parses a guardrail and its tests, and checks them.
func read(on string, guardrail Text, tests []Text) (map[string]*ast.Module, []Placed) {
	var found []Placed
	add := func(file string, fs Findings) {
		for _, f := range fs {
			found = append(found, Placed{file, f})
		}
	}
	pkg := packageOf(on)
	modules := map[string]*ast.Module{}
	for i, t := range append([]Text{guardrail}, tests...) {
		m, bad := parse(t.Name, t.Text)
		if bad != nil {
			add(t.Name, bad)
			continue
		}
		modules[t.Name] = m
		c := &checker{on: on, pkg: pkg}
		if i == 0 {
			c.guardrail(m)
			var known *ast.TypeEnv
			if alone, err := build(on, map[string]*ast.Module{t.Name: m.Copy()}); err == nil {
				known = alone.TypeEnv
			} // otherwise the caller has the same finding
			strict(m, on, known)
		} else {
			c.test(m)
		}
		add(t.Name, c.found)
	}
	return modules, found
}

// test checks a test module.
func (c *checker) test(m *ast.Module) {
	if got := strings.TrimPrefix(m.Package.Path.String(), "data."); got != c.pkg && got != c.pkg+"_test" {
		c.add(m.Package.Location, "write package "+c.pkg+"_test",
			"tests of a guardrail on %s are in package %s or %s_test", word(c.on), c.pkg, c.pkg)
	}
	c.reads(m, "data."+c.pkg, "data."+c.pkg+"_test")
	for _, r := range m.Rules {
		name := r.Head.Ref().String()
		switch {
		case name == "deny":
			c.add(r.Location, "write it in the guardrail", "a test has no deny of its own")
		case strings.HasPrefix(name, "test_") && (r.Default || len(r.Head.Args) > 0 ||
			r.Head.RuleKind() == ast.MultiValue):
			c.add(r.Location, "write "+clip(name)+" if { … }", "a test is true or undefined")
		}
	}
	if !slices.ContainsFunc(m.Rules, func(r *ast.Rule) bool {
		return strings.HasPrefix(r.Head.Ref().String(),
			"test_")
	}) {
		c.add(m.Package.Location, "write test_name if { … }", "holds no test")
	}
}

// placed assigns the errors of a compilation of several files to their files.
func placed(err error, otherwise string) (out []Placed) {
	list, ok := err.(ast.Errors) //nolint:errorlint // build returns it as it is
	if !ok {
		return []Placed{{otherwise, finding{Line: 1, Column: 1, Msg: fmt.Sprint(err)}}}
	}
	for _, e := range list {
		file := otherwise
		if e.Location != nil && e.Location.File != "" {
			file = e.Location.File
		}
		for _, f := range findings(ast.Errors{e}) {
			out = append(out, Placed{file, f})
		}
	}
	return out
}
