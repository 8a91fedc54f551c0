package paths

import (
	"path"
	"strings"
	"unicode/utf8"
)

// MaxPath is the longest path a system opens, its closing NUL counted.
const MaxPath = 4096

// Clean reports whether p is absolute, without "..", "." and doubled or
// trailing slashes, without NUL, and no longer than a system takes.
func Clean(p string) bool {
	return len(p) < MaxPath && path.IsAbs(p) && path.Clean(p) == p && strings.IndexByte(p, 0) < 0 && utf8.ValidString(p)
}

// Expand turns $WORKSPACE and ~ into the places they stand for. False: the place is
// not known, or what comes out is no clean path.
func Expand(p, workspace, home string) (string, bool) {
	place, rest := "", p
	switch {
	case p == "$WORKSPACE" || strings.HasPrefix(p, "$WORKSPACE/"):
		place, rest = workspace, strings.TrimPrefix(p, "$WORKSPACE")
		if !Clean(place) {
			return "", false
		}
	case p == "~" || strings.HasPrefix(p, "~/"):
		place, rest = home, strings.TrimPrefix(p, "~")
		if !Clean(place) {
			return "", false
		}
	}
	if place == "/" {
		place = ""
	}
	if full := place + rest; Clean(full) {
		return full, true
	}
	return "/", place+rest == ""
}
