package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/profiles"
)

const (
	// maxSpecifier limits the names of an import.
	maxSpecifier = 1 << 12
	// WASI error numbers.
	wasiSuccess = 0
	wasiBadFile = 8
)

// importFunc is an import with its VM. stack holds the parameters and then the results.
type importFunc func(ctx context.Context, vm *VM, stack []uint64)

// defineImports defines all functions that the guest can call: six of the binding and six of WASI. None reaches
// a file, the environment, a socket or a host clock. Operations of the engine on a file descriptor return an
// error.
func (e *Engine) defineImports(ctx context.Context) error {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	args := func(t ...api.ValueType) []api.ValueType { return t }
	badFile := func(_ context.Context, _ *VM, stack []uint64) { stack[0] = wasiBadFile }
	type function struct {
		name    string
		run     importFunc
		params  []api.ValueType
		results []api.ValueType
	}
	modules := map[string][]function{
		"env": {
			{"host_interrupt", interrupt, nil, args(i32)},
			{"host_call", hostCall, args(i32, i32, i32, i32, i32), args(i32)},
			{"host_promise_rejection", rejection, args(i32, i32, i32), nil},
			{"host_module_normalize", moduleResolve, args(i32, i32), args(i32)},
			{"host_module_load", moduleLoad, args(i32, i32), args(i32)},
			{"host_get_timezone_offset", utc, args(i32, i32), args(i32)},
		},
		"wasi_snapshot_preview1": {
			{"clock_time_get", clock, args(i32, i64, i32), args(i32)},
			{"random_get", random, args(i32, i32), args(i32)},
			{"fd_close", badFile, args(i32), args(i32)},
			{"fd_fdstat_get", badFile, args(i32, i32), args(i32)},
			{"fd_seek", badFile, args(i32, i64, i32, i32), args(i32)},
			{"fd_write", badFile, args(i32, i32, i32, i32), args(i32)},
		},
	}
	for module, functions := range modules {
		b := e.runtime.NewHostModuleBuilder(module)
		for _, f := range functions {
			b = b.NewFunctionBuilder().WithGoModuleFunction(bind(f.run), f.params, f.results).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("define the engine's imports: %w", err)
		}
	}
	return nil
}

// bind finds the VM. Guest code never runs without one.
func bind(run importFunc) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		if vm := current(ctx); vm != nil {
			run(ctx, vm, stack)
		}
	}
}

// interrupt is called when fuel is used up. Any result but 0 ends the guest.
func interrupt(ctx context.Context, vm *VM, stack []uint64) {
	stack[0] = 0
	if !vm.refill(ctx) {
		stack[0] = 1
	}
}

// hostCall is the one function that the prelude holds. It only ever passes strings. A result of 0 is an
// exception.
func hostCall(ctx context.Context, vm *VM, stack []uint64) {
	argc, argv := uint32(stack[3]), uint32(stack[4])
	stack[0] = 0
	ok := false
	switch argc {
	case 1:
		ok = vm.openCall(ctx, argc, argv)
	case 2:
		ok = vm.console(ctx, argc, argv)
	}
	switch {
	case vm.noRoom:
		vm.noRoom = false
		vm.throw(ctx, "InternalError", "out of memory") // in the words of the engine
	case !ok:
		vm.kill(fmt.Errorf("%w: malformed call of the host", errCorrupt))
	case vm.refused:
		vm.refused = false
		vm.throw(
			ctx, profiles.ErrorBudgetExceeded, "the arguments of calls that wait to be made are too large together",
		)
	default:
		stack[0] = vm.call(ctx, fnUndefined)
	}
}

// argument copies string argument i of a host call.
func (vm *VM) argument(ctx context.Context, argc, argv, i uint32, most int64) (string, bool) {
	if i >= argc || argc > 8 {
		return "", false
	}
	p, ok := vm.memory.ReadUint32Le(argv + 4*i)
	if !ok {
		return "", false
	}
	return vm.text(ctx, uint64(p), most)
}

// openCall takes "id index arguments".
func (vm *VM) openCall(ctx context.Context, argc, argv uint32) bool {
	text, ok := vm.argument(ctx, argc, argv, 0, vm.options.ValueBytes*4+64)
	if !ok {
		return false
	}
	a, rest, _ := strings.Cut(text, " ")
	b, args, _ := strings.Cut(rest, " ")
	id, err := strconv.ParseInt(a, 10, 64)
	if err != nil || id != vm.state.calls+1 {
		return false
	}
	index, err := strconv.Atoi(b)
	if err != nil || index < 0 || index >= len(vm.state.bridges) {
		return false
	}
	if err := value.Check([]byte(args), vm.valueLimits()); err != nil {
		return false
	}
	// Calls that a program opens without ever waiting are held outside of its heap limit, so the same figure
	// limits them.
	if vm.openedBytes += int64(len(args)); vm.openedBytes > max(vm.options.HeapBytes, int64(len(args))) {
		vm.openedBytes -= int64(len(args))
		vm.refused = true
		return true
	}
	vm.state.calls = id
	vm.state.open[id] = index
	vm.opened = append(vm.opened, Call{ID: id, Bridge: vm.state.bridges[index], Args: []byte(args)})
	return true
}

