// Package daemon owns the life of the process: the live runs, the waiting runs, and all goroutines that they
// need.
//
// It refuses a run unless a generation of policy is in force (package policy), the executor is open, the
// daemon is not draining, the quota has room, and the record of the request is written. While the audit log
// or the store cannot be written, it refuses everything.
//
// A run that waits for answers has only rows in the store. An answer is stored first. Once all calls are
// answered, one claim makes the run live again under the generation in force. A run that cannot be opened
// stays in the store with the reason.
//
// The API and the command line call it. They tell its errors apart by the sentinels of this package and of
// package waiting, and by *profiles.Denial.
package daemon
