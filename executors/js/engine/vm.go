package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/ringd/ringd/executors/js/engine/value"
)

const (
	// slice is how much fuel the guest gets between two checks of the limits, about a millisecond.
	slice = 1_000_000
	// maxNodes limits the values in one encoded value, as the prelude does.
	maxNodes = 1_000_001
	// Flags of qjs_eval.
	evalModule, evalAsync = 1, 1 << 7
)

// VM is one isolated program with its heap and limits. It is not safe for concurrent use, and no method may be
// called from within Options.Console, Options.Modules or a clock. If a context ends, guest code stops within a
// slice of a few milliseconds, with ErrCancelled.
type VM struct {
	engine      *Engine
	image       *image
	options     Options
	memoryBytes int64
	state       vmState

	module       api.Module
	memory       api.Memory
	fuel         api.MutableGlobal
	stackPointer api.MutableGlobal
	functions    [maxDepth][fnCount]api.Function
	stacks       [maxDepth][8]uint64
	depth        int
	granted      int64         // fuel of the present slice
	entered      time.Duration // processor time when guest code was entered
	inside       bool
	opened       []Call // not yet taken
	openedBytes  int64  // of their arguments
	refused      bool   // the call under way is rejected
	noRoom       bool   // a string of the program could not be copied
	ended        *State
	dead         error
	closed       bool
}

// vmState is the state that, with linear memory and Options, is needed to continue a quiescent VM elsewhere.
type vmState struct {
	bridges    []string      // in the guest's numbering
	calls      int64         // ids given out
	before     int64         // those of programs that had ended at a restore
	open       map[int64]int // call -> index of its bridge
	rejections int64
	rejected   map[uint64]rejected // by the address of the promise
	program    pointer             // its promise, 0 when none
	module     bool                // the program is a module
	adopted    bool                // program is the promise that was the value of a script
	usage      Usage
}

// rejected is a rejection that nothing handles.
type rejected struct {
	seq             int64
	promise, reason pointer
}

func newState() vmState {
	return vmState{open: map[int64]int{}, rejected: map[uint64]rejected{}}
}

// Start returns a fresh VM. An error in o wraps none of the final errors. The caller closes the VM.
func (e *Engine) Start(ctx context.Context, o Options) (*VM, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	vm := &VM{engine: e, image: e.image, options: o, state: newState(), memoryBytes: o.MemoryBytes &^ (pageSize - 1)}
	vm.state.bridges = slices.Clone(o.Bridges)
	paths, err := bridgePaths(o.Bridges)
	if err != nil {
		return nil, err
	}
	config, err := vm.settings(map[string]any{"bridges": paths}, true)
	if err != nil {
		return nil, err
	}
	if err = vm.restore(ctx, vm.image.size); err == nil {
		err = vm.install(ctx, config)
	}
	if err != nil {
		return nil, errors.Join(err, vm.Close(ctx))
	}
	return vm, nil
}

