package trust

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/canonjson"
)

// typePush is the format of the statement. A reader refuses any other.
const typePush = "ringd.push/v1"

// maxText limits issuer and reason, in bytes.
const maxText = 1024

// Statement is the signed content of a push: a set, its position in the sequence of pushes, and its validity.
// Its JSON is canonical (RFC 8785).
type Statement struct {
	Type     string `json:"type"`
	Revision string `json:"revision"` // of Set
	// Previous is the revision in force when the push was made. It is empty for the first push.
	Previous string    `json:"previous"`
	Sequence int64     `json:"sequence"` // from 1; each push has one more than the previous one
	Issued   time.Time `json:"issued"`   // UTC, whole seconds
	Expires  time.Time `json:"expires"`  // when the host is closed
	Issuer   string    `json:"issuer"`
	// Audience names the hosts that accept it. Empty means hosts without a name; see [Roots.For].
	Audience string `json:"audience,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Rollback states that Set was in force before, and shall be again. It needs a reason.
	Rollback bool            `json:"rollback,omitempty"`
	Set      json.RawMessage `json:"set"` // canonical, see profiles.DecodeSet
}

// Encode checks the statement and returns its canonical encoding.
func (s Statement) Encode() ([]byte, error) {
	b, err := s.encode()
	if err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return b, nil
}

func (s Statement) encode() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return profiles.Canonical(raw)
}

func (s Statement) check() error {
	switch {
	case s.Type != typePush:
		return fmt.Errorf("type %q, this build reads %q", canonjson.Clip(s.Type), typePush)
	case !isDigest(s.Revision):
		return errors.New("revision is not sha256: and 64 hex digits")
	case s.Previous != "" && !isDigest(s.Previous):
		return errors.New("previous is not sha256: and 64 hex digits")
	case s.Sequence < 1 || s.Sequence > canonjson.MaxExact:
		return errors.New("sequence is not a number from 1 on")
	case !IsTime(s.Issued) || !IsTime(s.Expires):
		return errors.New("issued and expires have to be UTC times in whole seconds")
	case !s.Issued.Before(s.Expires):
		return errors.New("it expires before it is issued")
	case s.Issuer == "" || !isText(s.Issuer):
		return errors.New("issuer is not a short line of text")
	case s.Audience != "" && !IsAudience(s.Audience):
		return errors.New("audience is not a short name in lower-case letters, digits, dots and dashes")
	case !isText(s.Reason):
		return errors.New("reason is not a short line of text")
	case s.Rollback && s.Reason == "":
		return errors.New("a rollback needs a reason")
	case s.Rollback && s.Previous == "":
		return errors.New("a rollback needs the revision that it replaces")
	case len(s.Set) == 0:
		return errors.New("no set")
	}
	return nil
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// isText reports whether s is one short line.
func isText(s string) bool { return len(s) <= maxText && IsLine(s) }

// New returns the envelope of a statement, signed with keys. It sets Type, Revision and Set from set.
func New(ctx context.Context, s Statement, set *profiles.Set, keys ...ed25519.PrivateKey) (*Envelope, error) {
	raw, err := set.Encode()
	if err != nil {
		return nil, err
	}
	if _, err := profiles.DecodeSet(raw); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	s.Type, s.Revision, s.Set = typePush, set.Revision, raw
	payload, err := s.Encode()
	if err != nil {
		return nil, err
	}
	e := &Envelope{PayloadType: PayloadType, Payload: payload}
	return e, e.Sign(ctx, keys...)
}

// Push is a signed push. Only [Gate.Open] and [Peek] return one, and that of Peek has not been verified.
type Push struct {
	Statement
	Policy  *profiles.Set
	Digest  string   // of the payload; it identifies the push
	Signers []Signer // valid signatures, by key ID
	Raw     []byte   // encoded envelope
}

// Signer is a key that has signed, with its roles.
type Signer struct {
	Key   string   `json:"key"`
	Roles []string `json:"roles"`
}

// Peek parses a push without verifying signatures, to show it. Errors are *Refusal.
func Peek(raw []byte) (*Push, *Envelope, error) {
	e, err := DecodeEnvelope(raw)
	if err != nil {
		return nil, nil, err
	}
	p, err := read(e, raw, nil)
	return p, e, err
}

// read parses the payload of an envelope. off names checks that a test has switched off.
func read(e *Envelope, raw []byte, off skippedChecks) (*Push, error) {
	if e.PayloadType != PayloadType && !off[CodeType] {
		return nil, &Refusal{Code: CodeType, Reason: fmt.Sprintf(
			"the payload is %q, but that of a push is %q", canonjson.Clip(e.PayloadType), PayloadType)}
	}
	s, err := Exactly(e.Payload, Statement.encode)
	if err != nil {
		return nil, &Refusal{Code: CodeMalformed, Reason: "statement: " + err.Error()}
	}
	set, err := profiles.DecodeSet(s.Set)
	if err != nil {
		return nil, &Refusal{Code: CodeSet, Reason: err.Error()}
	}
	if set.Revision != s.Revision && !off[CodeSet] {
		return nil, &Refusal{Code: CodeSet, Reason: fmt.Sprintf(
			"the statement names revision %s, but has the set of %s", s.Revision, set.Revision)}
	}
	if err := profiles.CheckSet(set); err != nil && !off[CodeSet] {
		return nil, &Refusal{Code: CodeSet, Reason: "the set was not made by the compiler: " + err.Error()}
	}
	return &Push{Statement: s, Policy: set, Digest: profiles.Digest(e.Payload), Raw: raw}, nil
}
