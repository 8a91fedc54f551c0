// Package jsproto is the protocol from the host half to the guest half of the JavaScript executor on top of the
// guest protocol: the settings of a process and the options of a run, as JSON. Both halves import it; it
// imports neither.
//
// A guest may be an older build of ringd, which is kept to restore snapshots of its engine. A guest rejects a field
// that it does not know, so a new field needs a new executors.ProtocolVersion. Ring and Fill are omitted if they are
// false, so that an older build works outside of a kernel ring. Inside of a kernel ring an older build cannot seal
// itself and is rejected.
package jsproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Settings are the first data that a guest process gets.
type Settings struct {
	CacheDir string `json:"cacheDir"` // compiled code; if empty, the process compiles
	// Ring says that the process runs in a guest of the kernel ring. It seals itself with the filter that comes
	// on Control, and CacheDir is read-only. If something is missing there, the process is Unavailable with the
	// text Cold.
	Ring bool `json:"ring,omitempty"`
	// Fill says that the process fills CacheDir and ends. It runs no program.
	Fill bool `json:"fill,omitempty"`
}

// Cold is the reason of a guest that is unavailable because it would have to compile the engine first.
const Cold = "the compile cache does not hold the engine"

// Options is one run without its source text.
type Options struct {
	File     string                     `json:"file"`     // name that frames show
	Language string                     `json:"language"` // js or ts
	Bridges  []string                   `json:"bridges"`
	Inputs   map[string]json.RawMessage `json:"inputs"`
	Seed     [32]byte                   `json:"seed"`

	// Imports is the agent's import profile, so that a denial names its rule. Modules holds only modules that
	// the profile allows.
	Imports     profiles.Imports           `json:"imports"`
	Modules     map[string]profiles.Module `json:"modules"`
	Revision    string                     `json:"revision"`
	DenyGlobals []string                   `json:"denyGlobals"`

	CPU         time.Duration `json:"cpu"`
	Wall        time.Duration `json:"wall"`
	MemoryBytes int64         `json:"memoryBytes"`
	StackBytes  int64         `json:"stackBytes"`
	OutputBytes int64         `json:"outputBytes"`
	ResultBytes int64         `json:"resultBytes"`

	// UsedCPU and UsedWall were used by the parts of the run before this one. CPU and Wall are limits of the
	// whole run.
	UsedCPU  time.Duration `json:"usedCPU"`
	UsedWall time.Duration `json:"usedWall"`
	Keep     bool          `json:"keep"`  // send the state after a clean end
	Ended    bool          `json:"ended"` // the snapshot is of an ended program: start the source in it
}

// Languages of Options.
const (
	JavaScript = "js"
	TypeScript = "ts"
)

// Check returns an error if the options cannot be run.
func (o Options) Check() error {
	switch {
	case o.Language != JavaScript && o.Language != TypeScript:
		return fmt.Errorf("language %q", o.Language)
	case o.CPU <= 0, o.Wall <= 0, o.MemoryBytes <= 0, o.StackBytes <= 0, o.OutputBytes < 0, o.ResultBytes <= 0:
		return errors.New("a limit is missing")
	case o.UsedCPU < 0, o.UsedWall < 0:
		return errors.New("a used figure is negative")
	}
	return nil
}
