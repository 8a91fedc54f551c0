package profiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// MaxSetBytes bounds an encoded set.
const MaxSetBytes = 32 << 20

// maxExact is the largest integer that RFC 8785 writes without loss.
const maxExact = 1<<53 - 1

// Digest returns "sha256:" and the hex digest of b.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Canonical returns the RFC 8785 form of JSON text, which is one value. It
// refuses text that is not UTF-8, and numbers that no double holds.
func Canonical(b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		return nil, errors.New("canonical JSON: not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("canonical JSON: text after the value")
	}
	out, err := appendCanonical(make([]byte, 0, len(b)), v)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return out, nil
}

// appendCanonical writes v. jcs.Transform gives the same bytes (a test holds
// it) but sorts an object by insertion: a set with 10,000 bridges took seconds.
func appendCanonical(out []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case string:
		return appendString(out, v), nil
	case json.Number:
		return appendNumber(out, v)
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendCanonical(out, e); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		out = append(out, '{')
		for i, k := range sortedKeys(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, k), ':')
			if out, err = appendCanonical(out, v[k]); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	default:
		return nil, fmt.Errorf("no JSON form for %T", v)
	}
}

// sortedKeys orders by UTF-16 code units, as RFC 8785 asks.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	ascii := true
	for k := range m {
		keys = append(keys, k)
		for i := range len(k) {
			ascii = ascii && k[i] < utf8.RuneSelf
		}
	}
	if ascii {
		slices.Sort(keys)
		return keys
	}
	slices.SortFunc(keys, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	return keys
}

func appendNumber(out []byte, n json.Number) ([]byte, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil && -maxExact <= i && i <= maxExact {
		return strconv.AppendInt(out, i, 10), nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return nil, fmt.Errorf("number %s: %w", clip(string(n)), err)
	}
	s, err := jcs.NumberToJSON(f)
	if err != nil {
		return nil, fmt.Errorf("number %s: %w", clip(string(n)), err)
	}
	return append(out, s...), nil
}

func appendString(out []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case c == '\b':
			out = append(out, '\\', 'b')
		case c == '\f':
			out = append(out, '\\', 'f')
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\r':
			out = append(out, '\\', 'r')
		case c == '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(out, '"')
}

// Encode returns the canonical JSON of the set with the Revision it has. A nil
// set is an error.
func (s *Set) Encode() ([]byte, error) {
	if s == nil {
		return nil, errors.New("encode set: no set")
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode set: %w", err)
	}
	b, err := Canonical(raw)
	if err != nil {
		return nil, fmt.Errorf("encode set: %w", err)
	}
	if len(b) > MaxSetBytes {
		return nil, fmt.Errorf("encode set: %d bytes are above the limit of %d", len(b), MaxSetBytes)
	}
	return b, nil
}

// Seal returns the set with Format and Revision filled in, and its canonical
// bytes. The receiver is not changed; the maps are shared.
func (s Set) Seal() (Set, []byte, error) {
	s.Format, s.Revision = Format, ""
	unsealed, err := s.Encode()
	if err != nil {
		return Set{}, nil, err
	}
	s.Revision = Digest(unsealed)
	sealed, ok := withRevision(unsealed, "", s.Revision)
	if !ok {
		return Set{}, nil, errors.New("seal set: the revision is not the last field")
	}
	return s, sealed, nil
}

// withRevision replaces the revision in canonical bytes. It is the last key of
// the set in canonical order.
func withRevision(b []byte, from, to string) ([]byte, bool) {
	head, ok := bytes.CutSuffix(b, []byte(`"revision":"`+from+`"}`))
	if !ok {
		return nil, false
	}
	return append(append([]byte(nil), head...), `"revision":"`+to+`"}`...), true
}

// DecodeSet reads a sealed set. It takes only the canonical form, byte for
// byte: that leaves no room for unknown, repeated or misspelt fields. It
// refuses another Format, a Revision that is not the digest, and modules whose
// source is not what their digest says.
func DecodeSet(b []byte) (*Set, error) {
	if len(b) > MaxSetBytes {
		return nil, fmt.Errorf("decode set: %d bytes are above the limit of %d", len(b), MaxSetBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var s Set
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("decode set: %w", err)
	}
	if s.Format != Format {
		return nil, fmt.Errorf("decode set: format %q, this build reads %q", clip(s.Format), Format)
	}
	unsealed, ok := withRevision(b, s.Revision, "")
	if !ok || Digest(unsealed) != s.Revision {
		return nil, errors.New("decode set: the revision is not the digest of the set")
	}
	again, err := s.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, b) {
		return nil, errors.New("decode set: not in canonical form")
	}
	for name, m := range s.Modules {
		if Digest([]byte(m.Source)) != m.Digest {
			return nil, fmt.Errorf("decode set: module %q is not what its digest says", clip(name))
		}
	}
	return &s, nil
}
