// Package wasmproto is the protocol between the two halves of the WebAssembly Python on top of the guest
// protocol: the settings of a process and the options of a run. Package pyproto has the part that is common
// with the host's own Python.
package wasmproto

import (
	"errors"
	"time"

	"github.com/ringd/ringd/executors/python/pyproto"
)

// Settings are the first data that a guest process gets.
type Settings struct {
	Dir      string `json:"dir"`      // folder of the engine's files, which it checks itself
	CacheDir string `json:"cacheDir"` // compiled code; if empty, the process compiles
	// Ring says that the process runs in a guest of the kernel ring. It seals itself with the filter that comes
	// on guestside.Control, and CacheDir is read-only. If something is missing there, the process is
	// Unavailable with the text Cold.
	Ring bool `json:"ring"`
	// Fill says that the process fills CacheDir and ends. It runs no program.
	Fill bool `json:"fill"`
	// Preload names modules that are imported before the process reports that it is ready.
	Preload []string `json:"preload"`
}

// Cold is the reason of a guest that is unavailable because it would have to compile the engine first.
const Cold = "the compile cache does not hold the WebAssembly Python"

// Options is one run without its source text.
type Options struct {
	Python      pyproto.Options `json:"python"`
	Stdin       []byte          `json:"stdin"`
	Seed        [32]byte        `json:"seed"` // of the program's random numbers
	CPU         time.Duration   `json:"cpu"`
	MemoryBytes int64           `json:"memoryBytes"` // limit of the interpreter
	OutputBytes int64           `json:"outputBytes"`
}

// Check returns an error if the options cannot be run.
func (o Options) Check() error {
	if o.CPU <= 0 || o.MemoryBytes <= 0 || o.OutputBytes < 0 {
		return errors.New("a limit is missing")
	}
	if o.Python.Session {
		return errors.New("the WebAssembly Python keeps nothing for a later run")
	}
	return o.Python.Check()
}
