package engine

import (
	"errors"
)

// ErrUnavailable is returned by New if the engine file is not in this build. Run `make engine` and build again.
var ErrUnavailable = errors.New("the JavaScript engine is not in this build: run `make engine` and build again")

// ErrCold is returned by New if Config.CacheDir is read-only and something is missing there.
var ErrCold = errors.New("the compile cache does not hold the engine")

// The ends that a program cannot catch. After one the VM is dead.
var (
	// ErrCPU: the processor time of Options.CPU is used up.
	ErrCPU = errors.New("processor time limit reached")
	// ErrWall: the wall-clock deadline has passed.
	ErrWall = errors.New("wall-clock limit reached")
	// ErrMemory: the linear memory would have to grow above Options.MemoryBytes.
	ErrMemory = errors.New("memory limit reached")
	// ErrFuel: Options.Fuel is used up.
	ErrFuel = errors.New("instruction limit reached")
	// ErrCancelled: the context of the call ended.
	ErrCancelled = errors.New("cancelled")
	// errCorrupt: the guest trapped, or returned something that a sound engine never would.
	errCorrupt = errors.New("the engine is in an invalid state")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the VM is closed")
)

// Reasons why a snapshot cannot be restored or taken.
var (
	// ErrSnapshot: it is damaged, or has a content that no sound VM could have.
	ErrSnapshot = errors.New("the snapshot cannot be used")
	// ErrPermanent: the program made a global permanent that DenyGlobals or Inputs of the restore would have to
	// replace. The error names it.
	ErrPermanent = errors.New("the program made a global permanent that the executor has to remove or replace")
	// ErrTooLarge: the snapshot would be larger than Options.SnapshotBytes.
	ErrTooLarge = errors.New("the state of the program is too large to be kept")
	// ErrEngine: another engine made it. It is wrapped together with ErrSnapshot.
	ErrEngine = errors.New("another engine is needed")
)

// Misuse by the caller. These errors do not end the VM.
var (
	// ErrBusy: Eval before the previous program has ended, or Snapshot while there is something to do.
	ErrBusy = errors.New("a program is still running")
	// ErrNoCall: Settle for an id that is not open.
	ErrNoCall = errors.New("no such open call")
	// ErrValue wraps the error of an invalid value passed to Settle or Start.
	ErrValue = errors.New("not a tagged value")
)

// GuestError is an error that a program sees and can catch. Message must hold no text, path or stack of the
// host. A Name that the guest does not know becomes BridgeError.
type GuestError struct {
	Name    string
	Message string
}

// Error returns the name and the message.
func (e *GuestError) Error() string { return e.Name + ": " + e.Message }
