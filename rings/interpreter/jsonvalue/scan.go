// Package jsonvalue checks the form of the values that cross the interpreter ring: that a
// value is JSON within limits that cost the host nothing, and that it fits the schema of its
// bridge. It refuses deep nesting, numbers that are expensive to compare, text that is not
// UTF-8, and schemas that refer to another document.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of every value that crosses the ring. Only an attacker nests deeper. A validator
// turns numbers into exact fractions: an exponent of six digits would cost milliseconds
// each.
const (
	maxDepth    = 100 // of plain JSON; the limit of the tagged encoding itself
	maxTagged   = 400 // of a value with tags, each of which nests up to three levels
	maxNumber   = 400 // characters
	maxExponent = 3   // digits

	// Mark is a key that only the tagged encoding uses.
	Mark = "$ringd"
)

// Shape is what Scan finds out about a value.
type Shape struct {
	Marked bool   // a key may be the marker of the tagged encoding
	List   bool   // the value is an array
	Count  int    // its elements
	First  []byte // its first element
}

// Scan checks that b is one JSON value in UTF-8 within the limits.
func Scan(b []byte) (Shape, error) {
	if !utf8.Valid(b) {
		return Shape{}, errors.New("not UTF-8")
	}
	if !json.Valid(b) {
		return Shape{}, errors.New("not one JSON value")
	}
	s := scanner{text: b}
	for i := 0; i < len(b); i++ {
		end, err := s.token(i)
		if err != nil {
			return s.Shape, err
		}
		i = end - 1
	}
	if s.deepest > maxDepth && !s.Marked {
		return s.Shape, errDepth()
	}
	return s.Shape, nil
}

func errDepth() error { return fmt.Errorf("nested deeper than %d", maxDepth) }

// scanner reads one value that is valid JSON.
type scanner struct {
	Shape
	text    []byte
	depth   int
	deepest int
	start   int // of the outermost array or object
	commas  int // between the elements of the outermost array
}

// token reads the token at i and returns the index after it.
func (s *scanner) token(i int) (end int, err error) {
	switch c := s.text[i]; c {
	case '"':
		end = stringEnd(s.text, i)
		s.Marked = s.Marked || isMarker(s.text[i:end])
		return end, nil
	case '[', '{':
		return i + 1, s.open(i, c == '[')
	case ']', '}':
		if s.depth--; s.depth == 0 && s.List {
			s.finish(s.text[s.start:i], s.commas)
		}
	case ',':
		if s.depth == 1 && s.List {
			s.finish(s.text[s.start:i], s.commas)
			s.commas++
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return numberEnd(s.text, i)
	}
	return i + 1, nil
}

// open notes that an array or an object begins at i.
func (s *scanner) open(i int, list bool) error {
	s.depth++
	s.deepest = max(s.deepest, s.depth)
	if s.depth > maxTagged {
		return errDepth()
	}
	if s.depth == 1 {
		s.List, s.start = list, i+1
	}
	return nil
}

// finish notes the end of an element. The first element is the text up to the first comma.
// There is one element more than commas, or none if that text is empty.
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

// stringEnd returns the index after the string that begins at i. b is valid JSON.
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

// isMarker reports whether a string token is the marker, or could be it once unescaped.
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

// numberEnd returns the index after the number at i. It refuses a number that is expensive
// to compare.
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
