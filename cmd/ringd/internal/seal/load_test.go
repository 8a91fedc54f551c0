package seal_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
)

func secret() []byte {
	return []byte("\x00\x01\xfe\xff0123456789abcdef0123456789ab")
}

func write(t *testing.T, data []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestForms: one key, whatever form it comes in.
func TestForms(t *testing.T) {
	want, err := seal.Parse(secret())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"bytes":              string(secret()),
		"base64":             base64.StdEncoding.EncodeToString(secret()) + "\n",
		"base64, no padding": base64.RawStdEncoding.EncodeToString(secret()),
		"base64 for URLs":    base64.URLEncoding.EncodeToString(secret()),
		"hex":                hex.EncodeToString(secret()) + "\r\n",
		"HEX":                strings.ToUpper(hex.EncodeToString(secret())),
		"space around":       "\n  " + base64.StdEncoding.EncodeToString(secret()) + "  \n\n",
	} {
		got, err := seal.File(write(t, []byte(data), 0o600))
		if err != nil || got.ID() != want.ID() {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
		if name == "bytes" {
			continue
		}
		if got, err := seal.Value(data); err != nil || got.ID() != want.ID() {
			t.Errorf("%s as a value: %v, %v", name, got, err)
		}
	}
}

func TestBadKeys(t *testing.T) {
	for name, data := range map[string]string{
		"empty":               "",
		"spaces":              " \n",
		"31 bytes":            string(secret()[:31]),
		"33 bytes":            string(secret()) + "\x00",
		"a password":          "correct horse battery staple 123",
		"16 bytes as hex":     hex.EncodeToString(secret()[:16]),
		"24 bytes as base64":  base64.StdEncoding.EncodeToString(secret()[:24]),
		"33 bytes as base64":  base64.StdEncoding.EncodeToString(append(secret(), 1)),
		"hex with a stranger": strings.Replace(hex.EncodeToString(secret()), "0", "g", 1),
		"two keys":            hex.EncodeToString(secret()) + "\n" + hex.EncodeToString(secret()),
		"zeros":               string(make([]byte, 32)),
		"zeros as hex":        strings.Repeat("0", 64),
		"huge":                strings.Repeat("a", 5000),
	} {
		path := write(t, []byte(data), 0o600)
		k, err := seal.File(path)
		if err == nil {
			t.Errorf("%s: accepted as %v", name, k)
			continue
		}
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "/dev/urandom") {
			t.Errorf("%s: %v names no file or no remedy", name, err)
		}
		if len(data) > 20 && strings.Contains(err.Error(), data[:12]) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func TestOpenFilesRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o666} {
		if _, err := seal.File(write(t, secret(), mode)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if _, err := seal.File(write(t, secret(), mode)); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := seal.File(t.TempDir()); err == nil {
		t.Error("a folder is a key")
	}
	if _, err := seal.File(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("nothing is a key")
	}
}

func TestCredential(t *testing.T) {
	path := write(t, secret(), 0o400)
	dir, name := filepath.Split(path)
	if _, err := seal.Credential(dir, name); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", ".", "..", "../" + name, "a/b", "a\x00"} {
		if _, err := seal.Credential(dir, bad); err == nil || !strings.Contains(err.Error(), "not a name") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := seal.Credential("", "key"); err == nil || !strings.Contains(err.Error(), "LoadCredential") {
		t.Errorf("without a folder: %v", err)
	}
}

func TestFileOrNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	const callers = 8
	ids := make([]string, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			k, err := seal.FileOrNew(path, rand.Reader)
			if err != nil {
				t.Error(err)
			}
			ids[i] = k.ID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("keys %v", ids)
			break
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	// One that is there is never replaced, also when it cannot be used.
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.FileOrNew(path, rand.Reader); err == nil {
		t.Error("a torn key was used")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "torn" {
		t.Errorf("a key that is there was replaced: %v", err)
	}
	other := filepath.Join(dir, "other")
	for name, random := range map[string]string{"none": "", "too little": "abc", "zeros": string(make([]byte, 64))} {
		if _, err := seal.FileOrNew(other, strings.NewReader(random)); err == nil {
			t.Errorf("made a key of %s", name)
		}
		if _, err := os.Stat(other); err == nil {
			t.Errorf("%s: a key file is there", name)
		}
	}
}

func TestKeyIsNotShown(t *testing.T) {
	k, err := seal.Parse(secret())
	if err != nil {
		t.Fatal(err)
	}
	r, err := seal.New(seal.Config{Keys: []seal.Key{k}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		if got := fmt.Sprintf(verb, k); got != "key "+k.ID() {
			t.Errorf("%s shows %s", verb, got)
		}
		got := fmt.Sprintf(verb, r)
		for _, shown := range []string{string(secret()[4:12]), hex.EncodeToString(secret()[4:12]), "48 49 50 51"} {
			if strings.Contains(got, shown) {
				t.Errorf("%s of a ring shows the key", verb)
			}
		}
	}
	if bytes.Contains([]byte(k.ID()), secret()[4:8]) {
		t.Error("the id shows the key")
	}
}

func TestNewRefuses(t *testing.T) {
	k, err := seal.Parse(secret())
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]seal.Config{
		"no key":        {Random: rand.Reader},
		"no randomness": {Keys: []seal.Key{k}},
		"an empty key":  {Keys: []seal.Key{k, {}}, Random: rand.Reader},
		"a key twice":   {Keys: []seal.Key{k, k}, Random: rand.Reader},
	} {
		if _, err := seal.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(secret())
	f.Add([]byte(hex.EncodeToString(secret())))
	f.Add([]byte(" " + base64.URLEncoding.EncodeToString(secret())))
	f.Add([]byte("correct horse battery staple 123"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := seal.Parse(data)
		if (err == nil) != (k.ID() != "") {
			t.Errorf("%v, %v", k, err)
		}
	})
}

// A key that is a pipe is refused, and nothing waits for whoever has its other end.
func TestKeyOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	clitest.NamedPipe(t, path)
	if _, err := seal.File(path); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("%v", err)
	}
}
