package audit_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

func TestKeyIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.key")
	first, err := audit.LoadKey(path, strings.NewReader(strings.Repeat("a", 32)))
	if err != nil {
		t.Fatal(err)
	}
	second, err := audit.LoadKey(path, strings.NewReader(""))
	if err != nil || !first.Equal(second) {
		t.Errorf("second load: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range [][]byte{text, []byte(hex.EncodeToString(first[32:]) + "\n")} {
		if public, err := audit.PublicKey(form); err != nil || !bytes.Equal(public, first[32:]) {
			t.Errorf("public key of %q: %v", form, err)
		}
	}
}

func TestKeyRefused(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"others can read it", func(t *testing.T, path string) {
			if _, err := audit.LoadKey(path, strings.NewReader(strings.Repeat("a", 32))); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
		}, "chmod 600"},
		{"a link", func(t *testing.T, path string) {
			if _, err := audit.LoadKey(path+".real", strings.NewReader(strings.Repeat("a", 32))); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path+".real", path); err != nil {
				t.Fatal(err)
			}
		}, "only its owner"},
		{"empty", func(t *testing.T, path string) { write(t, path, nil) }, "PEM"},
		{"not a key", func(t *testing.T, path string) {
			write(t, path, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
		}, "PKCS #8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.key")
			tt.make(t, path)
			if _, err := audit.LoadKey(path, strings.NewReader("")); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
	t.Run("no randomness", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.key")
		if _, err := audit.LoadKey(path, strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("a key is there: %v", err)
		}
	})
	for _, text := range []string{"", "zz", strings.Repeat("a", 62),
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := audit.PublicKey([]byte(text)); err == nil {
			t.Errorf("public key %q accepted", text)
		}
	}
}
