package modules

import "strings"

// Standard reports whether a module, or the package it stands in, is part of
// Python's standard library. Everything else is third-party.
func Standard(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	return holds(standard, top) || strings.HasPrefix(top, "_sysconfigdata_") // named for the platform
}

// Never reports whether nobody in a guest may load a module.
func Never(module string) bool { return covers(never, module) }

// Outside reports whether a module of the standard library is not in the default set.
func Outside(module string) bool { return covers(outside, module) }

// PythonDefault reports whether a module belongs to the default set of the Python
// executor: the standard library of CPython 3.10 to 3.14 without what reaches
// outside of the process or steps round the import guard.
func PythonDefault(module string) bool { return Standard(module) && !Outside(module) }

// Own reports whether a module is there for every program, unless it is denied:
// the program itself, which a pickle of its classes names, what the compiler reads,
// and the door to the host.
func Own(module string) bool {
	switch top, _, _ := strings.Cut(module, "."); top {
	case "__future__", "__main__", "ringd":
		return true
	default:
		return false
	}
}

// OwnNames lists what Own reports.
func OwnNames() []string { return []string{"__future__", "__main__", "ringd"} }

// DefaultNames lists the top-level names of the default set, sorted, and the
// submodules of those that are not in it.
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

// OutsideNames lists what of the standard library is not in the default set, sorted.
func OutsideNames() []string { return strings.Fields(outside) }

// NeverNames lists what nobody may load, sorted.
func NeverNames() []string { return strings.Fields(never) }

// StandardNames lists the top-level names of the standard library, sorted.
func StandardNames() []string { return strings.Fields(standard) }

// covers reports whether a table holds a module or a package that it stands in.
func covers(table, module string) bool {
	for {
		if holds(table, module) {
			return true
		}
		dot := strings.LastIndexByte(module, '.')
		if dot < 0 {
			return false
		}
		module = module[:dot]
	}
}

// holds looks a word up in sorted words with a space behind each.
func holds(table, word string) bool {
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
