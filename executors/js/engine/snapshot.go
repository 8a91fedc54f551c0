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

// headroom is what a heap limit must leave beside what lives.
const headroom = 64 << 10

// Snapshot writes the VM down: as it waits for open calls, or after its program
// has ended. The VM stays as it is and may go on, but for garbage. It returns ErrBusy while jobs
// are left to run or calls were not yet taken, and for a VM that has no program
// or whose program can never end; ErrTooLarge over Options.SnapshotBytes, and for
// more unhandled rejections than anybody reads.
//
// The snapshot belongs to this Engine's Digest. It holds all that the program
// knows, in the clear, and nothing in it says who made it: the caller seals it.
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
	b, err := vm.engine.codec.Write(vm.engine.digest, vm.image.difference(), vm.written(), memory, vm.options.SnapshotBytes)
	if errors.Is(err, snapshot.ErrSize) {
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return b, nil
}

// collected is the memory up to which what an ended program left is collected
// before it is written down. While a program waits that is not done: it could see
// it, by what is weakly held.
const collected = 8 << 20

func (vm *VM) collect(ctx context.Context) error {
	ctx, done := vm.enter(ctx)
	defer done()
	vm.call(ctx, fnCollect)
	return vm.dead
}

func (im *image) difference() snapshot.Image { return snapshot.Image{From: im.from, Memory: im.memory} }

// written is the state of the VM as a snapshot has it.
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

// read takes over the state of a snapshot. What an ended program used, left open
// or left unhandled is not the next one's affair.
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

// Restore makes a VM that goes on where Snapshot was called, in this process or
// another. The calls that were open are still open under their ids, and State,
// Settle and RunJobs work as before. Several VMs may be made of one snapshot.
//
// What o bounds or brings is in force from here on: limits, clocks, console,
// modules, DenyGlobals and Seed, which must be new, so that no two restores see
// the same random numbers. The limits count what was used before, which Usage
// goes on from, and what lives.
// Bridges and Inputs of o are not looked at while a program waits: it keeps the
// functions it had and gets no new ones, and who takes its Calls decides what a
// bridge that is granted no longer answers.
//
// When the program had ended, the VM is for the next Eval: Usage starts again,
// calls that were still open never settle, and the inputs are those of o. Its
// bridges too are the ones it began with.
//
// What is wrong with the snapshot wraps ErrSnapshot; with it ErrEngine when
// another engine made it, whose digest is named, ErrMemory when its memory is
// larger than o.MemoryBytes. ErrPermanent is the program's doing. A limit that is reached before anything ran is the
// error of that limit, ErrMemory too where more lives than o.HeapBytes allows.
// Nothing of a snapshot with an error runs.
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

// restoreError gives the errors of a snapshot the names of this package.
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

// load puts the memory of a snapshot over that of the image.
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

// resume runs the prelude's part of a restore and applies the limits. That of
// the heap is last, since it may be below what lives.
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
	// Without room even the error that says so cannot be made.
	room := vm.call(ctx, fnLimitedMalloc, uint64(vm.image.runtime), headroom)
	if vm.checked(room) != 0 {
		vm.call(ctx, fnLimitedFree, uint64(vm.image.runtime), room)
	}
	return vm.dead
}

// abandon lets go of what a program that has ended left behind.
func (vm *VM) abandon(ctx context.Context) {
	for id := range vm.state.rejected {
		vm.forget(ctx, id)
	}
	vm.free(ctx, vm.state.program)
	vm.state.program, vm.ended = 0, nil
}
