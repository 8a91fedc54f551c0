package profiles

import (
	"slices"
	"strconv"
)

// Refusals collects the denials of one program. Equal denials are merged and counted. The zero value is empty.
// It is not safe for concurrent use.
type Refusals struct {
	List []Decision // distinct denials, oldest first
	More int64      // denials that came when List was full
}

// Add counts d in a list of at most `most` different denials. It returns d with its count, and whether d should
// be reported: the first time, and whenever the count gets another digit. If the list is full, a new denial is
// only counted in More.
func (r *Refusals) Add(d Decision, most int) (now Decision, tell bool) {
	times := min(max(d.Count, 1), MaxTimes)
	i := slices.IndexFunc(r.List, func(was Decision) bool { return sameDenial(&was, &d) })
	switch {
	case i >= 0:
		was := max(r.List[i].Count, 1)
		r.List[i].Count = min(was+times, MaxTimes)
		return r.List[i], digits(was) < digits(r.List[i].Count)
	case len(r.List) >= most:
		r.Beyond(times)
		return d, false
	default:
		r.List = append(r.List, d)
		return d, true
	}
}

// Beyond adds to More a number of denials whose content is not known.
func (r *Refusals) Beyond(times int64) { r.More = min(r.More+min(max(times, 0), MaxTimes), MaxTimes) }

// sameDenial reports whether two denials have the same code, rule and target. The evidence and the reason contain
// the target.
func sameDenial(a, b *Decision) bool {
	same := a.Code == b.Code && a.Reason == b.Reason && a.Revision == b.Revision && (a.Rule == nil) == (b.Rule == nil)
	if !same || a.Rule != nil && *a.Rule != *b.Rule {
		return false
	}
	return slices.Equal(argvOf(a), argvOf(b))
}

func argvOf(d *Decision) []string {
	if d.Evidence == nil {
		return nil
	}
	return d.Evidence.Argv
}

func digits(n int64) int { return len(strconv.FormatInt(n, 10)) }

// MaxTimes is the largest count. Sums of numbers from a guest must not overflow.
const MaxTimes = 1 << 40
