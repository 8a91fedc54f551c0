package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/ringd/ringd/profiles"
)

const (
	// scratchSize is a length word, padding, and the arguments of a call.
	scratchSize = 64
	// bufferSize is the size of the guest buffer for short strings.
	bufferSize = 4 << 10
	// intrinsics is ECMAScript without performance, DOMException, atob and btoa: bits of the engine's
	// qjs_init2.
	intrinsics = 1<<10 - 1
	// Flags of qjs_compile: leave out source and line numbers.
	stripSource, stripDebug = 1 << 4, 1 << 5
	// room is the empty memory of a program before its VM has to grow.
	room = 128 << 10
	// bootFuel limits the building of the image.
	bootFuel = 1 << 30
)

// image is a VM right after the prelude: the initial memory of every VM, and the guest addresses that the host
// keeps. It is immutable.
type image struct {
	from            uint32 // start address of memory; below is the stack, which is all zero
	memory          []byte
	size            uint32               // of the whole linear memory
	backing         *backing             // for copy-on-write; if nil, VMs copy
	prelude         [preludeCount]uint32 // functions of the prelude
	scratch, buffer uint32
	undefined, yes  uint32 // the values undefined and true
	runtime         uint32 // of the engine
}

// close frees the backing.
func (im *image) close() error {
	if im.backing == nil {
		return nil
	}
	return im.backing.close()
}

// boot builds the image. The memory that compiling the prelude leaves behind is left in another VM.
func (e *Engine) boot(ctx context.Context, data []meteredSegment, p preludeText) (*image, error) {
	compiler, err := e.bootVM(ctx, data)
	if err != nil {
		return nil, err
	}
	defer func() { _ = compiler.module.Close(ctx) }()
	code, failed := compiler.compile(compiler.with(ctx), p)
	vm, err := e.bootVM(ctx, data)
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	defer func() { _ = vm.module.Close(ctx) }() // the image has been copied out
	ctx = vm.with(ctx)
	if err := vm.bootPrelude(ctx, code); err != nil {
		return nil, err
	}
	im := vm.image
	im.from, im.size = uint32(vm.stackPointer.Get()), vm.memory.Size()
	if im.from >= im.size {
		return nil, fmt.Errorf("stack pointer at %#x", im.from)
	}
	live, _ := vm.memory.Read(im.from, im.size-im.from)
	im.memory = bytes.Clone(live)
	return im, nil
}

// bootVM is a VM in which the engine has started. The caller closes its module.
func (e *Engine) bootVM(ctx context.Context, data []meteredSegment) (*VM, error) {
	never := func() time.Duration { return 0 }
	vm := &VM{engine: e, image: &image{}, memoryBytes: profiles.MaxJSMemoryBytes, state: newState(), options: Options{
		Fuel: bootFuel, CPU: math.MaxInt64, CPUClock: never, Clock: func() int64 { return 0 },
		Now: func() time.Time { return time.Time{} },
	}}
	if err := vm.instantiate(ctx, &heapAllocator{}); err != nil {
		return nil, err
	}
	for _, s := range data {
		if !vm.memory.Write(s.Offset, s.Bytes) {
			return nil, errors.Join(errors.New("a data segment is outside of memory"), vm.module.Close(ctx))
		}
	}
	if err := vm.bootGuest(vm.with(ctx)); err != nil {
		return nil, errors.Join(err, vm.module.Close(ctx))
	}
	return vm, nil
}

