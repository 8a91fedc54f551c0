package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readYAML reads the one document of text. It returns nothing if it found an error.
func readYAML(text []byte, found *findings) []*node {
	y := &yamlReader{text: text, letters: newLetters(text), findings: found, open: map[*yaml.Node]bool{}}
	if at := oddIndent(text); at >= 0 {
		found.add(spotAt(text, at), CodeSyntax,
			"the line is indented with a character that looks like a space, but is not one", "indent with spaces")
		return nil
	}
	input := bytes.NewReader(text)
	dec := yaml.NewDecoder(input)
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			found.add(spot{1, 1}, CodeEmpty, "the file holds only comments", "")
		} else {
			y.syntax(err, len(text)-input.Len())
		}
		return nil
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		at := y.secondDocument(doc.Content[0].Line)
		if err != nil && at == (spot{}) {
			y.syntax(err, len(text)-input.Len())
			return nil
		}
		found.add(at, CodeMultiple, "a second document starts here", "one policy a file")
		return nil
	}
	if doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Value == "" && doc.Content[0].Style == 0 {
		found.add(spot{1, 1}, CodeEmpty, "the file holds no value",
			"a policy starts with apiVersion: ringd/v1, or with interpreter_ring:")
		return nil
	}
	root := y.value(doc.Content[0], 0)
	for _, d := range found.list {
		if d.Code == CodeTooDeep || d.Code == CodeAliasBomb || d.Code == CodeTooMany {
			return nil
		}
	}
	return []*node{root}
}

type yamlReader struct {
	*findings
	text    []byte
	letters *letters
	starts  []int // offsets of the lines
	open    map[*yaml.Node]bool
	aliased int // values added by aliases
	inAlias int
	bombed  bool // there are too many added values, and that is reported
}

// stride is the number of letters (characters) between two letters whose byte offsets are stored.
const stride = 256

// letters converts letter positions to byte offsets without scanning a long line each time.
type letters struct {
	lines []int // number of letters before each line
	marks []int // byte offset of every stride-th letter
}

// newLetters returns nil for ASCII text, where letters and bytes are the same.
func newLetters(text []byte) *letters {
	l := &letters{lines: []int{0}}
	count := 0
	for i := 0; i < len(text); count++ {
		if count%stride == 0 {
			l.marks = append(l.marks, i)
		}
		_, size := utf8.DecodeRune(text[i:])
		if text[i] == '\n' {
			l.lines = append(l.lines, count+1)
		}
		i += size
	}
	if count == len(text) {
		return nil
	}
	l.marks = append(l.marks, len(text))
	return l
}

