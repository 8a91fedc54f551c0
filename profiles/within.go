package profiles

import (
	"math"

	"github.com/ringd/ringd/profiles/paths"
)

// Change is what a new profile means to a guest that runs under the old one.
type Change uint8

// The changes. The zero Change is the strict one.
const (
	ChangeNarrower Change = iota // the new profile lacks something: the guest ends
	ChangeWider                  // the guest goes on with less than it could have
	ChangeSame
)

// String returns "narrower", "wider" or "same"; every unknown value is "narrower".
func (c Change) String() string {
	switch c {
	case ChangeSame:
		return "same"
	case ChangeWider:
		return "wider"
	case ChangeNarrower:
		return "narrower"
	default:
		return "narrower"
	}
}

// RestartNeeded compares the profile of a live guest with the one in force now.
// What is neither wider nor the same is narrower: the guest has something that
// the new profile does not give.
func RestartNeeded(live, now Kernel) Change {
	switch {
	case !live.Within(now):
		return ChangeNarrower
	case now.Within(live):
		return ChangeSame
	default:
		return ChangeWider
	}
}

// Within reports whether o allows all that k allows. Paths are compared as they
// stand: links are the business of the view of a host, which gives a profile with
// real paths. In doubt the answer is false: a denial of o that k lacks is taken to
// matter wherever k has a path at all.
func (k Kernel) Within(o Kernel) bool {
	a, b := k.normal(), o.normal()
	if a.Executor != b.Executor || a.JIT && !b.JIT || a.Network == NetworkOwn && b.Network != NetworkOwn || a.Scratch && !b.Scratch || a.Path && !b.Path {
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
	if !a.grants() {
		return true
	}
	return paths.Of(a.Deny...).CoverAll(b.Deny) && paths.Of(b.Read...).CoverAll(a.Read) && paths.Of(b.Write...).CoverAll(a.Write) &&
		paths.Of(b.Libraries...).CoverAll(a.Libraries) && paths.Of(b.Exec...).HasAll(a.Exec) &&
		paths.Of(b.Helpers...).HasAll(a.Helpers) && paths.Of(b.Names...).HasAll(a.Names)
}

// normal is a profile without what makes no difference. Two profiles that are
// within each other have the same one.
type normal struct {
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

func (k Kernel) normal() normal {
	none := paths.Of()
	denied := paths.Of(pathsOf(k.Deny)...)
	n := normal{
		Executor: k.Executor, Deny: none.Topmost(pathsOf(k.Deny)),
		Read: denied.Topmost(pathsOf(k.Read)), Write: denied.Topmost(pathsOf(k.Write)), Libraries: denied.Topmost(pathsOf(k.Libraries)),
		Network: NetworkOff, JIT: k.JIT, Scratch: k.Scratch, Path: k.Path,
		CPU: max(k.CPUMillis, 0), Wall: max(k.WallMillis, 0), Memory: max(k.MemoryBytes, 0), Processes: max(k.Processes, 1),
		Files: max(k.Files, 0), File: max(k.FileBytes, 0), Temp: max(k.TempBytes, 0), Output: max(k.OutputBytes, 0),
	}
	if k.Network == NetworkOwn {
		n.Network = NetworkOwn
	}
	if k.WallMillis == 0 {
		n.Wall = math.MaxInt64
	}
	n.Exec, n.Helpers = denied.Outside(pathsOf(k.Exec)), denied.Outside(pathsOf(k.Helpers))
	if k.Path {
		n.Names = denied.Ambiguous(pathsOf(k.Exec))
	}
	if !n.grants() {
		n.Deny = []string{}
	}
	return n
}

func pathsOf(rules []PathRule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.Path
	}
	return out
}

// grants reports whether there is any path.
func (n *normal) grants() bool {
	return len(n.Read)+len(n.Write)+len(n.Exec)+len(n.Helpers)+len(n.Libraries) > 0
}
