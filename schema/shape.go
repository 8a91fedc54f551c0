package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// Shape is one parsed definition of the policy language. It is immutable after ParseShapes.
//
// A policy is checked with shapes instead of CUE unification. That check is as strict (a test compares
// both) and ten times cheaper, and its errors name the field and the object that are wrong.
type Shape struct {
	Name   string // of the definition; empty for an inline one
	Doc    string
	Kind   ValueKind
	Any    bool // every value is valid
	Fields []Field
	Open   bool           // an object accepts every name
	Keys   *regexp.Regexp // an object is a map with names like this
	Says   string         // @names or the text of error()
	Item   *Shape         // item of a list, or the values of a map
	Least  int            // smallest number of list items
	Unique string         // @key: the key of list items
	Repeat bool           // @repeats: list items may be equal
	Enum   []string
	Also   []string // @unlisted: valid words that are not shown to people
	Filled bool     // a string must not be empty
	Min    *int64
	Max    *int64
	match  []pattern
}

// Field is one field of an object.
type Field struct {
	Name     string
	Required bool
	Doc      string
	Shape    *Shape
}

type pattern struct {
	re     *regexp.Regexp
	source string
	not    bool
}

// Field returns the field with that name, or nil.
func (s *Shape) Field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// FieldNames returns the names in the order of the definition.
func (s *Shape) FieldNames() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// Matches reports whether text matches the patterns of a string.
func (s *Shape) Matches(text string) bool {
	for _, m := range s.match {
		if m.re.MatchString(text) == m.not {
			return false
		}
	}
	return true
}

// ParseShapes parses the definitions of src. It accepts only the part of CUE that policy.cue uses, and
// rejects everything else.
func ParseShapes(src string) (map[string]*Shape, error) {
	file, err := parser.ParseFile("policy.cue", src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse the policy definitions: %w", err)
	}
	r := &reader{defs: map[string]*Shape{}, source: map[string]*ast.Field{}}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.Field); ok {
			if name, _, err := ast.LabelName(f.Label); err == nil {
				r.source[name] = f
			}
		}
	}
	for name := range r.source {
		if _, err := r.definition(name); err != nil {
			return nil, fmt.Errorf("read the policy definitions: %w", err)
		}
	}
	return r.defs, nil
}

type reader struct {
	defs   map[string]*Shape
	source map[string]*ast.Field
}

func (r *reader) definition(name string) (*Shape, error) {
	if s, ok := r.defs[name]; ok {
		return s, nil
	}
	f, ok := r.source[name]
	if !ok {
		return nil, fmt.Errorf("%s is not defined", name)
	}
	s := &Shape{Name: name}
	r.defs[name] = s
	if err := r.fill(s, f.Value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.Doc = docOf(f)
	return s, nil
}

func (r *reader) expr(x ast.Expr) (*Shape, error) {
	if id, ok := x.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
		return r.definition(id.Name)
	}
	s := &Shape{}
	return s, r.fill(s, x)
}

// fill parses one expression into s.
func (r *reader) fill(s *Shape, x ast.Expr) error {
	switch x := x.(type) {
	case *ast.StructLit:
		return r.object(s, x)
	case *ast.ListLit:
		return r.listOf(s, x)
	case *ast.Ident:
		return s.basic(x.Name)
	case *ast.BasicLit:
		word, err := literal.Unquote(x.Value)
		s.Kind, s.Enum = String, append(s.Enum, word)
		return err
	case *ast.UnaryExpr:
		return s.bound(x)
	case *ast.BinaryExpr:
		if x.Op != token.OR && x.Op != token.AND {
			return fmt.Errorf("operator %s is not known", x.Op)
		}
		if err := r.fill(s, x.X); err != nil {
			return err
		}
		return r.fill(s, x.Y)
	case *ast.CallExpr:
		return s.message(x)
	default:
		return fmt.Errorf("%T is not known", x)
	}
}

func (s *Shape) basic(name string) error {
	switch name {
	case "string":
		s.Kind = String
	case "bool":
		s.Kind = Bool
	case "int":
		s.Kind = Int
	case "_":
		s.Any = true
	default:
		return fmt.Errorf("%s is not known", name)
	}
	return nil
}

