package modules

import (
	"slices"
	"strings"
)

// Index answers for the import lists of one executor. D is what its user keeps for
// an entry. It is made once, and then read by anybody; the zero Index refuses.
type Index[D any] struct {
	// JavaScript says that names are specifiers: an allowed one is allowed exactly as
	// listed, and a denied one covers its sub-paths.
	JavaScript bool
	Defaults   bool     // Python: the default set is allowed
	Any        bool     // Python: whatever nothing denies is allowed
	Only       []string // Python: takes away from the program what it does not cover; nil: nothing

	Allow, Deny, Absent map[string]D
	Everybody           map[string]D // denied to libraries too

	names    []string // of Allow, sorted
	packages bool     // one of them is third-party
}

// Kind says what decided a name. The zero Kind refuses.
type Kind uint8

// The kinds. Those up to Missing refuse.
const (
	Unlisted  Kind = iota // nothing allows it
	Private               // nobody may load it, whatever a policy says
	Denied                // an entry of Everybody or Deny
	Beyond                // the standard library outside of the default set
	TakenAway             // what Only does not cover
	Missing               // an entry of Absent

	Listed     // an entry of Allow
	InDefault  // the default set
	Whatever   // Any
	Owned      // what every program has
	Dependency // a library may load it
)

// Answer is what decides one name. Entry and D are those of the list, for Denied,
// Missing and Listed.
type Answer[D any] struct {
	Kind  Kind
	Entry string
	D     D
}

// Put adds an entry to one of the lists; the first of a name counts.
func Put[D any](list *map[string]D, name string, d D) {
	if *list == nil {
		*list = map[string]D{}
	}
	if _, there := (*list)[name]; !there {
		(*list)[name] = d
	}
}

// Ready is called once, after the last entry.
func (x *Index[D]) Ready() {
	for name := range x.Allow {
		x.names = append(x.names, name)
		x.packages = x.packages || !Standard(name) && !Own(name)
	}
	slices.Sort(x.names)
}

// Names lists what is allowed, sorted. The caller does not write to it.
func (x *Index[D]) Names() []string { return x.names }

// Below reports whether an allowed name stands below a module.
func (x *Index[D]) Below(module string) bool {
	return slices.ContainsFunc(x.names, func(n string) bool { return strings.HasPrefix(n, module+".") })
}

// Program decides what the program itself loads.
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

// Library decides what code of a Python library loads by itself. A denial of the
// standard library is for the program: pandas needs ctypes, and asyncio sockets.
// What third-party packages there are is the environment's to say.
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

// closest is the entry for a name, or for the nearest name that covers it.
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
