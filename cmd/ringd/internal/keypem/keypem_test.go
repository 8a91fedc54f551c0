package keypem_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/keypem"
)

func made(t *testing.T) keypem.Made {
	t.Helper()
	m, err := keypem.Make(strings.NewReader(strings.Repeat("a", ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRound: what Make writes is read again, with space behind it too.
func TestRound(t *testing.T) {
	m := made(t)
	for _, end := range []string{"", "\n \r\n"} {
		if key, err := keypem.Private(append(bytes.Clone(m.Private), end...)); err != nil || !key.Equal(m.Key) {
			t.Errorf("private: %v", err)
		}
		if key, err := keypem.Public(append(bytes.Clone(m.Public), end...)); err != nil || !key.Equal(m.Key.Public()) {
			t.Errorf("public: %v", err)
		}
	}
	if _, err := keypem.Make(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// TestRefused: anything else is no key, and no error quotes it.
func TestRefused(t *testing.T) {
	m := made(t)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(kind string, der []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(other)
	private := encoded("PRIVATE KEY", pkcs8, err)
	pkix, err := x509.MarshalPKIXPublicKey(other.Public())
	public := encoded("PUBLIC KEY", pkix, err)
	secret := encoded("PRIVATE KEY", []byte("secret"), nil)
	for _, tt := range []struct {
		name            string
		private, public []byte
		want            string
	}{
		{"nothing", nil, nil, "not one PEM block"},
		{"the other half", m.Public, m.Private, "not one PEM block"},
		{"twice", append(bytes.Clone(m.Private), m.Private...), append(bytes.Clone(m.Public), m.Public...), "not one PEM block"},
		{"text behind it", append(bytes.Clone(m.Private), "x"...), append(bytes.Clone(m.Public), "x"...), "not one PEM block"},
		{"another kind of key", private, public, "not Ed25519"},
		{"no key in it", secret, encoded("PUBLIC KEY", []byte("x"), nil), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := keypem.Private(tt.private); err == nil || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("private: got %v, want %q", err, tt.want)
			}
			if _, err := keypem.Public(tt.public); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("public: got %v, want %q", err, tt.want)
			}
		})
	}
}