// console takes a level and a line.
func (vm *VM) console(ctx context.Context, argc, argv uint32) bool {
	level, ok := vm.argument(ctx, argc, argv, 0, 16)
	if !ok {
		return false
	}
	line, ok := vm.argument(ctx, argc, argv, 1, 1<<20)
	if !ok {
		return false
	}
	line = strings.ToValidUTF8(line, "\uFFFD")
	n := int64(len(line)) + 1
	u := &vm.state.usage
	if vm.options.Console == nil || u.ConsoleBytes+n > vm.options.ConsoleBytes {
		u.DroppedBytes += n
		u.DroppedLines++
		return true
	}
	u.ConsoleBytes += n
	vm.options.Console(level, line)
	return true
}

// rejection tracks promises that are rejected and not handled, and those that are handled after all. It owns
// both values.
func rejection(ctx context.Context, vm *VM, stack []uint64) {
	promise, reason, handled := uint64(uint32(stack[0])), uint64(uint32(stack[1])), uint32(stack[2]) != 0
	if promise == 0 || reason == 0 {
		vm.kill(ErrMemory)
		return
	}
	id := vm.call(ctx, fnValuePtr, promise)
	if !handled && vm.dead == nil && id != 0 {
		vm.state.rejections++
		vm.forget(ctx, id)
		vm.state.rejected[id] = rejected{vm.state.rejections, promise, reason}
		return
	}
	vm.forget(ctx, id)
	vm.free(ctx, promise, reason)
}

// forget removes a tracked rejection.
func (vm *VM) forget(ctx context.Context, id uint64) {
	if r, ok := vm.state.rejected[id]; ok {
		delete(vm.state.rejected, id)
		vm.free(ctx, r.promise, r.reason)
	}
}

// moduleResolve returns a malloc'd canonical name, or 0 with an exception.
func moduleResolve(ctx context.Context, vm *VM, stack []uint64) {
	base, okBase := vm.cString(uint32(stack[0]), maxSpecifier)
	name, okName := vm.cString(uint32(stack[1]), maxSpecifier)
	stack[0] = 0
	if !okBase || !okName {
		vm.throw(ctx, profiles.ErrorImportDenied, "the name of the import is too long")
		return
	}
	base, name = strings.ToValidUTF8(base, "\uFFFD"), strings.ToValidUTF8(name, "\uFFFD")
	if vm.options.Modules == nil {
		vm.throw(
			ctx, profiles.ErrorImportDenied, fmt.Sprintf("import of %q is denied: no module is allowed here", name),
		)
		return
	}
	full, err := vm.options.Modules.Resolve(base, name)
	if err != nil || full == "" || strings.IndexByte(full, 0) >= 0 || len(full) > maxSpecifier {
		vm.throwImport(ctx, name, err)
		return
	}
	stack[0] = vm.write(ctx, full)
}

// moduleLoad returns malloc'd source and stores its length, or 0 with an
// exception.
func moduleLoad(ctx context.Context, vm *VM, stack []uint64) {
	name, ok := vm.cString(uint32(stack[0]), maxSpecifier)
	length := uint32(stack[1])
	stack[0] = 0
	if !ok || vm.options.Modules == nil {
		vm.throw(ctx, profiles.ErrorImportDenied, "import is denied: no module is allowed here")
		return
	}
	source, err := vm.options.Modules.Load(name)
	if err != nil {
		vm.throwImport(ctx, name, err)
		return
	}
	p := vm.write(ctx, source)
	if !vm.memory.WriteUint32Le(length, uint32(len(source))) {
		vm.kill(fmt.Errorf("%w: module length at %#x", errCorrupt, length))
	}
	stack[0] = p
}

// throwImport throws a GuestError as it is. For any other error the program learns nothing of it.
func (vm *VM) throwImport(ctx context.Context, name string, err error) {
	var g *GuestError
	if errors.As(err, &g) {
		vm.throw(ctx, g.Name, g.Message)
		return
	}
	vm.throw(ctx, profiles.ErrorImportDenied, fmt.Sprintf("import of %q is denied", name))
}

func utc(_ context.Context, _ *VM, stack []uint64) { stack[0] = 0 }

func clock(_ context.Context, vm *VM, stack []uint64) {
	at := uint32(stack[2])
	stack[0] = wasiSuccess
	if !vm.memory.WriteUint64Le(at, uint64(vm.options.Clock())) {
		vm.kill(fmt.Errorf("%w: clock at %#x", errCorrupt, at))
	}
}

// random fills with zeros: the engine's own generator is not used, the prelude seeds its Math.random from
// Options.Seed.
func random(_ context.Context, vm *VM, stack []uint64) {
	at, n := uint32(stack[0]), uint32(stack[1])
	stack[0] = wasiSuccess
	b, ok := vm.memory.Read(at, n)
	if !ok {
		vm.kill(fmt.Errorf("%w: random bytes at %#x", errCorrupt, at))
		return
	}
	clear(b)
}
