// Package format owns the canonical layout of policies: fields in the order of the
// language, indentation by two, and quotes where YAML readers disagree. It changes the
// layout and never the meaning: the output is read again and compared, including its
// comments, and any loss is an error.
//
// The command fmt calls it.
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

// flowWidth is the largest width of a list or an object on one line.
const flowWidth = 140

// ErrChanged means that the formatted text would have another meaning, or would lose a comment. The file is not
// changed.
var ErrChanged = errors.New("formatting would change what the text says") // a sentinel

// Source formats a policy, or a file with tests of a policy. If the text cannot be read, it returns the
// findings and no text.
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

// read finds syntax errors.
func read(src schema.Source) schema.Diagnostics {
	_, found := schema.Document(src, "#Document: {...}", "#Document", &struct{}{})
	return found
}

// formatCUE formats like cue fmt, without evaluation.
func formatCUE(src schema.Source) ([]byte, schema.Diagnostics, error) {
	_, err := parser.ParseFile(src.Name, src.Data, parser.ParseComments) // the error has the positions
	if err == nil {
		out, err := format.Source(src.Data)
		return out, nil, err
	}
	d := schema.Diagnostic{Pos: schema.Pos{File: src.Name, Line: 1, Column: 1}, Code: schema.CodeSyntax,
		Msg: err.Error()}
	if all := cueerrors.Errors(err); len(all) > 0 { // the errors after the first are usually consequences
		words, args := all[0].Msg()
		d.Msg = fmt.Sprintf(words, args...)
		if at := all[0].Position(); at.IsValid() {
			d.Pos.Line, d.Pos.Column = at.Line(), at.Column()
		}
	}
	return nil, schema.Diagnostics{d}, nil
}

// rounds limits how often a text is formatted. One pass is not always enough: the YAML library formats some
// comments and empty keys differently when it reads its own output.
const rounds = 4

// formatYAML returns a text that does not change when it is formatted again.
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
	keepLeadingComments(&doc, before.Content[0])
	out, err := encode(&doc)
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", src.Name, err)
	}
	after, err := check(text, out, &before)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	// If a blank line would change the content of a text, no blank lines are kept.
	if airy := withBlanks(text, out, before.Content[0], after.Content[0]); !bytes.Equal(airy, out) {
		if _, err := check(text, airy, &before); err == nil {
			out = airy
		}
	}
	return out, nil, nil
}

// check reads the formatted text, which must have the same meaning.
func check(text, out []byte, before *yaml.Node) (*yaml.Node, error) {
	var after yaml.Node
	if err := yaml.Unmarshal(out, &after); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	switch {
	case !equalValues(before.Content[0], after.Content[0]):
		return nil, ErrChanged
	case !slices.Equal(comments(before), comments(&after)), !keepsComments(text, out):
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

// formOf returns the form of a document. It returns nil for tests, whose fields stay in the author's order.
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

// arrange sorts the fields of a value, and adds quotes where they are needed.
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
		sortFields(n, s)
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
	return s.Item // item of a map; nil: unknown field
}

// sortFields sorts the fields of an object in the order of the language. Unknown ones come last, in their order.
// The names of a map stay in the author's order.
func sortFields(n *yaml.Node, s *schema.Shape) {
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
	anchors := false // an alias must stay after its anchor
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

// anchored reports whether a value contains an anchor or an alias.
func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, anchored)
}

// quote quotes a text that some reader would read as another value, and prefers double quotes.
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

// flow breaks a list or an object into lines if it is too long for one, or contains comments.
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

// keepLeadingComments keeps the comments above the first field at the top.
func keepLeadingComments(doc, before *yaml.Node) {
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

// comments returns the lines of all comments, sorted.
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

// keepsComments reports whether out contains every comment line of text as often as text does. It compares the
// texts and not the trees, because a comment that the parser does not see is in neither tree.
func keepsComments(text, out []byte) bool {
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

// equalValues reports whether two values are equal for package schema: the order of fields and the quotes of texts
// do not matter.
func equalValues(a, b *yaml.Node) bool {
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
		return slices.EqualFunc(a.Content, b.Content, equalValues)
	case yaml.MappingNode:
		values := map[string]*yaml.Node{}
		for i := 0; i+1 < len(b.Content); i += 2 {
			values[b.Content[i].Value] = b.Content[i+1]
		}
		for i := 0; i+1 < len(a.Content); i += 2 {
			if other, ok := values[a.Content[i].Value]; !ok || !equalValues(a.Content[i+1], other) {
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
