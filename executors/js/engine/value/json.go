package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// FromJSON returns plain JSON as a tagged value: an object that happens to have
// the mark as a key becomes entries, so that no sender of JSON can forge a tag.
// It refuses what is not one JSON value or nests deeper than MaxDepth. The
// result may alias plain.
func FromJSON(plain []byte) ([]byte, error) {
	if !json.Valid(plain) {
		return nil, fmt.Errorf("%w: not JSON", ErrInvalid)
	}
	if !bytes.Contains(plain, []byte(Mark)) && !bytes.Contains(plain, []byte(`\u`)) {
		return plain, nil
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	out, err := fromJSON(nil, d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after the value", ErrInvalid)
	}
	return out, nil
}

// fromJSON appends the next value of d.
func fromJSON(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrInvalid, MaxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch token {
	case json.Delim('['):
		return fromArray(out, d, depth)
	case json.Delim('{'):
		return fromObject(out, d, depth)
	}
	return appendJSON(out, token)
}

// appendJSON appends a token that is no delimiter, or a key.
func appendJSON(out []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return append(out, b...), nil
}

func fromArray(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	out = append(out, '[')
	var err error
	for i := 0; d.More(); i++ {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = fromJSON(out, d, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return append(out, ']'), nil
}

func fromObject(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	var keys []string
	var values [][]byte
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		v, err := fromJSON(nil, d, depth+1)
		if err != nil {
			return nil, err
		}
		s, _ := key.(string)
		keys, values = append(keys, s), append(values, v)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	first, colon, between, last := "{", ":", ",", "}"
	if slices.Contains(keys, Mark) {
		first, colon, between, last = `{"$ringd":"entries","value":[[`, ",", "],[", "]]}"
	}
	out = append(out, first...)
	var err error
	for i, key := range keys {
		if i > 0 {
			out = append(out, between...)
		}
		if out, err = appendJSON(out, key); err != nil {
			return nil, err
		}
		out = append(append(out, colon...), values[i]...)
	}
	return append(out, last...), nil
}
