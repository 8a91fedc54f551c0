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
// It refuses everything before the first commit, after Close, when a record
// cannot be written, and for what it has no executor or provider for. The daemon
// makes one Ring and calls it.
package interpreter
