// Package trust owns signed pushes: the envelope (DSSE), the statement that it
// carries, the keys that may sign, and what a host remembers of the pushes it has
// accepted, so that an old one is refused.
//
// It refuses everything that it does not understand: another payload type, a
// field too many, a signature that is no key's, a set that is not its revision's.
// Signatures are verified before anything of the payload is read. A sequence below
// the last accepted one is never accepted again, also after a crash.
//
// The daemon's policy holder asks a Gate; commands make and read envelopes.
package trust
