package tables

import "strings"

// Match reports whether a word matches a pattern of a table. A "*" in the pattern matches any text, including
// none.
func Match(pattern, word string) bool {
	head, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == word
	}
	if !strings.HasPrefix(word, head) {
		return false
	}
	word = word[len(head):]
	for {
		part, after, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(word, part)
		}
		at := strings.Index(word, part)
		if at < 0 {
			return false
		}
		word, rest = word[at+len(part):], after
	}
}
