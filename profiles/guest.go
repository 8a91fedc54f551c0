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

// Kernel is the profile of one guest process, enforced by the kernel ring: what the process may do to its
// host. The zero Kernel grants nothing but the program itself.
type Kernel struct {
	Executor string     `json:"executor"`
	Read     []PathRule `json:"read,omitempty"`  // files and folders
	Write    []PathRule `json:"write,omitempty"` // does not imply Read
	Deny     []PathRule `json:"deny,omitempty"`  // wins
	Exec     []PathRule `json:"exec,omitempty"`  // programs that may be started
	// programs, or folders of them, that the programs of Exec may start
	Helpers   []PathRule `json:"helpers,omitempty"`
	Libraries []PathRule `json:"libraries,omitempty"` // shared objects, or folders of them, that programs load
	Network   string     `json:"network"`             // NetworkOff or NetworkOwn; empty is off
	JIT       bool       `json:"jit,omitempty"`       // memory may become executable
	// a private empty folder of TempBytes, deleted afterwards, if the host's workspace is not granted
	Scratch bool `json:"scratch,omitempty"`
	// Path gives the guest a folder that has a link for each program of Exec, with the program's name. If
	// several programs have one name, the link is for the first one. The guest's own program is started once
	// before that, and has no link.
	Path bool `json:"path,omitempty"`

	CPUMillis   int64 `json:"cpuMillis"`
	WallMillis  int64 `json:"wallMillis"`  // 0: the executor enforces it
	MemoryBytes int64 `json:"memoryBytes"` // of each process, and of all together if cgroups are available
	Processes   int64 `json:"processes"`   // including threads; at least 1
	Files       int64 `json:"files"`       // open descriptors of each process
	FileBytes   int64 `json:"fileBytes"`   // largest file; 0: no file can be written
	TempBytes   int64 `json:"tempBytes"`   // size of /tmp; 0: no /tmp
	OutputBytes int64 `json:"outputBytes"` // standard output and error together
}

// Networks of a guest.
const (
	NetworkOff = "off" // no sockets except inherited ones
	NetworkOwn = "own" // a network namespace with loopback only
)

// Within reports whether o allows everything that k allows. Paths are compared as text: the host's file view
// resolves links and passes profiles with real paths. In case of doubt the result is false. If o has a denial
// that k lacks, and k has any path, the denial is assumed to matter.
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

// Digest returns "sha256:" and the digest of the canonical JSON of the profile's grants. The digest does not
// depend on the position of rules in the source, their order, or rules that another rule covers. Two profiles
// with the same digest are Within each other.
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
