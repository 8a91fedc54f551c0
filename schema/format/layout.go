// Package format owns the one way in which a policy is written: fields in the order of
// the language, indentation by two, and quotes where readers of YAML disagree. It changes
// how a text looks and never what it says: what comes out is read again and compared,
// comments among it, and anything that would be lost is an error.
//
// It is pure. The verb fmt calls it.
package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
	"go.yaml.in/yaml/v3"

	"github.com/ringd/ringd/schema"
)

// mark is the byte order mark that some editors put before a text.
const mark = "\xef\xbb\xbf"

// flowWidth is how long a list or an object may be that stands on one line.
const flowWidth = 140

// ErrChanged means that the text that came out would not say the same as the one that
// went in, or without one of its comments. The file stays as it is.
var ErrChanged = errors.New("formatting would change what the text says") // a sentinel

// Source returns a policy, or tests beside one, as they are written. Findings say why a
// text cannot be read; then nothing comes out.
func Source(src schema.Source) ([]byte, schema.Diagnostics, error) {
	switch strings.ToLower(path.Ext(src.Name)) {
	case ".cue":
		return formatCUE(src)
	case ".json":
		if found := read(src); found.Refused() {
			return nil, found, nil
		}
		var out bytes.Buffer
		if err := json.Indent(&out, bytes.TrimSpace(bytes.TrimPrefix(src.Data, []byte(mark))), "", "  "); err != nil {
			return nil, nil, fmt.Errorf("indent %s: %w", src.Name, err)
		}
		return append(out.Bytes(), '\n'), nil, nil
	default:
		return formatYAML(src)
	}
}

// read finds what is wrong with a text whatever it is about.
func read(src schema.Source) schema.Diagnostics {
	_, found := schema.Document(src, "#Document: {...}", "#Document", &struct{}{})
	return found
}

// formatCUE is cue fmt. Nothing is evaluated.
func formatCUE(src schema.Source) ([]byte, schema.Diagnostics, error) {
	_, err := parser.ParseFile(src.Name, src.Data, parser.ParseComments) // schema.Source tells no place
	if err == nil {
		out, err := format.Source(src.Data)
		return out, nil, err
	}
	d := schema.Diagnostic{Pos: schema.Pos{File: src.Name, Line: 1, Column: 1}, Code: schema.CodeSyntax,
		Msg: err.Error()}
	if all := cueerrors.Errors(err); len(all) > 0 { // those after the first are mostly its shadow
		words, args := all[0].Msg()
		d.Msg = fmt.Sprintf(words, args...)
		if at := all[0].Position(); at.IsValid() {
			d.Pos.Line, d.Pos.Column = at.Line(), at.Column()
		}
	}
	return nil, schema.Diagnostics{d}, nil
}

// rounds is how often a text is formatted until nothing changes: the library writes some
// comments and empty keys otherwise than it would write what it wrote.
const rounds = 4

// formatYAML returns a text that stays as it is when it is formatted again.
func formatYAML(src schema.Source) ([]byte, schema.Diagnostics, error) {
	for range rounds {
		out, found, err := formatOnce(src)
		if err != nil || found.Refused() || bytes.Equal(out, src.Data) {
			return out, found, err
		}
		src.Data = out
	}
	return nil, nil, fmt.Errorf("%s: %w each time anew; write it in a plainer way", src.Name, ErrChanged)
}

func formatOnce(src schema.Source) ([]byte, schema.Diagnostics, error) {
	if found := read(src); found.Refused() {
		return nil, found, nil
	}
	text := bytes.TrimPrefix(bytes.ReplaceAll(src.Data, []byte("\r\n"), []byte("\n")), []byte(mark))
	var before, doc yaml.Node
	for _, into := range []*yaml.Node{&before, &doc} {
		if err := yaml.Unmarshal(text, into); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", src.Name, err)
		}
	}
	form, err := formOf(src.Name, &doc)
	if err != nil {
		return nil, nil, err
	}
	arrange(doc.Content[0], form)
	lead(&doc, before.Content[0])
	out, err := encode(&doc)
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", src.Name, err)
	}
	after, err := check(text, out, &before)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	// A blank line is nothing but looks: where one would be part of a text, none is kept.
	if airy := withBlanks(text, out, before.Content[0], after.Content[0]); !bytes.Equal(airy, out) {
		if _, err := check(text, airy, &before); err == nil {
			out = airy
		}
	}
	return out, nil, nil
}

// check reads what came out, which has to say what the text says.
func check(text, out []byte, before *yaml.Node) (*yaml.Node, error) {
	var after yaml.Node
	if err := yaml.Unmarshal(out, &after); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	switch {
	case !same(before.Content[0], after.Content[0]):
		return nil, ErrChanged
	case !slices.Equal(comments(before), comments(&after)), !kept(text, out):
		return nil, fmt.Errorf("%w: a comment would be lost; put it on a line of its own", ErrChanged)
	}
	return &after, nil
}

func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(n), enc.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// formOf is the form that a document is written in; nil for tests, whose fields stay in
// the order of their author.
func formOf(name string, doc *yaml.Node) (*schema.Shape, error) {
	if strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "_test") {
		return nil, nil
	}
	defs, err := schema.ParseShapes(schema.CUE())
	if err != nil {
		return nil, err
	}
	root := doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if defs["#Compact"].Field(root.Content[i].Value) != nil {
			return defs["#Compact"], nil
		}
	}
	return defs["#Policy"], nil
}

