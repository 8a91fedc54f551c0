package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ringd/ringd/executors/js/engine/snapshot"
)

// headroom is what a heap limit must leave on top of the live data.
const headroom = 64 << 10

// Snapshot takes a snapshot of the VM while it waits for open calls, or after its program has ended. The VM
// stays as it is, except for garbage, and may continue. It returns ErrBusy while jobs are left to run or calls
// were not yet taken, and for a VM that has no program or whose program can never end. It returns ErrTooLarge
// over Options.SnapshotBytes, and for more unhandled rejections than are ever read.
//
// The snapshot belongs to this Engine's Digest. It holds all data of the program in the clear, and is not
// authenticated: the caller seals it.
func (vm *VM) Snapshot(ctx context.Context) ([]byte, error) {
	if vm.dead != nil {
		return nil, vm.dead
	}
	s, err := vm.State(ctx)
	if err != nil {
		return nil, err
	}
	switch s.Status {
	case StatusWaiting, StatusDone, StatusFailed:
	case StatusNone, StatusRunning, StatusDeadlock:
		return nil, ErrBusy
	default:
		return nil, ErrBusy
	}
	if len(vm.opened) > 0 || vm.depth > 0 || vm.inside {
		return nil, ErrBusy
	}
	if at := vm.stackPointer.Get(); at != uint64(vm.image.from) {
		return nil, fmt.Errorf("%w: the stack pointer is at %#x", errCorrupt, at)
	}
	if vm.ended != nil && vm.memory.Size() <= collected {
		if err := vm.collect(ctx); err != nil {
			return nil, err
		}
	}
	memory, ok := vm.memory.Read(0, vm.memory.Size())
	if !ok {
		return nil, fmt.Errorf("%w: no memory", errCorrupt)
	}
	b, err := vm.engine.codec.Write(
		vm.engine.digest, vm.image.difference(), vm.written(), memory, vm.options.SnapshotBytes,
	)
	if errors.Is(err, snapshot.ErrSize) {
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return b, nil
}

// collected is the size of memory up to which the garbage of an ended program is collected before its snapshot
// is taken. While a program waits that is not done: weak references would show it.
const collected = 8 << 20

func (vm *VM) collect(ctx context.Context) error {
	ctx, done := vm.enter(ctx)
	defer done()
	vm.call(ctx, fnCollect)
	return vm.dead
}

func (im *image) difference() snapshot.Image { return snapshot.Image{From: im.from, Memory: im.memory} }

// written returns the state of the VM in the form of a snapshot.
func (vm *VM) written() snapshot.State {
	u := vm.Usage()
	s := snapshot.State{
		Bridges: vm.state.bridges, Calls: vm.state.calls, Before: vm.state.before, Rejections: vm.state.rejections,
		Program: uint32(vm.state.program), Module: vm.state.module, Adopted: vm.state.adopted, Ended: vm.ended != nil,
		Fuel: u.Fuel, CPU: max(u.CPU, 0), Console: u.ConsoleBytes, Dropped: u.DroppedBytes, Lines: u.DroppedLines,
	}
	for _, id := range slices.Sorted(maps.Keys(vm.state.open)) {
		s.Open = append(s.Open, snapshot.Open{ID: id, Bridge: vm.state.open[id]})
	}
	for id, r := range vm.state.rejected {
		s.Rejected = append(s.Rejected, snapshot.Rejected{
			Seq: r.seq, Object: uint32(id), Promise: uint32(r.promise), Reason: uint32(r.reason)})
	}
	slices.SortFunc(s.Rejected, func(a, b snapshot.Rejected) int { return cmp.Compare(a.Seq, b.Seq) })
	return s
}

// read takes over the state of a snapshot. For an ended program, its usage, its open calls and its unhandled
// rejections do not concern the next one.
func (vm *VM) read(s snapshot.State) {
	vm.state = newState()
	t := &vm.state
	t.bridges, t.calls, t.rejections, t.program = s.Bridges, s.Calls, s.Rejections, pointer(s.Program)
	for _, r := range s.Rejected {
		t.rejected[uint64(r.Object)] = rejected{r.Seq, pointer(r.Promise), pointer(r.Reason)}
	}
	if s.Ended {
		t.before = s.Calls
		vm.ended = &State{}
		return
	}
	t.before, t.module, t.adopted = s.Before, s.Module, s.Adopted
	t.usage = Usage{Fuel: s.Fuel, CPU: s.CPU, ConsoleBytes: s.Console, DroppedBytes: s.Dropped, DroppedLines: s.Lines}
	for _, c := range s.Open {
		t.open[c.ID] = c.Bridge
	}
}

// Restore makes a VM that continues where Snapshot was called, in this process or another. The calls that were
// open are still open under their ids, and State, Settle and RunJobs work as before. Several VMs may be made of
// one snapshot.
//
// The limits, clocks, console, modules, DenyGlobals and Seed of o apply from here on. Seed must be new, so that
// no two restores get the same random numbers. The limits include the usage before, from which Usage continues,
// and live data. Bridges and Inputs of o are ignored while a program waits: it keeps the functions it had and
// gets no new ones, and the caller who takes its Calls decides what a bridge that is no longer granted answers.
//
// If the program had ended, the VM is for the next Eval: Usage starts again, calls that were still open never
// settle, and the inputs are those of o. The bridges too are those with which the VM began.
//
// Errors of the snapshot wrap ErrSnapshot. They also wrap ErrEngine if another engine made it, whose digest is
// named, and ErrMemory if its memory is larger than o.MemoryBytes. ErrPermanent is caused by the program. A
// limit that is reached before anything ran is the error of that limit; it is ErrMemory too if more data is
// live than o.HeapBytes allows. After an error no code of the snapshot runs.
func (e *Engine) Restore(ctx context.Context, b []byte, o Options) (*VM, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	vm := &VM{engine: e, image: e.image, options: o, memoryBytes: o.MemoryBytes &^ (pageSize - 1)}
	r, err := e.codec.Open(b, e.digest, e.image.difference(), snapshot.Limits{MemoryBytes: vm.memoryBytes})
	if err != nil {
		return nil, restoreError(err)
	}
	defer r.Close()
	if _, err := bridgePaths(r.State.Bridges); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	vm.read(r.State)
	config, err := vm.settings(map[string]any{"ended": r.State.Ended}, r.State.Ended)
	if err != nil {
		return nil, err
	}
	if err = vm.restore(ctx, r.Memory); err == nil {
		err = vm.load(r)
	}
	if err == nil {
		err = vm.resume(ctx, config)
	}
	if err != nil {
		return nil, errors.Join(err, vm.Close(ctx))
	}
	return vm, nil
}

// restoreError maps the errors of package snapshot to those of this package.
func restoreError(err error) error {
	switch {
	case errors.Is(err, snapshot.ErrEngine):
		return fmt.Errorf("%w: %w: %w", ErrSnapshot, ErrEngine, err)
	case errors.Is(err, snapshot.ErrSize):
		return fmt.Errorf("%w: %w: %w", ErrSnapshot, ErrMemory, err)
	default:
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
}

// load applies the memory of a snapshot to that of the image.
func (vm *VM) load(r *snapshot.Reader) error {
	memory, ok := vm.memory.Read(0, vm.memory.Size())
	if !ok {
		return fmt.Errorf("%w: no memory", errCorrupt)
	}
	if err := r.Load(memory); err != nil {
		return restoreError(err)
	}
	return nil
}

// resume runs the prelude's part of a restore and applies the limits. That of the heap is last, since it may be
// below the live data.
func (vm *VM) resume(ctx context.Context, config string) error {
	ctx, done := vm.enter(ctx)
	defer done()
	vm.call(ctx, fnMemoryLimit, ^uint64(0)>>32) // no limit
	vm.call(ctx, fnStackSize, uint64(vm.options.StackBytes))
	if vm.ended != nil {
		vm.abandon(ctx)
	}
	text := vm.newString(ctx, config)
	r := vm.invoke(ctx, preludeResume, text)
	if r == 0 && vm.dead == nil {
		return fmt.Errorf("%w: %s", ErrSnapshot, vm.exception(ctx).Message)
	}
	if vm.dead == nil {
		if name, ok := vm.text(ctx, r, vm.memoryBytes); !ok || name != "" {
			return fmt.Errorf("%w: %.100s", ErrPermanent, name)
		}
	}
	vm.free(ctx, r, text)
	vm.call(ctx, fnMemoryLimit, uint64(vm.options.HeapBytes))
	// Without room even the error about it cannot be made.
	room := vm.call(ctx, fnLimitedMalloc, uint64(vm.image.runtime), headroom)
	if vm.checked(room) != 0 {
		vm.call(ctx, fnLimitedFree, uint64(vm.image.runtime), room)
	}
	return vm.dead
}

// abandon releases the calls and rejections of a program that has ended.
func (vm *VM) abandon(ctx context.Context) {
	for id := range vm.state.rejected {
		vm.forget(ctx, id)
	}
	vm.free(ctx, vm.state.program)
	vm.state.program, vm.ended = 0, nil
}
