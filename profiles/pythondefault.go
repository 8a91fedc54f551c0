package profiles

import "strings"

// pythonDefault reports whether a module belongs to the default set of the
// Python executor: the standard library of CPython 3.11 to 3.14 without what
// reaches outside the process or steps round the import guard. Modules whose
// name starts with an underscore are private and not in it.
func pythonDefault(module string) bool {
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
