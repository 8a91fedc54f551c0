package guardrail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/ringd/ringd/compiler/rego"
)

// parse parses one module. Findings are nil if it is valid Rego.
func parse(name, text string) (*ast.Module, Findings) {
	wrong := func(line, column int, format string, args ...any) Findings {
		return Findings{{Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}}
	}
	switch {
	case len(text) > maxText:
		return nil, wrong(1, 1, "has more than %d bytes", maxText)
	case !utf8.ValidString(text):
		return nil, wrong(1, 1, "is not UTF-8")
	}
	if line, column, deep := rego.TooDeep(text, maxDepth); deep {
		return nil, wrong(line, column, "brackets are nested deeper than %d", maxDepth)
	}
	module, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1,
		Capabilities: rego.Capabilities(allowed)})
	if err != nil {
		return nil, findings(err)
	}
	if module == nil {
		return nil, wrong(1, 1, "holds no package")
	}
	return module, nil
}

// checker restricts a module to what a guardrail may contain.
type checker struct {
	on, pkg string
	found   Findings
}

func (c *checker) add(at *ast.Location, hint, format string, args ...any) {
	f := finding{Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if at != nil {
		f.Line, f.Column = max(1, at.Row), max(1, at.Col)
	}
	c.found = append(c.found, f)
}

// guardrail checks a module with a deny rule.
func (c *checker) guardrail(m *ast.Module) {
	if got := strings.TrimPrefix(m.Package.Path.String(), "data."); got != c.pkg {
		c.add(m.Package.Location, "write package "+c.pkg, "a guardrail on %s is in package %s", word(c.on), c.pkg)
	}
	c.reads(m, "data."+c.pkg)
	denies := 0
	for _, r := range m.Rules {
		head, ok := r.Head.Ref()[0].Value.(ast.Var)
		if !ok || head != "deny" {
			continue
		}
		denies++
		c.deny(r)
	}
	if denies == 0 {
		c.add(m.Package.Location, "write deny contains msg if { … }", "has no rule deny, so it could never refuse")
	}
	ast.WalkNodes(m, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Expr:
			if len(n.With) > 0 {
				c.add(n.With[0].Location, "tests may",
					"a guardrail cannot replace its input with `with`")
			}
			c.patterns(n)
		case *ast.Head:
			c.noPattern(n.Args...)
		}
		return false
	})
}

// patterns rejects object patterns. A pattern that does not match, because of a typo or an additional field,
// would silently let everything pass.
func (c *checker) patterns(e *ast.Expr) {
	switch terms := e.Terms.(type) {
	case *ast.SomeDecl:
		for _, t := range terms.Symbols {
			if call, ok := t.Value.(ast.Call); ok {
				c.noPattern(call[1 : len(call)-1]...)
			}
		}
	case []*ast.Term:
		switch {
		case e.IsAssignment():
			c.noPattern(e.Operand(0))
		case e.IsEquality():
			c.noPattern(e.Operand(0), e.Operand(1))
		case terms[0].String() == "walk" && len(terms) == 3:
			c.noPattern(terms[2])
		}
	}
}

func (c *checker) noPattern(terms ...*ast.Term) {
	for _, t := range terms {
		ast.WalkTerms(t, func(t *ast.Term) bool {
			switch v := t.Value.(type) {
			case ast.Object:
				v.Foreach(func(name, field *ast.Term) {
					if _, ok := field.Value.(ast.Var); ok {
						c.add(t.Location,
							"name the whole with := and write x["+clip(name.String())+"]; an object is made with := "+
								"too",
							"a pattern that takes an object apart is undefined where a field is missing, and "+
								"refuses nothing then")
					}
				})
			case ast.Ref, ast.Call, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
				return true
			}
			return false
		})
	}
}

func word(on string) string {
	if on == OnCall {
		return "calls"
	}
	return "the policy"
}

// deny checks one rule of deny. It must be a set, because other values can be undefined or true by mistake.
func (c *checker) deny(r *ast.Rule) {
	const hint = "write deny contains msg if { … }"
	switch {
	case r.Default:
		c.add(r.Location, hint, "deny has a default, and is no set then")
	case len(r.Head.Args) > 0:
		c.add(r.Location, hint, "deny is a function, which is never called")
	case len(r.Head.Ref()) > 1:
		c.add(r.Location, hint, "deny is an object of rules, and not a set")
	case r.Head.RuleKind() == ast.MultiValue:
	case r.Head.Value != nil && isSet(r.Head.Value.Value) && len(r.Body) == 1 &&
		r.Body[0].Equal(ast.NewExpr(ast.BooleanTerm(true))):
	default:
		c.add(r.Location, hint, "deny is one value, and not a set of reasons")
	}
}

func isSet(v ast.Value) bool {
	switch v.(type) {
	case ast.Set, *ast.SetComprehension:
		return true
	default:
		return false
	}
}

// reads checks that a module reads only its input. Of data, the module may read only its own rules.
func (c *checker) reads(m *ast.Module, itself ...string) {
	for _, i := range m.Imports {
		path := i.Path.String()
		if strings.HasPrefix(path, "data.") && !slices.Contains(itself, path) {
			c.add(i.Location, "what it needs is in input", "there is no %s", clip(path))
		}
	}
	walk := func(r ast.Ref) bool {
		head, ok := r[0].Value.(ast.Var)
		if !ok || head != "data" {
			return false
		}
		text := r.String()
		if !slices.ContainsFunc(itself, func(own string) bool {
			return text == own || strings.HasPrefix(text, own+".") || strings.HasPrefix(text, own+"[")
		}) &&
			!slices.ContainsFunc(m.Imports, func(i *ast.Import) bool { return i.Path.Value.Compare(r) == 0 }) {
			c.add(r[0].Location, "what it needs is in input", "there is no data to read")
			return true
		}
		return false
	}
	for _, r := range m.Rules {
		ast.WalkRefs(r, walk)
	}
}

// valueOf converts an input to a Rego value.
func valueOf(in any) (*ast.Term, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return nil, errors.New("the input is not plain JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("the input is not plain JSON")
	}
	value, err := ast.InterfaceToValue(v)
	if err != nil {
		return nil, errors.New("the input is not plain JSON")
	}
	return ast.NewTerm(value), nil
}
