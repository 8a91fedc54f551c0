// Package store owns the state that the host keeps of runs, their calls and pauses, of sessions, and of the
// generations of policy. It is one SQLite database. Sealed records above 1 MiB are in files beside it, named
// by their digest.
//
// Every method that writes is durable when it returns nil: one transaction, shared with the callers that
// arrive at the same time, synced by synchronous=FULL. A change of a run or a call is a transition in a
// closed table. Any other transition is ErrState, and nothing changes. A state and what it needs are one
// commit: a pause and its record, the last answer and the run that may be resumed, a claim and its owner, the
// end of a run and the end of its pause. The store does not check the content of sealed records; their seal
// does. After a failed commit the store is closed until Reopen.
//
// It refuses a database of an unknown or altered format, a damaged one, one that another process holds, and
// an SQLite that can corrupt its log (before 3.51.3). It refuses a folder that other users can enter, links,
// and names of records that are not digests. The daemon and the commands on a state folder call it.
package store