// offset returns the byte offset of letter n of text.
func (l *letters) offset(text []byte, n int) int {
	mark := min(n/stride, len(l.marks)-1)
	at := l.marks[mark]
	for range n - mark*stride {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// spot converts the position of a node. The parser's column counts letters, and the column of a spot counts
// bytes.
func (y *yamlReader) spot(n *yaml.Node) spot {
	at := spot{max(1, n.Line), max(1, n.Column)}
	if y.letters == nil || at.line > len(y.letters.lines) {
		return at
	}
	first := y.letters.lines[at.line-1]
	at.col = 1 + y.letters.offset(y.text, first+at.col-1) - y.letters.offset(y.text, first)
	return at
}

func (y *yamlReader) value(n *yaml.Node, depth int) *node {
	at := y.spot(n)
	out := &node{at: at}
	if depth > maxDepth {
		y.add(at, CodeTooDeep, fmt.Sprintf("nested more than %d deep", maxDepth), "")
		return out
	}
	if y.inAlias > 0 {
		if y.aliased++; y.aliased > maxAliased {
			return out
		}
	}
	if n.Style&yaml.TaggedStyle != 0 {
		y.add(at, CodeYAMLFeature, fmt.Sprintf("the tag %s is not part of the policy language", clip(n.Tag)),
			"leave it out")
		out.bad = true
		return out
	}
	switch n.Kind {
	case yaml.ScalarNode:
		y.scalar(n, out)
	case yaml.SequenceNode:
		y.open[n] = true
		out.kind = List
		out.items = make([]*node, 0, len(n.Content))
		for _, item := range n.Content {
			out.items = append(out.items, y.value(item, depth+1))
		}
		delete(y.open, n)
	case yaml.MappingNode:
		y.open[n] = true
		y.mapping(n, out, depth)
		delete(y.open, n)
	case yaml.AliasNode:
		return y.alias(n, at, depth)
	}
	return out
}

func (y *yamlReader) alias(n *yaml.Node, at spot, depth int) *node {
	target := n.Alias
	if y.open[target] {
		y.add(at, CodeAliasBomb, fmt.Sprintf("the alias *%s is inside the value that it repeats", clip(n.Value)), "")
		return &node{at: at}
	}
	y.inAlias++
	out := y.value(target, depth)
	y.inAlias--
	if y.aliased > maxAliased && y.inAlias == 0 && !y.bombed {
		y.add(at, CodeAliasBomb, fmt.Sprintf("aliases add more than %d values", maxAliased), "")
		y.bombed = true
	}
	out.at, out.alias = at, n.Value
	return out
}

// folded reports whether an unquoted text has several lines. Such a text often is a mistake: a list item or
// field that is indented too far becomes part of the text before it.
func (y *yamlReader) folded(n *yaml.Node, at spot) bool {
	if len(n.Value) == 0 || strings.IndexByte(n.Value, ' ') < 0 && strings.IndexByte(n.Value, '\n') < 0 {
		return false
	}
	return !bytes.HasPrefix(y.from(at), []byte(n.Value))
}

// from returns the text from a position on.
func (y *yamlReader) from(at spot) []byte {
	if y.starts == nil {
		y.starts = []int{0}
		for i, b := range y.text {
			if b == '\n' {
				y.starts = append(y.starts, i+1)
			}
		}
	}
	if at.line > len(y.starts) {
		return nil
	}
	return y.text[min(y.starts[at.line-1]+at.col-1, len(y.text)):]
}

func (y *yamlReader) mapping(n *yaml.Node, out *node, depth int) {
	out.kind = Object
	out.names = make([]string, 0, len(n.Content)/2)
	out.items = make([]*node, 0, len(n.Content)/2)
	first := make(map[string]spot, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, at := n.Content[i], y.spot(n.Content[i])
		switch {
		case name.Kind == yaml.ScalarNode && name.Tag == "!!merge":
			y.add(at, CodeYAMLFeature, "merge keys (<<) are not part of the policy language",
				"repeat the fields, or write the policy in CUE")
			continue
		case name.Kind != yaml.ScalarNode || name.Style&yaml.TaggedStyle != 0:
			y.add(at, CodeYAMLFeature, "a field name must be plain text", "")
			continue
		}
		if other, twice := first[name.Value]; twice {
			d := y.add(at, CodeDuplicateKey, fmt.Sprintf("%q is already set on line %d", clip(name.Value), other.line),
				"")
			d.Related = []Pos{y.pos(other)}
			continue
		}
		first[name.Value] = at
		child := y.value(n.Content[i+1], depth+1)
		child.key = at
		if name.Style == 0 {
			_, child.keyTrap, _ = ResolveScalar(name.Value)
		}
		out.names = append(out.names, name.Value)
		out.items = append(out.items, child)
	}
}

// scalar reads an unquoted word as YAML 1.2 does, and records the value that YAML 1.1 would read if it
// differs.
func (y *yamlReader) scalar(n *yaml.Node, out *node) {
	out.kind, out.text = String, n.Value
	if n.Style&^yaml.FlowStyle != 0 {
		return
	}
	out.plain = true
	if y.folded(n, out.at) {
		hint := "correct the indentation of the next line, or put the text in quotes"
		if len(n.Value) > 1 && n.Value[0] == '-' && n.Value[1] != ' ' {
			hint = "put a space after each -, for the items of a list"
		}
		y.add(out.at, CodeYAMLTrap, "the text goes on in the next line, though it is not in quotes", hint)
		out.bad = true
		return
	}
	var refused string
	out.kind, out.trap, refused = ResolveScalar(n.Value)
	if out.kind == Bool {
		out.text = strings.ToLower(n.Value)
	}
	if out.bad = refused != ""; out.bad {
		y.add(out.at, CodeYAMLTrap, fmt.Sprintf("%s is %s", clip(n.Value), refused),
			fmt.Sprintf("write %q for the text, or a decimal number", n.Value))
	}
}

// secondDocument finds the marker of the second document of a file. first is the line on which the value of
// the first document begins.
func (y *yamlReader) secondDocument(first int) spot {
	for i, line := range bytes.Split(y.text, []byte("\n")) {
		marker := bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || bytes.ContainsAny(line[3:4], " \t\r"))
		if marker && i+1 > first {
			return spot{i + 1, 1}
		}
	}
	return spot{}
}

// syntax converts the parser's error to a finding in plain words. read is the number of bytes that the parser
// has read.
func (y *yamlReader) syntax(err error, read int) {
	text := err.Error()
	at := spot{y.errorLine(text, read), 1}
	lines := bytes.Split(y.text, []byte("\n"))
	at.line = max(1, min(at.line, len(lines)))
	if strings.Contains(text, "tab character") { // the parser names a line before it
		for i := at.line - 1; i < len(lines); i++ {
			if blank := len(lines[i]) - len(bytes.TrimLeft(lines[i], " \t")); bytes.IndexByte(lines[i][:blank],
				'\t') >= 0 {
				at.line = i + 1
				break
			}
		}
	}
	line := lines[at.line-1]
	at.col = 1 + len(line) - len(bytes.TrimLeft(line, " \t"))
	if _, name, ok := strings.Cut(text, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if i := bytes.Index(y.text, []byte("*"+name)); i >= 0 {
			at = spotAt(y.text, i)
		}
		y.add(at, CodeSyntax, fmt.Sprintf("the alias *%s has no anchor", clip(name)),
			"define &"+clip(name)+" above, or quote the text")
		return
	}
	if strings.Contains(text, "exceeded max depth") {
		y.add(at, CodeTooDeep, fmt.Sprintf("nested more than %d deep", maxDepth), "")
		return
	}
	if len(y.text) <= maxSearched && y.trouble(text) {
		return
	}
	msg, hint := yamlTrouble(text, line)
	if i := bytes.IndexByte(line, ':'); i >= 0 && i+1 < len(line) && (line[i+1] == '{' || line[i+1] == '[') {
		msg, hint = "a field name without a space after its \":\"", "put a space after the colon"
	}
	y.add(at, CodeSyntax, msg, hint)
}

// trouble reports errors that are visible in the lines of the text. The parser itself only names the line in
// which it gave up.
func (y *yamlReader) trouble(words string) bool {
	if strings.Contains(words, "tab character") {
		return false
	}
	for _, look := range []func([]byte) trouble{cueTrouble, openTrouble, indentTrouble} {
		if t := look(y.text); t.Line > 0 {
			y.add(spot{t.Line, t.Column}, CodeSyntax, t.Msg, t.Hint)
			return true
		}
	}
	return false
}

// maxSearched is the largest text whose errors are searched for. A search parses the text about ten times.
const maxSearched = 512 << 10

// errorLine returns the line of a parser error. The parser counts lines from 0 or from 1 and often names the
// start of the construct. So errorLine parses beginnings of the text. The shortest beginning with the same
// error ends in the real line. That line is shortly before the byte up to which the parser has read.
func (y *yamlReader) errorLine(text string, read int) int {
	line, words := splitYAML(text)
	if !strings.HasPrefix(words, "did not find expected") || strings.Contains(words, "',' or") ||
		len(y.text) > maxSearched {
		return line
	}
	from := bytes.LastIndexByte(y.text[:max(0, read-4096)], '\n') + 1
	ends := []int{}
	for i, b := range y.text[from:read] {
		if b == '\n' {
			ends = append(ends, from+i+1)
		}
	}
	first := 1 + bytes.Count(y.text[:from], []byte("\n"))
	return first + sort.Search(len(ends), func(i int) bool {
		var n yaml.Node
		err := yaml.Unmarshal(y.text[:ends[i]], &n)
		if err == nil {
			return false
		}
		_, same := splitYAML(err.Error())
		return same == words
	})
}
