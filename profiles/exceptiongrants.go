// This file owns what an exception grants, by name, and which actions are
// meant by it. It is pure.

package profiles

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/modules"
)

// Grants is what an exception grants, as its author wrote it; hosts with their
// ports.
type Excepted struct {
	Imports  []string `json:"imports,omitempty"`
	Egress   []string `json:"egress,omitempty"`
	Binaries []string `json:"binaries,omitempty"`
}

// Module reports whether a module is meant: in Python its submodules are, too.
func (g *Excepted) Module(python bool, module string) bool {
	for _, name := range g.Imports {
		if name == module || python && modules.Covered(module, []string{name}) {
			return true
		}
	}
	return false
}

// Program reports whether the first word of a command means a program.
func (g *Excepted) Program(word string) bool {
	for _, p := range g.Binaries {
		if p == word || path.Base(p) == word {
			return true
		}
	}
	return false
}

// Host reports whether a host is meant, on some port.
func (g *Excepted) Host(host string) bool {
	asked, err := egress.ReadPattern(host)
	if err != nil {
		return false
	}
	for _, entry := range g.Egress {
		if i := strings.LastIndexByte(entry, ':'); i > 0 {
			entry = strings.Trim(entry[:i], "[]")
		}
		if p, err := egress.ReadPattern(entry); err == nil && p.Covers(asked) {
			return true
		}
	}
	return false
}
