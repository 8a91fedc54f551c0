package paths

import (
	"path"
	"strings"
	"unicode/utf8"
)

// MaxPath is the longest path a system opens, including the closing NUL.
const MaxPath = 4096

// Clean reports whether p is absolute, has no "..", ".", doubled or trailing slash and no NUL, and is no
// longer than MaxPath allows.
func Clean(p string) bool {
	return len(p) < MaxPath && path.IsAbs(p) && path.Clean(p) == p && strings.IndexByte(p, 0) < 0 && utf8.ValidString(p)
}

// Expand replaces $WORKSPACE and ~ by workspace and home. It returns false if the place is unknown or the
// result is not a clean path.
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
