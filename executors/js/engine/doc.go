// Package engine runs untrusted JavaScript: QuickJS-NG, compiled to WebAssembly, under wazero, with a binding
// and a meter of its own.
//
// It owns wazero and everything a program can reach. A program has the ECMAScript globals, console, inputs and
// one async function for each granted bridge. No file, network, environment, timer, process or host clock is
// behind any of them. A bridge call is data: the VM records it and the caller decides. A program gains nothing
// by forging a call either, because identifiers and names carry no authority: the caller authorises each Call
// it takes.
//
// It returns an error without the pinned engine file (ErrUnavailable), without a processor budget and without
// the clocks it needs. It trusts no address, length or text that comes out of the guest's memory.
//
// The caller is the guest process of executors/js. The daemon never imports it. Subpackage value, which checks
// encoded values, is for both sides.
//
// # Life of a VM
//
//	e, err := engine.New(ctx, cfg)           // once per process, 15 ms with a cache
//	vm, err := e.Start(ctx, opts)            // a fresh VM, restored from an image
//	err = vm.Eval(ctx, engine.Program{...})  // starts the program
//	st, err := vm.Run(ctx)                   // until nothing is left to run
//	for st.Status == engine.StatusWaiting {  // or Done, Failed, Deadlock
//		calls := vm.TakeCalls()                // ask the host for each
//		st, err = vm.Turn(ctx, id, answer)     // one answer and all its jobs
//	}
//	vm.Close(ctx)
//
// Every error of Eval, RunJobs, Settle, State, Run and Turn except ErrNoCall and ErrValue is final: the VM is
// dead and each later call returns the same error. Errors of the program are in State, never an error.
//
// # Quiescence
//
// Between two calls no guest frame is on any stack. The program then consists of the linear memory and the few
// fields of VM.state, so a snapshot of the VM can be taken and continued elsewhere: Snapshot and Restore, in
// the form of subpackage snapshot. No frame of the program runs for it, so no catch or finally can notice it:
// an await took long. Random numbers are new after each restore, and the clock is that of the restore. The
// engine has no other source of chance or time: its hash tables are not seeded.
//
// A snapshot is taken of a program that waits, to continue it, or of one that has ended, to start the next one
// in its state (Program.Redeclare).
package engine
