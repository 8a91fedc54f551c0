package daemontest

import (
	"crypto/rand"
	"crypto/sha256"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
)

// keyring has one key, made of a text.
func keyring(text string) (*seal.Keyring, error) {
	sum := sha256.Sum256([]byte("daemontest key " + text))
	key, err := seal.Parse(sum[:])
	if err != nil {
		return nil, err
	}
	return seal.New(seal.Config{Keys: []seal.Key{key}, Random: rand.Reader})
}

// idempotent are acts that may be asked for again.
type idempotent struct{ *acts }

// Idempotent says so.
func (idempotent) Idempotent() bool { return true }
