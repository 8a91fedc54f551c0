package jsonvalue

import (
	"bytes"
	"encoding/json"
)

// Known has schemas by their texts: each text is compiled once, and one pointer means one
// schema.
type Known map[string]*Schema

// Compile compiles the texts that are not empty, or returns the schema that k or before has
// for them. The result is nil if there is no text.
func (k Known) Compile(before Known, texts ...json.RawMessage) (*Schema, error) {
	all := make([][]byte, 0, len(texts))
	for _, text := range texts {
		if len(text) > 0 {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	key := string(bytes.Join(all, []byte{'\n'})) // canonical JSON has no line ends
	s := k[key]
	if s == nil {
		s = before[key]
	}
	if s == nil {
		var err error
		if s, err = Compile(all...); err != nil {
			return nil, err
		}
	}
	k[key] = s
	return s, nil
}

// Fit checks a value without tags against texts, as Validate does.
func (k Known) Fit(value json.RawMessage, texts ...json.RawMessage) error {
	s, err := k.Compile(nil, texts...)
	if err == nil && s != nil {
		_, err = Validate(value, false, s)
	}
	return err
}
