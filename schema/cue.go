package schema

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// maxValues is the largest number of values of an evaluated CUE file.
const maxValues = 200_000

// divides reports whether a field of the file is a quotient, which is how CUE parses the apiVersion of a YAML
// policy.
func divides(file *ast.File, field string) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.Field)
		if !ok {
			return false
		}
		name, _, err := ast.LabelName(f.Label)
		_, divided := f.Value.(*ast.BinaryExpr)
		return err == nil && name == field && divided
	})
}

// readCUE evaluates text in a new context and returns its policies. The text can use the definitions of
// policy.cue by name, but there they accept every value. CUE evaluates only the author's own constraints. The
// checker checks the constraints of the language, because its errors name the field and CUE's errors name a
// failed unification.
func readCUE(text []byte, defs map[string]*Shape, found *findings) []*node {
	file, err := parser.ParseFile(found.file, text, parser.ParseComments)
	if t := yamlInCUE(text); t.Line > 0 && (err != nil || divides(file, "apiVersion")) {
		found.add(spot{t.Line, t.Column}, CodeSyntax, t.Msg, t.Hint)
		return nil
	}
	if err != nil {
		cueSyntax(text, err, found)
		return nil
	}
	r := &cueReader{findings: found}
	if !r.allowed(file) {
		return nil
	}
	r.several = !r.single(file, defs)
	ctx := cuecontext.New()
	root := ctx.BuildFile(file, cue.Scope(ctx.CompileString(openDefinitions(defs))))
	if r.evaluation(root); found.refused() {
		return nil
	}
	r.unset(file.Decls, root, nil)
	docs := r.documents(root)
	if found.refused() {
		return nil
	}
	return docs
}

func openDefinitions(defs map[string]*Shape) string {
	var b strings.Builder
	for name := range defs {
		fmt.Fprintf(&b, "%s: _\n", name)
	}
	return b.String()
}

type cueReader struct {
	*findings
	values  int
	several bool // the policies are fields of the file
}

func (r *cueReader) spot(p token.Pos) spot {
	if !p.IsValid() || p.Filename() != r.file {
		return spot{}
	}
	return spot{p.Line(), p.Column()}
}

// importable lists the CUE packages that a policy may import: pure ones with bounded results.
func importable() []string {
	return []string{"strings", "list", "math", "regexp", "strconv", "net", "path", "struct"}
}

// allowed reports whether the file uses only what a policy may use.
func (r *cueReader) allowed(file *ast.File) bool {
	ok := true
	refuse := func(p token.Pos, code, msg, hint string) {
		ok = false
		r.add(r.spot(p), code, msg, hint)
	}
	if name := file.PackageName(); name != "" && name != "ringd" {
		refuse(file.Pos(), CodeImport, fmt.Sprintf("the package is %q", clip(name)),
			"write package ringd, or no package line")
	}
	for spec := range file.ImportSpecs() {
		name, err := literal.Unquote(spec.Path.Value)
		if err != nil || !slices.Contains(importable(), name) {
			refuse(spec.Pos(), CodeImport, fmt.Sprintf("a policy cannot import %q", clip(name)),
				"it can import "+strings.Join(importable(), ", "))
		}
	}
	ast.Walk(file, func(n ast.Node) bool {
		if a, is := n.(*ast.Attribute); is {
			if key, _ := a.Split(); key == "embed" || key == "extern" || key == "experiment" || key == "if" {
				refuse(a.Pos(), CodeImport, fmt.Sprintf("a policy cannot use @%s", key), "")
			}
		}
		return true
	}, nil)
	return ok
}

// single reports whether the file is one policy. That is so if the file has no regular fields, or if one of
// its top-level fields is a field of a policy.
func (r *cueReader) single(file *ast.File, defs map[string]*Shape) bool {
	known := append(defs["#Policy"].FieldNames(), defs["#Compact"].FieldNames()...)
	fields := 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(f.Label)
		if err != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
			continue
		}
		if fields++; nearest(name, known) != "" {
			return true
		}
	}
	return fields == 0
}

