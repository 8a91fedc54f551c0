package compiler

import "strings"

// maxCompared bounds the choices that one typo is compared with.
const maxCompared = 1000

// nearest returns the choice that word most likely meant, "" when none is near.
func nearest(word string, choices []string) string {
	best, bestCost := "", 1+max(1, len(word)/3)
	if len(word) > 128 {
		return ""
	}
	for _, choice := range choices[:min(len(choices), maxCompared)] {
		if cost := distance(strings.ToLower(word), strings.ToLower(choice), bestCost); cost < bestCost {
			best, bestCost = choice, cost
		}
	}
	return best
}

// distance counts insertions, deletions and replacements between a and b, and
// gives most when there are as many or more.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most)
}
