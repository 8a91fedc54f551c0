// Package keypem owns the PEM form of Ed25519 keys: a private key as PKCS #8, a public key as PKIX. It
// refuses more than one block and any other kind of key. Errors quote nothing of a text. The host key and the
// keys of signers use it.
package keypem

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
)

const (
	privateType = "PRIVATE KEY"
	publicType  = "PUBLIC KEY"
)

var errKind = errors.New("not Ed25519")

// Private parses a private key.
func Private(text []byte) (ed25519.PrivateKey, error) {
	der, err := block(text, privateType)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("not PKCS #8") // the cause could quote the key
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errKind
	}
	return key, nil
}

// Public parses a public key.
func Public(text []byte) (ed25519.PublicKey, error) {
	der, err := block(text, publicType)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, errKind
	}
	return key, nil
}

func block(text []byte, kind string) ([]byte, error) {
	b, rest := pem.Decode(text)
	if b == nil || b.Type != kind || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("not one PEM block %s", kind)
	}
	return b.Bytes, nil
}

// Made is a new key with both of its parts as PEM.
type Made struct {
	Key             ed25519.PrivateKey
	Private, Public []byte
}

// Make creates a key from random.
func Make(random io.Reader) (Made, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return Made{}, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Made{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Made{}, err
	}
	return Made{key, pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: private}),
		pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: public})}, nil
}
