// Package daemon owns the life of the process: which runs are live, which wait,
// and every goroutine they need.
//
// A run is refused unless a generation of policy is in force (package policy),
// its executor is not closed, the daemon does not drain, the quota has room and
// the record of the request is written. A run that waits for answers is rows in
// the store and nothing else: what settles it goes there first, and one claim
// makes it live again, under the generation in force, once all its calls are
// answered. What cannot be opened stays where it is and says why.
//
// It refuses everything while the audit log or the store cannot be written. It
// decides nothing about programs: that is profiles, and rings/interpreter asks
// it. The API and the command line are its callers; they see its errors through
// the sentinels here and in approvals, and *profiles.Denial.
package daemon
