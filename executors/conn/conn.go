// Package conn is the connection of a guest process of this program to its host, as
// the guest has it.
package conn

import "os"

// Descriptor is the connection that the launcher leaves open.
const Descriptor = 3

// Conn is the connection to the host. Its descriptor blocks, since a guest has
// nothing else to do.
type Conn struct {
	*os.File
	descriptor int
}

// Open takes the connection, once in a process.
func Open() Conn { return of(Descriptor) }

func of(descriptor int) Conn {
	return Conn{File: os.NewFile(uintptr(descriptor), "host"), descriptor: descriptor}
}
