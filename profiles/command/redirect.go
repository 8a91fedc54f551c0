package command

import (
	"path"
	"strings"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/paths"
)

// redirectKind is the kind of target of a redirect. The zero value must be denied.
type redirectKind uint8

// The kinds.
const (
	RedirectRefused   redirectKind = iota // Reason says why
	RedirectMalformed                     // an invalid mode
	RedirectUnsettled                     // the name is known only in part: the final one decides
	RedirectDevice                        // a device that stores nothing and reveals nothing
	RedirectFile
)

// RedirectTarget is the target of a redirect.
type RedirectTarget struct {
	Kind          redirectKind
	Path          string // of a File: absolute and clean
	Reason        string
	Reads, Writes bool
}

// ReadRedirect parses a redirect. op is read, write, append or readwrite. A relative name is below cwd. Links
// are not followed and grants are not checked: package profiles decides on the file.
func ReadRedirect(op string, name argv.Word, cwd string) RedirectTarget {
	t := RedirectTarget{
		Reads:  op == "read" || op == "readwrite",
		Writes: op == "write" || op == "append" || op == "readwrite",
	}
	switch p := name.Text; {
	case !t.Reads && !t.Writes:
		t.Kind = RedirectMalformed
		return t
	case strings.IndexByte(p, 0) >= 0 || len(p) >= paths.MaxPath:
		t.Reason = "no file has that name"
		return t
	case connects(p):
		t.Reason = "it is a network connection, and no file"
		return t
	case name.Open || p != "" && !path.IsAbs(p) && !path.IsAbs(cwd):
		t.Kind = RedirectUnsettled
		return t
	case p == "":
		t.Reason = "a redirect to an empty name opens nothing"
		return t
	case path.IsAbs(p):
		t.Path = path.Clean(p)
	default:
		t.Path = path.Join(cwd, p)
	}
	switch {
	case connects(t.Path + "/"):
		t.Reason = "it is a network connection, and no file"
	case device(t.Path, t.Reads, t.Writes):
		t.Kind = RedirectDevice
	case t.Writes && paths.GitControl(t.Path):
		t.Reason = "it decides what git runs, and that is the operator's"
	default:
		t.Kind = RedirectFile
	}
	return t
}

// connects reports whether a path is one of the names that a shell treats as a network connection.
func connects(p string) bool {
	if !strings.HasPrefix(p, "/") {
		return false
	}
	p = "/" + strings.TrimLeft(p, "/")
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// device reports whether p is a device that every script may use in this way.
func device(p string, reads, writes bool) bool {
	switch p {
	case "/dev/null":
		return true
	case "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/proc/self/fd/1", "/proc/self/fd/2", "/dev/full":
		return writes && !reads
	case "/dev/zero", "/dev/urandom", "/dev/random", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return reads && !writes
	default:
		return false
	}
}
