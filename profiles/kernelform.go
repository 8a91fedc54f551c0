// This file owns the usual form of a kernel profile: what it grants, without
// what makes no difference. Two profiles that allow the same have the same one. It
// is pure; package profiles makes it of its profiles.

package profiles

import "github.com/ringd/ringd/profiles/paths"

// ownNetwork is the network of a profile that has one. Every other network is none.
const ownNetwork = "own"

// guestForm is a profile without what makes no difference.
type guestForm struct {
	Executor string   `json:"executor"`
	Read     []string `json:"read"` // each list sorted, and no path below another
	Write    []string `json:"write"`
	Deny     []string `json:"deny"` // empty without a grant
	Exec     []string `json:"exec"` // programs: a folder covers nothing here
	Helpers  []string `json:"helpers,omitempty"`
	Names    []string `json:"names,omitempty"` // which program a name is that several have, name=path

	Libraries []string `json:"libraries"`
	Network   string   `json:"network"`
	JIT       bool     `json:"jit"`
	Scratch   bool     `json:"scratch,omitempty"`
	Path      bool     `json:"path,omitempty"`
	// As strings: a number of JSON does not hold every int64.
	CPU       int64 `json:"cpuMillis,string"`
	Wall      int64 `json:"wallMillis,string"` // MaxInt64: none
	Memory    int64 `json:"memoryBytes,string"`
	Processes int64 `json:"processes,string"`
	Files     int64 `json:"files,string"`
	File      int64 `json:"fileBytes,string"`
	Temp      int64 `json:"tempBytes,string"`
	Output    int64 `json:"outputBytes,string"`
}

// Grants reports whether there is any path.
func (a *guestForm) Grants() bool {
	return len(a.Read)+len(a.Write)+len(a.Exec)+len(a.Helpers)+len(a.Libraries) > 0
}

// Within reports whether b allows all that a allows. In doubt it is false: a denial
// of b that a lacks is taken to matter wherever a has a path at all.
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

// lesser is the stricter of two limits; nil is none, and what neither has is 0.
func lesser(x, y *int64) int64 {
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

// Change is what one form is to another.
type Change uint8

// The changes. The zero Change is the strict one.
const (
	ChangeNarrower Change = iota
	ChangeWider
	ChangeSame
)
