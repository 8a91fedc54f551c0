package trust

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ringd/ringd/profiles/canonjson"
)

// Exactly reads the bytes that encode makes of what is signed, and no others: a field
// that is not known, one that stands twice, and another form are errors. What it returns
// with an error is not to be used.
func Exactly[T any](b []byte, encode func(T) ([]byte, error)) (T, error) {
	var out T
	if err := canonjson.Check(b); err != nil {
		return out, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		return out, inWords(err)
	}
	again, err := encode(out)
	if err != nil {
		return out, err
	}
	if !bytes.Equal(again, b) {
		return out, errors.New("not in canonical form, or with unknown fields")
	}
	return out, nil
}

// inWords is an error of encoding/json without the words of a program.
func inWords(err error) error {
	var kind *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s is not of the right kind", cmp.Or(kind.Field, "the whole"),
			canonjson.Clip(kind.Value))
	case errors.As(err, &moment):
		return fmt.Errorf("%s is not a time such as 2026-12-31T00:00:00Z", canonjson.Clip(moment.Value))
	default:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
}

// IsTime reports whether t is a time as what is signed has it: UTC, in whole seconds.
func IsTime(t time.Time) bool {
	return t.Location() == time.UTC && t.Nanosecond() == 0 && t.Year() >= 2000 && t.Year() <= 9999
}

// IsLine reports whether s is a line of text, which moves no cursor.
func IsLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
