package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

func none(string) bool { return false }

func openKeep(t *testing.T, dir string, named func(string) bool) *Keep {
	t.Helper()
	k, err := openKeepDir(dir, named)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func list(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	k := openKeep(t, dir, none)
	body := bytes.Repeat([]byte("memory "), 1000)
	name, done, err := k.Put(body)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, err := k.Get(name, int64(len(body))); err != nil || !bytes.Equal(got, body) {
		t.Error(err)
	}
	// Until done is called a row may be on its way.
	if err := k.Drop([]string{name}, none); err != nil || len(list(t, dir)) != 1 {
		t.Errorf("dropped before it was committed: %v", err)
	}
	done()
	if err := k.Drop([]string{name}, func(n string) bool { return n == name }); err != nil || len(list(t, dir)) != 1 {
		t.Errorf("dropped while a row names it: %v", err)
	}
	if err := k.Drop([]string{name, name, "../etc/passwd", ""}, none); err != nil || len(list(t, dir)) != 0 {
		t.Errorf("left %v, %v", list(t, dir), err)
	}
}

func TestGetRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	k := openKeep(t, dir, none)
	name, done, err := k.Put([]byte("memory"))
	if err != nil {
		t.Fatal(err)
	}
	done()
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := strings.Repeat("ab", 32)
	if err := os.Symlink(secret, filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		name string
		size int64
	}{
		"not there":        {strings.Repeat("00", 32), 6},
		"longer":           {name, 5},
		"shorter":          {name, 7},
		"a path":           {"./secret", 6},
		"no name":          {"", 6},
		"not a digest":     {"secret", 6},
		"in large letters": {strings.ToUpper(name), 6},
	} {
		if got, err := k.Get(tt.name, tt.size); !errors.Is(err, ErrDamaged) || got != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if got, err := k.Get(link, 6); !errors.Is(err, ErrDamaged) {
		t.Errorf("a link was followed to %q, %v", got, err)
	}
}

// TestGetOfAPipe: a pipe in the place of a snapshot holds nobody up.
func TestGetOfAPipe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "k")
	k := openKeep(t, dir, none)
	name, done, err := k.Put([]byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	done()
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	clitest.NamedPipe(t, path)
	if _, err := k.Get(name, 4); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
}

func TestPutFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	k := openKeep(t, dir, none)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Put([]byte("memory")); err == nil {
		t.Error("kept in a folder that is not there")
	}
	if _, err := openKeepDir(filepath.Join(dir, "deeper"), none); err == nil {
		t.Error("opened below a folder that is not there")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeepDir(dir, none); err == nil {
		t.Error("opened a file")
	}
}

// TestSideBySide puts and drops the same bytes at once: whoever holds a name
// finds it.
func TestSideBySide(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	k := openKeep(t, dir, none)
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 20 {
				body := fmt.Appendf(nil, "memory %d", i%3)
				name, done, err := k.Put(body)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := k.Get(name, int64(len(body))); err != nil || !bytes.Equal(got, body) {
					t.Errorf("writer %d: %q, %v", w, got, err)
				}
				done()
				if err := k.Drop([]string{name}, none); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left := list(t, dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}
