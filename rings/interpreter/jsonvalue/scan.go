// Package jsonvalue checks the form of what crosses the interpreter ring: that a
// value is JSON within bounds that cost the host nothing, and that it fits the
// schema of its bridge.
//
// It refuses deep nesting, numbers that are expensive to compare, text that is
// not UTF-8, and schemas that refer to another document. It is pure.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of every value that crosses the ring. Deeper nesting serves nobody but
// an attacker. A validator turns numbers into exact fractions: an exponent of
// six digits would cost milliseconds each.
const (
	maxDepth    = 100 // of plain JSON; the encoding's own limit
	maxTagged   = 400 // of a value with tags, which nest up to three levels each
	maxNumber   = 400 // characters
	maxExponent = 3   // digits

	// Mark is the key that only the tagged encoding uses.
	Mark = "$ringd"
)

// Shape is what Scan learns about a value.
type Shape struct {
	Marked bool   // a key may be the marker of the tagged encoding
	List   bool   // the value is an array
	Count  int    // its elements
	First  []byte // its first element
}

// Scan checks that b is one JSON value in UTF-8 within the bounds.
func Scan(b []byte) (Shape, error) {
	var s Shape
	if !utf8.Valid(b) {
		return s, errors.New("not UTF-8")
	}
	if !json.Valid(b) {
		return s, errors.New("not one JSON value")
	}
	depth, deepest, start, commas := 0, 0, -1, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			end := stringEnd(b, i)
			if isMarker(b[i:end]) {
				s.Marked = true
			}
			i = end - 1
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
			if depth > maxTagged {
				return s, fmt.Errorf("nested deeper than %d", maxDepth)
			}
			if depth == 1 {
				s.List = c == '['
				start = i + 1
			}
		case c == ']' || c == '}':
			depth--
			if depth == 0 && s.List {
				s.finish(b[start:i], commas)
			}
		case c == ',':
			if depth == 1 && s.List {
				s.finish(b[start:i], commas)
				commas++
			}
		case c == '-' || (c >= '0' && c <= '9'):
			end, err := numberEnd(b, i)
			if err != nil {
				return s, err
			}
			i = end - 1
		}
	}
	if deepest > maxDepth && !s.Marked {
		return s, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	return s, nil
}

// finish takes note of an element's end: the first element is text up to the
// first comma, and there is one element more than commas unless there is none.
func (s *Shape) finish(text []byte, commas int) {
	if commas == 0 {
		s.First = bytes.TrimSpace(text)
		if len(s.First) == 0 {
			s.First = nil
			return
		}
	}
	s.Count = commas + 1
}

// stringEnd returns the index after the string that begins at i. b is valid.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// isMarker reports whether a string token is, or could be when unescaped, the
// marker.
func isMarker(token []byte) bool {
	if string(token) == `"`+Mark+`"` {
		return true
	}
	if bytes.IndexByte(token, '\\') < 0 || len(token) > 6*len(Mark)+2 {
		return false
	}
	var s string
	return json.Unmarshal(token, &s) == nil && s == Mark
}

// numberEnd returns the index after the number at i and refuses one that costs.
func numberEnd(b []byte, i int) (int, error) {
	from, exponent := i, -1
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == 'e' || c == 'E':
			exponent = i
			continue
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
			continue
		}
		break
	}
	if i-from > maxNumber {
		return i, fmt.Errorf("a number of more than %d characters", maxNumber)
	}
	if exponent >= 0 {
		digits := strings.TrimLeft(string(b[exponent+1:i]), "+-0")
		if len(digits) > maxExponent {
			return i, fmt.Errorf("a number with an exponent of more than %d digits", maxExponent)
		}
	}
	return i, nil
}
