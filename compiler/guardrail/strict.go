package guardrail

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/ringd/ringd/compiler/rego"
)

// strict rewrites a module so that unclear evaluations end in an error. Ordering two values of different
// kinds ends the evaluation. An absent field ends it too, if no schema lists the fields of the object: in the
// arguments of a call and values made of them, in function arguments, and in results of the module's
// functions. known has the types of the module's rules.
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

// stricter rewrites lookups to strict ones.
type stricter struct {
	on        string
	operators map[*ast.Term]bool  // called functions
	imports   map[ast.Var]ast.Ref // by local name
	rules     map[ast.Var]int     // of the module, with the number of leading keys that the author chose
	functions map[ast.Var]bool    // of the module
	anything  map[ast.Var]bool    // rules of the module whose fields are unknown
	own       map[ast.Var]bool    // names that the current rule declares
	given     map[ast.Var]bool    // those of own whose fields are unknown: arguments, and results of functions
}

func (s *stricter) operator(t *ast.Term) {
	if name, compares := rego.Strict(t.String()); compares {
		t.Value = rego.Ours(name, t.Location).Value
	}
	s.operators[t] = true
}

// named records what a rule defines under its name.
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

// declares records the local names of a rule.
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
	for before := -1; before < len(s.given); { // a derived name may come before its source, so repeat
		before = len(s.given)
		s.names(r, vars)
	}
}

// names finds the names in the body of a rule.
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

// isName reports whether an operand of = can only be a name. The name may already have another meaning. Then
// lookups in it are merely stricter.
func isName(t *ast.Term) bool {
	_, ok := t.Value.(ast.Var)
	return ok
}

// gives records that a pattern of names gets a value.
func (s *stricter) gives(names, value *ast.Term, vars func(*ast.Term, ...map[ast.Var]bool)) {
	if vars(names, s.own); value != nil && s.unknown(value) {
		vars(names, s.given)
	}
}

// unknown reports whether the fields of a value are unknown, on policies.
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

// visit rewrites the lookups in x. It returns true if it has handled everything below x itself.
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

// start returns the value of a lookup that must be strict, and its first step. It returns nil if a schema or
// a rule defines the fields.
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

// input handles lookups in the arguments of a call. Other input fields have types, unless the field name is a
// variable.
func (s *stricter) input(r ast.Ref, after func(int) (*ast.Term, int)) (*ast.Term, int) {
	if s.on != OnCall || len(r) < 3 {
		return nil, 0
	}
	if name, ok := r[1].Value.(ast.String); ok && name != "args" {
		return nil, 0
	}
	return after(2)
}

// ofModule handles lookups in a rule of the module. at is the step of r that has the name of the rule. If the
// head of r is the rule, at is before the first step.
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
