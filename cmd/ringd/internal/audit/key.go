package audit

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/keypem"
)

// LoadKey reads the host's key from the PEM file at path (PKCS #8, mode 0600 or stricter, not a link). If
// there is none, it creates one from random and writes it, with the public key at path + ".pub".
func LoadKey(path string, random io.Reader) (ed25519.PrivateKey, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path, random)
	}
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf(
			"host key %s: mode %v: want a file that only its owner can read; run chmod 600 on it",
			path,
			mode,
		)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	key, err := keypem.Private(text)
	if err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	return key, nil
}

// makeKey writes a new key, completely or not at all. After a crash there is no partial key under the name.
func makeKey(path string, random io.Reader) (ed25519.PrivateKey, error) {
	made, err := keypem.Make(random)
	if err != nil {
		return nil, fmt.Errorf("make host key: %w", err)
	}
	if err := writeKey(path+".pub", made.Public, 0o644); err != nil {
		return nil, err
	}
	if err := writeKey(path, made.Private, 0o600); err != nil {
		return nil, err
	}
	return made.Key, nil
}

func writeKey(path string, text []byte, mode fs.FileMode) error {
	if err := atomicfile.Replace(path, text, mode); err != nil {
		return fmt.Errorf("write host key: %w", err)
	}
	return nil
}

// PublicKey parses the public key that LoadKey wrote, or the hex form of Report.Key.
func PublicKey(text []byte) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		key, err := keypem.Public(text)
		if err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		return key, nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("public key: neither PEM nor %d hex digits", hex.EncodedLen(ed25519.PublicKeySize))
	}
	return key, nil
}
