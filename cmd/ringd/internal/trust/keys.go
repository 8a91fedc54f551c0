package trust

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/keypem"
)

// keyPrefix is the start of a public key in one line.
const keyPrefix = "ed25519:"

// maxKeyFile limits the size of a key file, in bytes.
const maxKeyFile = 16 << 10

// KeyID returns the name of a key: "sha256:" and the hex digest of its 32 bytes.
func KeyID(k ed25519.PublicKey) string {
	sum := sha256.Sum256(k)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// KeyLine returns a public key in one line, for a configuration.
func KeyLine(k ed25519.PublicKey) string { return keyPrefix + base64.StdEncoding.EncodeToString(k) }

// parseKeyLine parses a line of [KeyLine].
func parseKeyLine(s string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(s, keyPrefix)
	b, err := strictBase64(text)
	if !ok || err != nil || len(b) != ed25519.PublicKeySize {
		return nil, errors.New("want ed25519: and 32 bytes in base64, as ringd keygen prints it")
	}
	return b, nil
}

// ReadPublicKey reads a public key from a file, as PEM or one line.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	text, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(text); block == nil {
		key, err := parseKeyLine(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("public key %s: neither PEM nor one line: %w", path, err)
		}
		return key, nil
	}
	key, err := keypem.Public(text)
	if err != nil {
		return nil, fmt.Errorf("public key %s: %w", path, err)
	}
	return key, nil
}

// ParsePrivateKey parses a private key, PKCS #8 in PEM. name is used in errors, which do not quote the text.
func ParsePrivateKey(name string, text []byte) (ed25519.PrivateKey, error) {
	key, err := keypem.Private(text)
	if err != nil {
		return nil, fmt.Errorf("private key %s: %w", name, err)
	}
	return key, nil
}

func readKeyFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("read key %s: not a regular file", path), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("read key %s: larger than %d bytes", path, maxKeyFile)
	}
	return text, nil
}

// MakeKey creates a key from random. It writes the private key to path and the public key to path + ".pub".
// Neither file may exist: nothing is overwritten.
func MakeKey(path string, random io.Reader) (ed25519.PublicKey, error) {
	made, err := keypem.Make(random)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	if _, err := os.Lstat(path + ".pub"); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make key: %s.pub is there: %w", path, fs.ErrExist)
	}
	if err := atomicfile.Create(path, made.Private, 0o600); err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	if err := atomicfile.Create(path+".pub", made.Public, 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("make key: %w", err), os.Remove(path))
	}
	return publicOf(made.Key), nil
}
