// Package spelling finds the name that a misspelled one most likely meant. Hints of
// the compiler and of refusals come from it alone; it decides nothing.
package spelling

import (
	"math/bits"
	"slices"
)

// maxLetters bounds the names that are compared letter by letter, maxEdits the
// letters in which a close one differs.
const (
	maxLetters = 64
	maxEdits   = 4
)

// Effort bounds one search: who asks may be hostile, and may ask often. The zero
// Effort looks at nothing.
type Effort struct {
	Names   int // that are looked at
	Letters int // that are compared; one name more may be begun
}

// Of returns the index of the choice that word most likely meant, -1 when none
// is near enough: at most a third of its letters differ, or one, and never more
// than a few. Case does not matter, nor does a sign between words; neighbours that
// changed places count once. Of choices that are as near the first is taken.
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
		// A letter that only one of them has costs an edit; one edit settles two.
		if !c.fold(choice) || bits.OnesCount64(w.set^c.set) >= 2*best {
			continue
		}
		if d := distance(&w, &c, best, &left); d < best {
			at, best = i, d
		}
	}
	return at
}

// Some returns up to most of the sorted names, the one closest to word first when
// one is close; nil when there are none.
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

// MaxInstead bounds what a refusal names.
const MaxInstead = 8

// Instead is Some for a refusal, at most MaxInstead of the sorted names. A guest can
// ask for any name, as often as its budget of refused calls allows, so that what one
// refusal compares is bounded as well.
func Instead(name string, names []string) []string {
	return Some(name, names, MaxInstead, Effort{Names: 32, Letters: 400})
}

// Sorted sorts a list and drops what stands in it twice.
func Sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// letters is a name without what people mistype most: case, and the sign
// between two words.
type letters struct {
	b   [maxLetters]byte
	n   int
	set uint64 // the letters; several may share a bit
}

// fold reports whether the name is short enough to be compared.
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

// distance counts the insertions, deletions, replacements and swaps of neighbours
// that turn a into b, and gives most when there are as many or more. It takes what
// it compares out of left, and looks only where fewer than most insertions lead.
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
		// A swap comes from two rows before.
		if *left -= to - from + 1; min(least, leastBefore) >= most {
			return most
		}
		before, last, row = last, row, before
	}
	return min(last[b.n], most)
}
