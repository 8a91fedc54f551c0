// Package interpreter is the ring that stands around executors and answers for
// them: it starts runs, decides, counts, records and performs every bridge call,
// and ends a run.
//
// A call passes, in this order: the decision of profiles, the arguments' schema,
// the limits, the audit record of the intent, the provider, the checks of the
// result, the audit record of the outcome. What fails on the way does not happen
// or does not reach the program. The program gets a typed error without any text
// of the host; the record holds that text under the call's id, which the
// program's message carries.
//
// A run is bound to the generation in force at its start, for its profile and
// its limits. Each later call is decided under the generation now in force as
// well, and the stricter of both counts: a push that tightens refuses the next
// call, one that loosens does not widen a live run.
//
// A run that waits for nothing but people and the harness pauses: its executor
// stops the program, the record of the pause is kept by the Keeper, and nothing of
// the run stays here. Resume goes on from the record, here or in another process.
// Every open call is decided again then, under each policy that was in force when
// the run paused and under the one now in force, and settled once: a call of the
// host is performed after its approval is used up on disk, or its end is told
// again as it was recorded, or it is unknown and nobody repeats it.
//
// The ring keeps which runs are live; package run is what one run does, rules
// what binds a call, pause the record, budget, feed and shape what their names
// say, and port the words that all of them share with the daemon.
//
// It refuses everything before the first commit, after Close, when a record
// cannot be written, and for what it has no executor or provider for. The daemon
// makes one Ring and calls it.
package interpreter
