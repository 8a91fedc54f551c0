package egress

import (
	"cmp"
	"slices"
)

// part is the part of one list entry that is allowed.
type part struct {
	At   int // index of the entry
	Host string
}

// Parts returns the parts of the entries that are within one of the patterns only, sorted by host. If two
// entries have the same host, the more specific entry comes first. Entries that are not in canonical form
// are skipped.
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
		// both cover Host, so one covers the other
		switch above, below := y.whole.Covers(x.whole), x.whole.Covers(y.whole); {
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
