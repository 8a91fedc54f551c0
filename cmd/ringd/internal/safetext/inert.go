// Package safetext owns the escaping of text for terminals: characters that move the cursor, change the
// terminal, change the text direction or are invisible become visible escapes.
//
// [Edge] is the only way to the streams of ringd and to the answers of its API, so a caller that forgets to
// escape a text cannot send such characters. An Edge cannot tell our newlines from foreign ones; package cli
// keeps records apart. Packages cli, api and main use it.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hostile reports whether r moves the cursor, changes the terminal, changes the text direction, or is
// invisible. Newline, tab, and the joiners of some scripts are not hostile.
func Hostile(r rune) bool {
	const lineSeparator, paragraphSeparator, nonJoiner, joiner = 0x2028, 0x2029, 0x200c, 0x200d
	switch {
	case r == '\n', r == '\t', r == nonJoiner, r == joiner:
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0, r == lineSeparator, r == paragraphSeparator:
		return true
	default:
		return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
}

// Text returns b with every hostile rune as a JSON escape, and every invalid byte as U+FFFD. JSON keeps its
// value. It returns b itself if there is nothing to change.
func Text(b []byte) []byte {
	if isClean(b) {
		return b
	}
	var out strings.Builder
	for _, r := range string(b) {
		if Hostile(r) {
			Escape(&out, r)
		} else {
			out.WriteRune(r)
		}
	}
	return []byte(out.String())
}

// isClean reports whether b is valid UTF-8 without a hostile rune.
func isClean(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || Hostile(r) {
			return false
		}
		b = b[n:]
	}
	return true
}

// Escape writes a rune as a JSON escape.
func Escape(b *strings.Builder, r rune) {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
