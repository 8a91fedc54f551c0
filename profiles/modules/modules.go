// Package modules owns what names of modules mean: which are names at all, which
// cover others, and the default set of the Python executor. It is pure; package
// profiles asks it.
package modules

import (
	"slices"
	"strings"
)

// Specifier reports whether name is a JavaScript module that no loader reads as
// another one: a loader may clean a path.
func Specifier(name string) bool {
	if name == "" || len(name) > 255 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '\\' || c == '%' || c == '?' || c == '#' {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// Dotted reports whether name is ASCII identifiers joined by dots. Python folds
// other identifiers together, so they are no names here.
func Dotted(name string) bool {
	start := true
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			start = false
		case '0' <= c && c <= '9' && !start:
		case c == '.' && !start:
			start = true
		default:
			return false
		}
	}
	return !start
}

// Within gives the module names that both lists cover, a name covering its
// submodules: a set without a name that another covers, sorted. A nil list
// covers everything; the result is never nil.
func Within(only, names []string) []string {
	more := make([]string, 0, len(names))
	for _, n := range names {
		if n = strings.TrimSuffix(n, ".*"); only == nil || Covered(n, only) {
			more = append(more, n)
		}
	}
	for _, o := range only {
		if Covered(o, names) {
			more = append(more, o)
		}
	}
	slices.Sort(more)
	more = slices.Compact(more)
	least := make([]string, 0, len(more))
	for i, n := range more {
		if !Covered(n, more[:i]) { // what covers n is shorter, and sorts before it
			least = append(least, n)
		}
	}
	return least
}

// Covered reports whether name is one of the names or a submodule of one.
func Covered(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		n = strings.TrimSuffix(n, ".*")
		return name == n || strings.HasPrefix(name, n) && name[len(n)] == '.'
	})
}

// PythonDefault reports whether a module belongs to the default set of the
// Python executor: the standard library of CPython 3.11 to 3.14 without what
// reaches outside the process or steps round the import guard. Modules whose
// name starts with an underscore are private and not in it.
func PythonDefault(module string) bool {
	switch module {
	case "http.client", "http.server", "urllib.request", "urllib.robotparser", "asyncio.subprocess",
		"asyncio.unix_events", "asyncio.windows_events", "concurrent.futures.process", "concurrent.interpreters":
		return false
	}
	for part := range strings.SplitSeq(module, ".") {
		if strings.HasPrefix(part, "_") && module != "__future__" {
			return false
		}
	}
	top, _, _ := strings.Cut(module, ".")
	switch top {
	case "__future__", "abc", "argparse", "array", "ast", "asyncio", "atexit", "base64", "binascii", "bisect",
		"builtins", "bz2", "calendar", "cmath", "codecs", "collections", "colorsys", "compression", "concurrent",
		"configparser", "contextlib", "contextvars", "copy", "copyreg", "csv", "dataclasses", "datetime", "decimal",
		"difflib", "dis", "doctest", "email", "encodings", "enum", "errno", "filecmp", "fileinput", "fnmatch",
		"fractions", "functools", "gc", "genericpath", "getopt", "gettext", "glob", "graphlib", "gzip", "hashlib",
		"heapq", "hmac", "html", "http", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword",
		"linecache", "locale", "logging", "lzma", "mailbox", "math", "mimetypes", "netrc", "ntpath", "numbers",
		"opcode", "operator", "optparse", "os", "pathlib", "pickle", "pickletools", "pkgutil", "platform", "plistlib",
		"posixpath", "pprint", "pyclbr", "pydoc", "queue", "quopri", "random", "re", "reprlib", "sched", "secrets",
		"select", "selectors", "shelve", "shlex", "shutil", "signal", "sqlite3", "stat", "statistics", "string",
		"stringprep", "struct", "symtable", "sys", "sysconfig", "tabnanny", "tarfile", "tempfile", "textwrap",
		"this", "threading", "time", "timeit", "token", "tokenize", "tomllib", "traceback", "tracemalloc", "types",
		"typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "wave", "weakref", "xml", "zipapp",
		"zipfile", "zlib", "zoneinfo":
		return true
	default:
		return false
	}
}
