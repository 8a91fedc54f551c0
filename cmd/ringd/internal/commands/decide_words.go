package commands

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// actionForms lists the actions in words.
const actionForms = "shell TEXT, import [python|js] MODULE, egress HOST[:PORT], bridge NAME, " +
	"file read|write PATH, exec PROGRAM [ARG…], variable NAME=VALUE"

// parseWords parses an action that is one JSON argument, or several words.
func parseWords(words []string) (profiles.Action, error) {
	if len(words) == 1 && (strings.HasPrefix(strings.TrimSpace(words[0]), "{") || words[0] == "") {
		return profiles.DecodeAction([]byte(words[0]))
	}
	fields, err := fieldsOf(words[0], words[1:])
	if err != nil {
		return profiles.Action{}, err
	}
	raw, err := json.Marshal(map[string]any{words[0]: fields})
	if err != nil {
		return profiles.Action{}, err
	}
	return profiles.DecodeAction(raw)
}

func fieldsOf(kind string, words []string) (any, error) {
	wrong := fmt.Errorf("%q is not an action: write JSON, or one of %s; give the policy with -p",
		strings.Join(append([]string{kind}, words...), " "), actionForms)
	one := func(field string) (any, error) {
		if len(words) != 1 {
			return nil, wrong
		}
		return map[string]string{field: words[0]}, nil
	}
	switch kind {
	case "shell":
		return one("script")
	case "bridge":
		return one("name")
	case "import":
		executor := profiles.ExecutorPython
		if len(words) == 2 {
			executor, words = words[0], words[1:]
		}
		if len(words) != 1 {
			return nil, wrong
		}
		return map[string]string{"executor": executor, "module": words[0]}, nil
	case "egress":
		if len(words) != 1 {
			return nil, wrong
		}
		return parseHost(words[0])
	case "file":
		if len(words) != 2 {
			return nil, wrong
		}
		return map[string]string{"op": words[0], "path": words[1]}, nil
	case "exec":
		if len(words) == 0 {
			return nil, wrong
		}
		return map[string]any{"argv": words}, nil
	case "variable":
		name, value, ok := strings.Cut(strings.Join(words, " "), "=")
		if !ok || len(words) != 1 {
			return nil, wrong
		}
		return map[string]string{"name": name, "value": value}, nil
	default:
		return nil, wrong
	}
}

// parseHost parses a host with an optional port.
func parseHost(text string) (any, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return map[string]any{"host": strings.Trim(text, "[]")}, nil // Decode refuses it if it is no host
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("%q is not a port: want a number", port)
	}
	return map[string]any{"host": host, "port": n}, nil
}
