package canonjson

import "unicode/utf8"

// Truncate returns the first n bytes of s, less those of a character that does not fit,
// and "…" behind them. A text that fits is returned as it is. Bytes that are not UTF-8
// stay, as do control characters: see [Clip] for text of a guest.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)] + "…"
}