func (s *Shape) message(x *ast.CallExpr) error {
	if fun, ok := x.Fun.(*ast.Ident); !ok || fun.Name != "error" || len(x.Args) != 1 {
		return fmt.Errorf("only error() may be called")
	}
	arg, ok := x.Args[0].(*ast.BasicLit)
	if !ok {
		return fmt.Errorf("error() takes a literal")
	}
	var err error
	s.Says, err = literal.Unquote(arg.Value)
	return err
}

func (s *Shape) bound(x *ast.UnaryExpr) error {
	lit, ok := x.X.(*ast.BasicLit)
	if !ok {
		return fmt.Errorf("a bound takes a literal")
	}
	switch x.Op {
	case token.MAT, token.NMAT:
		source, err := literal.Unquote(lit.Value)
		if err != nil {
			return err
		}
		re, err := regexp.Compile(source)
		s.Kind, s.match = String, append(s.match, pattern{re, source, x.Op == token.NMAT})
		return err
	case token.NEQ:
		s.Filled = true
		return nil
	case token.GEQ, token.GTR, token.LEQ, token.LSS:
		n, err := strconv.ParseInt(lit.Value, 10, 64)
		switch x.Op {
		case token.GTR:
			n++
		case token.LSS:
			n--
		}
		if x.Op == token.GEQ || x.Op == token.GTR {
			s.Min = &n
		} else {
			s.Max = &n
		}
		return err
	default:
		return fmt.Errorf("operator %s is not known", x.Op)
	}
}

func (r *reader) object(s *Shape, x *ast.StructLit) error {
	s.Kind = Object
	for _, decl := range x.Elts {
		switch decl := decl.(type) {
		case *ast.Ellipsis:
			s.Open = true
		case *ast.Field:
			if err := r.field(s, decl); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%T is not known", decl)
		}
	}
	return nil
}

func (r *reader) field(s *Shape, f *ast.Field) error {
	if label, ok := f.Label.(*ast.ListLit); ok {
		return r.mapOf(s, label, f.Value)
	}
	name, _, err := ast.LabelName(f.Label)
	if err != nil {
		return err
	}
	if f.Constraint != token.NOT && f.Constraint != token.OPTION {
		return fmt.Errorf("%s is neither required nor optional", name)
	}
	value, err := r.expr(f.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, attr := range f.Attrs {
		key, body := attr.Split()
		switch key {
		case "key":
			value.Unique = body
		case "repeats":
			value.Repeat = true
		case "unlisted":
			value.Also = strings.Split(body, ",")
			value.Enum = slices.DeleteFunc(value.Enum, func(word string) bool {
				return slices.Contains(value.Also, word)
			})
		case "names":
			if value.Says, err = literal.Unquote(body); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: @%s is not known", name, key)
		}
	}
	s.Fields = append(s.Fields, Field{name, f.Constraint == token.NOT, docOf(f), value})
	return nil
}

func (r *reader) mapOf(s *Shape, label *ast.ListLit, value ast.Expr) error {
	if len(label.Elts) != 1 {
		return fmt.Errorf("a map has one pattern")
	}
	names, err := r.expr(label.Elts[0])
	if err != nil {
		return err
	}
	if len(names.match) != 1 || names.match[0].not {
		return fmt.Errorf("a map's names take one pattern")
	}
	s.Keys = names.match[0].re
	s.Item, err = r.expr(value)
	return err
}

func (r *reader) listOf(s *Shape, x *ast.ListLit) error {
	s.Kind = List
	for _, elt := range x.Elts {
		rest, ok := elt.(*ast.Ellipsis)
		if !ok {
			s.Least++
			continue
		}
		item, err := r.expr(rest.Type)
		if err != nil {
			return err
		}
		s.Item = item
	}
	if s.Item == nil {
		return fmt.Errorf("a list must be open")
	}
	return nil
}

func docOf(n ast.Node) string {
	var words []string
	for _, group := range ast.Comments(n) {
		if group.Doc {
			words = append(words, strings.TrimSpace(group.Text()))
		}
	}
	return strings.Join(words, "\n")
}
