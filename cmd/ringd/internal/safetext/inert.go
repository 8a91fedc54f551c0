// Package safetext makes text harmless to the terminal that shows it: what would move the
// cursor, change the terminal, turn text around or hide is sent as an escape in letters.
//
// [Edge] is the only way to the streams of ringd and to the answers of its API, so a
// caller that forgets to clean a text cannot send a terminal anything. An Edge cannot
// tell a newline of ours from one of others: the renderers keep records apart. render,
// the API and main use it.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hostile reports whether r moves the cursor, changes the terminal, turns text around, or
// is not seen. Newline and tab do not, nor does what joins letters and signs of some
// scripts.
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

// Text is b with every hostile rune as an escape of JSON, and every byte that is not UTF-8
// as U+FFFD. Of JSON it is the same value. It returns b itself where nothing is to change.
func Text(b []byte) []byte {
	if clean(b) {
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

// clean reports whether b is UTF-8 without a hostile rune.
func clean(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || Hostile(r) {
			return false
		}
		b = b[n:]
	}
	return true
}

// Escape writes a rune as JSON escapes it.
func Escape(b *strings.Builder, r rune) {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
