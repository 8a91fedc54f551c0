package modules

import "strings"

// Standard reports whether a module, or the package that contains it, is in Python's standard library. All
// other modules are third-party.
func Standard(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	// this module's name ends with the platform
	return hasWord(standard, top) || strings.HasPrefix(top, "_sysconfigdata_")
}

// Never reports whether no guest may load a module.
func Never(module string) bool { return coversModule(never, module) }

// Outside reports whether a module of the standard library is not in the default set.
func Outside(module string) bool { return coversModule(outside, module) }

// PythonDefault reports whether a module is in the default set of the Python executor: the standard library
// of CPython 3.10 to 3.14 without the modules that reach outside the process or bypass the import guard.
func PythonDefault(module string) bool { return Standard(module) && !Outside(module) }

// Own reports whether a module is available to every program unless it is denied: the program itself (a
// pickle of its classes names it), __future__, which the compiler reads, and ringd, the bridge to the host.
func Own(module string) bool {
	switch top, _, _ := strings.Cut(module, "."); top {
	case "__future__", "__main__", "ringd":
		return true
	default:
		return false
	}
}

// OwnNames lists the names for which Own is true.
func OwnNames() []string { return []string{"__future__", "__main__", "ringd"} }

// DefaultNames lists the top-level names of the default set, sorted, and the submodules of them that are
// excluded.
func DefaultNames() (names, without []string) {
	for name := range strings.FieldsSeq(standard) {
		if !Outside(name) {
			names = append(names, name)
		}
	}
	for name := range strings.FieldsSeq(outside) {
		if top, _, sub := strings.Cut(name, "."); sub && !Outside(top) {
			without = append(without, name)
		}
	}
	return names, without
}

// OutsideNames lists the standard library modules that are not in the default set, sorted.
func OutsideNames() []string { return strings.Fields(outside) }

// NeverNames lists the modules that no guest may load, sorted.
func NeverNames() []string { return strings.Fields(never) }

// StandardNames lists the top-level names of the standard library, sorted.
func StandardNames() []string { return strings.Fields(standard) }

// coversModule reports whether a table has the module or a package that contains it.
func coversModule(table, module string) bool {
	for {
		if hasWord(table, module) {
			return true
		}
		dot := strings.LastIndexByte(module, '.')
		if dot < 0 {
			return false
		}
		module = module[:dot]
	}
}

// hasWord looks up a word in a table of sorted words, each followed by a space.
func hasWord(table, word string) bool {
	for table != "" {
		start := strings.LastIndexByte(table[:len(table)/2], ' ') + 1
		end := start + strings.IndexByte(table[start:], ' ')
		switch middle := table[start:end]; {
		case word == middle:
			return true
		case word < middle:
			table = table[:start]
		default:
			table = table[end+1:]
		}
	}
	return false
}
