package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

func write(t *testing.T, path, text string, mode fs.FileMode) string {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, path string) string {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// holds checks that a folder has these names and no other, and what one of them says.
func holds(t *testing.T, path, text string, mode fs.FileMode, names ...string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s: %q, %v, want %q", path, got, err, text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
		t.Errorf("%s: %v, %v, want mode %v", path, info, err, mode)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range list {
		have = append(have, e.Name())
	}
	if !slices.Equal(have, names) {
		t.Errorf("the folder holds %v, want %v", have, names)
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"first", ""} {
		if err := atomicfile.Replace(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		holds(t, path, text, 0o600, "f")
	}
	if err := atomicfile.Replace(write(t, path, "open", 0o644), []byte("closed"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "closed", 0o600, "f")
}

// TestReplaceLink: a link is replaced, and what it leads to stays as it is.
func TestReplaceLink(t *testing.T) {
	dir := t.TempDir()
	to := write(t, filepath.Join(dir, "to"), "there", 0o600)
	path := link(t, to, filepath.Join(dir, "f"))
	if err := atomicfile.Replace(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new", 0o600, "f", "to")
	holds(t, to, "there", 0o600, "f", "to")
}

// TestReplaceRefuses: nothing is replaced that is no file, and a call that fails leaves
// nothing and names what it was given.
func TestReplaceRefuses(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"a folder": func(dir string) string {
			if err := os.Mkdir(filepath.Join(dir, "f"), 0o700); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "f")
		},
		"a pipe": func(dir string) string {
			clitest.NamedPipe(t, filepath.Join(dir, "f"))
			return filepath.Join(dir, "f")
		},
		"a link to a device": func(dir string) string { return link(t, os.DevNull, filepath.Join(dir, "f")) },
		"nowhere":            func(dir string) string { return filepath.Join(dir, "none", "f") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := path(dir)
			before, _ := os.Lstat(at)
			var e *fs.PathError
			if err := atomicfile.Replace(at, []byte("new"), 0o600); !errors.As(err, &e) || e.Path != at {
				t.Errorf("got %v, want an error of %s", err, at)
			}
			if after, _ := os.Lstat(at); before != nil && !os.SameFile(before, after) {
				t.Error("it was replaced")
			}
			if names, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(names) > 0 {
				t.Errorf("left: %v, %v", names, err)
			}
		})
	}
}

// TestRewrite: the mode stays, and a link.
func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []fs.FileMode{0o600, 0o666, 0o755} {
		to := write(t, filepath.Join(dir, "to"), "old", mode)
		if err := atomicfile.Rewrite(to, []byte("new")); err != nil {
			t.Fatal(err)
		}
		holds(t, to, "new", mode, "to")
	}
	to, path := filepath.Join(dir, "to"), link(t, "to", filepath.Join(dir, "f"))
	if err := atomicfile.Rewrite(path, []byte("newer")); err != nil {
		t.Fatal(err)
	}
	holds(t, to, "newer", 0o755, "f", "to")
	if at, err := os.Readlink(path); err != nil || at != "to" {
		t.Errorf("the link leads to %q, %v", at, err)
	}
	if err := atomicfile.Rewrite(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestCreate: what is there stays, and where a link leads nothing is made.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := atomicfile.Create(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Create(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	holds(t, path, "first", 0o600, "f")
	if err := atomicfile.Create(link(t, "none", filepath.Join(dir, "l")), nil, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	holds(t, path, "first", 0o600, "f", "l")
}

func TestSync(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Sync(dir); err != nil {
		t.Error(err)
	}
	if err := atomicfile.Sync(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
