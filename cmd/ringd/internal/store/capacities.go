package store

import (
	"encoding/json"
	"fmt"
)

// encodeCapacities encodes a list for a row: "" for an empty list, else JSON.
func encodeCapacities(from []string) string {
	if len(from) == 0 {
		return ""
	}
	b, err := json.Marshal(from)
	if err != nil { // strings can always be encoded
		return "?"
	}
	return string(b)
}

// decodeCapacities decodes the text of encodeCapacities.
func decodeCapacities(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var from []string
	if err := json.Unmarshal([]byte(text), &from); err != nil || len(from) == 0 {
		return nil, fmt.Errorf("%w: capacities %q", ErrFormat, text)
	}
	return from, nil
}
