// This file owns how a difference is put into words where these are long or numbers
// are large: so that a reader sees what differs. It is pure.

package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
)

// mostShown is how much is shown of what an author wrote freely: a schema, a text in Rego.
const mostShown = 200

// clip shortens such a text.
func clip(s string) string { return canonjson.Truncate(s, mostShown) }

// shortenApart shortens two such texts to where they differ: what is the same in front of it
// would hide that from a reader.
func shortenApart(a, b string) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	const around = 60 // of what is the same is left
	if same <= around || max(len(a), len(b)) <= mostShown {
		return clip(a), clip(b)
	}
	from := same - around
	return "…" + clip(strings.ToValidUTF8(a[from:], "")), "…" + clip(strings.ToValidUTF8(b[from:], ""))
}

// but adds to a sentence about something that is gone what is left of it.
func but(says string, left []string) string {
	const shown = 3
	if len(left) == 0 {
		return says
	}
	text := strings.Join(left[:min(len(left), shown)], ", ")
	if more := len(left) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return says + ", but for " + text
}

// Duration is a number of milliseconds as a policy writes it.
func Duration(ms int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{60 * 60 * 1000, "h"}, {60 * 1000, "m"}, {1000, "s"}} {
		if ms != 0 && ms%u.of == 0 {
			return strconv.FormatInt(ms/u.of, 10) + u.name
		}
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// size is a number of bytes as a policy writes it.
func size(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n != 0 && n%u.of == 0 {
			return strconv.FormatInt(n/u.of, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
