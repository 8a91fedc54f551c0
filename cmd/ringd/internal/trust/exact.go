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

// Exactly decodes only the bytes that encode returns for the result. So an unknown field, a repeated one, or
// another encoding is an error. The result must not be used if there is an error.
func Exactly[T any](b []byte, encode func(T) ([]byte, error)) (T, error) {
	var out T
	if err := canonjson.Check(b); err != nil {
		return out, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		return out, plainJSONError(err)
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

// plainJSONError returns an error of encoding/json without the words of a program.
func plainJSONError(err error) error {
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

// IsTime reports whether t has the form of signed times: UTC, in whole seconds.
func IsTime(t time.Time) bool {
	return t.Location() == time.UTC && t.Nanosecond() == 0 && t.Year() >= 2000 && t.Year() <= 9999
}

// IsLine reports whether s is one line of text without control characters.
func IsLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
