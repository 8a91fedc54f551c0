// Package store owns what the host remembers of runs, their calls and pauses, of
// sessions and of the generations of policy, in one SQLite database. Sealed
// records above 1 MiB lie beside it, in files named by their digest.
//
// Every method that writes is durable when it returns nil: one transaction,
// shared with the callers that came at the same time, on disk by
// synchronous=FULL. Every change of a run or a call is an arrow in a closed
// table; an arrow that is not in it is ErrState, and nothing changes. A state and
// what it needs are one commit: a pause and its record, the last answer and the
// run that may go on, a claim and whose it is, the end of a run and the end of
// its pause. What is in a sealed record is for its seal to say. After one
// commit that failed the store is closed, and stays so until opened again.
//
// It refuses a database of an unknown format, a damaged one, one that another
// process holds, and an SQLite that can corrupt its log (before 3.51.3).
// The daemon is its only caller.
package store
