// The reaper is the first process of a guest while its program runs. It collects processes that end, counts
// processor time, adjusts the priority of a busy guest so that it weighs about as much as one process, and ends
// with the ring or at a limit. The kernel then ends the whole guest. It has no privileges: init has dropped
// them before it starts to reap.

package guestinit
