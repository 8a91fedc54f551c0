package profiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ringd/ringd/profiles/canonjson"
)

// MaxSetBytes is the largest encoded set.
const MaxSetBytes = 32 << 20

// Digest returns "sha256:" and the hex digest of b.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Canonical is [canonjson.Canonical].
func Canonical(b []byte) ([]byte, error) { return canonjson.Canonical(b) }

// Encode returns the canonical JSON of the set. It does not compute the Revision. A nil set is an error.
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

// Seal returns a copy of the set with Format and Revision set, and the canonical bytes of the copy. The copy
// shares its maps with s.
func (s Set) Seal() (Set, []byte, error) {
	s.Format, s.Revision = Format, ""
	unsealed, err := s.Encode()
	if err != nil {
		return Set{}, nil, err
	}
	s.Revision = Digest(unsealed)
	sealed, ok := canonjson.ReplaceTail(unsealed, `"revision":""}`, `"revision":"`+s.Revision+`"}`)
	if !ok {
		return Set{}, nil, errors.New("seal set: the revision is not the last field")
	}
	return s, sealed, nil
}

// DecodeSet reads a sealed set. The bytes must be canonical, which excludes unknown, repeated and misspelt
// fields. It rejects another Format, a Revision that is not the digest of the set, and a module whose source
// does not match its digest.
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
	unsealed, ok := canonjson.ReplaceTail(b, `"revision":"`+s.Revision+`"}`, `"revision":""}`)
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
