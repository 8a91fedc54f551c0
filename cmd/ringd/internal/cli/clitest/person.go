// Package clitest has doubles for the tests of commands: a person at a terminal, and
// hostile text with the check that none of it reaches a terminal.
package clitest

import (
	"bytes"
	"io"
	"strings"
)

// T is what is needed of a test.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Person is one end of a terminal. It is for one goroutine.
type Person struct {
	T    T
	TTY  io.ReadWriter
	Seen bytes.Buffer // all that was shown
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

// Types writes text as it is: Enter is a line end.
func (p *Person) Types(text string) {
	p.T.Helper()
	if _, err := io.WriteString(p.TTY, text); err != nil {
		p.T.Fatal(err)
	}
}
