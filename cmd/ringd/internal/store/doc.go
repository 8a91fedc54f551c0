// Package store owns what the host remembers of runs, their calls and the
// generations of policy, in one SQLite database.
//
// Every method that writes is durable when it returns nil: one transaction,
// shared with the callers that came at the same time, on disk by
// synchronous=FULL. Every change of a run or a call is an arrow in a closed
// table; an arrow that is not in it is ErrState, and nothing changes. After one
// commit that failed the store is closed, and stays so until opened again.
//
// It refuses a database of an unknown format, a damaged one, one that another
// process holds, and an SQLite that can corrupt its log (before 3.51.3).
// The daemon is its only caller.
package store
