// This file is the profile of one guest process: what it may do to its host. It is
// pure; package profiles makes it of an agent, the kernel ring enforces it.

package profiles

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/paths"
)

// Kernel is what one guest process may do to its host: the profile of the kernel
// ring. The zero Kernel grants nothing but the program itself.
type Kernel struct {
	Executor  string     `json:"executor"`
	Read      []PathRule `json:"read,omitempty"`      // files and folders
	Write     []PathRule `json:"write,omitempty"`     // does not imply Read
	Deny      []PathRule `json:"deny,omitempty"`      // wins
	Exec      []PathRule `json:"exec,omitempty"`      // programs that may be started
	Helpers   []PathRule `json:"helpers,omitempty"`   // programs that those may start, or folders of them
	Libraries []PathRule `json:"libraries,omitempty"` // shared objects, or folders of them, that programs load
	Network   string     `json:"network"`             // NetworkOff or NetworkOwn; "" is off
	JIT       bool       `json:"jit,omitempty"`       // memory may become executable
	// a folder of its own, of TempBytes, empty and thrown away, where the host's workspace is not
	// granted
	Scratch bool `json:"scratch,omitempty"`
	// Path gives the guest a folder that holds a link for each of Exec by its name,
	// the first of a name; its own program is started once and by nobody in it.
	Path bool `json:"path,omitempty"`

	CPUMillis   int64 `json:"cpuMillis"`
	WallMillis  int64 `json:"wallMillis"`  // 0: the executor holds it
	MemoryBytes int64 `json:"memoryBytes"` // of each process, and of all together where control groups allow
	Processes   int64 `json:"processes"`   // with threads; at least 1
	Files       int64 `json:"files"`       // open descriptors of a process
	FileBytes   int64 `json:"fileBytes"`   // largest file; 0: none can be written
	TempBytes   int64 `json:"tempBytes"`   // of /tmp; 0: there is none
	OutputBytes int64 `json:"outputBytes"` // standard output and error together
}

// Networks of a guest.
const (
	NetworkOff = "off" // no socket but those it was given
	NetworkOwn = "own" // a network of its own, with loopback alone
)

// Within reports whether o allows all that k allows. Paths are compared as they
// stand: links are the business of the view of a host, which gives a profile with
// real paths. In doubt the answer is false: a denial of o that k lacks is taken to
// matter wherever k has a path at all.
func (k Kernel) Within(o Kernel) bool {
	a, b := k.normal(), o.normal()
	return a.Within(&b)
}

func (k Kernel) normal() guestForm {
	none := paths.Of()
	denied := paths.Of(pathsOf(k.Deny)...)
	n := guestForm{
		Executor: k.Executor, Deny: none.Topmost(pathsOf(k.Deny)),
		Read: denied.Topmost(pathsOf(k.Read)), Write: denied.Topmost(pathsOf(k.Write)),
		Libraries: denied.Topmost(pathsOf(k.Libraries)),
		Network:   NetworkOff, JIT: k.JIT, Scratch: k.Scratch, Path: k.Path,
		CPU: max(k.CPUMillis, 0), Wall: max(k.WallMillis, 0), Memory: max(k.MemoryBytes, 0),
		Processes: max(k.Processes, 1),
		Files:     max(k.Files, 0), File: max(k.FileBytes, 0), Temp: max(k.TempBytes, 0), Output: max(k.OutputBytes, 0),
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

// Digest is "sha256:" and the digest of the canonical JSON of what the profile
// grants. Where its rules stand does not count, nor their order, nor a rule that
// another one covers: profiles with the same digest are Within each other.
func (k Kernel) Digest() (string, error) {
	raw, err := json.Marshal(k.normal())
	if err != nil {
		return "", fmt.Errorf("digest kernel profile: %w", err)
	}
	b, err := canonjson.Canonical(raw)
	if err != nil {
		return "", fmt.Errorf("digest kernel profile: %w", err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
