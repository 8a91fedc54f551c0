// Package interpreter is the ring that runs programs on executors and answers for what they
// do: it starts runs, decides, counts, records and performs every bridge call, and ends a
// run. The daemon makes one [Ring] and calls it.
//
// A call passes, in this order: the decision of profiles, the schema of its arguments, the
// limits, the audit record of the intent, the provider, the checks of the result, the audit
// record of the outcome. If a step fails, the call does not happen or its result does not
// reach the program. The program gets a typed error without any text of the host. The record
// holds that text under the id of the call, which the message to the program contains.
//
// A run is bound to the generation in force at its start, for its profile and its limits.
// Each later call is decided under the generation now in force as well, and the stricter of
// both wins: a push that tightens refuses the next call, and one that loosens does not widen
// a live run.
//
// A run that waits for nothing but people and the harness pauses: its executor stops the
// program, the Keeper keeps the record of the pause, and nothing of the run stays in memory.
// [Ring.Resume] goes on from the record, here or in another process. Every open call is
// decided again then, under each policy that was in force when the run paused and under the
// one now in force, and is settled once. A call of the host is performed after its approval
// is used up on disk, or the program gets its recorded end again, or its end is unknown and
// it is not repeated.
//
// The ring knows which runs are live. Package run is the life of one run. Package binding
// decides which policies bind a call. Package pause has the record of a paused run, and
// budget has limits. Package jsonvalue checks values, and ruleoftwo counts powers. Package
// contract has the interfaces and types that these packages share with the daemon.
//
// The ring refuses everything before the first commit, after Close, if a record cannot be
// written, and for a missing executor or provider.
package interpreter
