package store

import (
	"encoding/json"
	"fmt"
)

// capacities is how a row has a list of them: "" for none, else JSON.
func capacities(from []string) string {
	if len(from) == 0 {
		return ""
	}
	b, err := json.Marshal(from)
	if err != nil { // texts always have a form
		return "?"
	}
	return string(b)
}

// readCapacities reads what Capacities wrote. ErrUnknown.
func readCapacities(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var from []string
	if err := json.Unmarshal([]byte(text), &from); err != nil || len(from) == 0 {
		return nil, fmt.Errorf("%w: capacities %q", ErrFormat, text)
	}
	return from, nil
}
