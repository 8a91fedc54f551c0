package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Once checks that no object of b has a name twice. Of two values some readers take the
// first and others the last, so a decision about one could let the other happen. b must have
// passed Scan.
func Once(b []byte) error {
	var open []map[string]bool // the names of each object or array around i
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			end := stringEnd(b, i)
			if !isName(b[end:]) {
				i = end - 1
				continue
			}
			name := nameOf(b[i:end])
			names := &open[len(open)-1]
			if (*names)[name] {
				return fmt.Errorf("the name %q is there twice", Clip(name, 40))
			}
			if *names == nil {
				*names = map[string]bool{}
			}
			(*names)[name] = true
			i = end - 1
		}
	}
	return nil
}

// isName reports whether the string before rest is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// nameOf returns the name that a reader takes from a string token.
func nameOf(token []byte) string {
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1])
	}
	var s string
	_ = json.Unmarshal(token, &s) // cannot fail: it is valid JSON
	return s
}
