// This file finds characters in a text that people and parsers read
// differently. It decides nothing: package schema refuses what it finds.

package schema

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// loneReturn returns the offset of the first carriage return without a line
// feed, which some readers take for the end of a line; -1 if none.
func loneReturn(text []byte) int {
	for i, b := range text {
		if b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			return i
		}
	}
	return -1
}

// misleading returns the offset of the first character that a reviewer does not
// see, or that editors and parsers count lines by differently; -1 if none.
func misleading(text []byte) int {
	return bytes.IndexFunc(text, func(r rune) bool {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return false
		case r < ' ' || r >= 0x7f && r < 0xa0: // control characters, NEL among them
			return true
		case r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069: // line separators, direction
			return true
		default:
			return r == 0xfeff || r >= 0xe0000 && r <= 0xe007f // zero width, tags
		}
	})
}

// invalidAt returns the offset of the first byte that is not UTF-8; 0 if none.
func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return 0
}

// oddIndent returns the offset of the first space at the front of a line that
// is not a plain one and that parsers take for a letter; -1 if none.
func oddIndent(text []byte) int {
	start := 0
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if r, _ := utf8.DecodeRune(rest); r >= utf8.RuneSelf && unicode.IsSpace(r) {
			return start + len(line) - len(rest)
		}
		start += len(line)
	}
	return -1
}

// plainName reports whether a name can stand in a path of a finding as it is.
func plainName(name string) bool {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f {
			return false
		}
	}
	return len(name) <= 64
}
