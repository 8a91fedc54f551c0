package canonjson

import "unicode/utf8"

// Truncate returns the first n bytes of s followed by "…". It drops a character that does not fit whole. A
// text of at most n bytes is returned unchanged. Invalid UTF-8 and control characters stay: use [Clip] for
// text of a guest.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)] + "…"
}
