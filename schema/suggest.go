package schema

import "github.com/ringd/ringd/profiles/spelling"

// nearest returns the choice that word most likely meant, or "".
func nearest(word string, choices []string) string {
	if at := spelling.Of(word, choices, spelling.Effort{Names: 1000, Letters: 100_000}); at >= 0 {
		return choices[at]
	}
	return ""
}
