package seal

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/crypto/chacha20poly1305"
)

// Format of a record. The first four fields have this order and size in every version:
//
//	magic    8 bytes
//	version  2 bytes, big endian
//	length   4 bytes: of the header
//	sum      8 bytes: the start of SHA-256 over the fields before it and the header
//	header   key id, kind, run, seq, agent, actor, revision, engine; a text has
//	         its length in 2 bytes before it, seq has 8 bytes
//	nonce    24 bytes
//	body     XChaCha20-Poly1305 of the plain text; all up to the nonce is
//	         authenticated with it
//
// The sum tells damage from an unknown key or version. The tag of the body shows whether another party wrote
// the record.
const (
	magic    = "\x89ringd\r\n"
	version  = 1
	sumAt    = 14
	sumSize  = 8
	headerAt = sumAt + sumSize

	maxHeader = 16 << 10
	maxField  = 2 << 10
)

// maxSealed limits the size of a sealed record.
const maxSealed = 96 << 20

// Kind is the kind of a record.
type Kind string

// Kinds of records.
const (
	Pause   Kind = "pause"
	Session Kind = "session"
)

// Binding holds the values that a record is bound to. All are compared. A field without a meaning is empty on
// both sides.
type Binding struct {
	Kind     Kind
	Run      string // for a session: its name
	Seq      int64
	Agent    string
	Actor    string
	Revision string
	Engine   string // digest of its engine
}

// IntegrityError: a record is not the expected one. None of its content was used.
type IntegrityError struct {
	// Field is the wrong part: "size", "magic", "header" (damaged), a field of the Binding in lower case, or
	// "body" (not the sealed content).
	Field      string
	Have, Want string // value in the record and expected value; empty if they may not be shown
}

func (e *IntegrityError) Error() string {
	if e.Have == "" && e.Want == "" {
		return "sealed record: its " + e.Field + " does not hold"
	}
	return fmt.Sprintf("sealed record: its %s is %q, not %q", e.Field, e.Have, e.Want)
}

// KeyError: the ring has no key with the id in a record.
type KeyError struct{ ID string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("sealed record: key %q is not configured: add it as a previous key", e.ID)
}

// VersionError: the record has an unknown format.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("sealed record: version %d is not known: this ringd reads %d; use the ringd that wrote it",
		e.Version, version)
}

// Seal encrypts plain as a record bound to b, under the ring's first key. It is safe for concurrent use if
// the ring's Random is.
func (r *Keyring) Seal(b Binding, plain []byte) ([]byte, error) {
	head, err := header(r.first.id, b)
	if err != nil {
		return nil, fmt.Errorf("seal the %s of run %s: %w", b.Kind, b.Run, err)
	}
	size := len(head) + chacha20poly1305.NonceSizeX + len(plain) + chacha20poly1305.Overhead
	if size > maxSealed {
		return nil, fmt.Errorf("seal the %s of run %s: a record of %d bytes is too large: the limit is %d", b.Kind,
			b.Run, size, maxSealed)
	}
	out := make([]byte, len(head)+chacha20poly1305.NonceSizeX, size)
	copy(out, head)
	nonce := out[len(head):]
	if _, err := io.ReadFull(r.random, nonce); err != nil {
		return nil, fmt.Errorf("seal the %s of run %s: read randomness: %w", b.Kind, b.Run, err)
	}
	return r.first.aead().Seal(out, nonce, plain, head), nil
}

// Open returns the plain text of a record that is bound to want. Errors: *IntegrityError, *KeyError,
// *VersionError. It is safe for concurrent use.
func (r *Keyring) Open(want Binding, record []byte) ([]byte, error) {
	rec, err := parse(record)
	if err != nil {
		return nil, err
	}
	if err := rec.bound.compare(want); err != nil {
		return nil, err
	}
	key, ok := r.keys[rec.key]
	if !ok {
		return nil, &KeyError{ID: rec.key}
	}
	plain, err := key.aead().Open(nil, rec.nonce, rec.body, rec.head)
	if err != nil {
		return nil, &IntegrityError{Field: "body"}
	}
	return plain, nil
}

// compare returns an error that names the first field that differs from want.
func (b Binding) compare(want Binding) error {
	for _, f := range []struct{ name, have, want string }{
		{"kind", string(b.Kind), string(want.Kind)},
		{"run", b.Run, want.Run},
		{"seq", strconv.FormatInt(b.Seq, 10), strconv.FormatInt(want.Seq, 10)},
		{"agent", b.Agent, want.Agent},
		{"actor", b.Actor, want.Actor},
		{"revision", b.Revision, want.Revision},
		{"engine", b.Engine, want.Engine},
	} {
		if f.have != f.want {
			return &IntegrityError{Field: f.name, Have: f.have, Want: f.want}
		}
	}
	return nil
}

