// Package pyproto is what the two halves of the Python executor tell each other
// beside the guest protocol. The guest's half is Python (package pyguest), so every
// shape here is JSON that it reads without a library. It runs nothing.
package pyproto

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ringd/ringd/profiles"
)

// Settings is what an interpreter is greeted with, before any program: where its
// modules lie and which of them it loads ahead.
type Settings struct {
	// Sites are folders of packages, put behind the standard library on sys.path.
	Sites []string `json:"sites"`
	// Preload names modules that are imported before the interpreter says it is ready.
	// One that cannot be imported is skipped: the program that wants it is told.
	Preload []string `json:"preload"`
}

// Hello is the text of executors.Hello.Settings: the length of the settings (4 bytes,
// big endian), the settings, and the guest's own code as `marshal` writes it for this
// interpreter. Source text would cost each start 8 ms.
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
	File    string   `json:"file"` // what frames show
	Profile *Profile `json:"profile"`
	// Inputs are tagged values by name: ringd.inputs.
	Inputs map[string]json.RawMessage `json:"inputs"`
	// Bridges are the names that ringd.tools lists. The host decides each call all the
	// same, of any name.
	Bridges     []string `json:"bridges"`
	Dir         string   `json:"dir"`         // working directory, HOME and TMPDIR; "": executors.Workspace
	Env         []string `json:"env"`         // NAME=value
	Stdin       bool     `json:"stdin"`       // standard input is more than its end
	Session     bool     `json:"session"`     // names stay for the next run of this guest
	Denials     int      `json:"denials"`     // most that a Result lists; the rest are counted
	ResultBytes int64    `json:"resultBytes"` // of the value
	// Unguarded leaves out import guard and audit hook: tests show by it what the kernel
	// ring holds alone. No policy can ask for it.
	Unguarded bool `json:"unguarded"`
}

// Profile is what the guard of a guest decides by: the text of executors.Update too.
// The kernel ring is the boundary; this is the first refusal, which says what and why.
// A name covers itself and, behind a dot, its submodules. Nobody wins over Deny, Deny
// over Allow, Allow over the default set.
type Profile struct {
	Revision string `json:"revision"`
	Allow    []Name `json:"allow"` // what the program itself may import, ringd and __main__ among it
	Deny     []Name `json:"deny"`  // what it may not
	Nobody   []Name `json:"nobody"`
	Any      bool   `json:"any"` // it may import whatever nothing denies
	// Default says that Standard, without Outside, is allowed too: the part of the
	// standard library that does not reach outside of the process. A top-level name
	// that begins with _sysconfigdata_ counts as one of Standard: it names a platform.
	Default  bool     `json:"default"`
	Standard []string `json:"standard"` // top-level names
	Outside  []string `json:"outside"`  // submodules of those
	Only     []string `json:"only"`     // null: takes nothing away from the program
	// Library lists the top-level names of packages that libraries may load beside the
	// standard library; null: all that they find.
	Library []string `json:"library"`
	// Builtins are names that the program does not have.
	Builtins []Name `json:"builtins"`
	// EndOnDenied has a session end when something it has loaded is denied later.
	EndOnDenied bool `json:"endOnDenied"`

	Read    []string `json:"read"`    // folders and files that may be opened
	Write   []string `json:"write"`   // and written to
	Network string   `json:"network"` // profiles.NetworkOff, NetworkOwn
	// Reach are the addresses that may be named as such where Network is NetworkOwn: what
	// the policy lists, loopback, and those that stand for names in a guest. The egress
	// ring decides; this tells a program at once.
	Reach  []span `json:"reach"`
	Advice string `json:"advice"` // ends a refused import: what is allowed instead
	Rule   string `json:"rule"`   // file:line:column where Allow stands, which refuses what is in no list; "": none
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
	Rule string `json:"rule"` // file:line:column where it stands; "" is a rule of ringd's own
	Why  string `json:"why"`  // instead of "denied by policy"; "" is that
}

// A refused import stands among End.Denials as the decision of profiles.Decider.Import
// would be, with Evidence.Argv naming the module, and nothing else: that is what the
// audit log records it under, import:NAME.

// Report is the text of executors.Updated.
type Report struct {
	// Loaded are modules that the program may not import any more and has loaded.
	Loaded []string `json:"loaded"`
	// Ends says that the session ends by it: see Profile.EndOnDenied.
	Ends bool `json:"ends"`
}

// maxLoaded bounds a report.
const maxLoaded = 256

// DecodeReport reads a report of a guest, which nobody trusts.
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

// Check tells what of the options cannot be run.
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
