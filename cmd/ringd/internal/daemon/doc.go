// Package daemon owns the life of the process: which generation of policy is in
// force, which runs are live, and every goroutine they need.
//
// A push takes force in two phases: every ring prepares, the record and the
// generation are on disk, and only then pointers are swapped, which cannot fail.
// A push that is refused changes nothing; the generation before it stays until
// its staleness limit and is closed then. A run is refused unless a generation
// is in force, its executor is not closed, the daemon does not drain, the quota
// has room and the record of the request is written.
//
// It refuses everything while the audit log or the store cannot be written. It
// decides nothing about programs: that is profiles, and rings/interpreter asks
// it. The API and the command line are its callers; they see its errors through
// the sentinels here and *profiles.Denial.
package daemon