// unset reports optional fields of a policy that have no value. CUE silently omits such fields, so a denial
// could get lost. Definitions and hidden fields may have optional fields without a value.
func (r *cueReader) unset(decls []ast.Decl, root cue.Value, up []cue.Selector) {
	for _, decl := range decls {
		switch d := decl.(type) {
		case *ast.Field:
			r.unsetField(d, root, up)
		case *ast.EmbedDecl:
			r.unsetIn(d.Expr, root, up)
		case *ast.Comprehension:
			r.unsetIn(d.Value, root, up)
		}
	}
}

func (r *cueReader) unsetField(f *ast.Field, root cue.Value, up []cue.Selector) {
	label := f.Label
	if a, ok := label.(*ast.Alias); ok {
		if inner, ok := a.Expr.(ast.Label); ok {
			label = inner
		}
	}
	name, _, err := ast.LabelName(label)
	if err != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
		return
	}
	at := append(up[:len(up):len(up)], cue.Str(name))
	if f.Constraint == token.OPTION && !root.LookupPath(cue.MakePath(at...)).Exists() {
		r.add(r.spot(f.Label.Pos()), CodeIncomplete,
			r.authorPath(steps(at))+": the field is optional, so it is not set", "leave out the ?")
		return
	}
	r.unsetIn(f.Value, root, at)
}

// unsetIn checks the structs inside of an expression.
func (r *cueReader) unsetIn(e ast.Expr, root cue.Value, at []cue.Selector) {
	switch e := e.(type) {
	case *ast.StructLit:
		r.unset(e.Elts, root, at)
	case *ast.ParenExpr:
		r.unsetIn(e.X, root, at)
	case *ast.BinaryExpr:
		if e.Op == token.AND {
			r.unsetIn(e.X, root, at)
			r.unsetIn(e.Y, root, at)
		}
	case *ast.ListLit:
		for i, item := range e.Elts {
			r.unsetIn(item, root, append(at[:len(at):len(at)], cue.Index(i)))
		}
	}
}

// documents converts the evaluated file. If the file has the fields of a policy, it is one policy. If not,
// each of its fields is a policy.
func (r *cueReader) documents(root cue.Value) []*node {
	whole := r.value(root, spot{1, 1}, 0)
	if whole.kind != Object || len(whole.names) == 0 {
		if whole.kind == Object {
			r.add(spot{1, 1}, CodeEmpty, "the file defines no policy",
				"a policy is a field without _ or # in front of its name")
			return nil
		}
		return []*node{whole}
	}
	if !r.several {
		return []*node{whole}
	}
	return whole.items
}

// value converts an evaluated value. If the value has no position, near is used.
func (r *cueReader) value(v cue.Value, near spot, depth int) *node {
	n := &node{at: near}
	n.key, n.at = r.places(v, near)
	if r.values++; r.values > maxValues {
		if r.values == maxValues+1 {
			r.add(n.where(), CodeTooLarge, fmt.Sprintf("the file evaluates to more than %d values", maxValues), "")
		}
		return n
	}
	if depth > maxDepth {
		r.add(n.at, CodeTooDeep, fmt.Sprintf("nested more than %d deep", maxDepth), "")
		return n
	}
	if d, ok := v.Default(); ok {
		v = d
	}
	r.content(v, n, depth)
	return n
}

