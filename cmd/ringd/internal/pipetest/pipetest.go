// Package pipetest makes pipes that have a name, for the tests of what must not
// wait at one.
package pipetest

// T is what is needed of a test.
type T interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}
