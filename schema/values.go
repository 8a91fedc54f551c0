package schema

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// Size parses a size such as 64MiB.
func Size(s string) (int64, bool) {
	return readUnit(s, []unitOfTime{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}})
}

// Duration parses a duration such as 30s, in milliseconds.
func Duration(s string) (int64, bool) {
	return readUnit(s, []unitOfTime{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"d", 86_400_000}})
}

// Rate parses a rate such as 60/m, for each minute.
func Rate(s string) (int64, bool) { return readUnit(s, []unitOfTime{{"/m", 1}, {"/s", 60}}) }

type unitOfTime struct {
	suffix string
	factor int64
}

func readUnit(text string, units []unitOfTime) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || digits[0] == '+' || int64(n) > math.MaxInt64/u.factor {
			return 0, false
		}
		return int64(n) * u.factor, true
	}
	return 0, false
}

// ShowSize formats a size in the largest unit without a fraction.
func ShowSize(n int64) string {
	for _, u := range []unitOfTime{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.factor && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// ShowDuration formats milliseconds in the largest unit without a fraction.
func ShowDuration(n int64) string {
	for _, u := range []unitOfTime{{"h", 3_600_000}, {"m", 60_000}, {"s", 1000}} {
		if n >= u.factor && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "ms"
}

// Unseen reports whether a character is invisible. If a text has such a character, it never equals the
// text that the author sees.
func Unseen(r rune) bool { return !unicode.IsPrint(r) }

// CleanAbsolute reports whether a path is absolute and as short as possible.
func CleanAbsolute(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// CleanFilePath is CleanAbsolute for a path that may also begin with $WORKSPACE or ~.
func CleanFilePath(p string) bool {
	for _, place := range []string{"$WORKSPACE", "~"} {
		if rest, ok := strings.CutPrefix(p, place); ok {
			return rest == "" || rest != "/" && CleanAbsolute(rest)
		}
	}
	return CleanAbsolute(p)
}

// CleanHint returns the clean form of a path for a hint, or "" if that would not help.
func CleanHint(p string) string {
	if p == "" || strings.Contains(p, "..") || path.Clean(p) == p {
		return ""
	}
	return fmt.Sprintf("write %q", path.Clean(p))
}

// maxPath is the longest path that a system opens.
const maxPath = 4095

// OddPath explains why a path looks like a pattern for several files, or cannot be opened. why is a format
// with one verb for the path. If nothing is odd, why is empty.
func OddPath(p, patternHint string) (why, hint string) {
	switch {
	case len(p) > maxPath:
		return fmt.Sprintf("the path has more than %d bytes: %%q", maxPath), ""
	case strings.ContainsAny(p, "*?[]{}"):
		return "%q is a glob; paths are literal and cover everything below them", patternHint
	case strings.ContainsFunc(p, Unseen):
		return "%q contains a line break or another invisible character", "write it on one line, without | or >"
	case strings.TrimSpace(p) != p:
		return "%q ends in a space", fmt.Sprintf("write %q", strings.TrimSpace(p))
	default:
		return "", ""
	}
}

// Identifier reports whether name is one ASCII identifier.
func Identifier(name string) bool {
	return DottedName(name) && !strings.Contains(name, ".")
}

// DottedName reports whether name is ASCII identifiers joined by dots.
func DottedName(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || '0' <= part[0] && part[0] <= '9' {
			return false
		}
		for i := range len(part) {
			c := part[i]
			if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}
