package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// FromJSON returns plain JSON as a tagged value. An object that happens to have the mark as a key becomes
// entries, so that no sender of JSON can forge a tag. Input that is not exactly one JSON value, or that nests
// deeper than MaxDepth, is an error. The result may alias plain.
func FromJSON(plain []byte) ([]byte, error) {
	if !json.Valid(plain) {
		return nil, fmt.Errorf("%w: not JSON", ErrInvalid)
	}
	if !bytes.Contains(plain, []byte(Mark)) && !bytes.Contains(plain, []byte(`\u`)) {
		return plain, nil
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	c := converter{plain: plain, d: d}
	if err := c.value(0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after the value", ErrInvalid)
	}
	return c.out, nil
}

// converter copies plain to out, every scalar as it is written: half of a surrogate pair, which a Go string
// cannot hold, must stay.
type converter struct {
	plain, out []byte
	d          *json.Decoder
}

// token returns the next token and its source text.
func (c *converter) token() (json.Token, []byte, error) {
	from := c.d.InputOffset()
	token, err := c.d.Token()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return token, bytes.TrimLeft(c.plain[from:c.d.InputOffset()], " \t\r\n,:"), nil
}

// value converts the next value.
func (c *converter) value(depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrInvalid, MaxDepth)
	}
	token, raw, err := c.token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return c.array(depth)
	case json.Delim('{'):
		return c.object(depth)
	}
	c.out = append(c.out, raw...)
	return nil
}

func (c *converter) array(depth int) error {
	c.out = append(c.out, '[')
	for i := 0; c.d.More(); i++ {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	c.out = append(c.out, ']')
	_, _, err := c.token()
	return err
}

// object converts to a separate text, since its form is known only at its end.
func (c *converter) object(depth int) error {
	outer := c.out
	var keys, values [][]byte
	marked := false
	for c.d.More() {
		key, raw, err := c.token()
		if err != nil {
			return err
		}
		c.out = nil
		if err := c.value(depth + 1); err != nil {
			return err
		}
		if key == Mark {
			marked, raw = true, []byte(`"$ringd"`)
		}
		keys, values = append(keys, raw), append(values, c.out)
	}
	first, colon, between, last := "{", ":", ",", "}"
	if marked {
		first, colon, between, last = `{"$ringd":"entries","value":[[`, ",", "],[", "]]}"
	}
	c.out = append(outer, first...)
	for i, key := range keys {
		if i > 0 {
			c.out = append(c.out, between...)
		}
		c.out = append(append(append(c.out, key...), colon...), values[i]...)
	}
	c.out = append(c.out, last...)
	_, _, err := c.token()
	return err
}
