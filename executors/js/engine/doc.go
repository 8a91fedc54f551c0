// Package engine runs untrusted JavaScript: QuickJS-NG, compiled to
// WebAssembly, under wazero, with a binding and a meter of its own.
//
// It owns wazero and everything a program can reach. A program has the
// ECMAScript globals, console, inputs and one async function per granted
// bridge; there is no file, network, environment, timer, process or host clock
// behind any of them. A bridge call is data: the VM records it and the caller
// decides. What a program cannot do here it cannot do by forging anything
// either, because identifiers and names carry no authority; the caller
// authorises each Call it takes.
//
// It refuses to start without the pinned engine file (ErrUnavailable), without
// a processor budget and without the clocks it needs, and it trusts no address,
// length or text that comes out of the guest's memory.
//
// The caller is the guest process of executors/js. The daemon never imports it;
// subpackage value, which checks encoded values, is for both sides.
//
// # Life of a VM
//
//	e, err := engine.New(ctx, cfg)           // once per process, 15 ms with a cache
//	vm, err := e.Start(ctx, opts)            // a fresh VM, restored from an image
//	err = vm.Eval(ctx, engine.Program{...})  // starts the program
//	st, err := vm.Run(ctx)                   // until nothing is left to run
//	for st.Status == engine.StatusWaiting {  // or Done, Failed, Deadlock
//		calls := vm.TakeCalls()                // ask the host for each
//		st, err = vm.Turn(ctx, id, answer)     // one answer, and all it sets off
//	}
//	vm.Close(ctx)
//
// Every error of Eval, RunJobs, Settle, State, Run and Turn is final but ErrNoCall
// and ErrValue: the VM is dead and each later call returns the same error. What the program does wrong is in
// State, never an error.
//
// # Quiescence
//
// Between two calls no guest frame is on any stack. All that a program is then
// stands in the linear memory and the few fields of VM.state, so that a VM can be
// written down and continued elsewhere: Snapshot and Restore, in the form of
// subpackage snapshot. No frame of the program runs for it, so no catch or finally
// can see it: an await took long. Random numbers are new after each restore, the
// clock is that of the restore, and the engine has no other chance or time: its
// hash tables are not seeded.
//
// A snapshot is taken of a program that waits, to go on with it, or of one that
// has ended, to start the next one on what it left (Program.Redeclare).
package engine
