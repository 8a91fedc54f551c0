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
	// CacheDir keeps compiled code, so that a machine compiles once. "" compiles
	// in every process. The folder is made with mode 0700 when it is missing; it
	// must not be writable by anyone the process does not trust, since native
	// code is loaded from it.
	CacheDir string
	// ReadOnly: CacheDir cannot be written. New returns ErrCold when it lacks something.
	ReadOnly bool
	// Wasm is the engine file; nil takes the embedded one. Bytes with another
	// digest than the pinned one are refused.
	Wasm []byte
	// CopyRestore copies the image for each VM even where the system could map
	// it copy-on-write.
	CopyRestore bool
}

// Defaults and bounds of Options.
const (
	defaultHeapBytes = 32 << 20

	MinHeapBytes = 1 << 20

	defaultValueBytes = 4 << 20
)

// Options bounds one VM. CPU, CPUClock, Clock and Now must be set; Start
// refuses without them. Other zero fields take the stated default.
type Options struct {
	// HeapBytes is the limit of live JavaScript data. Over it the program gets a
	// catchable InternalError "out of memory". 0 is DefaultHeapBytes.
	HeapBytes int64
	// MemoryBytes caps the linear memory, which holds the heap, the 1 MiB stack
	// and what fragmentation wastes. A program that reaches it ends with
	// ErrMemory. 0 is twice HeapBytes plus 8 MiB.
	MemoryBytes int64
	// StackBytes is how deep a program may recurse before it gets a catchable
	// RangeError. 0 is DefaultStackBytes, at most MaxStackBytes.
	StackBytes int64
	// CPU is the processor time that guest code may use over the VM's life,
	// measured with CPUClock around and during every entry. Over it: ErrCPU.
	CPU time.Duration
	// CPUClock returns the processor time used so far, of the thread when the
	// caller stays on one (runtime.LockOSThread), else of the process.
	CPUClock func() time.Duration
	// Fuel is a deterministic limit in instructions of the meter; over it:
	// ErrFuel. 0 is no limit beside CPU.
	Fuel int64
	// Deadline is the wall-clock limit, looked at while guest code runs; over
	// it: ErrWall. Zero is none.
	Deadline time.Time
	// Now reads the wall clock for Deadline.
	Now func() time.Time
	// Clock is what Date sees, in nanoseconds since the epoch.
	Clock func() int64
	// Seed makes Math.random. Two VMs with one seed see the same numbers.
	Seed [32]byte
	// Bridges are the granted dotted names, such as "tools.search". Each becomes
	// an async function; what is not listed does not exist. A name that is not a
	// path of identifiers, or is both a function and a namespace, is refused.
	Bridges []string
	// DenyGlobals are names removed from the global object. "Function" also
	// removes the constructors behind the prototypes of all four kinds of
	// function, and with "eval" gone no source text can be evaluated.
	DenyGlobals []string
	// Inputs become the properties of the global inputs, each a value of the
	// tagged encoding, deep-frozen.
	Inputs map[string]json.RawMessage
	// ValueBytes bounds every encoded value, in either direction. 0 is
	// DefaultValueBytes.
	ValueBytes int64
	// SnapshotBytes bounds what Snapshot returns. 0 is no bound.
	SnapshotBytes int64
	// Modules serves imports; nil refuses every one.
	Modules Modules
	// Console takes each line as it is written, from within guest execution; it
	// must not call the VM. nil discards.
	Console func(level, text string)
	// ConsoleBytes is how much text Console is given over the VM's life. What
	// comes after is dropped and counted. 0 gives none.
	ConsoleBytes int64
}

// Modules serves imports, static and dynamic. Both methods are called from
// within guest execution and must not call the VM.
//
// An error that is or wraps a *GuestError reaches the program with its name and
// message; any other becomes an ImportDenied that names the specifier alone.
type Modules interface {
	// Resolve returns the canonical name of specifier as imported by base.
	Resolve(base, specifier string) (string, error)
	// Load returns the JavaScript source of a name that Resolve returned.
	Load(name string) (string, error)
}

// Program is what Eval starts.
type Program struct {
	File   string // shown in stack traces
	Source string // JavaScript, UTF-8
	// Module evaluates Source as a module, with static imports; its value is
	// the default export. Otherwise Source is a script with top-level await and
	// its value is that of the last expression.
	Module bool
	// Redeclare lets a script declare again what scripts before it in this VM
	// declared with let, const or class, as read-eval-print loops do; var and
	// function can always be declared again, as what they were. What is not
	// declared again stays: a constant is still one.
	Redeclare bool
}

// withDefaults checks o and returns it with every default filled in.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.CPU <= 0:
		return o, fmt.Errorf("engine options: CPU must be positive")
	case o.CPUClock == nil, o.Clock == nil, o.Now == nil:
		return o, fmt.Errorf("engine options: CPUClock, Clock and Now must be set")
	case o.HeapBytes < 0, o.MemoryBytes < 0, o.StackBytes < 0, o.Fuel < 0, o.ValueBytes < 0, o.ConsoleBytes < 0, o.SnapshotBytes < 0:
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
