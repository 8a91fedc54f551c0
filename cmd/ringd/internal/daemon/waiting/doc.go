// Package waiting owns the state of runs that wait: the sealed records of paused runs, of sessions
// between two runs, and the approvals of pending calls.
//
// A record is sealed with its run, number, agent, actor, revision and engine. [Keeper.Open] refuses
// a record that does not open under exactly these, before a byte is decoded. The decoded record must
// name the same values again. The interpreter ring keeps records, and the daemon opens them.
//
// An approval ([Desk.Decide]) counts for one call with the arguments that were shown, once, before it
// expires. It comes from a person who stands for an owner that the policy names, and never from the
// actor whose program asks. Each approval is in the audit log on disk before it is in the store, and
// each refused one is recorded too. The daemon calls the desk and then resumes the run.
package waiting
