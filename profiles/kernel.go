package profiles

// MaxMounts is the largest number of single files and folders of a guest. Each of them costs time at every
// guest start, and all of them are sent in one message.
const MaxMounts = 768

// Additions to the limits of a profile: the runtime of the executor needs them before the program starts.
const (
	jsCPUMillis   = 10 * 60 * 1000 // for the life of a guest, which may serve many runs
	jsMemoryBytes = 640 << 20      // enough for a run with default limits
	jsProcess     = 384 << 20      // part of it: runtime, compiled code, translation
	jsEngine      = 8 << 20        // for the engine; the program's memory exists twice while it grows
	jsFileBytes   = 64 << 20       // compiled code; dropped before the program starts
	jsThreads     = 512            // threads of the runtime; a sealed guest starts no process
	jsFiles       = 64

	// for the life of a guest, which may be as long as a session
	pythonCPUMillis, pythonOutputBytes = 60 * 60 * 1000, 1 << 40

	nativeMemory    = 64 << 20 // interpreter and libraries of each process
	nativeProcesses = 16       // threads of the executor's own process
	nativeFiles     = 32
	nativeTemp      = 64 << 20
	nativeFile      = 1 << 30 // largest file, if a grant allows writing
)

// Kernel returns the kernel profile of an executor's guests, or false if the agent does not have the
// executor. A JavaScript guest gets no files of the host. It compiles its engine, which needs JIT, and then
// removes that right from itself. Python's own programs and libraries are added by the executor, not by the
// policy.
func (a Agent) Kernel(executor string) (Kernel, bool) {
	switch {
	case executor == ExecutorJS && a.JS != nil:
		l := strictestOf(a.Limits, a.JS.Limits)
		return Kernel{
			Executor: executor, Network: NetworkOff, JIT: true,
			CPUMillis:   max(jsCPUMillis, 2*l.cpu),
			MemoryBytes: max(jsMemoryBytes, 2*l.memory+jsEngine+jsProcess),
			Processes:   jsThreads, Files: jsFiles, FileBytes: jsFileBytes,
		}, true
	case executor == ExecutorPython && a.Python != nil:
		k := a.native(executor, strictestOf(a.Limits, a.Python.Limits))
		k.JIT = a.Python.JIT
		k.CPUMillis, k.OutputBytes = max(pythonCPUMillis, 2*k.CPUMillis), max(pythonOutputBytes, 2*k.OutputBytes)
		return k, true
	case executor == ExecutorShell && a.Shell != nil:
		k := a.native(executor, strictestOf(a.Limits, a.Shell.Limits))
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

// native returns the profile of an executor whose programs use the host directly. The wall time is that of a
// run.
func (a Agent) native(executor string, l nativeLimits) Kernel {
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

// nativeLimits holds the stricter of two limits for each field, or 0 if neither is set.
type nativeLimits struct{ cpu, memory, output, processes, files int64 }

func strictestOf(a, b Limits) nativeLimits {
	of := stricterLimit
	return nativeLimits{
		cpu: of(a.CPUMillis, b.CPUMillis), memory: of(a.MemoryBytes, b.MemoryBytes),
		output: of(a.OutputBytes, b.OutputBytes), processes: of(a.Processes, b.Processes), files: of(a.Files, b.Files),
	}
}
