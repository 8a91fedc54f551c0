//go:build unix

package pipetest

import "syscall"

// Make makes a pipe at path, closed to others.
func Make(t T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
