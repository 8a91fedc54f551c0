package profiles

// Limits of the JavaScript engine. The compiler rejects larger values, since a program would not get them.
// Package executors/js/engine explains the numbers.
const (
	DefaultJSStackBytes = 256 << 10
	MaxJSStackBytes     = 512 << 10 // half of the 1 MiB stack that the engine's module is built with
	MaxJSMemoryBytes    = 1 << 30   // linear memory of one engine, which holds the heap
)
