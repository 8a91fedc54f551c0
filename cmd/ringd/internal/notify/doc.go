// Package notify owns the notifications to people that a call waits for an approver: by a signed webhook, or
// by a command of the host.
//
// A notification says which call waits and who may decide. It has the arguments only if the operator
// configured that, and never a secret. It follows no redirect and uses no proxy of the environment. The
// daemon's outbox calls it, and calls it again after an error. So a receiver may get one call more than once,
// with the same id.
package notify
