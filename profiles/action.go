package profiles

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/egress"
)

// The origins of an import. A denial for the program does not bind the libraries that the program may use.
const (
	OriginAgent   = "agent"   // the program; an empty origin means the same
	OriginLibrary = "library" // code of the standard library or of a package
)

// MaxActionBytes is the largest encoded action. It leaves room for the largest bridge argument that a policy
// can grant; all other fields are small.
const MaxActionBytes = 17 << 20

// Action is one thing a guest wants to do. Exactly one field is set. An Action with none or several is
// malformed and denied.
type Action struct {
	Shell  *ShellAction   `json:"shell,omitempty"`
	Import *ImportAction  `json:"import,omitempty"`
	Egress *egress.Action `json:"egress,omitempty"`
	Bridge *BridgeAction  `json:"bridge,omitempty"`
	File   *FileAction    `json:"file,omitempty"`
	Exec   *ExecAction    `json:"exec,omitempty"`

	Variable *VariableAction `json:"variable,omitempty"`
}

// ShellAction runs a script.
type ShellAction struct {
	Script string `json:"script"`
	Cwd    string `json:"cwd,omitempty"`
}

// ImportAction loads a module.
type ImportAction struct {
	Executor string `json:"executor"`
	Module   string `json:"module"`
	// Origin is OriginAgent (or empty) or OriginLibrary.
	Origin string `json:"origin,omitempty"`
}

// BridgeAction calls a bridge. Args is the argument as JSON. The ring that answers the call checks Args
// against the schema of the bridge. An empty Executor means any executor of the agent.
type BridgeAction struct {
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"`
	Executor string          `json:"executor,omitempty"`
}

// FileAction reads or writes a file.
type FileAction struct {
	Op   string `json:"op"` // read or write
	Path string `json:"path"`
}

// ExecAction starts a program. Argv[0] is the absolute path of the program, or the name of a program that the
// policy lists.
type ExecAction struct {
	Argv []string `json:"argv"`
	Cwd  string   `json:"cwd,omitempty"`
	Env  []string `json:"env,omitempty"` // NAME=value, only those that differ from the environment of the start
}

// VariableAction sets a variable of a script. Its programs may see the variable.
type VariableAction struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// DecodeAction reads one action. It rejects unknown and repeated fields at any depth, names that differ in
// case, null outside of arguments, more or fewer than one action, text that is not UTF-8 or escapes half a
// surrogate pair, and a text longer than MaxActionBytes. The error is worded for policy authors. Callers turn
// the error into a decision with [Malformed].
func DecodeAction(line []byte) (Action, error) {
	if len(line) > MaxActionBytes {
		return Action{}, fmt.Errorf("action is larger than %d bytes", MaxActionBytes)
	}
	if err := canonjson.Check(line); err != nil {
		return Action{}, err
	}
	var a Action
	one := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &one); err != nil || one == nil {
		return Action{}, errors.New("an action is a JSON object")
	}
	if len(one) != 1 {
		return Action{}, fmt.Errorf("an action has exactly one key, not %d", len(one))
	}
	for kind, raw := range one {
		if err := a.decode(kind, raw); err != nil {
			return Action{}, err
		}
	}
	return a, nil
}

func (a *Action) decode(kind string, raw json.RawMessage) error {
	switch kind {
	case "shell":
		return flat(kind, raw, &a.Shell, "script")
	case "import":
		if err := flat(kind, raw, &a.Import, "executor", "module"); err != nil {
			return err
		}
		if o := a.Import.Origin; o != "" && o != OriginAgent && o != OriginLibrary {
			return errors.New("import.origin is agent or library")
		}
		return nil
	case "egress":
		egress, err := decodeEgress(raw)
		a.Egress = egress
		return err
	case "bridge":
		return flat(kind, raw, &a.Bridge, "name")
	case "file":
		if err := flat(kind, raw, &a.File, "op", "path"); err != nil {
			return err
		}
		if a.File.Op != "read" && a.File.Op != "write" {
			return errors.New("file.op is read or write")
		}
		return nil
	case "exec":
		if err := flat(kind, raw, &a.Exec, "argv"); err != nil {
			return err
		}
		if len(a.Exec.Argv) == 0 {
			return errors.New("exec.argv is empty")
		}
		return nil
	case "variable":
		return flat(kind, raw, &a.Variable, "name", "value")
	default:
		return fmt.Errorf("no action is called %q: want shell, import, egress, bridge, file, exec or variable",
			canonjson.Clip(kind))
	}
}

// flat decodes the flat object raw into a new T.
func flat[T any](kind string, raw json.RawMessage, into **T, required ...string) error {
	*into = new(T)
	return canonjson.Strict(kind, raw, *into, required...)
}

func clip(s string) string { return canonjson.Clip(s) }
