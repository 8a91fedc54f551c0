package engine

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// pageSize is that of WebAssembly.
const pageSize = 1 << 16

// The functions of the engine file that the host calls.
const (
	fnMalloc = iota
	fnFree
	fnEval
	fnCall
	fnJob
	fnJobPending
	fnNewString
	fnNewNumber
	fnStringLen
	fnFreeCString
	fnFreeValue
	fnIsException
	fnIsPromise
	fnIsString
	fnGetException
	fnThrow
	fnUndefined
	fnGetProp
	fnPromiseState
	fnPromiseResult
	fnMarkHandled
	fnValuePtr
	fnMemoryLimit
	fnStackSize
	fnLimitedMalloc
	fnLimitedFree
	fnCollect
	fnCount
)

// functionNames are their exports, in that order.
func functionNames() [fnCount]string {
	return [fnCount]string{
		"malloc", "free", "qjs_eval", "qjs_call", "qjs_execute_pending_job", "qjs_is_job_pending",
		"qjs_new_string", "qjs_new_number", "qjs_get_string_len", "qjs_free_cstring", "qjs_free_value",
		"qjs_is_exception",
		"qjs_is_promise", "qjs_is_string", "qjs_get_exception", "qjs_throw", "qjs_get_undefined",
		"qjs_get_prop_string", "qjs_promise_state", "qjs_promise_result", "qjs_promise_mark_as_handled",
		"qjs_get_value_ptr", "qjs_set_memory_limit", "qjs_set_max_stack_size",
		"js_malloc_rt", "js_free_rt", "qjs_run_gc",
	}
}

// maxDepth limits the nesting of host and guest: guest, an import, and the guest function that the import
// calls. None of those runs program code again, so deeper nesting is a fault.
const maxDepth = 4

// call calls an exported function. All of them return 32 bits, and the upper bits have no meaning. After the VM
// has died it does nothing and returns 0, so a sequence of calls needs only one check at its end.
func (vm *VM) call(ctx context.Context, fn int, args ...uint64) uint64 {
	if vm.dead != nil {
		return 0
	}
	if vm.depth >= maxDepth {
		vm.kill(fmt.Errorf("%w: nested too deep", errCorrupt))
		return 0
	}
	f := vm.functions[vm.depth][fn]
	if f == nil {
		if f = vm.module.ExportedFunction(functionNames()[fn]); f == nil {
			vm.kill(fmt.Errorf("%w: no export %s", errCorrupt, functionNames()[fn]))
			return 0
		}
		vm.functions[vm.depth][fn] = f
	}
	stack := &vm.stacks[vm.depth]
	copy(stack[:], args)
	vm.depth++
	err := f.CallWithStack(ctx, stack[:max(len(args), 1)])
	vm.depth--
	if err != nil {
		vm.kill(fmt.Errorf("%w: %w", errCorrupt, err)) // keeps the earlier cause of the trap, if there is one
		return 0
	}
	return uint64(uint32(stack[0]))
}

// kill makes err the end of the VM unless it has one. Guest code that is still on a stack traps at its next
// check.
func (vm *VM) kill(err error) {
	if vm.dead != nil {
		return
	}
	vm.dead = err
	vm.account(0)
	vm.fuel.Set(^uint64(0)) // -1
}

// pointer is the address of a JSValue in the guest. The host owns and frees it.
type pointer = uint64

func (vm *VM) free(ctx context.Context, values ...pointer) {
	for _, v := range values {
		if v != 0 {
			vm.call(ctx, fnFreeValue, v)
		}
	}
}

// write stores b in guest memory, followed by a zero byte, and returns its
// address. The caller frees it with fnFree.
func (vm *VM) write(ctx context.Context, b string) uint64 {
	p := vm.call(ctx, fnMalloc, uint64(len(b)+1))
	if p == 0 {
		vm.kill(ErrMemory)
		return 0
	}
	if !vm.memory.WriteString(uint32(p), b) || !vm.memory.WriteByte(uint32(p)+uint32(len(b)), 0) {
		vm.kill(fmt.Errorf("%w: malloc returned %#x", errCorrupt, p))
		return 0
	}
	return p
}

// newString makes a JavaScript string of UTF-8 text. It uses the image's buffer if text fits.
func (vm *VM) newString(ctx context.Context, text string) pointer {
	if len(text) <= bufferSize {
		vm.memory.WriteString(vm.image.buffer, text)
		return vm.checked(vm.call(ctx, fnNewString, uint64(vm.image.buffer), uint64(len(text))))
	}
	p := vm.write(ctx, text)
	v := vm.call(ctx, fnNewString, p, uint64(len(text)))
	vm.call(ctx, fnFree, p)
	return vm.checked(v)
}

