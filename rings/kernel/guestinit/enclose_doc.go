// Package guestinit is the init of a guest: it builds what an initproto.Order asks for
// around itself, shows by trying that it stands, says so, and becomes or starts
// the program. It owns the mounts, the Landlock rules, the capabilities, the
// limits and the filter of a guest, in an order that matters. Whatever fails is
// reported with its layer and step and ends the guest: nothing is left out.
//
// It runs as a process of its own, in fresh namespaces, started by rings/kernel
// with an empty environment; rings/kernel/init calls Main and does nothing else.
// What restricts a thread is done on the one thread that executes the program.
package guestinit