func (r *cueReader) content(v cue.Value, n *node, depth int) {
	switch v.Kind() {
	case cue.NullKind:
		n.kind = Null
	case cue.BoolKind:
		b, _ := v.Bool() // the kind is known
		n.kind, n.text = Bool, fmt.Sprint(b)
	case cue.IntKind, cue.FloatKind, cue.NumberKind:
		n.kind = Float
		if v.Kind() == cue.IntKind {
			n.kind = Int
		}
		text, err := v.MarshalJSON()
		if n.text = string(text); err != nil {
			r.incomplete(v, n)
		}
	case cue.StringKind:
		n.kind = String
		n.text, _ = v.String() // the kind is known
	case cue.BytesKind:
		n.kind = Bytes
	case cue.ListKind:
		n.kind, n.items = List, []*node{}
		it, err := v.List()
		if err != nil {
			r.incomplete(v, n)
			return
		}
		for it.Next() {
			n.items = append(n.items, r.value(it.Value(), n.at, depth+1))
		}
	case cue.StructKind:
		n.kind = Object
		it, err := v.Fields()
		if err != nil {
			r.incomplete(v, n)
			return
		}
		for it.Next() {
			child := r.value(it.Value(), n.at, depth+1)
			if child.key == (spot{}) {
				child.key = child.at
			}
			n.names = append(n.names, it.Selector().Unquoted())
			n.items = append(n.items, child)
		}
	default:
		r.incomplete(v, n)
	}
}

func (r *cueReader) incomplete(v cue.Value, n *node) {
	r.add(n.at, CodeIncomplete, r.authorPath(steps(v.Path().Selectors()))+": the value is not concrete",
		"give it a value here or in what it is unified with")
}

func steps(path []cue.Selector) []string {
	names := make([]string, len(path))
	for i, sel := range path {
		names[i] = sel.String()
	}
	return names
}

// places returns the positions of the name and of the value of v in the text. near is used for a position
// that is not known.
func (r *cueReader) places(v cue.Value, near spot) (key, at spot) {
	source := v.Source()
	if f, ok := source.(*ast.Field); ok {
		key, at = r.spot(f.Label.Pos()), r.spot(f.Value.Pos())
	} else if source != nil {
		at = r.spot(source.Pos())
	}
	if at == (spot{}) {
		at = r.spot(v.Pos())
	}
	if at == (spot{}) {
		at = near
	}
	return key, at
}

// cueSyntax reports the first syntax error of a text. The following ones are usually consequences.
func cueSyntax(text []byte, err error, found *findings) {
	all := errors.Errors(err)
	if len(all) == 0 {
		found.add(spot{1, 1}, CodeSyntax, "the text is not valid CUE", "")
		return
	}
	first := all[0]
	at := spot{1, 1}
	if p := first.Position(); p.IsValid() {
		at = spotAt(text, p.Offset()) // for the parser the end of the text is after its last line
	}
	msg, hint := syntaxWords(first)
	found.add(at, CodeSyntax, msg, hint)
}

func syntaxWords(err errors.Error) (msg, hint string) {
	format, args := err.Msg()
	switch {
	case strings.HasPrefix(format, "expected %s, found '%s'") && len(args) >= 2:
		word := strings.Trim(fmt.Sprint(args[1]), "\n")
		if word == "" || word == "EOF" {
			return "the text ends where more is expected", "close every {, [, ( and \""
		}
		return fmt.Sprintf("%q does not fit here", clip(word)),
			"one field a line, or a comma between two; imports come first"
	case strings.HasPrefix(format, "missing ','"):
		return "a comma or a closing bracket is missing before this", ""
	case strings.Contains(format, "not terminated"):
		return "a text or comment is not closed", "close it with the sign that opened it"
	case strings.Contains(format, "escape"):
		return "an escape that CUE does not have", "double the backslash, or write #\"…\"#"
	case strings.Contains(format, "illegal character"):
		return "a character that CUE does not have", "put the text in double quotes"
	case strings.Contains(format, "number"):
		return "a number that CUE does not have", ""
	case strings.Contains(format, "nesting"):
		return "nested too deep", ""
	default:
		return "the text is not valid CUE", ""
	}
}

