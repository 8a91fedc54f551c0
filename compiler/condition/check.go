package condition

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/ringd/ringd/compiler/rego"
	"github.com/ringd/ringd/profiles/canonjson"
)

// checker restricts a condition to the allowed part of Rego. It also rewrites the condition, so that an absent
// value or an impossible comparison ends the evaluation. In plain Rego such a value is undefined: `not` would
// be true, and a list would silently lack an item. The caller chooses which values are present, so plain Rego
// would let the caller avoid the approval.
type checker struct {
	declared   map[ast.Var]bool // by some, every and :=
	text       string
	terms      int
	products   int
	readsInput bool // input was read
	found      Findings
}

func (c *checker) add(at *ast.Location, code, hint, format string, args ...any) {
	f := finding{Line: 1, Column: 1, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if at != nil {
		f.Line, f.Column = max(1, at.Row), max(1, at.Col)
	}
	c.found = append(c.found, f)
}

// declare records every name that the condition declares. The Rego compiler checks the scopes.
func (c *checker) declare(body ast.Body) {
	note := func(terms ...*ast.Term) {
		for _, t := range terms {
			if t != nil {
				if v, ok := t.Value.(ast.Var); ok {
					c.declared[v] = true
				}
			}
		}
	}
	ast.WalkNodes(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Expr:
			if terms, ok := n.Terms.([]*ast.Term); ok && len(terms) == 3 && n.IsAssignment() {
				note(terms[1])
			}
		case *ast.SomeDecl:
			for _, s := range n.Symbols {
				if call, ok := s.Value.(ast.Call); ok && len(call) > 2 {
					note(call[1 : len(call)-1]...)
				}
			}
		case *ast.Every:
			note(n.Key, n.Value)
		}
		return false
	})
}

// body checks statements. The last one must not be an assignment, which is always true.
func (c *checker) body(b ast.Body) ast.Body {
	if len(b) == 0 {
		c.add(nil, codeSyntax, "", "brackets hold no statement")
		return b
	}
	if last := b[len(b)-1]; last.IsAssignment() || declares(last) {
		c.add(last.Location, codeType, "end with a condition, such as input.args.amount > 100",
			"the last statement is not true or false")
	}
	return c.statements(b)
}

func (c *checker) statements(b ast.Body) ast.Body {
	var out ast.Body
	for _, e := range b {
		if len(e.With) > 0 {
			c.add(e.Location, codeSyntax, "", "a condition cannot use `with`")
			continue
		}
		if c.statement(e) {
			out.Append(e)
		}
	}
	return out
}

func declares(e *ast.Expr) bool {
	_, is := e.Terms.(*ast.SomeDecl)
	return is
}

// statement checks one statement and rewrites it in place.
func (c *checker) statement(e *ast.Expr) bool {
	if c.terms++; c.terms == maxTerms {
		c.add(e.Location, codeSyntax, "", "the condition has more than %d parts", maxTerms)
	}
	if c.terms >= maxTerms {
		return false
	}
	switch t := e.Terms.(type) {
	case *ast.Term:
		e.Terms = c.requireBoolean(t)
	case []*ast.Term:
		if e.IsAssignment() {
			return c.assignment(t)
		}
		call, ok := c.call(ast.Call(t), t[0].Location)
		if !ok {
			return false
		}
		if !returnsBoolean(call[0].String()) {
			c.add(e.Location, codeType, "compare it with something", "%s is not true or false", named(call[0].String()))
		}
		e.Terms = []*ast.Term(call)
	case *ast.SomeDecl:
		return c.some(t)
	case *ast.Every:
		c.variable(t.Key)
		c.variable(t.Value)
		t.Domain = c.requireIterable(t.Domain)
		t.Body = c.body(t.Body)
	case *ast.LogicalOr:
		t.Lhs, t.Rhs = c.body(t.Lhs), c.body(t.Rhs)
	case *ast.LogicalAnd:
		t.Lhs, t.Rhs = c.body(t.Lhs), c.body(t.Rhs)
	case *ast.Not:
		t.Body = c.body(t.Body)
	default:
		c.add(e.Location, codeSyntax, "", "a condition cannot use this statement")
		return false
	}
	return true
}

// assignment checks name := value.
func (c *checker) assignment(t []*ast.Term) bool {
	if len(t) != 3 || !c.variable(t[1]) {
		return false
	}
	t[2] = c.term(t[2])
	return true
}

// some checks `some name in list`. Without a list, the name could have any value.
func (c *checker) some(d *ast.SomeDecl) bool {
	if len(d.Symbols) != 1 {
		c.add(d.Location, codeSyntax, "write `some x in …`", "names are declared without a list")
		return false
	}
	call, ok := d.Symbols[0].Value.(ast.Call)
	if !ok || len(call) < 3 {
		c.add(d.Location, codeSyntax, "write `some x in …`", "a name is declared without a list")
		return false
	}
	last := len(call) - 1
	for _, name := range call[1:last] {
		if !c.variable(name) {
			return false
		}
	}
	call[last] = c.requireIterable(call[last])
	return true
}

