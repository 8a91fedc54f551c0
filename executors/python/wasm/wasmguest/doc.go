// The engine runs untrusted Python in WebAssembly: the CPython of package place, under wazero. It owns wazero
// and everything that a program can reach.
//
// A program has the interpreter, its standard library, a folder in memory, a clock, random numbers and one
// device, through which the guest's own Python communicates with the host. There is no other file, network,
// environment, process or host clock behind any of it: WASI has no call that would open one, and its file calls
// lead to the tree in memory. The engine does not control imports, and does not rely on an import guard.
//
// It returns an error without the pinned files (place.ErrAbsent, place.ErrOther). The caller is the guest
// process. The daemon never imports it.
//
// Guest code cannot be interrupted from within the process: no check is compiled in, which would make it twice
// as slow. The caller ends the process over a limit. Meanwhile Go's collector must not begin to wait for it:
// see Engine.Run.

package wasmguest
