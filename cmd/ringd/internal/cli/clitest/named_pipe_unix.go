//go:build unix

package clitest

import "syscall"

// NamedPipe makes a named pipe at path with mode 0600, for tests of code that must not block on one.
func NamedPipe(t PipeTest, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
