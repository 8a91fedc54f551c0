package audit

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LoadKey reads the host's key from the PEM file at path (PKCS #8, mode 0600 or
// stricter, not a link). When there is none it makes one from random and writes
// it, with the public half beside it at path + ".pub".
func LoadKey(path string, random io.Reader) (ed25519.PrivateKey, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path, random)
	}
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("host key %s: mode %v: want a file that only its owner can read; run chmod 600 on it", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || len(rest) > 0 {
		return nil, fmt.Errorf("host key %s: not one PEM block PRIVATE KEY", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("host key %s: not PKCS #8", path) // the cause could quote the key
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("host key %s: not Ed25519", path)
	}
	return key, nil
}

// makeKey writes a new key, whole or not at all: a crash leaves no half key
// under the name.
func makeKey(path string, random io.Reader) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("make host key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make host key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("make host key: %w", err)
	}
	if err := writeKey(path+".pub", &pem.Block{Type: "PUBLIC KEY", Bytes: public}, 0o644); err != nil {
		return nil, err
	}
	if err := writeKey(path, &pem.Block{Type: "PRIVATE KEY", Bytes: private}, 0o600); err != nil {
		return nil, err
	}
	return key, nil
}

func writeKey(path string, block *pem.Block, mode fs.FileMode) error {
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write host key: %w", err)
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write host key: %w", err)
	}
	err = errors.Join(pem.Encode(f, block), f.Sync(), f.Close())
	if err == nil {
		err = errors.Join(os.Rename(tmp, path), syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return fmt.Errorf("write host key: %w", err)
	}
	return nil
}

// PublicKey reads the public half that LoadKey wrote, or the hex form that
// Report.Key shows.
func PublicKey(text []byte) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		if key, ok := parsed.(ed25519.PublicKey); ok {
			return key, nil
		}
		return nil, errors.New("public key: not Ed25519")
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("public key: neither PEM nor %d hex digits", hex.EncodedLen(ed25519.PublicKeySize))
	}
	return key, nil
}
