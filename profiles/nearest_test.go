package profiles // distance has no caller outside, and a wrong one only shows in hints

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// plainDistance is Levenshtein's definition.
func plainDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	cost := 1
	if a[0]|0x20 == b[0]|0x20 {
		cost = 0
	}
	return min(plainDistance(a[1:], b)+1, plainDistance(a, b[1:])+1, plainDistance(a[1:], b[1:])+cost)
}

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(7))
		for i := range b {
			b[i] = "abAc."[r.IntN(5)]
		}
		return string(b)
	}
	for range 3000 {
		a, b, most := word(), word(), 1+r.IntN(5)
		cells := 1000
		want := min(plainDistance(a, b), most)
		if got := distance(a, b, most, &cells); got != want {
			t.Fatalf("%q, %q below %d: got %d, want %d", a, b, most, got, want)
		}
	}
}

// TestNearestIsBounded: no name makes a refusal compare more than its budget.
func TestNearestIsBounded(t *testing.T) {
	long := strings.Repeat("ab", maxSpelled/2)
	for _, name := range []string{long, long[1:] + "b", strings.Repeat("x", 1<<20), ""} {
		cells := maxCells
		for range maxCompared {
			if cells > 0 {
				distance(name, long, maxEdits, &cells)
			}
		}
		if cells < -2*maxEdits*maxSpelled {
			t.Errorf("%.10s…: %d comparisons above the budget", name, -cells)
		}
	}
}
