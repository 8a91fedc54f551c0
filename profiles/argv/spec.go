package argv

import "strings"

// The options of a program are one line of entries with a blank between them. An
// entry is the names of one option, joined by "|"; a name of one letter is a short
// one. Then "=" when it takes a value, "?" when it takes one in the same word only,
// ";" when it takes words up to ";" or "+". Then ">a,b" with what it implies, or
// "~a,b" with what it is the same as.

// find gives the entry of an option; "" when there is none.
func find(spec, name string) string {
	if name == "" {
		return ""
	}
	for at := 0; ; {
		i := strings.Index(spec[at:], name)
		if i < 0 {
			return ""
		}
		i += at
		end := i + len(name)
		if (i == 0 || spec[i-1] == ' ' || spec[i-1] == '|') && (end == len(spec) || strings.IndexByte(" |=?;>~", spec[end]) >= 0) {
			return entryAt(spec, i, end)
		}
		at = i + 1
	}
}

// entryAt is the entry around spec[i:end].
func entryAt(spec string, i, end int) string {
	start := strings.LastIndexByte(spec[:i], ' ') + 1
	if n := strings.IndexByte(spec[end:], ' '); n >= 0 {
		return spec[start : end+n]
	}
	return spec[start:]
}

// kind is '=', '?' or ';', and 0 for an option without a value.
func kind(entry string) byte {
	names := names(entry)
	if len(names) < len(entry) {
		if c := entry[len(names)]; c == '=' || c == '?' || c == ';' {
			return c
		}
	}
	return 0
}

// names is the part of an entry with its names.
func names(entry string) string {
	for i := range len(entry) {
		switch entry[i] {
		case '=', '?', ';', '>', '~':
			return entry[:i]
		}
	}
	return entry
}

// means reports whether name is one of an entry's names.
func means(entry, name string) bool {
	if entry == "" || name == "" {
		return false
	}
	all := names(entry)
	for {
		one, rest, more := strings.Cut(all, "|")
		if one == name {
			return true
		}
		if !more {
			return false
		}
		all = rest
	}
}

// begins reports whether a long name of an entry begins with part.
func begins(entry, part string) bool {
	if entry == "" || part == "" {
		return false
	}
	all := names(entry)
	for {
		one, rest, more := strings.Cut(all, "|")
		if len(one) > 1 && strings.HasPrefix(one, part) {
			return true
		}
		if !more {
			return false
		}
		all = rest
	}
}

// abbreviates reports whether part begins a long name of the line.
func abbreviates(spec, part string) bool {
	return anyAbbreviated(spec, part, func(string) bool { return true })
}

// takesValue reports whether part may abbreviate an option with a value.
func takesValue(spec, part string) bool {
	return anyAbbreviated(spec, part, func(entry string) bool { return kind(entry) == '=' })
}

// anyAbbreviated reports whether ok holds for an entry that part abbreviates.
func anyAbbreviated(spec, part string, ok func(entry string) bool) bool {
	for at := 0; part != ""; {
		i := strings.Index(spec[at:], part)
		if i < 0 {
			return false
		}
		i += at
		if i == 0 || spec[i-1] == ' ' || spec[i-1] == '|' {
			end := i + len(part)
			if one := i + len(names(spec[i:])); one > i+1 && end <= len(spec) && ok(entryAt(spec, i, end)) {
				return true
			}
		}
		at = i + 1
	}
	return false
}