// orUndefined returns v, or the value undefined if v is 0.
func (vm *VM) orUndefined(v pointer) pointer {
	if v == 0 {
		return uint64(vm.image.undefined)
	}
	return v
}

// checked ends the VM if the guest could not allocate the box of a value.
func (vm *VM) checked(v pointer) pointer {
	if v == 0 {
		vm.kill(ErrMemory)
	}
	return v
}

// text copies a JavaScript string, as UTF-8 in which lone surrogates are invalid. Without running guest code,
// it returns false if v is no string, or if it is longer than most bytes or cannot be copied. In the last case,
// vm.noRoom is true if the program's heap has no room for the copy.
func (vm *VM) text(ctx context.Context, v pointer, most int64) (string, bool) {
	if v == 0 || vm.call(ctx, fnIsString, v) == 0 {
		return "", false
	}
	scratch := uint64(vm.image.scratch)
	p := vm.call(ctx, fnStringLen, v, scratch)
	n, ok := vm.memory.ReadUint32Le(uint32(scratch))
	if p == 0 || !ok {
		if vm.noRoom = vm.dead == nil; vm.noRoom {
			vm.free(ctx, vm.call(ctx, fnGetException))
		}
		return "", false
	}
	var s string
	if ok = int64(n) <= most; ok {
		var b []byte
		if b, ok = vm.memory.Read(uint32(p), n); ok {
			s = string(b)
		}
	}
	vm.call(ctx, fnFreeCString, p)
	return s, ok && vm.dead == nil
}

// cString copies a C string of at most most bytes.
func (vm *VM) cString(p uint32, most uint32) (string, bool) {
	if p == 0 || p >= vm.memory.Size() {
		return "", false
	}
	b, ok := vm.memory.Read(p, min(most+1, vm.memory.Size()-p))
	if !ok {
		return "", false
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return "", false
	}
	return string(b[:end]), true
}

// invoke calls a function of the prelude. The caller frees the result. It is 0 if the function threw; the
// exception is then pending.
func (vm *VM) invoke(ctx context.Context, fn int, args ...pointer) pointer {
	argv := vm.image.scratch + 8
	for i, a := range args {
		vm.memory.WriteUint32Le(argv+4*uint32(i), uint32(a))
	}
	r := vm.call(ctx, fnCall, uint64(vm.image.prelude[fn]), uint64(vm.image.undefined), uint64(len(args)), uint64(argv))
	if vm.checked(r) == 0 {
		return 0
	}
	if vm.call(ctx, fnIsException, r) != 0 {
		vm.call(ctx, fnFree, r)
		return 0
	}
	return r
}

// invokeText calls a function of the prelude that returns a string.
func (vm *VM) invokeText(ctx context.Context, fn int, args ...pointer) (string, bool) {
	r := vm.invoke(ctx, fn, args...)
	if r == 0 {
		if vm.dead == nil {
			vm.free(ctx, vm.call(ctx, fnGetException))
		}
		return "", false
	}
	s, ok := vm.text(ctx, r, vm.memoryBytes)
	vm.noRoom = false
	vm.free(ctx, r)
	return s, ok
}

// throw makes the guest's error of that name the pending exception.
func (vm *VM) throw(ctx context.Context, name, message string) {
	n, m := vm.newString(ctx, name), vm.newString(ctx, message)
	e := vm.invoke(ctx, preludeMakeError, n, m)
	vm.free(ctx, n, m)
	if e == 0 {
		return // an out-of-memory error is pending instead, or the VM is dead
	}
	if r := vm.call(ctx, fnThrow, e); r != 0 {
		vm.call(ctx, fnFree, r)
	}
	vm.free(ctx, e)
}

// vmKey is the context key of the VM whose guest code runs.
type vmKey struct{}

func (vm *VM) with(ctx context.Context) context.Context { return context.WithValue(ctx, vmKey{}, vm) }

// current is the VM for which an import is called.
func current(ctx context.Context) *VM {
	vm, _ := ctx.Value(vmKey{}).(*VM)
	return vm
}

// global returns an exported mutable global.
func global(m api.Module, name string) (api.MutableGlobal, error) {
	g, ok := m.ExportedGlobal(name).(api.MutableGlobal)
	if !ok {
		return nil, fmt.Errorf("%w: no global %s", errCorrupt, name)
	}
	return g, nil
}
