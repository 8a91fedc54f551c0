package modules

import (
	"slices"
	"strings"
)

// Index decides names of modules by the import lists of one executor. D is the caller's data of an entry. It
// is built once and is then safe for concurrent reads. The zero Index denies everything.
type Index[D any] struct {
	// JavaScript selects the rules for specifiers: an allowed one matches exactly, and a denied one covers
	// its sub-paths.
	JavaScript bool
	Defaults   bool     // Python: the default set is allowed
	Any        bool     // Python: every name that is not denied is allowed
	Only       []string // Python: the program gets only names that Only covers; nil is no restriction

	Allow, Deny, Absent map[string]D
	Everybody           map[string]D // denied to libraries too

	names    []string // of Allow, sorted
	packages bool     // a name in Allow is third-party
}

// Kind is the reason of a decision. The zero Kind denies.
type Kind uint8

// The kinds. Those up to Missing deny.
const (
	Unlisted  Kind = iota // no list allows it
	Private               // no guest may load it, under any policy
	Denied                // an entry of Everybody or Deny
	Beyond                // standard library, but not in the default set
	TakenAway             // not covered by Only
	Missing               // an entry of Absent

	Listed     // an entry of Allow
	InDefault  // in the default set
	Whatever   // allowed by Any
	Owned      // available to every program
	Dependency // allowed for libraries only
)

// Answer is the decision on one name. Entry and D are those of the matching list entry, set for Denied,
// Missing and Listed.
type Answer[D any] struct {
	Kind  Kind
	Entry string
	D     D
}

// Put adds an entry to a list. The first entry of a name wins.
func Put[D any](list *map[string]D, name string, d D) {
	if *list == nil {
		*list = map[string]D{}
	}
	if _, there := (*list)[name]; !there {
		(*list)[name] = d
	}
}

// Ready must be called once, after the last entry was added.
func (x *Index[D]) Ready() {
	for name := range x.Allow {
		x.names = append(x.names, name)
		x.packages = x.packages || !Standard(name) && !Own(name)
	}
	slices.Sort(x.names)
}

// Names returns the allowed names, sorted. The caller must not modify it.
func (x *Index[D]) Names() []string { return x.names }

// Below reports whether a submodule of module is allowed.
func (x *Index[D]) Below(module string) bool {
	return slices.ContainsFunc(x.names, func(n string) bool { return strings.HasPrefix(n, module+".") })
}

// Program decides whether the program itself may load a module.
func (x *Index[D]) Program(module string) Answer[D] {
	covers := byte('.')
	if x.JavaScript {
		covers = '/'
	}
	own := !x.JavaScript && Own(module)
	switch {
	case !x.JavaScript && Never(module):
		return Answer[D]{Kind: Private}
	case x.Only != nil && !own && !Covered(module, x.Only):
		return Answer[D]{Kind: TakenAway}
	}
	for _, denied := range []map[string]D{x.Everybody, x.Deny} {
		if a, ok := closest(denied, module, covers, Denied); ok {
			return a
		}
	}
	if x.JavaScript {
		if d, ok := x.Allow[module]; ok {
			return Answer[D]{Listed, module, d}
		}
	} else if a, ok := closest(x.Allow, module, covers, Listed); ok {
		return a
	}
	switch {
	case own:
		return Answer[D]{Kind: Owned}
	case x.Any:
		return Answer[D]{Kind: Whatever}
	case x.Defaults && PythonDefault(module):
		return Answer[D]{Kind: InDefault}
	}
	if d, ok := x.Absent[module]; ok {
		return Answer[D]{Missing, module, d}
	}
	if x.Defaults && Standard(module) {
		return Answer[D]{Kind: Beyond}
	}
	return Answer[D]{}
}

// Library decides whether code of a Python library may load a module. Denials of standard library modules
// apply to the program only: pandas needs ctypes, and asyncio needs sockets. The environment decides which
// third-party packages exist.
func (x *Index[D]) Library(module string) Answer[D] {
	if x.JavaScript {
		return Answer[D]{}
	}
	if Never(module) {
		return Answer[D]{Kind: Private}
	}
	if a, ok := closest(x.Everybody, module, '.', Denied); ok {
		return a
	}
	if !Standard(module) {
		if a, ok := closest(x.Deny, module, '.', Denied); ok {
			return a
		}
		if a, ok := closest(x.Allow, module, '.', Listed); ok {
			return a
		}
		if !x.Any && !x.packages && !Own(module) {
			return Answer[D]{}
		}
	}
	return Answer[D]{Kind: Dependency}
}

// closest returns the entry for a name, or for its nearest covering name.
func closest[D any](list map[string]D, name string, covers byte, kind Kind) (Answer[D], bool) {
	for entry := name; len(list) > 0 && entry != ""; {
		if d, ok := list[entry]; ok {
			return Answer[D]{kind, entry, d}, true
		}
		i := strings.LastIndexByte(entry, covers)
		if i < 0 {
			break
		}
		entry = entry[:i]
	}
	return Answer[D]{}, false
}
