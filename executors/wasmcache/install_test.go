package wasmcache_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors/wasmcache"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// tree is every file below dir with its text, and every mode.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		out[rel] = fmt.Sprintf("%o", info.Mode().Perm())
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			out[rel] += " " + string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestInstall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		public bool
		want   map[string]string
	}{
		{"for this user", false, map[string]string{".": "700", "ringd-js-start-1": "600 new", "other": "600 stays", "wazero-1": "700", "wazero-1/ab": "600 code"}},
		{"for guests of another user", true, map[string]string{".": "755", "ringd-js-start-1": "644 new", "other": "600 stays", "wazero-1": "755", "wazero-1/ab": "644 code"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
			write(t, filepath.Join(from, "ringd-js-start-1"), "new")
			write(t, filepath.Join(from, "wazero-1", "ab"), "code")
			write(t, filepath.Join(to, "ringd-js-start-1"), "old")
			write(t, filepath.Join(to, "other"), "stays")
			if err := wasmcache.Install(from, to, tt.public); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, tree(t, to)); d != "" {
				t.Error(d)
			}
			if err := wasmcache.CheckFolder(to); err != nil {
				t.Error(err)
			}
		})
	}
}

// Nothing but files and folders of files is taken, and not without end. A link
// would let the guest that filled the folder choose what its successors load.
func TestInstallRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	for name, make := range map[string]func(dir string) error{
		"a link to a file outside": func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "ringd-js-start-1")) },
		"a link to a folder": func(dir string) error {
			return os.Symlink(filepath.Dir(outside), filepath.Join(dir, "wazero-1"))
		},
		"too deep": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o700) },
		"too many": func(dir string) error {
			for i := range 100 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"too large": func(dir string) error {
			f, err := os.Create(filepath.Join(dir, "large"))
			if err != nil {
				return err
			}
			return errors.Join(f.Truncate(wasmcache.MaxBytes+1), f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			if err := make(from); err != nil {
				t.Fatal(err)
			}
			if err := wasmcache.Install(from, to, false); !errors.Is(err, wasmcache.ErrForeign) {
				t.Errorf("%v, want %v", err, wasmcache.ErrForeign)
			}
			for path, text := range tree(t, to) {
				if strings.Contains(text, "secret") {
					t.Errorf("%s: %s", path, text)
				}
			}
		})
	}
	if err := wasmcache.Install(filepath.Join(t.TempDir(), "none"), t.TempDir(), false); !errors.Is(
		err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// What other builds have kept goes, but for some.
func TestInstallPrunes(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	old := time.Unix(1_700_000_000, 0)
	for i := range 6 {
		path := filepath.Join(to, wasmcache.StartPrefix+fmt.Sprint(i))
		write(t, path, "old")
		if err := os.Chtimes(path, old, old.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(from, wasmcache.StartPrefix+"new"), "new")
	if err := wasmcache.Install(from, to, false); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(to, wasmcache.StartPrefix+"*"))
	if err != nil || len(found) != wasmcache.StartFiles {
		t.Errorf("%v %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(to, wasmcache.StartPrefix+"new")); err != nil {
		t.Error(err)
	}
}

// What lies in the folder is loaded as native code: whoever owns it decides what.
func TestFolderOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives a folder to another user")
	}
	dir := t.TempDir()
	if err := wasmcache.CheckFolder(dir); err != nil {
		t.Error(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := wasmcache.CheckFolder(dir); err == nil || !strings.Contains(err.Error(), "user 65534") {
		t.Errorf("a folder of user 65534: %v", err)
	}
}
