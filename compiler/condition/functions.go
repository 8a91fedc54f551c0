package condition

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// Functions lists what a condition may call by name, sorted. None of them looks
// outside, takes longer than its values are long, or makes a value that is much
// larger than those it is given.
func Functions() []string {
	return []string{"abs", "ceil", "contains", "count", "endswith", "floor", "is_array", "is_boolean", "is_null", "is_number",
		"is_object", "is_string", "lower", "net.cidr_contains", "object.get", "regex.match", "round", "split", "startswith",
		"substring", "sum", "trim", "trim_left", "trim_prefix", "trim_right",
		"trim_space", "trim_suffix", "type_name", "upper"}
}

// operators lists what a condition may write between values.
func operators() []string {
	return []string{"equal", "neq", "gt", "gte", "lt", "lte", "plus", "minus", "mul", "div", "rem", "internal.member_2", "internal.member_3"}
}

func allowed(name string) bool {
	return slices.Contains(Functions(), name) || slices.Contains(operators(), name)
}

// folds reports whether a function makes one number out of a list.
func folds(name string) bool { return name == "count" || name == "sum" }

// tellsTruth reports whether a function is true or false.
func tellsTruth(name string) bool {
	switch name {
	case "equal", "neq", "gt", "gte", "lt", "lte", "internal.member_2", "internal.member_3", "contains", "endswith", "startswith",
		"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_string", "net.cidr_contains", "regex.match",
		"ringd.gt", "ringd.gte", "ringd.lt", "ringd.lte", truthName:
		return true
	default:
		return false
	}
}

// Our own functions. The last argument is the author's text, for the error.
const (
	atName    = "ringd.at"    // a field or item, which must be there
	truthName = "ringd.truth" // true or false, and nothing else
	itemsName = "ringd.items" // a list or object, and nothing else
)

// capabilities is what the compiler of Rego knows: the functions above, and
// nothing of data, network, time or chance.
func capabilities() *ast.Capabilities {
	caps := &ast.Capabilities{AllowNet: []string{}, Features: []string{ast.FeatureRegoV1}, FutureKeywords: []string{"and", "or", "not", "in", "every", "if", "contains"}}
	for _, b := range ast.DefaultBuiltins {
		if allowed(b.Name) || b.Name == ast.Equality.Name || b.Name == ast.Assign.Name {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	for _, b := range strictBuiltins() {
		caps.Builtins = append(caps.Builtins, b.Decl)
	}
	return caps
}

// mismatch ends an evaluation that cannot tell. It holds no values.
type mismatch struct{ text string }

func (m *mismatch) Error() string { return m.text }

// halt is the error that ends an evaluation at once.
func halt(what *ast.Term, why string) error {
	text, _ := what.Value.(ast.String)
	return topdown.Halt{Err: &mismatch{string(text) + " " + why}}
}

// strictBuiltins are our own functions, by name.
func strictBuiltins() map[string]*topdown.Builtin {
	out := map[string]*topdown.Builtin{}
	add := func(name string, args int, result types.Type, f func(args []*ast.Term) (*ast.Term, error)) {
		in := make([]types.Type, args)
		for i := range in {
			in[i] = types.A
		}
		out[name] = &topdown.Builtin{
			Decl: &ast.Builtin{Name: name, Decl: types.NewFunction(in, result)},
			Func: func(_ topdown.BuiltinContext, args []*ast.Term, iter func(*ast.Term) error) error {
				got, err := f(args)
				if err != nil {
					return err
				}
				return iter(got)
			},
		}
	}
	add(atName, 3, types.A, at)
	add(truthName, 2, types.B, func(args []*ast.Term) (*ast.Term, error) {
		if _, ok := args[0].Value.(ast.Boolean); !ok {
			return nil, halt(args[1], "is not true or false")
		}
		return args[0], nil
	})
	add(itemsName, 2, types.A, func(args []*ast.Term) (*ast.Term, error) {
		switch args[0].Value.(type) {
		case *ast.Array, ast.Object, ast.Set:
			return args[0], nil
		default:
			return nil, halt(args[1], "is no list or object")
		}
	})
	for name, holds := range map[string]func(order int) bool{
		"ringd.lt": func(o int) bool { return o < 0 }, "ringd.lte": func(o int) bool { return o <= 0 },
		"ringd.gt": func(o int) bool { return o > 0 }, "ringd.gte": func(o int) bool { return o >= 0 },
	} {
		add(name, 2, types.B, func(args []*ast.Term) (*ast.Term, error) { return compare(args[0], args[1], holds) })
	}
	return out
}

// at gives a field of an object or an item of a list.
func at(args []*ast.Term) (*ast.Term, error) {
	switch from := args[0].Value.(type) {
	case ast.Object:
		if got := from.Get(args[1]); got != nil {
			return got, nil
		}
	case *ast.Array:
		if n, ok := args[1].Value.(ast.Number); ok {
			if i, whole := n.Int(); whole && i >= 0 && i < from.Len() {
				return from.Elem(i), nil
			}
		}
	default:
		return nil, halt(args[2], "cannot be there: it is looked for in what is no list or object")
	}
	return nil, halt(args[2], "is not there")
}

// compare orders two numbers or two texts. Rego orders values of all kinds, and
// calls null less than every number.
func compare(a, b *ast.Term, holds func(order int) bool) (*ast.Term, error) {
	_, oneNumber := a.Value.(ast.Number)
	_, otherNumber := b.Value.(ast.Number)
	_, oneText := a.Value.(ast.String)
	_, otherText := b.Value.(ast.String)
	if !(oneNumber && otherNumber) && !(oneText && otherText) {
		return nil, topdown.Halt{Err: &mismatch{fmt.Sprintf("%s does not compare with %s", kind(a), kind(b))}}
	}
	return ast.BooleanTerm(holds(a.Value.Compare(b.Value))), nil
}

// kind names the kind of a value.
func kind(t *ast.Term) string {
	switch t.Value.(type) {
	case ast.Null:
		return "null"
	case ast.Boolean:
		return "boolean"
	case ast.Number:
		return "number"
	case ast.String:
		return "text"
	case *ast.Array, ast.Set:
		return "list"
	default:
		return "object"
	}
}
