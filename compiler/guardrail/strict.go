package guardrail

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/ringd/ringd/compiler/rego"
)

// strict writes a module anew so that it does not guess. The order of two values of
// different kinds ends the evaluation. So does a field that is not there where no
// schema knows the fields: in the arguments of a call and what is named or made of
// them, in the arguments of functions, and in what functions of the module give. known
// has the types of its rules.
func strict(m *ast.Module, on string, known *ast.TypeEnv) {
	s := &stricter{on: on, operators: map[*ast.Term]bool{}, imports: map[ast.Var]ast.Ref{}, rules: map[ast.Var]int{},
		functions: map[ast.Var]bool{},
		anything:  map[ast.Var]bool{}}
	ast.WalkNodes(m, func(n ast.Node) bool {
		if e, ok := n.(*ast.Expr); ok && e.IsCall() {
			s.operator(e.Terms.([]*ast.Term)[0])
		}
		return false
	})
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if call, ok := t.Value.(ast.Call); ok {
			s.operator(call[0])
		}
		return false
	})
	for _, i := range m.Imports {
		if path, ok := i.Path.Value.(ast.Ref); ok {
			s.imports[i.Name()] = path
		}
	}
	for _, r := range m.Rules {
		s.named(m, r, known)
	}
	for _, r := range m.Rules {
		s.rule(r)
	}
}

// stricter looks values up strictly.
type stricter struct {
	on        string
	operators map[*ast.Term]bool  // functions that are called
	imports   map[ast.Var]ast.Ref // by the name that they have here
	rules     map[ast.Var]int     // of the module, with how many steps into one the author made the keys of
	functions map[ast.Var]bool    // of the module
	anything  map[ast.Var]bool    // rules of the module whose fields nobody knows
	own       map[ast.Var]bool    // what the rule at hand declares
	given     map[ast.Var]bool    // those of own whose fields nobody knows: arguments, and what functions give
}

func (s *stricter) operator(t *ast.Term) {
	if name, compares := rego.Strict(t.String()); compares {
		t.Value = rego.Ours(name, t.Location).Value
	}
	s.operators[t] = true
}

// named notes what a rule makes of its name.
func (s *stricter) named(m *ast.Module, r *ast.Rule, known *ast.TypeEnv) {
	ref := r.Head.Ref()
	name, ok := ref[0].Value.(ast.Var)
	if !ok {
		return
	}
	s.functions[name] = s.functions[name] || len(r.Head.Args) > 0
	s.rules[name] = max(s.rules[name], len(ref)-1)
	if known == nil {
		return
	}
	path := append(m.Package.Path.Copy(), ast.StringTerm(string(name)))
	if _, any := known.GetByRef(path).(types.Any); any {
		s.anything[name] = true
	}
}

func (s *stricter) rule(r *ast.Rule) {
	for ; r != nil; r = r.Else {
		s.declares(r)
		visit := ast.NewGenericVisitor(s.visit)
		visit.Walk(r.Body)
		for _, t := range append([]*ast.Term{r.Head.Key, r.Head.Value}, r.Head.Ref()[1:]...) {
			if t != nil {
				visit.Walk(t)
			}
		}
	}
}

// declares notes the names that stand for something inside of a rule alone.
func (s *stricter) declares(r *ast.Rule) {
	s.own, s.given = map[ast.Var]bool{}, map[ast.Var]bool{}
	vars := func(t *ast.Term, into ...map[ast.Var]bool) {
		if t != nil {
			ast.WalkVars(t, func(v ast.Var) bool {
				for _, m := range into {
					m[v] = true
				}
				return false
			})
		}
	}
	for _, a := range r.Head.Args {
		vars(a, s.own, s.given)
	}
	for before := -1; before < len(s.given); { // what is named of one may stand before it
		before = len(s.given)
		s.names(r, vars)
	}
}

// names looks for names in the body of a rule.
func (s *stricter) names(r *ast.Rule, vars func(*ast.Term, ...map[ast.Var]bool)) {
	ast.WalkNodes(r, func(n ast.Node) bool {
		e, ok := n.(*ast.Expr)
		if !ok {
			return false
		}
		switch terms := e.Terms.(type) {
		case *ast.SomeDecl:
			for _, t := range terms.Symbols {
				call, in := t.Value.(ast.Call)
				if !in {
					vars(t, s.own)
					continue
				}
				for _, name := range call[1 : len(call)-1] {
					s.gives(name, call[len(call)-1], vars)
				}
			}
		case *ast.Every:
			for _, name := range []*ast.Term{terms.Key, terms.Value} {
				s.gives(name, terms.Domain, vars)
			}
		case []*ast.Term:
			if e.IsAssignment() || e.IsEquality() && isName(e.Operand(0)) {
				s.gives(e.Operand(0), e.Operand(1), vars)
			}
		}
		return false
	})
}

