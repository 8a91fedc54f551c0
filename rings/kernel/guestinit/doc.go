// Package guestinit is the init of a guest. It builds the environment that an initproto.Order describes around
// itself, proves each layer by attempts, reports that, and becomes or starts the program. It owns the mounts,
// the Landlock rules, the capabilities, the limits and the filter of a guest, and the order in which they are
// set. A failure is reported with its layer and step and ends the guest: no layer is left out.
//
// It runs as a process of its own, in fresh namespaces, started by rings/kernel with an empty environment.
// rings/kernel/init only calls Main. Restrictions of a thread are set on the one thread that executes the
// program.
//
// The reaper is the first process of a guest while its program runs. It collects processes that end, counts
// processor time, adjusts the priority of a busy guest so that it weighs about as much as one process, and ends
// with the ring or at a limit. The kernel then ends the whole guest. It has no privileges: init has dropped
// them before it starts to reap.
package guestinit
