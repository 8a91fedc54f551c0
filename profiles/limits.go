package profiles

// What the JavaScript engine gives. A policy that names more is refused, since a
// program would not get it. Package executors/js/engine says why.
const (
	DefaultJSStackBytes = 256 << 10
	MaxJSStackBytes     = 512 << 10 // half of the 1 MiB stack that the engine's module is built with
	MaxJSMemoryBytes    = 1 << 30   // linear memory of one engine, which holds the heap
)
