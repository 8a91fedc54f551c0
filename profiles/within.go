package profiles

import (
	"math"

	"github.com/ringd/ringd/profiles/form"
	"github.com/ringd/ringd/profiles/paths"
)

// Change is what a new profile means to a guest that runs under the old one.
type Change = form.Change

// The changes. The zero Change is the strict one.
const (
	ChangeNarrower = form.Narrower // the new profile lacks something: the guest ends
	ChangeWider    = form.Wider    // the guest goes on with less than it could have
	ChangeSame     = form.Same
)

// RestartNeeded compares the profile of a live guest with the one in force now.
// What is neither wider nor the same is narrower: the guest has something that
// the new profile does not give.
func RestartNeeded(live, now Kernel) Change {
	a, b := live.normal(), now.normal()
	return form.Compare(&a, &b)
}

// Within reports whether o allows all that k allows. Paths are compared as they
// stand: links are the business of the view of a host, which gives a profile with
// real paths. In doubt the answer is false: a denial of o that k lacks is taken to
// matter wherever k has a path at all.
func (k Kernel) Within(o Kernel) bool {
	a, b := k.normal(), o.normal()
	return a.Within(&b)
}

func (k Kernel) normal() form.Form {
	none := paths.Of()
	denied := paths.Of(pathsOf(k.Deny)...)
	n := form.Form{
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
	if !n.Grants() {
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
