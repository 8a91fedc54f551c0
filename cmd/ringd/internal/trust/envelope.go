package trust

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/ringd/ringd/profiles/canonjson"
)

// FileName is the name of the push in a sync folder.
const FileName = "push.dsse.json"

// LockdownFile is the name of an order to start or lift a lockdown. It is no part of a push.
const LockdownFile = "lockdown.dsse.json"

// PayloadType is the DSSE payload type of a push.
const PayloadType = "application/vnd.ringd.push+json"

// Limits of an envelope.
const (
	MaxEnvelope   = 48 << 20 // bytes; a set of 32 MiB fits
	maxSignatures = 64
)

// Envelope is a DSSE envelope: a payload with signatures. Payload has not been verified.
type Envelope struct {
	PayloadType string
	Payload     []byte
	Signatures  []Signature
}

// Signature is one signature. KeyID is a hint.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // base64
}

// DecodeEnvelope parses an envelope. It accepts only the JSON form of DSSE: no other or repeated field, and
// padded standard base64. Errors are *Refusal.
func DecodeEnvelope(b []byte) (*Envelope, error) {
	if len(b) > MaxEnvelope {
		return nil, &Refusal{Code: CodeTooLarge, Reason: fmt.Sprintf(
			"the envelope has %d bytes, at most %d are read: leave out the agents that these hosts do not need", len(b),
			MaxEnvelope)}
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, &Refusal{Code: CodeTorn, Reason: "the envelope is empty"}
	}
	if err := canonjson.Check(b); err != nil {
		return nil, malformed("envelope", b, err)
	}
	var e dsse.Envelope
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return nil, malformed("envelope", b, err)
	}
	if err := exactFields(b); err != nil {
		return nil, malformed("envelope", b, err)
	}
	if len(e.Signatures) > maxSignatures {
		return nil, &Refusal{Code: CodeTooLarge, Reason: fmt.Sprintf(
			"the envelope has %d signatures, at most %d are read: remove those that no role needs", len(e.Signatures),
			maxSignatures)}
	}
	payload, err := strictBase64(e.Payload)
	if err != nil {
		return nil, malformed("envelope: payload", nil, err)
	}
	out := &Envelope{PayloadType: e.PayloadType, Payload: payload}
	for _, s := range e.Signatures {
		sig, err := strictBase64(s.Sig)
		if err != nil || len(sig) != ed25519.SignatureSize {
			return nil, malformed("envelope: a signature", nil, errors.New("not 64 bytes in base64"))
		}
		out.Signatures = append(out.Signatures, Signature(s))
	}
	return out, nil
}

// malformed returns a refusal of an invalid text. A text that ends too early is torn.
func malformed(what string, b []byte, err error) *Refusal {
	var syntax *json.SyntaxError
	if bad := json.Unmarshal(b, new(json.RawMessage)); len(b) > 0 && errors.As(bad, &syntax) &&
		int(syntax.Offset) >= len(b) {
		return &Refusal{Code: CodeTorn, Reason: "the " + what + " ends in the middle"}
	}
	return &Refusal{Code: CodeMalformed, Reason: what + ": " + plainJSONError(err).Error()}
}

// exactFields refuses names in another case, which encoding/json accepts.
func exactFields(b []byte) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(b, &top); err != nil {
		return err
	}
	var each []map[string]json.RawMessage
	if err := json.Unmarshal(top["signatures"], &each); err != nil {
		return errors.New("no list of signatures")
	}
	only := func(m map[string]json.RawMessage, names ...string) error {
		for _, name := range names {
			if _, ok := m[name]; !ok {
				return fmt.Errorf("no %s", name)
			}
		}
		if len(m) != len(names) {
			return errors.New("more fields than there may be")
		}
		return nil
	}
	err := only(top, "payloadType", "payload", "signatures")
	for _, m := range each {
		err = errors.Join(err, only(m, "keyid", "sig"))
	}
	return err
}

func strictBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64")
	}
	if base64.StdEncoding.EncodedLen(len(b)) != len(s) { // the decoder skips line breaks
		return nil, errors.New("base64 with other characters in between")
	}
	return b, nil
}

// Encode returns the envelope as in a file.
func (e *Envelope) Encode() ([]byte, error) {
	out := e.dsse()
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode envelope: %w", err)
	}
	return append(b, '\n'), nil
}

func (e *Envelope) dsse() *dsse.Envelope {
	out := &dsse.Envelope{PayloadType: e.PayloadType, Payload: base64.StdEncoding.EncodeToString(e.Payload),
		Signatures: []dsse.Signature{}}
	for _, s := range e.Signatures {
		out.Signatures = append(out.Signatures, dsse.Signature(s))
	}
	return out
}

// Sign adds signatures of keys to the envelope. It refuses a key that has signed it already. It replaces an
// invalid signature that names the key: otherwise anyone who passes the envelope on could keep the key from
// signing.
func (e *Envelope) Sign(ctx context.Context, keys ...ed25519.PrivateKey) error {
	var signers []dsse.Signer
	for _, k := range keys {
		id := KeyID(publicOf(k))
		e.Signatures = slices.DeleteFunc(e.Signatures, func(s Signature) bool {
			return s.KeyID == id && !e.verifies(s, publicOf(k))
		})
		if slices.ContainsFunc(e.Signatures, func(s Signature) bool { return s.KeyID == id }) ||
			slices.ContainsFunc(signers, func(s dsse.Signer) bool { have, _ := s.KeyID(); return have == id }) {
			return fmt.Errorf("sign: key %s has signed it already", id)
		}
		signers = append(signers, signer{k, id})
	}
	by, err := dsse.NewEnvelopeSigner(signers...)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	signed, err := by.SignPayload(ctx, e.PayloadType, e.Payload)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	for _, s := range signed.Signatures {
		e.Signatures = append(e.Signatures, Signature(s))
	}
	if len(e.Signatures) > maxSignatures {
		return fmt.Errorf("sign: more than %d signatures", maxSignatures)
	}
	return nil
}

// verifies reports whether a signature of the key over the envelope is valid.
func (e *Envelope) verifies(s Signature, key ed25519.PublicKey) bool {
	sig, err := strictBase64(s.Sig)
	return err == nil && ed25519.Verify(key, dsse.PAE(e.PayloadType, e.Payload), sig)
}

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(k[len(k)-ed25519.PublicKeySize:])
}

// signer and verifier implement the interfaces of the library.
type signer struct {
	key ed25519.PrivateKey
	id  string
}

func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(s.key, data), nil
}
func (s signer) KeyID() (string, error) { return s.id, nil }

type verifier struct {
	key ed25519.PublicKey
	id  string
}

func (v verifier) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(v.key, data, sig) {
		return errors.New("the signature is not valid")
	}
	return nil
}
func (v verifier) KeyID() (string, error)   { return v.id, nil }
func (v verifier) Public() crypto.PublicKey { return v.key }
