package schema

// Entry is a host entry or gateway of a layer above that has limits. They apply to all entries and gateways
// below it together. It is in the form of decisions. A limit of 0 means none. compiler/layers sets it and the
// compiler compiles it. Authors cannot write it.
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

// Paths maps each granted path to the paths of the layers above that cover it as text. On a host, its
// resolved path must be below their resolved paths.
type Paths struct{ Read, Write map[string][]string }
