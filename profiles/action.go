package profiles

import (
	"github.com/ringd/ringd/profiles/action"
	"github.com/ringd/ringd/profiles/jsontext"
)

// MaxActionBytes bounds one action.
const MaxActionBytes = action.MaxBytes

// The actions: see package action.
type (
	Action         = action.Action
	ShellAction    = action.Shell
	ImportAction   = action.Import
	BridgeAction   = action.Bridge
	FileAction     = action.File
	ExecAction     = action.Exec
	VariableAction = action.Variable
	EgressAction   = action.Egress
)

// Whose code imports a module: see ImportFor.
const (
	OriginAgent   = action.OriginAgent
	OriginLibrary = action.OriginLibrary
)

// DecodeAction reads one action, strictly. Callers answer its error with
// Malformed.
func DecodeAction(line []byte) (Action, error) { return action.Decode(line) }

// clip shortens text that comes from the guest for use in a message, and takes
// out what could move a terminal's cursor.
func clip(s string) string { return jsontext.Clip(s) }
