package format

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The YAML library keeps no blank lines in its trees, except around comments. The code below finds them in
// the source text by the lines of the nodes, and adds them to the formatted text.

// withBlanks puts one blank line before each field and item if the source had blank lines before the item
// or before its comments. The first field or item of an object or a list gets none, since it may have been
// moved there. The arguments are the source text, the formatted text without blank lines, and the trees of
// both, which have the same content.
func withBlanks(text, out []byte, before, after *yaml.Node) []byte {
	const breaks = "\r\u0085\u2028\u2029" // the library also ends lines there
	if bytes.ContainsAny(text, breaks) || bytes.ContainsAny(out, breaks) {
		return out
	}
	b := &blanks{was: strings.Split(string(text), "\n"), is: strings.Split(string(out), "\n")}
	b.walk(before, after)
	slices.Sort(b.above)
	lines := b.is
	for _, at := range slices.Backward(slices.Compact(b.above)) {
		lines = slices.Insert(lines, at, "")
	}
	return []byte(strings.Join(lines, "\n"))
}

type blanks struct {
	was, is []string // lines
	above   []int    // indexes in is that get a blank line before them
}

func (b *blanks) walk(before, after *yaml.Node) {
	if before.Kind != after.Kind || before.Style&yaml.FlowStyle != 0 || after.Style&yaml.FlowStyle != 0 {
		return
	}
	switch after.Kind {
	case yaml.SequenceNode:
		for i, item := range after.Content {
			if i > 0 {
				b.keep(before.Content[i], item)
			}
			b.walk(before.Content[i], item)
		}
	case yaml.MappingNode:
		values := map[string][2]*yaml.Node{}
		for i := 0; i+1 < len(before.Content); i += 2 {
			values[before.Content[i].Value] = [2]*yaml.Node{before.Content[i], before.Content[i+1]}
		}
		for i := 0; i+1 < len(after.Content); i += 2 {
			was := values[after.Content[i].Value]
			if i > 0 {
				b.keep(was[0], after.Content[i])
			}
			b.walk(was[1], after.Content[i+1])
		}
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
}

// keep records a blank line before a node that had one.
func (b *blanks) keep(was, is *yaml.Node) {
	if at := firstCommentAbove(b.was, was.Line-1); at < 1 || !blank(b.was[at-1]) {
		return
	}
	if at := firstCommentAbove(b.is, is.Line-1); at > 0 && !blank(b.is[at-1]) {
		b.above = append(b.above, at)
	}
}

// firstCommentAbove returns the first of the comment lines directly above a line, or -1.
func firstCommentAbove(lines []string, at int) int {
	if at < 0 || at >= len(lines) {
		return -1
	}
	for at > 0 && strings.HasPrefix(strings.TrimSpace(lines[at-1]), "#") {
		at--
	}
	return at
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }
