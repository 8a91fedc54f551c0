// This file owns what an entry of a merged policy remembers of the entries of the
// layers above that it lies within. Package schema holds it, package compiler/layers
// fills it in, and the compiler compiles it; no text of a policy says it.

package schema

// Entry is the entry of a layer above that has limits: they hold for all entries and
// gateways below it together. It has the form in which hosts are decided on, and a
// limit that is 0 is none.
type Entry struct {
	Host           string
	Ports          []int // sorted
	AnyPort        bool
	Methods, Paths []string

	Up, Down, Connections, PerMinute int64

	// Where it stands, and in which layer.
	Pos         Pos
	Path, Layer string
}

// Paths are by each path that is granted those of the layers above that it lies below, as
// they are written: what it leads to on a host has to lie below what they lead to.
type Paths struct{ Read, Write map[string][]string }