// variable checks a declared name.
func (c *checker) variable(t *ast.Term) bool {
	if t == nil {
		return true
	}
	v, ok := t.Value.(ast.Var)
	if !ok {
		c.add(t.Location, codeSyntax, "name the whole value and look at its parts", "only a name is allowed here")
		return false
	}
	if v == "input" || v == "data" || strings.HasPrefix(string(v), "__") {
		c.add(t.Location, codeName, "", "%s is reserved", v)
		return false
	}
	return true
}

// requireIterable requires that the iterated value is a list or an object. In plain Rego, any other value would
// be like an empty list.
func (c *checker) requireIterable(t *ast.Term) *ast.Term {
	return c.guarded(rego.Items, t, c.term(t))
}

// requireBoolean requires that a single value is true or false.
func (c *checker) requireBoolean(t *ast.Term) *ast.Term {
	switch t.Value.(type) {
	case ast.Boolean:
		return t
	case ast.Ref, ast.Var:
		return c.guarded(rego.Truth, t, c.term(t))
	case ast.Call:
		checked := c.term(t)
		if call, ok := checked.Value.(ast.Call); ok && !returnsBoolean(call[0].String()) {
			c.add(t.Location, codeType, "compare it with something", "%s is not true or false", named(call[0].String()))
		}
		return checked
	default:
		c.add(t.Location, codeType, "compare it with something", "%s is not true or false", clip(t.String()))
		return t
	}
}

// guarded returns a call of a function of package rego with a value and the author's text of that value.
func (c *checker) guarded(name string, written, value *ast.Term, more ...*ast.Term) *ast.Term {
	return rego.Guarded(name, clip(written.String()), written.Location, append([]*ast.Term{value}, more...)...)
}

// term checks a value and rewrites it.
func (c *checker) term(t *ast.Term) *ast.Term {
	if c.terms++; c.terms >= maxTerms {
		if c.terms == maxTerms {
			c.add(t.Location, codeSyntax, "", "the condition has more than %d parts", maxTerms)
		}
		return t
	}
	switch v := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.String:
		return t
	case ast.Number:
		if !plainNumber(string(v)) {
			c.add(t.Location, codeSyntax, "", "a number has at most %d characters and fits a double", maxNumber)
		}
		return t
	case ast.Var:
		c.known(v, t.Location)
		return t
	case ast.Ref:
		return c.ref(t, v)
	case ast.Call:
		call, ok := c.call(v, t.Location)
		if !ok {
			return t
		}
		return ast.NewTerm(call).SetLocation(t.Location)
	case *ast.Array, ast.Object, ast.Set:
		c.literal(t)
		return t
	case *ast.ArrayComprehension, *ast.SetComprehension:
		c.add(t.Location, codeSyntax, "write count(…) or sum(…) around it",
			"a list that is made here can only be counted or summed up")
		return t
	default:
		c.add(t.Location, codeSyntax, "", "a condition cannot hold %s", clip(t.String()))
		return t
	}
}

// literal checks a list, set or object in the text of the condition. Its items must be constants, since other
// items would let values grow.
func (c *checker) literal(t *ast.Term) {
	constant := true
	ast.WalkTerms(t, func(part *ast.Term) bool {
		c.terms++
		switch v := part.Value.(type) {
		case ast.Number:
			constant = constant && plainNumber(string(v))
		case ast.Null, ast.Boolean, ast.String, *ast.Array, ast.Object, ast.Set:
		default:
			constant = false
		}
		return !constant
	})
	if !constant {
		c.add(t.Location, codeSyntax, "", "a list, set or object holds only constants")
	}
}

// known checks that a name is declared.
func (c *checker) known(v ast.Var, at *ast.Location) {
	switch {
	case v.IsWildcard() || v == "_":
		c.add(at, codeSyntax, "write `some x in …`", "_ has no value here")
	case v == "input":
		c.add(at, codeName, "use input.args, input.bridge or input.agent", "input is used without a field")
	case v == "data":
		c.add(at, codeName, "", "a condition cannot read data")
	case !c.declared[v]:
		hint := "use input.args, input.bridge or input.agent"
		if v == "args" || v == "bridge" || v == "agent" {
			hint = "write input." + string(v)
		}
		c.add(at, codeName, hint, "%s is not defined", clip(string(v)))
	}
}

