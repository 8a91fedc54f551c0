package profiles

import (
	"encoding/json"
	"fmt"

	"github.com/ringd/ringd/profiles/form"
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
	Scratch   bool       `json:"scratch,omitempty"`   // a folder of its own, of TempBytes, empty and thrown away, where the host's workspace is not granted
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

// What a guest process gets beside the limits of its profile: the runtime of
// its executor needs that much before a program has begun.
const (
	jsCPUMillis   = 10 * 60 * 1000 // over the life of a guest, which may serve many runs
	jsMemoryBytes = 640 << 20      // a run of the default limits fits
	jsProcess     = 384 << 20      // of that: runtime, compiled code, translation
	jsEngine      = 8 << 20        // beside the program's memory, which exists twice while it grows
	jsFileBytes   = 64 << 20       // compiled code; given up before a program
	jsThreads     = 512            // of the runtime; a sealed guest starts no process
	jsFiles       = 64

	pythonCPUMillis, pythonOutputBytes = 60 * 60 * 1000, 1 << 40 // over the life of a guest, which may be a session's

	nativeMemory    = 64 << 20 // interpreter and libraries of each process
	nativeProcesses = 16       // threads of the executor's own process
	nativeFiles     = 32
	nativeTemp      = 64 << 20
	nativeFile      = 1 << 30 // largest file, where a grant lets one be written
)

// Kernel is the profile of one executor's guests; false when the agent does not
// have the executor. A JavaScript guest gets nothing of the host: it compiles its
// engine, hence JIT, and then seals itself. Python's own programs and libraries
// are no grants of a policy: the executor adds them.
func (a Agent) Kernel(executor string) (Kernel, bool) {
	switch {
	case executor == ExecutorJS && a.JS != nil:
		l := leastOf(a.Limits, a.JS.Limits)
		return Kernel{
			Executor: executor, Network: NetworkOff, JIT: true,
			CPUMillis:   max(jsCPUMillis, 2*l.cpu),
			MemoryBytes: max(jsMemoryBytes, 2*l.memory+jsEngine+jsProcess),
			Processes:   jsThreads, Files: jsFiles, FileBytes: jsFileBytes,
		}, true
	case executor == ExecutorPython && a.Python != nil:
		k := a.native(executor, leastOf(a.Limits, a.Python.Limits))
		k.JIT = a.Python.JIT
		k.CPUMillis, k.OutputBytes = max(pythonCPUMillis, 2*k.CPUMillis), max(pythonOutputBytes, 2*k.OutputBytes)
		return k, true
	case executor == ExecutorShell && a.Shell != nil:
		k := a.native(executor, leastOf(a.Limits, a.Shell.Limits))
		k.JIT = a.Shell.JIT
		for _, b := range a.Shell.Binaries {
			if !b.Interpreted {
				k.Exec = append(k.Exec, PathRule{Path: b.Path, Rule: b.Rule})
			}
			k.Helpers = append(k.Helpers, b.Helpers...)
		}
		return k, true
	default:
		return Kernel{}, false
	}
}

// native is the profile of an executor whose programs use the host directly;
// wall time is that of a run.
func (a Agent) native(executor string, l least) Kernel {
	k := Kernel{
		Executor: executor, Read: a.Files.Read, Write: a.Files.Write, Deny: a.Files.Deny, Network: NetworkOff,
		CPUMillis: l.cpu, MemoryBytes: l.memory + nativeMemory,
		Processes: l.processes + nativeProcesses, Files: l.files + nativeFiles,
		FileBytes: nativeTemp, TempBytes: nativeTemp, OutputBytes: l.output, Path: true, Scratch: true,
	}
	if len(k.Write) > 0 {
		k.FileBytes = nativeFile
	}
	if a.Egress.Mode == EgressGatewayOnly || a.Egress.Mode == EgressAllowlist {
		k.Network = NetworkOwn
	}
	return k
}

// least is the stricter of two limits, field by field; what neither has is 0.
type least struct{ cpu, memory, output, processes, files int64 }

func leastOf(a, b Limits) least {
	of := form.Least
	return least{
		cpu: of(a.CPUMillis, b.CPUMillis), memory: of(a.MemoryBytes, b.MemoryBytes),
		output: of(a.OutputBytes, b.OutputBytes), processes: of(a.Processes, b.Processes), files: of(a.Files, b.Files),
	}
}

// Digest is "sha256:" and the digest of the canonical JSON of what the profile
// grants. Where its rules stand does not count, nor their order, nor a rule that
// another one covers: profiles with the same digest are Within each other.
func (k Kernel) Digest() (string, error) {
	raw, err := json.Marshal(k.normal())
	if err != nil {
		return "", fmt.Errorf("digest kernel profile: %w", err)
	}
	b, err := Canonical(raw)
	if err != nil {
		return "", fmt.Errorf("digest kernel profile: %w", err)
	}
	return Digest(b), nil
}
