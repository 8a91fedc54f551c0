package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringd/ringd/executors/js/engine/value"
)

const (
	maxUnhandled = 16
	// States of a promise.
	promisePending, promiseFulfilled = 0, 1
)

// State returns the state of the program. It runs guest code if it has to encode a result, once; later calls
// return the same. It never runs jobs.
func (vm *VM) State(ctx context.Context) (State, error) {
	if vm.dead != nil {
		return State{}, vm.dead
	}
	if vm.ended != nil {
		return *vm.ended, nil
	}
	if vm.state.program == 0 {
		return State{}, nil
	}
	ctx, done := vm.enter(ctx)
	defer done()
	s := vm.look(ctx)
	if vm.dead != nil {
		return State{}, vm.dead
	}
	return s, nil
}

// look is State inside the guest.
func (vm *VM) look(ctx context.Context) State {
	switch vm.call(ctx, fnPromiseState, vm.state.program) {
	case promisePending:
		switch {
		case vm.call(ctx, fnJobPending) != 0:
			return State{Status: StatusRunning}
		case len(vm.state.open) > 0:
			return State{Status: StatusWaiting}
		}
		return State{Status: StatusDeadlock, Unhandled: vm.unhandled(ctx)}
	case promiseFulfilled:
		return vm.fulfilled(ctx)
	}
	reason := vm.call(ctx, fnPromiseResult, vm.state.program)
	e := vm.describe(ctx, reason)
	vm.free(ctx, reason)
	vm.fail(ctx, e)
	if vm.ended == nil {
		return State{}
	}
	return *vm.ended
}

// fulfilled takes the value of a program whose promise is fulfilled. If that value is itself a promise, it
// becomes the program's.
func (vm *VM) fulfilled(ctx context.Context) State {
	settled := vm.call(ctx, fnPromiseResult, vm.state.program)
	var v pointer
	if vm.state.module && !vm.state.adopted {
		v = vm.invoke(ctx, preludeExported, settled)
		if v == 0 {
			vm.fail(ctx, vm.exception(ctx))
			return *vm.ended
		}
	} else if !vm.state.adopted {
		// An async script is fulfilled with {value}, so that a thenable is not resolved.
		key := vm.write(ctx, "value")
		v = vm.call(ctx, fnGetProp, settled, key)
		vm.call(ctx, fnFree, key)
	} else {
		v, settled = settled, 0
	}
	vm.free(ctx, settled)
	if vm.call(ctx, fnIsPromise, v) != 0 {
		vm.free(ctx, vm.invoke(ctx, preludeAdopt, v))
		old := vm.state.program
		vm.watch(ctx, v)
		vm.free(ctx, old)
		vm.state.adopted = true
		if vm.dead != nil {
			return State{}
		}
		return vm.look(ctx)
	}
	s := vm.encoded(ctx, v)
	vm.free(ctx, v)
	return s
}

// encoded ends the program with value v.
func (vm *VM) encoded(ctx context.Context, v pointer) State {
	text, ok := vm.invokeText(ctx, preludeResult, v)
	if vm.dead != nil {
		return State{}
	}
	switch {
	case !ok:
		vm.fail(ctx, Exception{Name: "InternalError", Message: "out of memory while encoding the result"})
	case strings.HasPrefix(text, "v"):
		text = text[1:]
		if err := value.Check([]byte(text), vm.valueLimits()); err != nil {
			vm.kill(fmt.Errorf("%w: result: %w", errCorrupt, err))
			return State{}
		}
		vm.finish(ctx, State{Status: StatusDone, Value: json.RawMessage(text)})
	default:
		vm.fail(ctx, parseException(strings.TrimPrefix(text, "e")))
	}
	if vm.ended == nil {
		return State{}
	}
	return *vm.ended
}

// fail ends the program with e.
func (vm *VM) fail(ctx context.Context, e Exception) {
	vm.finish(ctx, State{Status: StatusFailed, Exception: &e})
}

// finish records the end of the program, with its unfinished calls and unhandled rejections.
func (vm *VM) finish(ctx context.Context, s State) {
	s.Unawaited = vm.unawaited(ctx)
	s.Unhandled = vm.unhandled(ctx)
	if vm.dead == nil {
		vm.ended = &s
	}
}

// unawaited asks the prelude for the promises that nothing waited for, and adds the open calls.
func (vm *VM) unawaited(ctx context.Context) []Call {
	left := map[int64]int{}
	for id, index := range vm.state.open {
		left[id] = index
	}
	text, _ := vm.invokeText(ctx, preludeUnawaited)
	for _, pair := range strings.Split(text, ",") {
		a, b, _ := strings.Cut(pair, " ")
		id, err := strconv.ParseInt(a, 10, 64)
		index, err2 := strconv.Atoi(b)
		if err == nil && err2 == nil && id > 0 && id <= vm.state.calls && index >= 0 && index < len(vm.state.bridges) {
			left[id] = index
		}
	}
	var calls []Call
	for id, index := range left {
		calls = append(calls, Call{ID: id, Bridge: vm.state.bridges[index]})
	}
	slices.SortFunc(calls, func(a, b Call) int { return cmp.Compare(a.ID, b.ID) })
	return calls
}

// unhandled describes the oldest rejections that nothing handles.
func (vm *VM) unhandled(ctx context.Context) []Exception {
	var oldest []rejected
	for _, r := range vm.state.rejected {
		oldest = append(oldest, r)
	}
	slices.SortFunc(oldest, func(a, b rejected) int { return cmp.Compare(a.seq, b.seq) })
	var out []Exception
	for _, r := range oldest[:min(len(oldest), maxUnhandled)] {
		out = append(out, vm.describe(ctx, r.reason))
	}
	return out
}

// exception takes the pending exception.
func (vm *VM) exception(ctx context.Context) Exception {
	e := vm.call(ctx, fnGetException)
	d := vm.describe(ctx, e)
	vm.free(ctx, e)
	return d
}

// describe asks the prelude for the description of an error.
func (vm *VM) describe(ctx context.Context, e pointer) Exception {
	text, ok := vm.invokeText(ctx, preludeDescribe, e)
	if !ok {
		return Exception{Name: "InternalError", Message: "out of memory"}
	}
	return parseException(text)
}
