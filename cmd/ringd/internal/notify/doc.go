// Package notify tells people that a call waits for an approver: by a signed
// webhook, or by a command of the host.
//
// It sends where the call stands and who may decide, never its arguments unless
// the operator asked for them, and no secret at all. It follows no redirect and
// reads no proxy from the environment. The daemon's outbox calls it, and calls
// it again after an error: a receiver may hear of one call more than once,
// under the same id.
package notify
