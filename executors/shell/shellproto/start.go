// Package shellproto is the protocol between the two halves of the shell executor on top of the guest protocol:
// how a script is started, the saved state of a script, and the text of a denial.
//
// It decodes strictly, limits its input, and runs nothing.
package shellproto

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Engine names the version of the code that reads and runs scripts. A state from another version is rejected.
const Engine = "shell/1"

// Folders of a guest in addition to executors.Programs and executors.Workspace.
const (
	Home = "/tmp/home" // made by the guest, empty

)

// Options is one run without its source text.
type Options struct {
	File     string         `json:"file"`  // name that messages show
	Agent    profiles.Agent `json:"agent"` // the part of the profile that applies to scripts: see Profile
	Revision string         `json:"revision"`

	Workspace string   `json:"workspace"` // value of $WORKSPACE in the profile, or empty
	Home      string   `json:"home"`      // value of ~ there
	Dir       string   `json:"dir"`       // where the script starts; if empty, the profile decides
	Env       []string `json:"env"`       // NAME=value, in addition to the variables that every script has
	Stdin     bool     `json:"stdin"`     // standard input is not empty
	Seed      [32]byte `json:"seed"`      // of $RANDOM

	CPU      time.Duration `json:"cpu"`
	Wall     time.Duration `json:"wall"`
	Memory   int64         `json:"memory"`   // of variables and words together
	Programs int64         `json:"programs"` // max. number of starts
	AtOnce   int64         `json:"atOnce"`   // max. number of programs at once
	Keep     bool          `json:"keep"`     // send the state after a clean end
	Ended    bool          `json:"ended"`    // the snapshot is of an ended script: start the source in it
}

// Profile is the part of an agent's profile that applies to scripts.
func Profile(a profiles.Agent) profiles.Agent {
	return profiles.Agent{
		Name: a.Name, Policy: a.Policy, MinTier: a.MinTier, Shell: a.Shell, Files: a.Files, Limits: a.Limits,
		Audit: a.Audit, Rule: a.Rule, ExecutorsRule: a.ExecutorsRule, Exceptions: a.Exceptions,
		Bridges: map[string]profiles.Bridge{},
	}
}

// Check returns an error if the options cannot be run.
func (o Options) Check() error {
	switch {
	case o.Agent.Shell == nil:
		return errors.New("the agent has no shell")
	case o.CPU <= 0, o.Wall <= 0, o.Memory <= 0, o.Programs <= 0, o.AtOnce <= 0:
		return errors.New("a limit is missing")
	case o.Dir != "" && !CleanPath(o.Dir):
		return fmt.Errorf("the folder %q is not an absolute path without \"..\"", o.Dir)
	}
	for _, e := range o.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || !ValidName(name) || strings.IndexByte(e, 0) >= 0 {
			return fmt.Errorf("%q is not a variable with its value", name)
		}
	}
	return nil
}

// Places lists the folders in which a script starts if it names none. The first folder of the list that exists is
// used. The folders that the script may write come first, then those that it may read, then its private folder.
func (o Options) Places() (all []string) {
	for _, rule := range slices.Concat(o.Agent.Files.Write, o.Agent.Files.Read) {
		p := rule.Path
		for _, place := range []struct{ name, at string }{{"$WORKSPACE", o.Workspace}, {"~", o.Home}} {
			if p == place.name || strings.HasPrefix(p, place.name+"/") {
				if place.at == "" { // a folder that this host does not have
					p = ""
					break
				}
				p = path.Join(place.at, strings.TrimPrefix(p, place.name))
			}
		}
		if CleanPath(p) {
			all = append(all, p)
		}
	}
	return append(all, executors.Workspace)
}

// maxPath is the longest path a system opens, including its closing NUL.
const maxPath = 4096

// CleanPath reports whether p is an absolute path in canonical form.
func CleanPath(p string) bool {
	return len(p) < maxPath && path.IsAbs(p) && path.Clean(p) == p && strings.IndexByte(p, 0) < 0 && utf8.ValidString(p)
}

// ValidName reports whether s can be the name of a variable.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