// evaluation reports the errors of an evaluated file, one for each value.
func (r *cueReader) evaluation(root cue.Value) {
	type group struct {
		path   []string
		places []spot
		first  errors.Error
	}
	var order []string
	groups := map[string]*group{}
	for _, e := range errors.Errors(root.Validate(cue.All())) {
		id := strings.Join(e.Path(), "\x00")
		if len(e.Path()) == 0 {
			id = fmt.Sprint(errors.Positions(e))
		}
		g := groups[id]
		if g == nil {
			g = &group{path: e.Path(), first: e}
			groups[id], order = g, append(order, id)
		}
		for _, p := range errors.Positions(e) {
			if at := r.spot(p); at != (spot{}) && !slices.Contains(g.places, at) {
				g.places = append(g.places, at)
			}
		}
	}
	for _, id := range order {
		g := groups[id]
		if len(g.places) == 0 {
			g.places = []spot{r.locate(root, g.path)}
		}
		slices.SortFunc(g.places, func(a, b spot) int { return 1000_000*(b.line-a.line) + b.col - a.col })
		code, msg, hint := cueWords(g.first)
		if path := r.authorPath(g.path); path != "" {
			msg = path + ": " + msg
		}
		if code == CodeConflict && len(g.places) == 2 {
			msg += fmt.Sprintf("; the other is at %d:%d", g.places[1].line, g.places[1].col)
		}
		d := r.add(g.places[0], code, msg, hint)
		for _, other := range g.places[1:] {
			d.Related = append(d.Related, r.pos(other))
		}
	}
}

// locate returns the position of path. If path has none, it returns the position of the longest beginning of
// path that has one.
func (r *cueReader) locate(root cue.Value, path []string) spot {
	at := spot{1, 1}
	v := root
	for _, name := range path {
		next := v.LookupPath(cue.MakePath(selector(name)))
		if !next.Exists() && next.Source() == nil {
			break
		}
		v = next
		if _, place := r.places(v, at); place != (spot{}) {
			at = place
		}
	}
	return at
}

func selector(name string) cue.Selector {
	if p := cue.ParsePath(name); p.Err() == nil && len(p.Selectors()) == 1 {
		return p.Selectors()[0]
	}
	return cue.Str(name)
}

// cueWords explains an evaluation error in plain words.
func cueWords(err errors.Error) (code, msg, hint string) {
	format, args := err.Msg()
	has := func(part string) bool { return strings.Contains(format, part) }
	switch {
	case format == "%s" && len(args) == 1: // error() of the author
		return CodeEvaluation, fmt.Sprintf("the file itself refuses this: %q", clip(fmt.Sprint(args[0]))), ""
	case has("reference %q not found") && len(args) > 0:
		return CodeReference, fmt.Sprintf("%q is not defined", clip(fmt.Sprint(args[0]))),
			"define it in this file, as _name or #Name when it is no policy"
	case has("structural cycle") || has("cycle"):
		return CodeCycle, "the value needs itself", ""
	case has("empty disjunction"):
		return CodeConflict, "none of the alternatives fits the other value", ""
	case has("conflicting values") || has("incompatible"):
		return CodeConflict, "two values disagree about this field",
			"CUE never overrides: a field has one value wherever it is written"
	case has("out of bound"):
		return CodeConflict, "the value does not meet the bound set for it", ""
	case has("field not allowed"):
		return CodeUnknownField, "the definition this is unified with does not have the field", ""
	case has("imported and not used"):
		return CodeImport, "a package is imported and not used", "leave it out"
	case has("superseded by list"):
		return CodeEvaluation, "lists have no operators",
			"import \"list\" and use list.Concat([a, b]) or list.Repeat(a, n)"
	case has("index out of range"):
		return CodeEvaluation, "the list has no such item", "items count from 0"
	case has("invalid operands"):
		return CodeEvaluation, "the operator does not take these two values", ""
	case has("undefined field"):
		return CodeReference, "the field referred to does not exist", ""
	default:
		return CodeEvaluation, "the expression has no value", ""
	}
}

// authorPath returns a path in the form of findings: without the name of the policy in a file with several.
func (r *cueReader) authorPath(names []string) string {
	if len(names) > 1 && r.several && !strings.HasPrefix(names[0], "_") && !strings.HasPrefix(names[0], "#") {
		names = names[1:]
	}
	var b strings.Builder
	for _, name := range names {
		switch {
		case decimal(name):
			b.WriteString("[" + name + "]")
		case b.Len() > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}
