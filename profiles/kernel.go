package profiles

// MaxMounts is how many files and folders a guest may be given, each by itself: each
// is work at every start of one, and all of them are one message.
const MaxMounts = 768

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
	of := lesser
	return least{
		cpu: of(a.CPUMillis, b.CPUMillis), memory: of(a.MemoryBytes, b.MemoryBytes),
		output: of(a.OutputBytes, b.OutputBytes), processes: of(a.Processes, b.Processes), files: of(a.Files, b.Files),
	}
}
