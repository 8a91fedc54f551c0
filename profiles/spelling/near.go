// Package spelling finds the name that a misspelled one most likely meant, for hints of the compiler and of
// denials.
package spelling

import (
	"math/bits"
	"slices"
)

// maxLetters is the longest name that is compared letter by letter. maxEdits is the largest number of edits
// of a close name.
const (
	maxLetters = 64
	maxEdits   = 4
)

// Effort limits the work of one search, since a hostile caller may search often. The zero Effort compares
// nothing.
type Effort struct {
	Names   int // names to look at
	Letters int // letters to compare; one more name may be started after the last one
}

// Of returns the index of the choice that word most likely meant, or -1 if none is near enough. A near choice
// differs in at most a third of its letters (at least one is allowed) and at most maxEdits. Case and a sign
// between words are ignored. Two swapped neighbours count as one edit. Among equally near choices the first
// wins.
func Of(word string, choices []string, most Effort) int {
	var w, c letters
	if !w.fold(word) || w.n == 0 {
		return -1
	}
	at, best := -1, 1+min(maxEdits, max(1, len(word)/3))
	left := most.Letters
	for i, choice := range choices[:max(0, min(len(choices), most.Names))] {
		if left <= 0 {
			break
		}
		// A letter that only one word has costs an edit, and one edit settles two such letters.
		if !c.fold(choice) || bits.OnesCount64(w.set^c.set) >= 2*best {
			continue
		}
		if d := distance(&w, &c, best, &left); d < best {
			at, best = i, d
		}
	}
	return at
}

// Some returns up to most of the sorted names. If a name is close to word, it comes first. The result is nil
// if there are no names.
func Some(word string, names []string, most int, effort Effort) []string {
	if len(names) == 0 || most < 1 {
		return nil
	}
	some := names[:min(len(names), most)]
	at := Of(word, names, effort)
	if at < 0 {
		return slices.Clone(some)
	}
	out := append(make([]string, 0, most), names[at])
	for _, n := range some {
		if n != names[at] && len(out) < most {
			out = append(out, n)
		}
	}
	return out
}

// MaxInstead limits the number of names in a denial.
const MaxInstead = 8

// Instead is [Some] for a denial, with at most MaxInstead of the sorted names. The effort is limited because
// a guest can ask for any name, as often as its budget of denied calls allows.
func Instead(name string, names []string) []string {
	return Some(name, names, MaxInstead, Effort{Names: 32, Letters: 400})
}

// Sorted sorts a list and removes duplicates.
func Sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// letters is a name without the usual typing mistakes: case, and the sign between two words.
type letters struct {
	b   [maxLetters]byte
	n   int
	set uint64 // set of letters as bits; several letters may share a bit
}

// fold reports whether the name is short enough to compare.
func (l *letters) fold(s string) bool {
	l.n, l.set = 0, 0
	if len(s) > maxLetters {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_' || c == '-' || c == '.':
			continue
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		}
		l.b[l.n] = c
		l.n++
		l.set |= 1 << (c & 63)
	}
	return true
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b. It
// returns most if there are that many or more. It subtracts the compared letters from left, and looks only at
// cells reachable with fewer than most insertions.
func distance(a, b *letters, most int, left *int) int {
	if a.n-b.n >= most || b.n-a.n >= most {
		return most
	}
	var rows [3][maxLetters + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range b.n + 1 {
		last[j] = j
	}
	least := 0
	for i := 1; i <= a.n; i++ {
		from, to := max(1, i-most), min(b.n, i+most)
		leastBefore := least
		row[from-1], least = most, most
		if from == 1 {
			row[0], least = i, i
		}
		for j := from; j <= to; j++ {
			cost := last[j-1]
			if a.b[i-1] != b.b[j-1] {
				cost++
			}
			cost = min(cost, row[j-1]+1)
			if j < i+most {
				cost = min(cost, last[j]+1)
			}
			if i > 1 && j > 1 && a.b[i-1] == b.b[j-2] && a.b[i-2] == b.b[j-1] {
				cost = min(cost, before[j-2]+1)
			}
			row[j] = cost
			least = min(least, cost)
		}
		// A swap refers to the row before the previous one.
		if *left -= to - from + 1; min(least, leastBefore) >= most {
			return most
		}
		before, last, row = last, row, before
	}
	return min(last[b.n], most)
}