// ref checks a path such as input.args.to, and requires that each step of the path is present.
func (c *checker) ref(t *ast.Term, r ast.Ref) *ast.Term {
	head, ok := r[0].Value.(ast.Var)
	if !ok {
		before := len(c.found)
		if c.term(r[0]); len(c.found) > before {
			return t
		}
		c.add(t.Location, codeSyntax, "give it a name first", "%s is looked into without a name", clip(r[0].String()))
		return t
	}
	from, steps := r[0], r[1:]
	switch {
	case head == "input":
		if !c.inputName(t, r) {
			return t
		}
		from, steps = ast.NewTerm(r[:2]).SetLocation(t.Location), r[2:]
	case c.declared[head]:
	default:
		c.known(head, r[0].Location)
		return t
	}
	for i, step := range steps {
		switch step.Value.(type) {
		case ast.String, ast.Number, ast.Boolean, ast.Null, ast.Var, ast.Ref, ast.Call:
			written := ast.NewTerm(r[:len(r)-len(steps)+i+1]).SetLocation(t.Location)
			from = c.guarded(rego.At, written, from, c.term(step))
		default:
			c.add(t.Location, codeSyntax, "", "only a name or a number is allowed in [ ]")
			return t
		}
	}
	return from
}

// inputName checks the first step after input.
func (c *checker) inputName(t *ast.Term, r ast.Ref) bool {
	if len(r) > 1 {
		if name, ok := r[1].Value.(ast.String); ok && slices.Contains([]string{"args", "bridge", "agent"},
			string(name)) {
			c.readsInput = true
			return true
		}
		c.add(t.Location, codeName, "the arguments are at input.args", "input has no %s: it has args, bridge and agent",
			clip(r[1].String()))
		return false
	}
	c.known("input", t.Location)
	return false
}

// call checks a call and its arguments. It replaces each comparison by one that rejects values of different
// kinds.
func (c *checker) call(call ast.Call, at *ast.Location) (ast.Call, bool) {
	name := call[0].String()
	if !allowed(name) {
		hint := "docs/POLICY.md lists the functions"
		if name == "eq" {
			hint = "write == to compare, := to name a value"
		}
		c.add(at, codeFunction, hint, "a condition may not use %s", named(name))
		return nil, false
	}
	out := append(ast.Call{call[0]}, call[1:]...)
	for i, arg := range call[1:] {
		switch v := arg.Value.(type) {
		case *ast.ArrayComprehension:
			if reducesToNumber(name) {
				out[i+1] = c.comprehension(arg, v.Term, v.Body)
				continue
			}
		case *ast.SetComprehension:
			if reducesToNumber(name) {
				out[i+1] = c.comprehension(arg, v.Term, v.Body)
				continue
			}
		}
		out[i+1] = c.term(arg)
	}
	switch name {
	case "mul", "div":
		if c.products++; c.products == maxProducts+1 {
			c.add(at, codeSyntax, "", "a condition has at most %d of * and /", maxProducts)
		}
	case "regex.match":
		c.pattern(call)
	case "trim", "trim_left", "trim_right":
		if len(call) > 2 {
			if _, ok := call[2].Value.(ast.String); !ok {
				c.add(call[2].Location, codeSyntax, "write them in quotes",
					"the characters that are cut off have to be a constant")
			}
		}
	case "internal.member_2":
		out[2] = c.guarded(rego.Items, call[2], out[2])
	case "internal.member_3":
		out[3] = c.guarded(rego.Items, call[3], out[3])
	}
	if strict, compares := rego.Strict(name); compares {
		out[0] = rego.Ours(strict, call[0].Location)
	}
	return out, true
}

// comprehension checks a list comprehension. The list is only counted or summed, so its values are never kept.
func (c *checker) comprehension(t, head *ast.Term, body ast.Body) *ast.Term {
	head, body = c.term(head), c.statements(body)
	if _, set := t.Value.(*ast.SetComprehension); set {
		return ast.SetComprehensionTerm(head, body).SetLocation(t.Location)
	}
	return ast.ArrayComprehensionTerm(head, body).SetLocation(t.Location)
}

// pattern checks a regular expression. The expression must be constant, since the cost of a match is the size
// of the expression times the size of the text.
func (c *checker) pattern(call ast.Call) {
	if len(call) < 3 {
		return // the Rego compiler reports it
	}
	text, ok := call[1].Value.(ast.String)
	if !ok {
		c.add(call[1].Location, codeSyntax, "write the expression in quotes",
			"a regular expression has to be a constant")
		return
	}
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err == nil {
		var prog *syntax.Prog
		if prog, err = syntax.Compile(parsed.Simplify()); err == nil && len(prog.Inst) > maxPattern {
			c.add(call[1].Location, codeSyntax, "", "the regular expression is too large: %d steps of at most %d",
				len(prog.Inst), maxPattern)
			return
		}
	}
	if err != nil {
		c.add(call[1].Location, codeSyntax, "", "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}

// named returns a function name as the author wrote it.
func named(name string) string {
	switch name {
	case "internal.member_2", "internal.member_3":
		return "in"
	case "eq":
		return "="
	case "plus", "minus", "mul", "div", "rem":
		return "arithmetic"
	case "and":
		return "&"
	case "or":
		return "|"
	default:
		return clip(name)
	}
}

func clip(s string) string {
	s = canonjson.Truncate(s, 60)
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
