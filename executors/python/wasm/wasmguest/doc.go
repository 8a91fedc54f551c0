// This file runs untrusted Python in WebAssembly: the CPython of package place,
// under wazero. It owns wazero and everything that a program can reach.
//
// A program has the interpreter, its standard library, a folder in memory, a clock,
// chance and one device, over which the guest's own Python talks to the host. There is
// no file, network, environment, process or host clock beside those behind any of it:
// WASI has no call that would open one, and what it has leads to its tree of files. What
// can be imported is not this package's affair; it holds without any import guard.
//
// It refuses to start without the pinned files (place.ErrAbsent, place.ErrOther). The
// caller is the guest process; the daemon never imports it.
//
// Guest code cannot be interrupted from within the process: no check is compiled in,
// which would make it twice as slow. Whoever runs it ends the process over a limit.
// Meanwhile Go's collector must not begin to wait for it: see Engine.Run.

package wasmguest
