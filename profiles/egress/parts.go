package egress

import (
	"cmp"
	"slices"
)

// part is a piece of one entry of a list.
type part struct {
	At   int // of the entry
	Host string
}

// Parts gives what of the entries lies within one of only, sorted by host: of two
// entries for a host the more specific one comes first. What is not an entry in its
// usual form is left out.
func Parts(entries []string, only []Pattern) []part {
	type piece struct {
		part
		whole Pattern
	}
	var pieces []piece
	for i, e := range entries {
		whole, err := ReadPattern(e)
		if err != nil {
			continue // the compiler writes no such entry
		}
		for _, host := range whole.Within(only) {
			pieces = append(pieces, piece{part{i, host}, whole})
		}
	}
	slices.SortStableFunc(pieces, func(x, y piece) int {
		if c := cmp.Compare(x.Host, y.Host); c != 0 {
			return c
		}
		switch above, below := y.whole.Covers(x.whole), x.whole.Covers(y.whole); { // both cover Host, so one holds
		case above && !below:
			return -1
		case below && !above:
			return 1
		default:
			return 0
		}
	})
	out := make([]part, len(pieces))
	for i, p := range pieces {
		out[i] = p.part
	}
	return out
}
