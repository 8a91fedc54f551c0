package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles/jsontext"
)

// Exactly reads the bytes that encode makes of what is signed, and no others: a field
// that is not known, one that stands twice, and another form are errors. What it returns
// with an error is not to be used.
func Exactly[T any](b []byte, encode func(T) ([]byte, error)) (T, error) {
	var out T
	if err := jsontext.Check(b); err != nil {
		return out, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		return out, err
	}
	again, err := encode(out)
	if err != nil {
		return out, err
	}
	if !bytes.Equal(again, b) {
		return out, errors.New("not in canonical form, or with fields that are not known")
	}
	return out, nil
}

// IsTime reports whether t is a time as what is signed has it: UTC, in whole seconds.
func IsTime(t time.Time) bool {
	return t.Location() == time.UTC && t.Nanosecond() == 0 && t.Year() >= 2000 && t.Year() <= 9999
}

// IsLine reports whether s is a line of text, which moves no cursor.
func IsLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
