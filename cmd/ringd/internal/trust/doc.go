// Package trust owns signed pushes: the envelope (DSSE), the statement in it, the keys that may sign, and the
// state about accepted pushes, because of which a host refuses an old one.
//
// It refuses everything unknown: another payload type, an unknown field, a signature of no known key, a set
// with another revision. Signatures are verified before the payload is parsed. A sequence below the last
// accepted one is never accepted again, even after a crash.
//
// Package daemon/policy calls a [Gate]. Commands make and read envelopes.
package trust
