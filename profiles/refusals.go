package profiles

import (
	"slices"
	"strconv"
)

// Refusals are what one program was refused: equal ones stand once, with how often. The
// zero value has none. It is not safe for concurrent use.
type Refusals struct {
	List []Decision // that differ, oldest first
	More int64      // those that found the list full
}

// Add counts d among at most most that differ. It returns d as the list has it now, with
// how often, and whether that is worth telling: the first time, and wherever the count
// gains a digit. One that finds the list full is counted alone.
func (r *Refusals) Add(d Decision, most int) (now Decision, tell bool) {
	times := min(max(d.Count, 1), MaxTimes)
	i := slices.IndexFunc(r.List, func(was Decision) bool { return alike(&was, &d) })
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

// Beyond counts refusals of which no more is known.
func (r *Refusals) Beyond(times int64) { r.More = min(r.More+min(max(times, 0), MaxTimes), MaxTimes) }

// alike reports whether two refusals are one: of the same code, rule and target. A
// target stands in the words that were refused, and in the reason.
func alike(a, b *Decision) bool {
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

// MaxTimes bounds a count: sums of what a guest says must not overflow.
const MaxTimes = 1 << 40
