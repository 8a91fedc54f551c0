package profiles

import "github.com/ringd/ringd/profiles/paths"

// ownNetwork is [Kernel.Network] of a profile with a network. All other values mean none.
const ownNetwork = "own"

// guestForm is the normal form of a kernel profile: its grants without redundant entries. Two profiles that
// allow the same have the same form.
type guestForm struct {
	Executor string   `json:"executor"`
	Read     []string `json:"read"` // each list sorted, without paths below another one
	Write    []string `json:"write"`
	Deny     []string `json:"deny"` // empty if nothing is granted
	Exec     []string `json:"exec"` // single programs; a folder covers nothing here
	Helpers  []string `json:"helpers,omitempty"`
	Names    []string `json:"names,omitempty"` // for a name that several programs have: name=path of the first

	Libraries []string `json:"libraries"`
	Network   string   `json:"network"`
	JIT       bool     `json:"jit"`
	Scratch   bool     `json:"scratch,omitempty"`
	Path      bool     `json:"path,omitempty"`
	// Strings, because a JSON number does not hold every int64.
	CPU       int64 `json:"cpuMillis,string"`
	Wall      int64 `json:"wallMillis,string"` // MaxInt64: no limit
	Memory    int64 `json:"memoryBytes,string"`
	Processes int64 `json:"processes,string"`
	Files     int64 `json:"files,string"`
	File      int64 `json:"fileBytes,string"`
	Temp      int64 `json:"tempBytes,string"`
	Output    int64 `json:"outputBytes,string"`
}

// Grants reports whether any path is granted.
func (a *guestForm) Grants() bool {
	return len(a.Read)+len(a.Write)+len(a.Exec)+len(a.Helpers)+len(a.Libraries) > 0
}

// Within reports whether b allows everything that a allows. In case of doubt the result is false. If b has a
// denial that a lacks, and a has any path, the denial is assumed to matter.
func (a *guestForm) Within(b *guestForm) bool {
	if a.Executor != b.Executor || a.JIT && !b.JIT || a.Network == ownNetwork && b.Network != ownNetwork || a.Scratch &&
		!b.Scratch || a.Path && !b.Path {
		return false
	}
	for _, l := range [][2]int64{
		{a.CPU, b.CPU}, {a.Wall, b.Wall}, {a.Memory, b.Memory}, {a.Processes, b.Processes}, {a.Files, b.Files},
		{a.File, b.File}, {a.Temp, b.Temp}, {a.Output, b.Output},
	} {
		if l[0] > l[1] {
			return false
		}
	}
	if !a.Grants() {
		return true
	}
	return paths.Of(a.Deny...).CoverAll(b.Deny) && paths.Of(b.Read...).CoverAll(a.Read) &&
		paths.Of(b.Write...).CoverAll(a.Write) &&
		paths.Of(b.Libraries...).CoverAll(a.Libraries) && paths.Of(b.Exec...).HasAll(a.Exec) &&
		paths.Of(b.Helpers...).HasAll(a.Helpers) && paths.Of(b.Names...).HasAll(a.Names)
}

// stricterLimit returns the stricter of two limits. nil is no limit. The result is 0 if both are nil.
func stricterLimit(x, y *int64) int64 {
	switch {
	case x != nil && y != nil:
		return max(min(*x, *y), 0)
	case x != nil:
		return max(*x, 0)
	case y != nil:
		return max(*y, 0)
	default:
		return 0
	}
}

// Change compares one form with another.
type Change uint8

// The changes. The zero Change is the strict one.
const (
	ChangeNarrower Change = iota
	ChangeWider
	ChangeSame
)
