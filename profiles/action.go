package profiles

import (
	"github.com/ringd/ringd/profiles/canonjson"
)

// DecodeAction reads one action, strictly. Callers answer its error with
// Malformed.
func DecodeAction(line []byte) (Action, error) { return decodeAction(line) }

// clip shortens text that comes from the guest for use in a message, and takes
// out what could move a terminal's cursor.
func clip(s string) string { return canonjson.Clip(s) }
