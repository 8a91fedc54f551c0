package clitest

// PipeTest is the part of testing.TB that NamedPipe needs.
type PipeTest interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}
