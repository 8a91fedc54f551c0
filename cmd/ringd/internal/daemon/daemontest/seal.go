package daemontest

import (
	"crypto/rand"
	"crypto/sha256"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
)

// keyring returns a keyring with one key, derived from a text.
func keyring(text string) (*seal.Keyring, error) {
	sum := sha256.Sum256([]byte("daemontest key " + text))
	key, err := seal.Parse(sum[:])
	if err != nil {
		return nil, err
	}
	return seal.New(seal.Config{Keys: []seal.Key{key}, Random: rand.Reader})
}

// idempotent makes acts that may be repeated.
type idempotent struct{ *acts }

// Idempotent reports that calls may be repeated.
func (idempotent) Idempotent() bool { return true }
