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

// The form of a record. The first four, in this order and size, stand in every
// version:
//
//	magic    8 bytes
//	version  2 bytes, big endian
//	length   4 bytes: of the header
//	sum      8 bytes: the first of SHA-256 over what is before it and the header
//	header   key id, kind, run, seq, agent, actor, revision, engine; a text has
//	         its length in 2 bytes before it, seq has 8 bytes
//	nonce    24 bytes
//	body     XChaCha20-Poly1305 of the plain text; all up to the nonce is
//	         authenticated with it
//
// The sum tells damage from a key or version that is not known; the body's tag
// tells whether anybody else wrote the record.
const (
	magic    = "\x89ringd\r\n"
	version  = 1
	sumAt    = 14
	sumSize  = 8
	headerAt = sumAt + sumSize

	maxHeader = 16 << 10
	maxField  = 2 << 10
)

// maxSealed is how large a sealed record may be.
const maxSealed = 96 << 20

// Kind is what a record is for.
type Kind string

// The kinds of records.
const (
	Pause   Kind = "pause"
	Session Kind = "session"
)

// Binding is what a record is bound to. All of it is compared: a field that does
// not apply is empty on both sides.
type Binding struct {
	Kind     Kind
	Run      string // of a session: its name
	Seq      int64
	Agent    string
	Actor    string
	Revision string
	Engine   string // digest of the engine that made it
}

// IntegrityError: a record is not what it must be. Nothing of it was used.
type IntegrityError struct {
	// Field is what does not hold: "size", "magic", "header" (damaged), a field of
	// the Binding in lower case, or "body" (not what was sealed).
	Field      string
	Have, Want string // what the record says and what it must say; "" when that is nothing to tell
}

func (e *IntegrityError) Error() string {
	if e.Have == "" && e.Want == "" {
		return "sealed record: its " + e.Field + " does not hold"
	}
	return fmt.Sprintf("sealed record: its %s is %q, not %q", e.Field, e.Have, e.Want)
}

// KeyError: no key of the ring has the id a record names.
type KeyError struct{ ID string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("sealed record: key %q is not configured: add it as a previous key", e.ID)
}

// VersionError: the record has a form this ringd does not know.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("sealed record: version %d is not known: this ringd reads %d; use the ringd that wrote it",
		e.Version, version)
}

// Seal returns plain as a record bound to b, under the ring's first key. It is
// safe for concurrent use when the ring's Random is.
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

// Open returns what was sealed, when the record is the one bound to want.
// *IntegrityError, *KeyError, *VersionError. It is safe for concurrent use.
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

// compare names the first field that is another in want.
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

// header is all of a record before its nonce.
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
	copy(out[sumAt:], sum(out))
	return out, nil
}

func field(out []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(out, uint16(len(text))), text...)
}

// sum is over head without the place of the sum.
func sum(head []byte) []byte {
	h := sha256.New()
	h.Write(head[:sumAt])
	h.Write(head[headerAt:])
	return h.Sum(nil)[:sumSize]
}

// parsed is a record taken apart; nothing of it is authenticated.
type parsed struct {
	key   string
	bound Binding
	head  []byte
	nonce []byte
	body  []byte
}

func parse(record []byte) (parsed, error) {
	if len(record) > maxSealed || len(record) < headerAt {
		return parsed{}, &IntegrityError{Field: "size"}
	}
	if string(record[:len(magic)]) != magic {
		return parsed{}, &IntegrityError{Field: "magic"}
	}
	n := int64(binary.BigEndian.Uint32(record[10:]))
	if n > maxHeader || n > int64(len(record)-headerAt) {
		return parsed{}, &IntegrityError{Field: "header"}
	}
	head := record[: headerAt+n : headerAt+n]
	if subtle.ConstantTimeCompare(sum(head), head[sumAt:headerAt]) != 1 {
		return parsed{}, &IntegrityError{Field: "header"}
	}
	if v := int(binary.BigEndian.Uint16(record[8:])); v != version {
		return parsed{}, &VersionError{Version: v}
	}
	rest := record[len(head):]
	if len(rest) < chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead {
		return parsed{}, &IntegrityError{Field: "size"}
	}
	out := parsed{head: head, nonce: rest[:chacha20poly1305.NonceSizeX], body: rest[chacha20poly1305.NonceSizeX:]}
	if !out.fields(head[headerAt:]) {
		return parsed{}, &IntegrityError{Field: "header"}
	}
	return out, nil
}

// fields reads the header's fields; false when they are not as header writes
// them.
func (p *parsed) fields(in []byte) bool {
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