func (b Binding) check() error {
	switch {
	case b.Kind != Pause && b.Kind != Session:
		return fmt.Errorf("there is no kind of record %q", b.Kind)
	case b.Run == "" || b.Agent == "" || b.Actor == "" || b.Seq < 1:
		return errors.New("it is not bound to a run, an agent, an actor and a sequence")
	default:
		return nil
	}
}

// header encodes all of a record before its nonce.
func header(key string, b Binding) ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	out := make([]byte, headerAt, headerAt+256)
	copy(out, magic)
	binary.BigEndian.PutUint16(out[8:], version)
	for _, text := range []string{key, string(b.Kind), b.Run} {
		out = field(out, text)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(b.Seq))
	for _, text := range []string{b.Agent, b.Actor, b.Revision, b.Engine} {
		out = field(out, text)
	}
	for _, text := range []string{key, b.Run, b.Agent, b.Actor, b.Revision, b.Engine} {
		if len(text) > maxField {
			return nil, fmt.Errorf("a field of %d bytes is too large: the limit is %d", len(text), maxField)
		}
	}
	binary.BigEndian.PutUint32(out[10:], uint32(len(out)-headerAt))
	copy(out[sumAt:], checksum(out))
	return out, nil
}

func field(out []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(out, uint16(len(text))), text...)
}

// checksum returns the checksum of head without its own field.
func checksum(head []byte) []byte {
	h := sha256.New()
	h.Write(head[:sumAt])
	h.Write(head[headerAt:])
	return h.Sum(nil)[:sumSize]
}

// parsedRecord is a parsed record. Nothing of it is authenticated.
type parsedRecord struct {
	key   string
	bound Binding
	head  []byte
	nonce []byte
	body  []byte
}

func parse(record []byte) (parsedRecord, error) {
	if len(record) > maxSealed || len(record) < headerAt {
		return parsedRecord{}, &IntegrityError{Field: "size"}
	}
	if string(record[:len(magic)]) != magic {
		return parsedRecord{}, &IntegrityError{Field: "magic"}
	}
	n := int64(binary.BigEndian.Uint32(record[10:]))
	if n > maxHeader || n > int64(len(record)-headerAt) {
		return parsedRecord{}, &IntegrityError{Field: "header"}
	}
	head := record[: headerAt+n : headerAt+n]
	if subtle.ConstantTimeCompare(checksum(head), head[sumAt:headerAt]) != 1 {
		return parsedRecord{}, &IntegrityError{Field: "header"}
	}
	if v := int(binary.BigEndian.Uint16(record[8:])); v != version {
		return parsedRecord{}, &VersionError{Version: v}
	}
	rest := record[len(head):]
	if len(rest) < chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead {
		return parsedRecord{}, &IntegrityError{Field: "size"}
	}
	out := parsedRecord{head: head, nonce: rest[:chacha20poly1305.NonceSizeX], body: rest[chacha20poly1305.NonceSizeX:]}
	if !out.fields(head[headerAt:]) {
		return parsedRecord{}, &IntegrityError{Field: "header"}
	}
	return out, nil
}

// fields parses the header's fields. It returns false if header would not have written them.
func (p *parsedRecord) fields(in []byte) bool {
	text := func() (string, bool) {
		if len(in) < 2 {
			return "", false
		}
		n := int(binary.BigEndian.Uint16(in))
		if n > maxField || n > len(in)-2 {
			return "", false
		}
		s := string(in[2 : 2+n])
		in = in[2+n:]
		return s, true
	}
	var kind string
	for _, dst := range []*string{&p.key, &kind, &p.bound.Run} {
		s, ok := text()
		if !ok {
			return false
		}
		*dst = s
	}
	p.bound.Kind = Kind(kind)
	if len(in) < 8 {
		return false
	}
	seq := binary.BigEndian.Uint64(in)
	p.bound.Seq, in = int64(seq), in[8:]
	for _, dst := range []*string{&p.bound.Agent, &p.bound.Actor, &p.bound.Revision, &p.bound.Engine} {
		s, ok := text()
		if !ok {
			return false
		}
		*dst = s
	}
	return len(in) == 0 && p.bound.check() == nil
}
