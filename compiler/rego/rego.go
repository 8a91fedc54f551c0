// Package rego owns what all uses of Rego in a policy share: the allowed functions, strict comparisons,
// and the positions of errors.
//
// Rego silently orders two values of different kinds, and silently ignores an absent field. This package
// rejects both. Packages condition and guardrail call it.
package rego

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// The functions of [Own]. The last argument of At, Truth and Items is the author's text, for the error.
const (
	At    = "ringd.at"    // a field or item, which must be present
	Truth = "ringd.truth" // true or false, nothing else
	Items = "ringd.items" // a list or object, nothing else
	order = "ringd."      // prefix of lt, lte, gt, gte: of two numbers or two texts
)

// Capabilities returns the capabilities of the Rego compiler: the functions for which may returns true,
// and nothing about data, network, time or randomness. A call of any other function is a type error.
func Capabilities(may func(name string) bool) *ast.Capabilities {
	caps := &ast.Capabilities{AllowNet: []string{}, Features: []string{ast.FeatureRegoV1},
		FutureKeywords: []string{"and", "or", "not", "in", "every", "if", "contains"}}
	for _, b := range ast.DefaultBuiltins {
		if may(b.Name) || b.Name == ast.Equality.Name || b.Name == ast.Assign.Name {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	for _, b := range Own() {
		caps.Builtins = append(caps.Builtins, b.Decl)
	}
	return caps
}

// Strict returns the name of our function that replaces a comparison operator. The function orders two
// numbers or two texts. Any other values end the evaluation.
func Strict(operator string) (name string, compares bool) {
	switch operator {
	case "gt", "gte", "lt", "lte":
		return order + operator, true
	default:
		return operator, false
	}
}

// Ours returns a term that names one of our functions (see [Own]).
func Ours(name string, at *ast.Location) *ast.Term {
	head, rest, _ := strings.Cut(name, ".")
	return ast.RefTerm(ast.VarTerm(head), ast.StringTerm(rest)).SetLocation(at)
}

// Guarded returns a call of one of our functions, which ends the evaluation if a value is not what the
// function requires. The arguments of the call are the values, and the text that the author wrote for
// them. The error quotes that text.
func Guarded(name, written string, at *ast.Location, values ...*ast.Term) *ast.Term {
	call := append(ast.Call{Ours(name, at)}, values...)
	return ast.NewTerm(append(call, ast.StringTerm(written).SetLocation(at))).SetLocation(at)
}

// Mismatch is the error of an evaluation that has no answer. Its text contains no values of the input.
type Mismatch struct{ Text string }

func (m *Mismatch) Error() string { return m.Text }

// halt returns the error that ends an evaluation at once.
func halt(what *ast.Term, why string) error {
	text, _ := what.Value.(ast.String)
	return topdown.Halt{Err: &Mismatch{string(text) + " " + why}}
}

// Own returns our own functions by name.
func Own() map[string]*topdown.Builtin {
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
				if err != nil || got == nil { // nil: undefined
					return err
				}
				return iter(got)
			},
		}
	}
	add(At, 3, types.A, at)
	add(Truth, 2, types.B, func(args []*ast.Term) (*ast.Term, error) {
		if _, ok := args[0].Value.(ast.Boolean); !ok {
			return nil, halt(args[1], "is not true or false")
		}
		return args[0], nil
	})
	add(Items, 2, types.A, func(args []*ast.Term) (*ast.Term, error) {
		switch args[0].Value.(type) {
		case *ast.Array, ast.Object, ast.Set:
			return args[0], nil
		default:
			return nil, halt(args[1], "is no list or object")
		}
	})
	for name, holds := range map[string]func(order int) bool{
		"lt": func(o int) bool { return o < 0 }, "lte": func(o int) bool { return o <= 0 },
		"gt": func(o int) bool { return o > 0 }, "gte": func(o int) bool { return o >= 0 },
	} {
		add(order+name, 2, types.B, func(args []*ast.Term) (*ast.Term,
			error) {
			return compare(args[0], args[1], holds)
		})
	}
	return out
}

// at returns a field of an object or an item of a list.
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
	case ast.Set: // the author chose the members, so absence from a set is not a typo
		if from.Contains(args[1]) {
			return args[1], nil
		}
		return nil, nil
	default:
		return nil, halt(args[2], "cannot be there: the value that should contain it is neither a list nor an object")
	}
	return nil, halt(args[2], "is not there")
}

// compare orders two numbers or two texts. Rego itself orders values of all kinds, with null before every
// number.
func compare(a, b *ast.Term, holds func(order int) bool) (*ast.Term, error) {
	_, oneNumber := a.Value.(ast.Number)
	_, otherNumber := b.Value.(ast.Number)
	_, oneText := a.Value.(ast.String)
	_, otherText := b.Value.(ast.String)
	if !(oneNumber && otherNumber) && !(oneText && otherText) {
		return nil, topdown.Halt{Err: &Mismatch{fmt.Sprintf("%s does not compare with %s", Kind(a), Kind(b))}}
	}
	return ast.BooleanTerm(holds(a.Value.Compare(b.Value))), nil
}

// Kind returns the kind of a value.
func Kind(t *ast.Term) string {
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

// TooDeep finds brackets that are nested deeper than most, because the parser's time grows faster than the
// text. Brackets inside strings are counted as well.
func TooDeep(text string, most int) (line, column int, deep bool) {
	depth := 0
	line, column = 1, 1
	for _, r := range text {
		switch r {
		case '(', '[', '{':
			if depth++; depth > most {
				return line, column, true
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '\n':
			line, column = line+1, 0
		}
		column++
	}
	return 0, 0, false
}

// fault is one error of the Rego parser or compiler. Line and Column count from 1.
type fault struct {
	Line, Column    int
	Code, Msg, Hint string // Code is OPA's: rego_type_error
}

// Faults converts an error of the parser or the compiler. It returns nil for other errors.
func Faults(err error) (out []fault) {
	var list ast.Errors
	if !errors.As(err, &list) {
		return nil
	}
	for _, e := range list {
		f := fault{Line: 1, Column: 1, Code: e.Code}
		if e.Location != nil {
			f.Line, f.Column = max(1, e.Location.Row), max(1, e.Location.Col)
		}
		f.Msg, _, _ = strings.Cut(e.Message, "\n")
		f.Msg = unnamed(strings.TrimSuffix(f.Msg, ":"))
		if detail, ok := e.Details.(*ast.RefErrInvalidDetail); ok && len(detail.OneOf) > 0 {
			f.Hint = "want one of: " + oneOf(detail.OneOf)
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return out
}

// unnamed replaces the compiler's generated names, such as __local0__, by _.
func unnamed(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "__local")
		number, after, ends := strings.Cut(rest, "__")
		if !ok || !ends || strings.Trim(number, "0123456789") != "" {
			return text
		}
		text = before + "_" + after
	}
}

func oneOf(values []ast.Value) string {
	names := make([]string, 0, len(values))
	for _, v := range values {
		if s, ok := v.(ast.String); ok {
			names = append(names, string(s))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
