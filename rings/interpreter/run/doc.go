// Package run is one life of a run: from its start, or from a pause, to its end or to the
// next pause. It owns the calls of the program: it admits each of them, has it decided,
// recorded and performed, keeps what people or the harness have to answer, and joins the
// outcome of the executor with what it knows itself.
//
// A run pauses when it waits for nothing but people and the harness. The executor returns
// the snapshot, and the pause is recorded and committed before a caller can see it. No call
// is settled between the request to stop and this commit.
//
// A panic or an error of the host closes the run. Only the interpreter ring calls this
// package; it makes runs and knows which of them are live.
//
// # Types and locks
//
// [Run] is composed of four parts. The identity does not change once the run is live. The
// lifecycle is the state machine, and its mutex is the one lock of the run. The callBook
// has the calls and their budgets, and the report has what View and Events return: both
// are guarded by the lock of the lifecycle. The lock is never held while a record is
// written or an effect is performed. A method named ...Locked needs it held.
//
// The steps of one call are methods of attempt: question.go (asked), attempt.go and
// admit.go (decided, admitted), queue.go (waits for a place among the open calls of its
// bridge), record.go (recorded), perform.go (performed). Its end is a closing (settle.go),
// an answer from outside an answering (answer.go).
//
// Calls have two orders. In its Turn a call is decided: that is the order of the program.
// In its Place.Order its intent is recorded: that is the order of the places. Both end with
// that record, or with the end of the call; the Turn of a queued call ends with the record
// that it is queued. Whatever runs before that record keeps the other calls waiting.
//
// Locks are taken in this order: that of the ring, that of a run, and those of the tree
// (its counter and its account of powers). The locks of two runs are never held together:
// a parent changes a subagent only before other goroutines can see the subagent.
package run
