// Package wasmproto is what the two halves of the WebAssembly Python tell each other
// beside the guest protocol: the settings of a process and the options of a run. What
// a run has in common with one of the host's own Python is package python/start's.
package wasmproto

import (
	"errors"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/pyproto"
)

// Settings is what a guest process is told first.
type Settings struct {
	Dir      string `json:"dir"`      // of the engine's files, which it checks itself
	CacheDir string `json:"cacheDir"` // compiled code; "" compiles in the process
	// Ring says that the kernel ring stands around the process. It seals itself with
	// the filter that comes on guestside.Control, and CacheDir is read-only: when that lacks
	// something, the process is Unavailable with the text Cold.
	Ring bool `json:"ring"`
	// Fill says that the process fills CacheDir and ends. No program comes.
	Fill bool `json:"fill"`
	// Preload names modules that are imported before the process says it is ready.
	Preload []string `json:"preload"`
}

// Cold is why a guest is unavailable that would first have to compile the engine.
const Cold = "the compile cache does not hold the WebAssembly Python"

// Options is one run without its source text.
type Options struct {
	Python      pyproto.Options `json:"python"`
	Stdin       []byte          `json:"stdin"`
	Seed        [32]byte        `json:"seed"` // of the program's random numbers
	CPU         time.Duration   `json:"cpu"`
	MemoryBytes int64           `json:"memoryBytes"` // that the interpreter may take
	OutputBytes int64           `json:"outputBytes"`
}

// DecodeSettings reads what Settings marshals to, and nothing else.
func DecodeSettings(b []byte) (Settings, error) {
	var s Settings
	return s, executors.Decode(b, &s)
}

// DecodeOptions reads what Options marshals to and refuses a run without limits.
func DecodeOptions(b []byte) (Options, error) {
	var o Options
	if err := executors.Decode(b, &o); err != nil {
		return Options{}, err
	}
	if err := o.Check(); err != nil {
		return Options{}, err
	}
	return o, nil
}

// Check tells what of the options cannot be run.
func (o Options) Check() error {
	if o.CPU <= 0 || o.MemoryBytes <= 0 || o.OutputBytes < 0 {
		return errors.New("a limit is missing")
	}
	if o.Python.Session {
		return errors.New("the WebAssembly Python keeps nothing for a later run")
	}
	return o.Python.Check()
}
