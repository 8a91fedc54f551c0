// Package seal owns the keys that encrypt the records of paused runs and of sessions, and the format of a
// sealed record. It also makes the MACs of rows in the store.
//
// A record is bound to its run, its pause, its policy and its engine. The caller of Open passes the expected
// values. A record with other values, or one that was changed, cut or replaced, is refused with a typed
// error, and none of its content is returned.
//
// The daemon and the command line call it.
package seal
