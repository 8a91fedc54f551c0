package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Config builds an Engine. Its zero value uses the embedded engine file and
// caches nothing.
type Config struct {
	// CacheDir keeps compiled code, so that a machine compiles only once. If it is empty, every process
	// compiles. The folder is made with mode 0700 if it is missing. It must not be writable by anyone whom the
	// process does not trust, since native code is loaded from it.
	CacheDir string
	// ReadOnly says that CacheDir cannot be written. New returns ErrCold if something is missing there.
	ReadOnly bool
	// Wasm is the engine file. If nil, it is the embedded one. Bytes with another digest than the pinned one
	// are rejected.
	Wasm []byte
	// CopyRestore copies the image for each VM even if the system could map it copy-on-write.
	CopyRestore bool
}

// Defaults and limits of Options.
const (
	defaultHeapBytes = 32 << 20

	MinHeapBytes = 1 << 20

	defaultValueBytes = 4 << 20
)

// Options limit one VM. CPU, CPUClock, Clock and Now must be set; otherwise Start returns an error. Other zero
// fields take the stated default.
type Options struct {
	// HeapBytes is the limit of live JavaScript data. Above it the program gets a catchable InternalError "out
	// of memory". 0 is DefaultHeapBytes.
	HeapBytes int64
	// MemoryBytes limits the linear memory, which holds the heap, the 1 MiB stack and the loss by
	// fragmentation. A program that reaches it ends with ErrMemory. 0 is twice HeapBytes plus 8 MiB.
	MemoryBytes int64
	// StackBytes is how deep a program may recurse before it gets a catchable RangeError. 0 is
	// DefaultStackBytes. The maximum is MaxStackBytes.
	StackBytes int64
	// CPU is the processor time that guest code may use over the VM's life, measured with CPUClock before,
	// during and after every entry. Above it: ErrCPU.
	CPU time.Duration
	// CPUClock returns the processor time used so far: of the thread if the caller stays on one
	// (runtime.LockOSThread), otherwise of the process.
	CPUClock func() time.Duration
	// Fuel is a deterministic limit in instructions of the meter. Above it: ErrFuel. 0 is no limit besides CPU.
	Fuel int64
	// Deadline is the wall-clock limit, checked while guest code runs. After it: ErrWall. Zero is no limit.
	Deadline time.Time
	// Now reads the wall clock for Deadline.
	Now func() time.Time
	// Clock is the clock of Date, in nanoseconds since the epoch.
	Clock func() int64
	// Seed seeds Math.random. Two VMs with one seed get the same numbers.
	Seed [32]byte
	// Bridges are the granted dotted names, such as "tools.search". Each becomes an async function. Other
	// bridges do not exist. A name that is not a path of identifiers, or is both a function and a namespace, is
	// rejected.
	Bridges []string
	// DenyGlobals are names to remove from the global object. "Function" also removes the constructors behind
	// the prototypes of all four kinds of function. If "eval" is removed as well, no source text can be
	// evaluated.
	DenyGlobals []string
	// Inputs become the properties of the global inputs, each a value of the tagged encoding, deep-frozen.
	Inputs map[string]json.RawMessage
	// ValueBytes limits every encoded value, in either direction. 0 is DefaultValueBytes.
	ValueBytes int64
	// SnapshotBytes limits the result of Snapshot. 0 is no limit.
	SnapshotBytes int64
	// Modules serves imports. If nil, every import is denied.
	Modules Modules
	// Console is called with each line as it is written, from within guest execution. It must not call the VM.
	// If nil, lines are dropped.
	Console func(level, text string)
	// ConsoleBytes is how much text Console gets over the VM's life. Further text is dropped and counted. With
	// 0 it gets none.
	ConsoleBytes int64
}

// Modules serves imports, static and dynamic. Both methods are called from within guest execution and must not
// call the VM.
//
// An error that is or wraps a *GuestError reaches the program with its name and message. Any other becomes an
// ImportDenied that names only the specifier.
type Modules interface {
	// Resolve returns the canonical name of specifier as imported by base.
	Resolve(base, specifier string) (string, error)
	// Load returns the JavaScript source of a name that Resolve returned.
	Load(name string) (string, error)
}

// Program is the argument of Eval.
type Program struct {
	File   string // shown in stack traces
	Source string // JavaScript, UTF-8
	// Module evaluates Source as a module, with static imports. Its value is the default export. Otherwise
	// Source is a script with top-level await and its value is that of the last expression.
	Module bool
	// Redeclare allows a script to declare names again that earlier scripts in this VM declared with let, const
	// or class, as read-eval-print loops do. Names of var and function can always be declared again, with the
	// same kind. Names that are not declared again stay: a constant is still one.
	Redeclare bool
}

// withDefaults checks o and returns it with every default set.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.CPU <= 0:
		return o, fmt.Errorf("engine options: CPU must be positive")
	case o.CPUClock == nil, o.Clock == nil, o.Now == nil:
		return o, fmt.Errorf("engine options: CPUClock, Clock and Now must be set")
	case o.HeapBytes < 0, o.MemoryBytes < 0, o.StackBytes < 0, o.Fuel < 0, o.ValueBytes < 0, o.ConsoleBytes < 0,
		o.SnapshotBytes < 0:
		return o, fmt.Errorf("engine options: a limit is negative")
	}
	if o.HeapBytes == 0 {
		o.HeapBytes = defaultHeapBytes
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = min(2*o.HeapBytes+8<<20, profiles.MaxJSMemoryBytes)
	}
	if o.StackBytes == 0 {
		o.StackBytes = profiles.DefaultJSStackBytes
	}
	if o.ValueBytes == 0 {
		o.ValueBytes = defaultValueBytes
	}
	switch {
	case o.HeapBytes < MinHeapBytes:
		return o, fmt.Errorf("engine options: HeapBytes is below %d", MinHeapBytes)
	case o.StackBytes > profiles.MaxJSStackBytes:
		return o, fmt.Errorf("engine options: StackBytes is above %d", profiles.MaxJSStackBytes)
	case o.MemoryBytes > profiles.MaxJSMemoryBytes:
		return o, fmt.Errorf("engine options: MemoryBytes is above %d", profiles.MaxJSMemoryBytes)
	case o.MemoryBytes < o.HeapBytes:
		return o, fmt.Errorf("engine options: MemoryBytes is below HeapBytes")
	}
	return o, nil
}
