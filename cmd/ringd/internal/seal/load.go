package seal

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

// maxFile limits the size of a key file: a key as text, with some space around it.
const maxFile = 1 << 10

// keyRemedy is how to create a key.
const keyRemedy = "write 32 random bytes, or them as base64 or hex: head -c 32 /dev/urandom | base64"

// Parse parses a key: 32 bytes, or their base64 or hex form with space around it. It refuses 32 letters,
// which are a password and not a key.
func Parse(data []byte) (Key, error) {
	if len(data) == chacha20poly1305.KeySize && !printable(data) {
		return newKey(data)
	}
	return Value(string(data))
}

func printable(data []byte) bool {
	for _, b := range data {
		if (b < ' ' || b > '~') && b != '\n' && b != '\r' && b != '\t' {
			return false
		}
	}
	return true
}

// Value parses a key from an environment variable: 32 bytes as base64 or hex.
func Value(text string) (Key, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Key{}, errors.New("the key is empty: " + keyRemedy)
	}
	if len(text) == 2*chacha20poly1305.KeySize {
		if b, err := hex.DecodeString(text); err == nil {
			return newKey(b)
		}
	}
	for _, form := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding,
		base64.RawURLEncoding} {
		if b, err := form.Strict().DecodeString(text); err == nil {
			k, err := newKey(b)
			if err != nil {
				return Key{}, fmt.Errorf("%w: %s", err, keyRemedy)
			}
			return k, nil
		}
	}
	return Key{}, errors.New("the key is not base64 or hex: " + keyRemedy)
}

// File reads a key from a file that only its owner can read.
func File(path string) (Key, error) {
	k, err := readFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("read key %s: %w", path, err)
	}
	return k, nil
}

func readFile(path string) (Key, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	if !info.Mode().IsRegular() {
		return Key{}, errors.New("it is not a file")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return Key{}, fmt.Errorf("mode %04o: others can read or change it: run chmod 600 on it, and make a new key "+
			"if they have", mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Key{}, err
	}
	if len(data) > maxFile {
		return Key{}, errors.New("it is too large for a key: " + keyRemedy)
	}
	return Parse(data)
}

// Credential reads a key from systemd: the file with this name in dir, which is $CREDENTIALS_DIRECTORY.
func Credential(dir, name string) (Key, error) {
	if dir == "" {
		return Key{}, fmt.Errorf("read key credential %s: ringd has no folder of credentials: start it with "+
			"LoadCredential=%s:PATH in its unit", name, name)
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return Key{}, fmt.Errorf("read key credential %q: it is not a name", name)
	}
	return File(filepath.Join(dir, name))
}

// FileOrNew reads the key in path, and creates one from random if there is none. Concurrent callers all get
// the same key.
func FileOrNew(path string, random io.Reader) (Key, error) {
	k, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeFile(path, random); err == nil || errors.Is(err, fs.ErrExist) {
			k, err = readFile(path)
		}
	}
	if err != nil {
		return Key{}, fmt.Errorf("read or make key %s: %w", path, err)
	}
	return k, nil
}

// makeFile writes a new key to path, complete and synced. It returns fs.ErrExist if there is one.
func makeFile(path string, random io.Reader) (err error) {
	var secret [chacha20poly1305.KeySize]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return fmt.Errorf("read randomness: %w", err)
	}
	if _, err := newKey(secret[:]); err != nil {
		return err
	}
	var name [8]byte
	if _, err := io.ReadFull(random, name[:]); err != nil {
		return fmt.Errorf("read randomness: %w", err)
	}
	temp := path + ".new-" + hex.EncodeToString(name[:])
	if err := atomicfile.Create(temp, []byte(base64.StdEncoding.EncodeToString(secret[:])+"\n"), 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(temp)) }()
	// Link fails if the name exists. Rename would replace a key.
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return atomicfile.Sync(filepath.Dir(path))
}