// isName reports whether an operand of = can only be a name. What it is when it is one
// already is no matter: the name is looked into more strictly then.
func isName(t *ast.Term) bool {
	_, ok := t.Value.(ast.Var)
	return ok
}

// gives notes that a pattern of names gets a value.
func (s *stricter) gives(names, value *ast.Term, vars func(*ast.Term, ...map[ast.Var]bool)) {
	if vars(names, s.own); value != nil && s.unknown(value) {
		vars(names, s.given)
	}
}

// unknown reports whether a value is one whose fields nobody knows, on policies.
func (s *stricter) unknown(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.Call:
		ref, ok := v[0].Value.(ast.Ref)
		if !ok {
			return false
		}
		name, _ := ref[0].Value.(ast.Var)
		return s.functions[name] || len(ref) > 3 && name == "data"
	case ast.Var:
		return s.given[v] || s.anything[v]
	case ast.Ref:
		return s.unknown(v[0])
	default:
		return false
	}
}

// visit stops at what it has looked at itself.
func (s *stricter) visit(x any) bool {
	t, ok := x.(*ast.Term)
	if !ok {
		return false
	}
	r, ok := t.Value.(ast.Ref)
	if !ok || s.operators[t] {
		return ok
	}
	if _, named := r[0].Value.(ast.Var); !named {
		ast.NewGenericVisitor(s.visit).Walk(r[0])
	}
	for _, step := range r[1:] {
		ast.NewGenericVisitor(s.visit).Walk(step)
	}
	from, at := s.start(r)
	if from == nil {
		return true
	}
	for ; at < len(r); at++ {
		switch r[at].Value.(type) {
		case ast.String, ast.Number:
			from = rego.Guarded(rego.At, clip(r[:at+1].String()), t.Location, from, r[at])
			s.operators[from.Value.(ast.Call)[0]] = true
		default:
			steps, is := from.Value.(ast.Ref)
			if !is {
				steps = ast.Ref{from}
			}
			from = ast.NewTerm(append(steps[:len(steps):len(steps)], r[at])).SetLocation(t.Location)
		}
	}
	t.Value = from.Value
	return true
}

// start gives the value that is looked into strictly, and the first step in it; nil
// where a schema or a rule says what is there.
func (s *stricter) start(r ast.Ref) (*ast.Term, int) {
	after := func(steps int) (*ast.Term, int) {
		if steps >= len(r) {
			return nil, 0
		}
		if steps == 1 {
			return r[0].Copy(), 1
		}
		return ast.NewTerm(r[:steps].Copy()).SetLocation(r[0].Location), steps
	}
	head, ok := r[0].Value.(ast.Var)
	path, imported := s.imports[head]
	steps, rule := s.rules[head]
	switch {
	case !ok && (s.on == OnCall || s.unknown(r[0])):
		return after(1)
	case !ok || head.IsWildcard():
		return nil, 0
	case s.own[head] && (s.on == OnCall || s.given[head]):
		return after(1)
	case s.own[head]:
		return nil, 0
	case head == "input":
		return s.input(r, after)
	case head == "data":
		return s.ofModule(r, 3, after)
	case imported && path[0].Equal(ast.DefaultRootDocument):
		return s.ofModule(r, 3-len(path)+1, after)
	case imported, !rule:
		if s.on == OnCall {
			return after(1)
		}
		return nil, 0
	case s.on == OnCall || s.anything[head]:
		return after(1 + steps)
	default:
		return nil, 0
	}
}

// input looks into the arguments of a call. Other fields of an input have types, unless
// it is not said which of them is meant.
func (s *stricter) input(r ast.Ref, after func(int) (*ast.Term, int)) (*ast.Term, int) {
	if s.on != OnCall || len(r) < 3 {
		return nil, 0
	}
	if name, ok := r[1].Value.(ast.String); ok && name != "args" {
		return nil, 0
	}
	return after(2)
}

// ofModule looks into a rule of the module that is reached by its path, whose name
// stands at a step of r; before the first: the head of r stands for the rule.
func (s *stricter) ofModule(r ast.Ref, at int, after func(int) (*ast.Term, int)) (*ast.Term, int) {
	if s.on != OnCall || at >= len(r) {
		return nil, 0
	}
	steps := 0
	if at > 0 {
		name, ok := r[at].Value.(ast.String)
		if !ok {
			return nil, 0
		}
		steps = s.rules[ast.Var(name)]
	}
	return after(max(at, 0) + 1 + steps)
}
