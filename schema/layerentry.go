package schema

// Entry is a host entry or a gateway of a layer above that has limits. The uses of all entries and gateways
// within it are added together, and the limits apply to the sum. A limit of 0 means no limit. Package
// compiler/layers writes an Entry and the compiler reads it. Authors cannot write it.
type Entry struct {
	Host           string
	Ports          []int // sorted
	AnyPort        bool
	Methods, Paths []string

	Up, Down, Connections, PerMinute int64

	// The position and layer of the entry.
	Pos         Pos
	Path, Layer string
}

// Paths maps each granted path to the paths of the layers above that cover it when they are compared as text.
// On a host, the resolved granted path must be below each of their resolved paths.
type Paths struct{ Read, Write map[string][]string }
