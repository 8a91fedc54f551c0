// Package seal owns the keys under which the records of paused runs and of
// sessions are kept, and the form of a sealed record.
//
// A record is bound to what it is: whose run, which of its pauses, under which
// policy and by which engine. Opening says what it must be; one that is anything
// else, or that was changed, cut, or put in the place of another, is refused by a
// typed error, and nothing of it is given out.
//
// The daemon and the command line are its callers.
package seal
