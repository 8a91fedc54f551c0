package seal

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"golang.org/x/crypto/chacha20poly1305"
)

// Key is one key. Its zero value seals nothing. Its text form is its id, never the key.
type Key struct {
	id string
	// A function, so that printing a value with a key in any way does not reach it.
	aead func() cipher.AEAD
	mac  func() hash.Hash
}

// ID returns an id that is the same for the same key on every host, and reveals nothing about the key.
func (k Key) ID() string { return k.id }

// Format writes the id, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "key "+k.id) }

// newKey returns the key of 32 bytes.
func newKey(secret []byte) (Key, error) {
	if len(secret) != chacha20poly1305.KeySize {
		return Key{}, fmt.Errorf("a key of %d bytes: it must have %d", len(secret), chacha20poly1305.KeySize)
	}
	same := true
	for _, b := range secret {
		same = same && b == secret[0]
	}
	if same {
		return Key{}, errors.New("a key of one byte repeated is not random: make one with head -c 32 /dev/urandom")
	}
	aead, err := chacha20poly1305.NewX(secret)
	if err != nil {
		return Key{}, err
	}
	marks, err := markKey(secret)
	if err != nil {
		return Key{}, err
	}
	h := sha256.New()
	h.Write([]byte("ringd seal key id v1\x00"))
	h.Write(secret)
	return Key{id: hex.EncodeToString(h.Sum(nil)[:8]), aead: func() cipher.AEAD { return aead },
		mac: func() hash.Hash { return hmac.New(sha256.New, marks) }}, nil
}

// Config configures a Keyring.
type Config struct {
	// Keys: the first one seals, and all of them open. To change the key, put the new one first, and keep the
	// old one until no record sealed with it is left.
	Keys   []Key
	Random io.Reader // for nonces; must be safe for concurrent use
}

// Keyring seals and opens records. It is immutable.
type Keyring struct {
	first  Key
	keys   map[string]Key
	random io.Reader
}

// New returns a ring. It refuses one without a key or Random, and a repeated key.
func New(cfg Config) (*Keyring, error) {
	if len(cfg.Keys) == 0 || cfg.Random == nil {
		return nil, errors.New("make keyring: no key or no randomness given")
	}
	r := &Keyring{first: cfg.Keys[0], keys: map[string]Key{}, random: cfg.Random}
	for _, k := range cfg.Keys {
		if k.aead == nil {
			return nil, errors.New("make keyring: a key is empty")
		}
		if _, ok := r.keys[k.id]; ok {
			return nil, fmt.Errorf("make keyring: %v is given twice", k)
		}
		r.keys[k.id] = k
	}
	return r, nil
}

// KeyID returns the id of the sealing key.
func (r *Keyring) KeyID() string { return r.first.id }

// Has reports whether the ring has the key with this id.
func (r *Keyring) Has(id string) bool {
	_, ok := r.keys[id]
	return ok
}