// arrange puts the fields of a value into their order, and quotes where they are needed.
func arrange(n *yaml.Node, s *schema.Shape) {
	switch n.Kind {
	case yaml.ScalarNode:
		quote(n)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			arrange(item, itemOf(s))
		}
		flow(n)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			quote(n.Content[i])
			arrange(n.Content[i+1], fieldOf(s, n.Content[i].Value))
		}
		order(n, s)
		flow(n)
	case yaml.DocumentNode, yaml.AliasNode:
	}
}

func itemOf(s *schema.Shape) *schema.Shape {
	if s == nil {
		return nil
	}
	return s.Item
}

func fieldOf(s *schema.Shape, name string) *schema.Shape {
	if s == nil {
		return nil
	}
	if f := s.Field(name); f != nil {
		return f.Shape
	}
	return s.Item // of a map; nil: the language has no such field
}

// order sorts the fields of an object as the language names them; others come last, as
// they stand. The names of a map are the author's.
func order(n *yaml.Node, s *schema.Shape) {
	if s == nil || len(s.Fields) == 0 {
		return
	}
	names := s.FieldNames()
	rank := func(name string) int {
		if i := slices.Index(names, name); i >= 0 {
			return i
		}
		return len(names)
	}
	type pair struct{ name, value *yaml.Node }
	var pairs []pair
	anchors := false // an alias must stay behind its anchor
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, pair{n.Content[i], n.Content[i+1]})
		anchors = anchors || anchored(n.Content[i+1])
	}
	if anchors {
		return
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return rank(a.name.Value) - rank(b.name.Value) })
	for i, p := range pairs {
		n.Content[2*i], n.Content[2*i+1] = p.name, p.value
	}
}

// anchored reports whether a value has an anchor or an alias in it.
func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, anchored)
}

// quote puts a text into quotes that some reader takes for something else, and makes
// those quotes double that may be.
func quote(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	switch n.Style &^ yaml.FlowStyle {
	case 0:
		if kind, trap, refused := schema.ResolveScalar(n.Value); kind == schema.String &&
			(trap != "" || refused != "" || n.Value == "<<") {
			n.Style, n.Tag = yaml.DoubleQuotedStyle, "!!str"
		}
	case yaml.SingleQuotedStyle:
		if !strings.ContainsAny(n.Value, `"\`) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
}

// flow gives a list or an object lines of their own that is too long for one, or has
// comments inside.
func flow(n *yaml.Node) {
	if n.Style&yaml.FlowStyle == 0 || len(n.Content) == 0 {
		return
	}
	inside := slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
		return len(comments(c)) > 0 || c.Style&yaml.FlowStyle == 0 && len(c.Content) > 0
	})
	alone := *n
	alone.HeadComment, alone.LineComment, alone.FootComment = "", "", ""
	if line, err := encode(&alone); inside || err == nil && len(line) > flowWidth {
		n.Style &^= yaml.FlowStyle
	}
}

// lead keeps what stands above the first field above the first field.
func lead(doc, before *yaml.Node) {
	root := doc.Content[0]
	if before.Kind != yaml.MappingNode || len(before.Content) == 0 || root.Content[0].Value == before.Content[0].Value {
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if name := root.Content[i]; name.Value == before.Content[0].Value && name.HeadComment != "" {
			doc.HeadComment = strings.TrimPrefix(doc.HeadComment+"\n\n"+name.HeadComment, "\n\n")
			name.HeadComment = ""
		}
	}
}

// comments are the lines of all comments, sorted.
func comments(n *yaml.Node) (out []string) {
	for _, text := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	for _, c := range n.Content {
		out = append(out, comments(c)...)
	}
	slices.Sort(out)
	return out
}

// kept reports whether every line that is a comment is in the other text as often: what the
// parser has not seen it cannot write.
func kept(text, out []byte) bool {
	lines := map[string]int{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			lines[line]++
		}
	}
	for line, n := range lines {
		if strings.Count(string(out), line) < n {
			return false
		}
	}
	return true
}

// same reports whether two values are the same to package schema: objects whatever the
// order of their fields, and texts whatever their quotes.
func same(a, b *yaml.Node) bool {
	if a.Kind == yaml.AliasNode && b.Kind == yaml.AliasNode {
		return a.Value == b.Value
	}
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) || a.Anchor != b.Anchor {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return a.Value == b.Value && kindOf(a) == kindOf(b)
	case yaml.SequenceNode:
		return slices.EqualFunc(a.Content, b.Content, same)
	case yaml.MappingNode:
		values := map[string]*yaml.Node{}
		for i := 0; i+1 < len(b.Content); i += 2 {
			values[b.Content[i].Value] = b.Content[i+1]
		}
		for i := 0; i+1 < len(a.Content); i += 2 {
			if other, ok := values[a.Content[i].Value]; !ok || !same(a.Content[i+1], other) {
				return false
			}
		}
		return true
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return false
}

func kindOf(n *yaml.Node) schema.ValueKind {
	if n.Style&^yaml.FlowStyle != 0 {
		return schema.String
	}
	kind, _, _ := schema.ResolveScalar(n.Value)
	return kind
}
