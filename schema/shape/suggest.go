package shape

import (
	"strings"
	"unicode"
)

// Nearest returns the choice that word most likely meant, "" when none is near
// enough: at most a third of its letters differ, case and punctuation aside.
func Nearest(word string, choices []string) string {
	if len(word) > 64 {
		return ""
	}
	folded := fold(word)
	best, bestCost := "", 1+max(1, len(word)/3)
	for _, choice := range choices {
		cost := 0
		if b := fold(choice); folded != b {
			cost = distance(folded, b)
		}
		if cost < bestCost {
			best, bestCost = choice, cost
		}
	}
	return best
}

// fold drops what people mistype most: case and the sign between two words.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	if max(len(a), len(b)) > 2*min(len(a), len(b))+2 {
		return max(len(a), len(b))
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
