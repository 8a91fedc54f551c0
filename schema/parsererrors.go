package schema

import (
	"bytes"
	"strconv"
	"strings"
)

// splitYAML splits an error such as "yaml: line 3: words" and corrects the line, which counts from 1.
func splitYAML(text string) (line int, words string) {
	words = strings.TrimPrefix(text, "yaml: ")
	if rest, ok := strings.CutPrefix(words, "line "); ok {
		digits, after, _ := strings.Cut(rest, ": ")
		line, _ = strconv.Atoi(digits) // 0 without a number
		words = after
	}
	for _, parser := range []string{"expected key", "'-' indicator", "',' or", "node content", "document start"} {
		if strings.Contains(words, parser) {
			return line + 1, words
		}
	}
	return max(1, line), words
}

// yamlTrouble returns plain words and a hint, if any, for a parser error about a line. It recognizes errors
// by their text.
func yamlTrouble(text string, line []byte) (msg, hint string) {
	lead := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	if bytes.IndexByte(lead, '\t') >= 0 {
		return "the line is indented with a tab", "indent with spaces"
	}
	for _, w := range []struct{ has, msg, hint string }{
		{"cannot start any token", "a value cannot start with this character", "put the text in quotes"},
		{"mapping values are not allowed", "a second \":\" on a line, or a field that is indented too far",
			"put text with \": \" in quotes"},
		{"did not find expected key", "the indentation does not fit the fields above", ""},
		{"did not find expected '-' indicator", "the indentation does not fit the list above", ""},
		{"could not find expected ':'", "a field name without \":\"", ""},
		{"did not find expected ',' or", "a list or object in brackets is not closed, or lacks a comma", ""},
		{"alphabetic or numeric", "an anchor or alias without a name", "put text that starts with & or * in quotes"},
		{"unexpected end of stream", "a quoted text is not closed", ""},
		{"unknown escape", "an escape that YAML does not have", "double the backslash, or use single quotes"},
		{"escape", "an escape that is not complete", ""},
		{"anchor", "an anchor or alias without a name", "put text that starts with & or * in quotes"},
		{"control characters", "a control character", ""},
		{"document start", "text after the document", "one policy a file"},
		{"undefined tag", "a tag that is not part of the policy language", "put text that starts with ! in quotes"},
		{"tag", "a tag that is not part of the policy language", "put text that starts with ! in quotes"},
		{"directive", "a directive that is not part of the policy language", "leave the % line out"},
		{"block", "the indentation does not fit", ""},
	} {
		if strings.Contains(text, w.has) {
			return w.msg, w.hint
		}
	}
	return "the text is not valid YAML", ""
}

// jsonHint returns a hint for a character that the parser did not expect, or "". words are the parser's.
func jsonHint(r rune, words string) string {
	switch {
	case r == '/' || r == '#':
		return "JSON has no comments; use YAML or CUE"
	case r == '\'':
		return "JSON text is in double quotes"
	case (r == '}' || r == ']') && strings.Contains(words, "looking for beginning"):
		return "leave out the comma before it"
	case strings.Contains(words, "after object key:value pair") || strings.Contains(words, "after array element"):
		return "a comma is missing before it"
	case strings.Contains(words, "object key string"):
		return "a field name is in double quotes"
	case strings.Contains(words, "in string literal"):
		return "write tabs and other control characters in text as escapes such as \\t"
	default:
		return ""
	}
}