// bootGuest starts the engine in a VM.
func (vm *VM) bootGuest(ctx context.Context) error {
	for _, step := range []struct {
		export string
		args   []uint64
	}{
		{"_initialize", nil},
		{"qjs_init2", []uint64{intrinsics}},
		{"qjs_set_interrupt_handler", []uint64{0}}, // the meter is the only interrupt
		{"qjs_set_module_loader", []uint64{1}},
		{"qjs_set_promise_rejection_handler", []uint64{1}},
		{"qjs_set_gc_threshold", []uint64{512 << 10}}, // above the memory that fetch needs
	} {
		r, err := vm.bootCall(ctx, step.export, step.args...)
		if err != nil {
			return err
		}
		if step.export == "qjs_init2" && int32(r) != 0 {
			return errors.New("the engine did not start")
		}
	}
	im := vm.image
	im.scratch, im.buffer = uint32(vm.call(ctx, fnMalloc, scratchSize)), uint32(vm.call(ctx, fnMalloc, bufferSize))
	im.undefined = uint32(vm.call(ctx, fnUndefined))
	yes, err := vm.bootCall(ctx, "qjs_get_true")
	if err != nil {
		return err
	}
	im.yes = uint32(yes)
	runtime, err := vm.bootCall(ctx, "qjs_get_runtime_ptr")
	if err != nil {
		return err
	}
	im.runtime = uint32(runtime)
	return vm.dead
}

// bootCall calls an export that is needed only here.
func (vm *VM) bootCall(ctx context.Context, export string, args ...uint64) (uint64, error) {
	f := vm.module.ExportedFunction(export)
	if f == nil {
		return 0, fmt.Errorf("no export %s", export)
	}
	r, err := f.Call(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", export, err)
	}
	if len(r) == 0 {
		return 0, nil
	}
	return r[0], nil
}

// bootPrelude gives the prelude its one host function and the top-level declarations, evaluates it, and keeps
// its result.
func (vm *VM) bootPrelude(ctx context.Context, code [][]byte) error {
	name := vm.write(ctx, "ringd")
	host, err := vm.bootCall(ctx, "qjs_new_host_function", name, 5, 3)
	if err != nil {
		return err
	}
	globals, err := vm.bootCall(ctx, "qjs_get_global")
	if err != nil {
		return err
	}
	if err := errors.Join(vm.bootGlobal(ctx, globals, "__raw", host), vm.bootDeclared(ctx, globals)); err != nil {
		return err
	}
	var result pointer
	for i, part := range code {
		value, err := vm.bootEval(ctx, part)
		if err != nil {
			return err
		}
		if i == preludeMain {
			result, value = value, 0
		}
		vm.free(ctx, value)
	}
	for i, name := range preludeFunctions() {
		key := vm.write(ctx, name)
		vm.image.prelude[i] = uint32(vm.call(ctx, fnGetProp, result, key))
		vm.call(ctx, fnFree, key)
	}
	vm.call(ctx, fnFree, name)
	vm.free(ctx, host, globals, result)
	vm.call(ctx, fnFree, vm.call(ctx, fnMalloc, room))
	// The collector relinks the objects that it has visited. Done here, that makes no difference to the image
	// later.
	vm.call(ctx, fnCollect)
	return vm.dead
}

// compile returns the parts of the prelude in the engine's form of code, without source or line numbers.
func (vm *VM) compile(ctx context.Context, p preludeText) (out [][]byte, err error) {
	for _, text := range p {
		source, file := vm.write(ctx, text), vm.write(ctx, "prelude")
		code, err := vm.bootCall(
			ctx, "qjs_compile", source, uint64(len(text)), file, 0, stripSource|stripDebug, uint64(vm.image.scratch),
		)
		if err != nil {
			return nil, err
		}
		if code == 0 {
			return nil, fmt.Errorf("prelude: %s", vm.bootException(ctx))
		}
		n, _ := vm.memory.ReadUint32Le(vm.image.scratch)
		b, _ := vm.memory.Read(uint32(code), n)
		out = append(out, bytes.Clone(b))
	}
	return out, vm.dead
}

// bootEval evaluates a part of the prelude.
func (vm *VM) bootEval(ctx context.Context, code []byte) (pointer, error) {
	at := vm.call(ctx, fnMalloc, uint64(len(code)))
	vm.memory.Write(uint32(at), code)
	result, err := vm.bootCall(ctx, "qjs_eval_bytecode", at, uint64(len(code)))
	if err != nil {
		return 0, err
	}
	if vm.call(ctx, fnIsException, result) != 0 {
		return 0, fmt.Errorf("prelude: %s", vm.bootException(ctx))
	}
	vm.call(ctx, fnFree, at)
	return result, nil
}

