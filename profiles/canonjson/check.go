package canonjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the deepest nesting of a value.
const maxDepth = 200

// Check rejects text that two readers may read as different values: text that is not UTF-8, escapes half a
// surrogate pair, repeats a key, has anything after its value, or is nested deeper than maxDepth.
func Check(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	if err := noRepeats(b); err != nil {
		return err
	}
	if loneSurrogate(b) {
		return errors.New("half a character is escaped")
	}
	return nil
}

// loneSurrogate reports whether JSON text escapes half a surrogate pair. Readers disagree about its meaning:
// encoding/json reads U+FFFD.
func loneSurrogate(b []byte) bool {
	unit := func(at int) rune {
		if at+6 > len(b) || b[at] != '\\' || b[at+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(b[at+2:at+6]), 16, 16)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		r := unit(i)
		switch {
		case !utf16.IsSurrogate(r):
			i++ // the escaped character, which may be a backslash
		case utf16.DecodeRune(r, unit(i+6)) == utf8.RuneError:
			return true
		default:
			i += 11
		}
	}
	return false
}

// noRepeats walks the JSON text once. It rejects a repeated key in any object, nesting deeper than maxDepth,
// and text after the value. Two readers of a repeated key may take different values.
func noRepeats(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	type frame struct {
		keys map[string]bool // nil in an array
		key  bool            // the next token is a key
	}
	var stack []frame
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && len(stack) == 0 {
			return errors.New("no JSON value")
		}
		if err != nil {
			return fmt.Errorf("not JSON at byte %d", dec.InputOffset())
		}
		top := len(stack) - 1
		if top >= 0 && stack[top].keys != nil && stack[top].key && tok != json.Delim('}') {
			key, ok := tok.(string)
			if !ok {
				return errors.New("a key is not a string")
			}
			if stack[top].keys[key] {
				return fmt.Errorf("key %q is there twice", Clip(key))
			}
			stack[top].keys[key], stack[top].key = true, false
			continue
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, frame{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			stack = append(stack, frame{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
		}
		if len(stack) > maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		if tok == json.Delim('{') || tok == json.Delim('[') {
			continue
		}
		if len(stack) == 0 {
			break
		}
		stack[len(stack)-1].key = true
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the JSON value")
	}
	return nil
}

// Clip shortens text from the guest for use in a message, and removes characters that could move a terminal's
// cursor.
func Clip(s string) string {
	const most = 120
	short := Truncate(s, most)
	if !strings.ContainsFunc(short, unprintable) {
		return short
	}
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return utf8.RuneError
		}
		return r
	}, short)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
