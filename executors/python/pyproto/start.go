// Package pyproto is the protocol between the two halves of the Python executor on top of the guest protocol.
// The guest's half is Python (package pyguest), so every type here is JSON that it can read without a library.
// The package runs nothing.
package pyproto

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
)

// Settings are sent to an interpreter before any program: the folders of its modules, and the modules to load
// in advance.
type Settings struct {
	// Sites are folders of packages, added after the standard library on sys.path.
	Sites []string `json:"sites"`
	// Preload names modules that are imported before the interpreter reports that it is ready. A module that
	// cannot be imported is skipped: a program that imports it gets the error.
	Preload []string `json:"preload"`
}

// Hello is the content of executors.Hello.Settings: the length of the settings (4 bytes, big endian), the
// settings, and the guest's own code in the format of `marshal` of this interpreter. Source text would cost
// each start 8 ms.
func Hello(s Settings, code []byte) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("greet an interpreter: %w", err)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)+len(code)), uint32(len(text)))
	return append(append(b, text...), code...), nil
}

// Options is one run without its source text.
type Options struct {
	File    string   `json:"file"` // name that frames show
	Profile *Profile `json:"profile"`
	// Inputs are tagged values by name: ringd.inputs.
	Inputs map[string]json.RawMessage `json:"inputs"`
	// Bridges are the names that ringd.tools lists. The host decides each call in any case, of any name.
	Bridges     []string `json:"bridges"`
	Dir         string   `json:"dir"`         // working directory, HOME and TMPDIR; if empty, executors.Workspace
	Env         []string `json:"env"`         // NAME=value
	Stdin       bool     `json:"stdin"`       // standard input is not empty
	Session     bool     `json:"session"`     // names stay for the next run of this guest
	Denials     int      `json:"denials"`     // max. number that a Result lists; further ones are counted
	ResultBytes int64    `json:"resultBytes"` // of the value
	// Unguarded leaves out import guard and audit hook. Tests show by it what the kernel ring enforces alone.
	// No policy can ask for it.
	Unguarded bool `json:"unguarded"`
}

// Profile is the data by which the guard of a guest decides. It is also the content of executors.Update. The
// kernel ring is the boundary; the guard denies first, and says what and why. A name covers itself and, after a
// dot, its submodules. Nobody takes precedence over Deny, Deny over Allow, Allow over the default set.
type Profile struct {
	Revision string `json:"revision"`
	Allow    []Name `json:"allow"` // modules that the program itself may import, including ringd and __main__
	Deny     []Name `json:"deny"`  // modules that it may not import
	Nobody   []Name `json:"nobody"`
	Any      bool   `json:"any"` // it may import all modules that are not denied
	// Default says that Standard, without Outside, is allowed too: the part of the standard library that does
	// not reach outside of the process. A top-level name that begins with _sysconfigdata_ counts as one of
	// Standard: it names a platform.
	Default  bool     `json:"default"`
	Standard []string `json:"standard"` // top-level names
	Outside  []string `json:"outside"`  // submodules of those
	Only     []string `json:"only"`     // if null, it restricts nothing
	// Library lists the top-level names of packages that libraries may load in addition to the standard
	// library. If null, they may load all that they find.
	Library []string `json:"library"`
	// Builtins are names that are removed for the program.
	Builtins []Name `json:"builtins"`
	// EndOnDenied ends a session if a module that it has loaded is denied later.
	EndOnDenied bool `json:"endOnDenied"`

	Read    []string `json:"read"`    // folders and files that may be opened
	Write   []string `json:"write"`   // and may be written
	Network string   `json:"network"` // profiles.NetworkOff, NetworkOwn
	// Reach are the addresses that a program may use directly if Network is NetworkOwn: the addresses that the
	// policy lists, loopback, and the addresses that represent names in a guest. With this list the guard can
	// deny an address at once. The decision about a connection is that of the egress ring.
	Reach  []span `json:"reach"`
	Advice string `json:"advice"` // appended to a denied import: the allowed modules
	// file:line:column of Allow, which denies names that are in no list; empty if there is none
	Rule string `json:"rule"`
}

// span is a range of addresses: the bytes of its first and last, in lower-case hex, of
// one family.
type span struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Name is one entry of an import list.
type Name struct {
	Name string `json:"name"`
	Rule string `json:"rule"` // file:line:column of the rule; empty for a rule of ringd's own
	Why  string `json:"why"`  // replaces "denied by policy"; may be empty
}

// A denied import is in End.Denials as the decision that profiles.Decider.Import would return, with
// Evidence.Argv naming only the module. The audit log records it under import:NAME.

// Report is the content of executors.Updated.
type Report struct {
	// Loaded are modules that the program has loaded and may no longer import.
	Loaded []string `json:"loaded"`
	// Ends says that the session ends because of that: see Profile.EndOnDenied.
	Ends bool `json:"ends"`
}

// maxLoaded limits a report.
const maxLoaded = 256

// DecodeReport decodes a report of a guest, which is not trusted.
func DecodeReport(b []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		return Report{}, fmt.Errorf("report of an update: %w", err)
	}
	if len(r.Loaded) > maxLoaded || slices.ContainsFunc(r.Loaded, func(n string) bool { return len(n) > 255 }) {
		return Report{}, errors.New("report of an update: too long")
	}
	return r, nil
}

// Check returns an error if the options cannot be run.
func (o Options) Check() error {
	switch {
	case o.Profile == nil:
		return errors.New("there is no profile")
	case o.ResultBytes <= 0:
		return errors.New("a limit is missing")
	case o.Profile.Network != profiles.NetworkOff && o.Profile.Network != profiles.NetworkOwn:
		return fmt.Errorf("unknown network %q", o.Profile.Network)
	}
	for _, roots := range [][]string{o.Profile.Read, o.Profile.Write} {
		if slices.ContainsFunc(roots, func(p string) bool { return p == "" || p[0] != '/' }) {
			return errors.New("a folder of the profile is not absolute")
		}
	}
	return nil
}
