package schema

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// loneReturn returns the offset of the first carriage return without a line feed, or -1. Some readers treat
// such a carriage return as the end of a line.
func loneReturn(text []byte) int {
	for i, b := range text {
		if b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			return i
		}
	}
	return -1
}

// misleading returns the offset of the first misleading character, or -1: one that a reviewer cannot see, or
// that only some editors and parsers treat as the end of a line.
func misleading(text []byte) int {
	return bytes.IndexFunc(text, func(r rune) bool {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return false
		case r < ' ' || r >= 0x7f && r < 0xa0: // control characters, including NEL
			return true
		case r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069: // line separators, text direction
			return true
		default:
			return r == 0xfeff || r >= 0xe0000 && r <= 0xe007f // zero width, tags
		}
	})
}

// invalidAt returns the offset of the first byte that is not UTF-8, or 0.
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

// oddIndent returns the offset of the first leading space of a line that is not an ASCII space, or -1.
// Parsers treat such a space as a letter.
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

// plainName reports whether a name needs no quotes in the path of a finding.
func plainName(name string) bool {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f {
			return false
		}
	}
	return len(name) <= 64
}