// declaredProbe is a top-level declaration by which the prelude checks that it holds the right object.
const declaredProbe = "let __probe = 'declared'"

// bootDeclared gives the prelude the object whose properties are the top-level let, const and class
// declarations of scripts, as the global __declared. The engine exports no access to it: it is next to the
// global object in the context.
func (vm *VM) bootDeclared(ctx context.Context, globals pointer) error {
	source, file := vm.write(ctx, declaredProbe), vm.write(ctx, "probe")
	vm.free(ctx, vm.call(ctx, fnEval, source, uint64(len(declaredProbe)), file, 0))
	jsContext, err := vm.bootCall(ctx, "qjs_get_context_ptr")
	if err != nil {
		return err
	}
	global, _ := vm.memory.ReadUint64Le(uint32(globals))
	const fields = 128 // of 8 bytes; the context is smaller
	at := uint32(jsContext)
	for end := at + 8*fields; ; at += 8 {
		if v, ok := vm.memory.ReadUint64Le(at); !ok || at >= end {
			return errors.New("the global object is not in the context")
		} else if v == global {
			break
		}
	}
	beside, ok := vm.memory.ReadUint64Le(at + 8)
	if !ok || beside>>32 != global>>32 { // not of the same type
		return errors.New("no object stands beside the global object")
	}
	box := vm.call(ctx, fnMalloc, 8) // like the engine's own boxes
	vm.memory.WriteUint64Le(uint32(box), beside)
	declared, err := vm.bootCall(ctx, "qjs_dup_value", box)
	if err != nil {
		return err
	}
	for _, p := range []uint64{source, file, box} {
		vm.call(ctx, fnFree, p)
	}
	defer vm.free(ctx, declared)
	return vm.bootGlobal(ctx, globals, "__declared", declared)
}

// bootGlobal sets a global that the prelude removes again.
func (vm *VM) bootGlobal(ctx context.Context, globals pointer, name string, v pointer) error {
	key := vm.write(ctx, name)
	_, err := vm.bootCall(ctx, "qjs_set_prop_string", globals, key, v)
	vm.call(ctx, fnFree, key)
	return err
}

// bootException reads the pending exception's message.
func (vm *VM) bootException(ctx context.Context) string {
	key := vm.write(ctx, "message")
	m := vm.call(ctx, fnGetProp, vm.call(ctx, fnGetException), key)
	s, _ := vm.text(ctx, m, 1<<16)
	return s
}

// instantiate makes the wasm instance of vm on memory from a.
func (vm *VM) instantiate(ctx context.Context, a experimental.MemoryAllocator) error {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	m, err := vm.engine.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, a), vm.engine.module, config)
	if err != nil {
		return fmt.Errorf("instantiate the engine: %w", err)
	}
	vm.module, vm.memory = m, m.Memory()
	if vm.stackPointer, err = global(m, "__stack_pointer"); err == nil {
		vm.fuel, err = global(m, fuelGlobal)
	}
	if err != nil {
		return errors.Join(err, m.Close(ctx))
	}
	vm.grant()
	return nil
}

// restore makes the instance of vm from the image, with size bytes of memory.
func (vm *VM) restore(ctx context.Context, size uint32) error {
	im := vm.image
	a := &vmAllocator{vm: vm, image: im, most: uint64(vm.memoryBytes)}
	if err := vm.instantiate(ctx, a); err != nil {
		return err
	}
	if a.err != nil {
		return fmt.Errorf("map the image: %w", a.err)
	}
	if n := vm.memory.Size(); n < size {
		if _, ok := vm.memory.Grow((size - n) / pageSize); !ok {
			return fmt.Errorf("grow memory to %d bytes", size)
		}
	}
	if !a.mapped && !vm.memory.Write(im.from, im.memory) {
		return errors.New("copy the image")
	}
	vm.stackPointer.Set(uint64(im.from))
	return nil
}
