package schema

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

//go:embed policy.cue
var policyCUE string //nolint:gochecknoglobals // go:embed needs a variable; never written

// CUE returns the closed CUE definitions of both forms: #Policy and #Compact.
func CUE() string { return policyCUE }

// shape is one definition of policy.cue, ready to check a node against. Large
// policies are checked by shapes and not by unification, which is as strict (a
// test holds the two to the same verdict), ten times cheaper, and knows which
// field of which object a mistake is about.
type shape struct {
	name   string // of the definition, "" for one written in place
	doc    string
	kind   kind
	any    bool // every value passes
	fields []field
	open   bool           // an object takes every name
	keys   *regexp.Regexp // an object is a map of names like this
	says   string         // @names or the text of error()
	item   *shape         // of a list, or the values of a map
	least  int            // items of a list
	unique string         // @key of a list
	enum   []string
	match  []pattern
	filled bool // a string must not be empty
	min    *int64
	max    *int64
}

type field struct {
	name     string
	required bool
	doc      string
	shape    *shape
}

type pattern struct {
	re     *regexp.Regexp
	source string
	not    bool
}

func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

func (s *shape) fieldNames() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// shapes reads the definitions of src. It knows the part of CUE that
// policy.cue uses and refuses the rest.
func shapes(src string) (map[string]*shape, error) {
	file, err := parser.ParseFile("policy.cue", src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse the policy definitions: %w", err)
	}
	r := &shapeReader{defs: map[string]*shape{}, source: map[string]*ast.Field{}}
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

type shapeReader struct {
	defs   map[string]*shape
	source map[string]*ast.Field
}

func (r *shapeReader) definition(name string) (*shape, error) {
	if s, ok := r.defs[name]; ok {
		return s, nil
	}
	f, ok := r.source[name]
	if !ok {
		return nil, fmt.Errorf("%s is not defined", name)
	}
	s := &shape{name: name}
	r.defs[name] = s
	if err := r.fill(s, f.Value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.doc = docOf(f)
	return s, nil
}

func (r *shapeReader) expr(x ast.Expr) (*shape, error) {
	if id, ok := x.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
		return r.definition(id.Name)
	}
	s := &shape{}
	return s, r.fill(s, x)
}

// fill reads one expression into s.
func (r *shapeReader) fill(s *shape, x ast.Expr) error {
	switch x := x.(type) {
	case *ast.StructLit:
		return r.object(s, x)
	case *ast.ListLit:
		return r.listOf(s, x)
	case *ast.Ident:
		return s.basic(x.Name)
	case *ast.BasicLit:
		word, err := literal.Unquote(x.Value)
		s.kind, s.enum = kindString, append(s.enum, word)
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

func (s *shape) basic(name string) error {
	switch name {
	case "string":
		s.kind = kindString
	case "bool":
		s.kind = kindBool
	case "int":
		s.kind = kindInt
	case "_":
		s.any = true
	default:
		return fmt.Errorf("%s is not known", name)
	}
	return nil
}

func (s *shape) message(x *ast.CallExpr) error {
	if fun, ok := x.Fun.(*ast.Ident); !ok || fun.Name != "error" || len(x.Args) != 1 {
		return fmt.Errorf("only error() may be called")
	}
	arg, ok := x.Args[0].(*ast.BasicLit)
	if !ok {
		return fmt.Errorf("error() takes a literal")
	}
	var err error
	s.says, err = literal.Unquote(arg.Value)
	return err
}

func (s *shape) bound(x *ast.UnaryExpr) error {
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
		s.kind, s.match = kindString, append(s.match, pattern{re, source, x.Op == token.NMAT})
		return err
	case token.NEQ:
		s.filled = true
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
			s.min = &n
		} else {
			s.max = &n
		}
		return err
	default:
		return fmt.Errorf("operator %s is not known", x.Op)
	}
}

func (r *shapeReader) object(s *shape, x *ast.StructLit) error {
	s.kind = kindObject
	for _, decl := range x.Elts {
		switch decl := decl.(type) {
		case *ast.Ellipsis:
			s.open = true
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

func (r *shapeReader) field(s *shape, f *ast.Field) error {
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
			value.unique = body
		case "names":
			if value.says, err = literal.Unquote(body); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: @%s is not known", name, key)
		}
	}
	s.fields = append(s.fields, field{name, f.Constraint == token.NOT, docOf(f), value})
	return nil
}

func (r *shapeReader) mapOf(s *shape, label *ast.ListLit, value ast.Expr) error {
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
	s.keys = names.match[0].re
	s.item, err = r.expr(value)
	return err
}

func (r *shapeReader) listOf(s *shape, x *ast.ListLit) error {
	s.kind = kindList
	for _, elt := range x.Elts {
		rest, ok := elt.(*ast.Ellipsis)
		if !ok {
			s.least++
			continue
		}
		item, err := r.expr(rest.Type)
		if err != nil {
			return err
		}
		s.item = item
	}
	if s.item == nil {
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
