// Package clitest owns test doubles for commands: a person at a terminal, and hostile texts with a check that
// none of it reaches a terminal. Only tests call it.
package clitest

import (
	"bytes"
	"io"
	"strings"
)

// T is the part of testing.TB that the package needs.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Person is one end of a terminal. It is for one goroutine.
type Person struct {
	T    T
	TTY  io.ReadWriter
	Seen bytes.Buffer // everything that was shown
}

// Until reads until text was shown.
func (p *Person) Until(text string) {
	p.T.Helper()
	buf := make([]byte, 1024)
	for !strings.Contains(p.Seen.String(), text) {
		n, err := p.TTY.Read(buf)
		p.Seen.Write(buf[:n])
		if err != nil {
			p.T.Fatalf("waiting for %q: %v in\n%s", text, err, p.Seen.String())
		}
	}
}

// Types writes text unchanged. A newline is the Enter key.
func (p *Person) Types(text string) {
	p.T.Helper()
	if _, err := io.WriteString(p.TTY, text); err != nil {
		p.T.Fatal(err)
	}
}