// settings are the checked data that the prelude installs: own and what every VM has.
func (vm *VM) settings(own map[string]any, withInputs bool) (string, error) {
	o := vm.options
	inputs := [][2]string{}
	for name, text := range o.Inputs {
		if err := value.Check(text, vm.valueLimits()); err != nil {
			return "", fmt.Errorf("input %q: %w: %w", name, ErrValue, err)
		}
		if withInputs {
			inputs = append(inputs, [2]string{name, string(text)})
		}
	}
	slices.SortFunc(inputs, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	sum := sha256.Sum256(o.Seed[:])
	var seed [4]uint32
	for i := range seed {
		seed[i] = binary.LittleEndian.Uint32(sum[4*i:])
	}
	own["inputs"], own["deny"], own["seed"], own["valueBytes"] = inputs, append([]string{}, o.DenyGlobals...), seed,
		o.ValueBytes
	config, err := json.Marshal(own)
	if err != nil {
		return "", fmt.Errorf("engine options: %w", err)
	}
	return string(config), nil
}

// install applies the limits and runs the prelude's part for this VM. It counts towards the VM's fuel, not
// towards its program's CPU figure.
func (vm *VM) install(ctx context.Context, config string) error {
	ctx, done := vm.enter(ctx)
	defer done()
	vm.call(ctx, fnMemoryLimit, uint64(vm.options.HeapBytes))
	vm.call(ctx, fnStackSize, uint64(vm.options.StackBytes))
	text := vm.newString(ctx, config)
	r := vm.invoke(ctx, preludeInstall, text)
	if r == 0 && vm.dead == nil {
		e := vm.exception(ctx)
		return fmt.Errorf("engine options: %s", e.Message)
	}
	vm.free(ctx, r, text)
	return vm.dead
}

func (vm *VM) valueLimits() value.Limits {
	return value.Limits{Bytes: 3 * vm.options.ValueBytes, Nodes: maxNodes}
}

// enter begins guest execution, and done ends it. Processor time between them is counted. Within a Turn it has
// begun already.
func (vm *VM) enter(ctx context.Context) (context.Context, func()) {
	if vm.inside {
		return ctx, func() {}
	}
	if vm.dead == nil && vm.state.usage.CPU >= vm.options.CPU {
		vm.kill(ErrCPU)
	}
	if err := ctx.Err(); err != nil && vm.dead == nil {
		vm.kill(cancelled(err))
	}
	vm.entered, vm.inside = vm.options.CPUClock(), true
	return vm.with(ctx), func() {
		vm.state.usage.CPU += vm.options.CPUClock() - vm.entered
		vm.inside = false
	}
}

func cancelled(err error) error { return fmt.Errorf("%w: %w", ErrCancelled, err) }

// refill accounts for a used slice and grants the next, unless a limit is reached.
func (vm *VM) refill(ctx context.Context) bool {
	vm.account(0)
	if vm.dead != nil {
		return false
	}
	o := &vm.options
	switch {
	case vm.state.usage.CPU+o.CPUClock()-vm.entered > o.CPU:
		vm.dead = ErrCPU
	case !o.Deadline.IsZero() && o.Now().After(o.Deadline):
		vm.dead = ErrWall
	case ctx.Err() != nil:
		vm.dead = cancelled(ctx.Err())
	case o.Fuel > 0 && vm.state.usage.Fuel >= o.Fuel:
		vm.dead = ErrFuel
	default:
		vm.grant()
		return true
	}
	return false
}

// account adds the used part of the slice to the usage and leaves rest.
func (vm *VM) account(rest int64) {
	if vm.fuel == nil {
		return
	}
	vm.state.usage.Fuel += vm.granted - int64(vm.fuel.Get())
	vm.granted = rest
	vm.fuel.Set(uint64(rest))
}

// grant gives the next slice.
func (vm *VM) grant() {
	vm.granted = slice
	if most := vm.options.Fuel; most > 0 {
		vm.granted = min(vm.granted, max(most-vm.state.usage.Fuel, 0))
	}
	vm.fuel.Set(uint64(vm.granted))
}

// Eval starts a program. Its first part runs until it awaits or ends. A program before it must have ended; its
// globals stay. Errors of the program, including syntax errors, are in State.
func (vm *VM) Eval(ctx context.Context, p Program) error {
	if vm.dead != nil {
		return vm.dead
	}
	if vm.state.program != 0 && vm.ended == nil {
		return ErrBusy
	}
	ctx, done := vm.enter(ctx)
	defer done()
	vm.free(ctx, vm.state.program)
	vm.state.program, vm.state.module, vm.state.adopted, vm.ended = 0, p.Module, false, nil
	if p.Redeclare {
		if !vm.release(ctx) {
			return vm.dead
		}
	}
	flags := uint64(evalAsync)
	if p.Module {
		flags = evalModule
	}
	source, file := vm.write(ctx, p.Source), vm.write(ctx, p.File)
	r := vm.call(ctx, fnEval, source, uint64(len(p.Source)), file, flags)
	vm.call(ctx, fnFree, source)
	vm.call(ctx, fnFree, file)
	if vm.checked(r) == 0 {
		return vm.dead
	}
	if vm.call(ctx, fnIsException, r) != 0 {
		vm.call(ctx, fnFree, r)
		vm.fail(ctx, vm.exception(ctx))
		return vm.dead
	}
	vm.watch(ctx, r)
	return vm.dead
}

// release frees the names that earlier scripts declared. If it cannot, the program has failed.
func (vm *VM) release(ctx context.Context) bool {
	r := vm.invoke(ctx, preludeRelease)
	if r == 0 && vm.dead == nil {
		vm.fail(ctx, vm.exception(ctx))
	}
	vm.free(ctx, r)
	return r != 0 && vm.dead == nil
}

// watch makes promise the program's: its rejection is the program's end, not an unhandled one.
func (vm *VM) watch(ctx context.Context, promise pointer) {
	vm.call(ctx, fnMarkHandled, promise)
	if id := vm.call(ctx, fnValuePtr, promise); id != 0 {
		vm.forget(ctx, id)
	}
	vm.state.program = promise
}

// RunJobs runs until no job is left and returns how many ran.
func (vm *VM) RunJobs(ctx context.Context) (int, error) {
	ctx, done := vm.enter(ctx)
	defer done()
	for n := 0; ; n++ {
		r := int32(vm.call(ctx, fnJob))
		if vm.dead != nil || r == 0 {
			return n, vm.dead
		}
		if r >= 0 {
			continue
		}
		// A clean-up callback threw, which nothing can catch. Or there was no memory to run the job, and the
		// code that waits for it would wait forever.
		if e := vm.exception(ctx); e.OutOfMemory() {
			vm.kill(ErrMemory)
		}
	}
}

// TakeCalls returns the calls opened since the last TakeCalls, in order. The arguments of calls that were not
// taken yet are limited to HeapBytes together. A call above that is rejected with BudgetExceeded.
func (vm *VM) TakeCalls() []Call {
	calls := vm.opened
	vm.opened, vm.openedBytes = nil, 0
	return calls
}

// OpenCalls is how many calls wait for an answer, taken or not.
func (vm *VM) OpenCalls() int { return len(vm.state.open) }

// Settle answers an open call. It runs no jobs. After ErrNoCall and ErrValue the VM is unchanged.
func (vm *VM) Settle(ctx context.Context, id int64, a Answer) error {
	if vm.dead != nil {
		return vm.dead
	}
	if _, ok := vm.state.open[id]; !ok {
		return fmt.Errorf("%w: %d", ErrNoCall, id)
	}
	text, nothing := string(a.Value), false
	switch {
	case a.Error != nil:
		text = a.Error.Message
	case text == "", text == value.Undefined:
		nothing = true
	default:
		if err := value.Check(a.Value, vm.valueLimits()); err != nil {
			return fmt.Errorf("%w: %w", ErrValue, err)
		}
	}
	tagged := a.Error == nil && !nothing && strings.Contains(text, `"`+value.Mark+`"`)
	delete(vm.state.open, id)
	ctx, done := vm.enter(ctx)
	defer done()
	i := vm.checked(vm.call(ctx, fnNewNumber, api.EncodeF64(float64(id))))
	var t, k pointer // 0: undefined
	if !nothing {
		t = vm.newString(ctx, text)
	}
	switch {
	case a.Error != nil:
		k = vm.newString(ctx, a.Error.Name)
	case tagged:
		k = uint64(vm.image.yes)
	}
	r := vm.invoke(ctx, preludeSettle, i, vm.orUndefined(t), vm.orUndefined(k))
	if tagged {
		k = 0 // the image's
	}
	if r == 0 && vm.dead == nil { // only for lack of memory or stack; the promise can never settle
		vm.free(ctx, vm.call(ctx, fnGetException))
		vm.kill(ErrMemory)
	}
	vm.free(ctx, i, k, t, r)
	return vm.dead
}

// Turn is Settle, then RunJobs, then State: everything that follows from one answer. It reads the processor
// clock, which is not cheap, only as often as one of them.
func (vm *VM) Turn(ctx context.Context, id int64, a Answer) (State, error) {
	ctx, done := vm.enter(ctx)
	defer done()
	if err := vm.Settle(ctx, id, a); err != nil {
		return State{}, err
	}
	return vm.run(ctx)
}

// Run is RunJobs, then State.
func (vm *VM) Run(ctx context.Context) (State, error) {
	ctx, done := vm.enter(ctx)
	defer done()
	return vm.run(ctx)
}

func (vm *VM) run(ctx context.Context) (State, error) {
	if _, err := vm.RunJobs(ctx); err != nil {
		return State{}, err
	}
	return vm.State(ctx)
}

// Usage returns the usage so far. It works on a dead VM.
func (vm *VM) Usage() Usage {
	u := vm.state.usage
	if !vm.closed {
		u.Fuel += vm.granted - max(int64(vm.fuel.Get()), 0)
		u.PeakBytes = int64(vm.memory.Size())
	}
	u.Calls, u.OpenCalls = vm.state.calls-vm.state.before, len(vm.state.open)
	return u
}

// Close frees the VM. It may be called more than once.
func (vm *VM) Close(ctx context.Context) error {
	if vm.closed || vm.module == nil {
		return nil
	}
	vm.state.usage = vm.Usage()
	vm.closed = true
	if vm.dead == nil {
		vm.dead = ErrClosed
	}
	if err := vm.module.Close(ctx); err != nil {
		return fmt.Errorf("close the VM: %w", err)
	}
	return nil
}
