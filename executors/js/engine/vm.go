package engine

import (
	"context"
	"time"
)

// Engine holds the compiled engine and the image every VM starts from. It is
// safe for concurrent use.
type Engine struct{}

// New compiles the engine, or loads it from c.CacheDir, and builds the image.
// It returns ErrUnavailable when the engine file is not in this build. The
// caller closes the Engine, after every VM of it.
func New(ctx context.Context, c Config) (*Engine, error) { return nil, ErrUnavailable }

// Digest names the engine file, the meter and the prelude together. State
// written by one digest means nothing to another.
func (e *Engine) Digest() string { return "" }

// Close frees the engine. No VM of it may be in use.
func (e *Engine) Close(ctx context.Context) error { return nil }

// Start returns a fresh VM. What is wrong with o is an error that wraps neither
// of the final ones. The caller closes the VM.
func (e *Engine) Start(ctx context.Context, o Options) (*VM, error) { return nil, ErrUnavailable }

// VM is one isolated program with its heap and limits. It is not safe for
// concurrent use, and no method may be called from within Options.Console,
// Options.Modules or a clock. A context that ends stops guest code within a
// slice of a few milliseconds, with ErrCancelled.
type VM struct{}

// Eval starts a program; its first part runs until it awaits or ends. A program
// before it must have ended, its globals stay. What the program does wrong,
// syntax errors included, is in State.
func (vm *VM) Eval(ctx context.Context, p Program) error { return ErrUnavailable }

// RunJobs runs until no job is left and returns how many ran.
func (vm *VM) RunJobs(ctx context.Context) (int, error) { return 0, ErrUnavailable }

// TakeCalls returns the calls opened since it was last called, in order.
func (vm *VM) TakeCalls() []Call { return nil }

// OpenCalls is how many calls wait for an answer, taken or not.
func (vm *VM) OpenCalls() int { return 0 }

// Settle answers an open call. Jobs are not run. ErrNoCall and ErrValue leave
// the VM as it was.
func (vm *VM) Settle(ctx context.Context, id int64, a Answer) error { return ErrUnavailable }

// State tells where the program stands. It runs guest code when it has to
// encode a result, once; later calls return the same. It never runs jobs.
func (vm *VM) State(ctx context.Context) (State, error) { return State{}, ErrUnavailable }

// SetDeadline moves Options.Deadline; the zero time removes it. A caller that
// does not count the wait for an answer as wall time moves it by that wait.
func (vm *VM) SetDeadline(t time.Time) {}

// Usage is what was used so far. It works on a dead VM.
func (vm *VM) Usage() Usage { return Usage{} }

// Close frees the VM. It may be called more than once.
func (vm *VM) Close(ctx context.Context) error { return nil }
