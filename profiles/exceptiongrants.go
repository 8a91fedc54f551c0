package profiles

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/modules"
)

// Excepted lists what an exception grants, as its author wrote it. Hosts have their ports.
type Excepted struct {
	Imports  []string `json:"imports,omitempty"`
	Egress   []string `json:"egress,omitempty"`
	Binaries []string `json:"binaries,omitempty"`
}

// Module reports whether the exception grants a module. In Python a name covers its submodules.
func (g *Excepted) Module(python bool, module string) bool {
	for _, name := range g.Imports {
		if name == module || python && modules.Covered(module, []string{name}) {
			return true
		}
	}
	return false
}

// Program reports whether the exception grants the program named by the first word of a command.
func (g *Excepted) Program(word string) bool {
	for _, p := range g.Binaries {
		if p == word || path.Base(p) == word {
			return true
		}
	}
	return false
}

// Host reports whether the exception grants a host on some port.
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
