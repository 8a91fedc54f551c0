// This file holds the verbs of signed pushes: keygen, sign, verify, push and
// rollback, and makes roots and gate of a configuration.
//
// Signing refuses what does not compile, and says what it signs. Nothing is written
// over but the envelope that a verb is told to replace.

package commands
