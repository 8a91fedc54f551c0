// Package guestside holds the parts that all guest processes of this program need: the connection to the host,
// and the seal that leaves the process only its memory, its threads and that connection.
//
// If a process cannot be sealed, [SealAlone] and [SealInRing] return an error, and the process must not run a
// program. The guest halves of the executors call the package.
package guestside

import (
	"errors"
	"os"
)

// The connection that the launcher leaves open: two pipes, or, for a guest that seals itself, one socket, on
// Descriptor.
const (
	Descriptor = 3 // to read from
	Answers    = 4 // to write to
)

// Conn is the connection to the host. Its descriptors block, since a guest has nothing else to do.
type Conn struct {
	said       *os.File // from the host
	told       *os.File // to the host; the same in a socket
	descriptor int
}

// Connect takes the connection, once in a process.
func Connect() Conn { return of(Descriptor, Answers) }

func of(descriptor, answers int) Conn {
	c := Conn{said: os.NewFile(uintptr(descriptor), "host"), descriptor: descriptor}
	c.told = c.said
	if piped(c.said) {
		c.told = os.NewFile(uintptr(answers), "host")
	}
	return c
}

func piped(f *os.File) bool {
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeNamedPipe != 0
}

// Read reads from the host.
func (c Conn) Read(p []byte) (int, error) { return c.said.Read(p) }

// Write writes to the host.
func (c Conn) Write(p []byte) (int, error) { return c.told.Write(p) }

// Close closes the connection.
func (c Conn) Close() error {
	err := c.said.Close()
	if c.told != c.said {
		err = errors.Join(err, c.told.Close())
	}
	return err
}
