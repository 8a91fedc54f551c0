package spelling // distance has no caller outside, and a wrong one only shows in hints

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// plainDistance is the definition: edits, and swaps of neighbours that are not
// edited again.
func plainDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	cost := 1
	if a[0] == b[0] {
		cost = 0
	}
	least := min(plainDistance(a[1:], b)+1, plainDistance(a, b[1:])+1, plainDistance(a[1:], b[1:])+cost)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, plainDistance(a[2:], b[2:])+1)
	}
	return least
}

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(8))
		for i := range b {
			b[i] = "abAc_"[r.IntN(5)]
		}
		return string(b)
	}
	plain := strings.NewReplacer("A", "a", "_", "")
	for range 5000 {
		a, b, most := word(), word(), 1+r.IntN(5)
		left := 1000
		var x, y letters
		if !x.fold(a) || !y.fold(b) {
			t.Fatal("too long")
		}
		want := min(plainDistance(plain.Replace(a), plain.Replace(b)), most)
		if got := distance(&x, &y, most, &left); got != want {
			t.Fatalf("%q, %q below %d: got %d, want %d", a, b, most, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	choices := []string{"callsPerRun", "concurrent", "GET", "POST", "allowlist", "kernel-allowlist", "js", "lookup",
		"lookout"}
	enough := Effort{Names: 100, Letters: 10000}
	for _, tt := range []struct {
		word string
		most Effort
		want string
	}{
		{"calls_per_run", enough, "callsPerRun"}, {"POTS", enough, "POST"}, {"get", enough, "GET"}, {"concurent", enough, "concurrent"},
		{"kernel-alowlist", enough, "kernel-allowlist"}, {"lokup", enough, "lookup"}, {"lookuo", enough, "lookup"},
		{"ruby", enough, ""}, {"", enough, ""}, {"_-.", enough, ""}, {"xy", enough, ""},
		{"a name that nobody meant to write at all, of more letters than any", enough, ""},
		{"kernelXXXXXallowlist", enough, ""}, // a third, and more than a few
		{"get", Effort{}, ""}, {"get", Effort{Names: 2, Letters: 100}, ""}, {"js", Effort{Names: 100}, ""},
	} {
		got := ""
		if at := Of(tt.word, choices, tt.most); at >= 0 {
			got = choices[at]
		}
		if got != tt.want {
			t.Errorf("%q is near %q, want %q", tt.word, got, tt.want)
		}
	}
}

// TestEffort: no name makes a search compare more than its effort.
func TestEffort(t *testing.T) {
	long := strings.Repeat("ab", maxLetters/2)
	var b letters
	b.fold(long)
	for _, name := range []string{long, long[1:] + "b", strings.Repeat("ba", maxLetters/2), strings.Repeat("x", 1<<20),
		""} {
		var a letters
		left := 400
		for range 32 {
			if a.fold(name) && left > 0 {
				distance(&a, &b, maxEdits+1, &left)
			}
		}
		if left < -(2*maxEdits+3)*maxLetters {
			t.Errorf("%.10s…: %d comparisons above the effort", name, -left)
		}
	}
}
