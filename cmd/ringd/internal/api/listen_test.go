package api_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "ringd.sock")
	l, err := api.Listen(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{path: 0o660, filepath.Dir(path): 0o750} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if _, err := api.Listen(path, ""); !errors.Is(err, api.ErrInUse) {
		t.Errorf("a second listener: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestListenReplacesADeadSocketOnly(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := api.Listen(dead, "")
	if err != nil {
		t.Fatalf("a dead socket: %v", err)
	}
	defer again.Close()

	file := filepath.Join(dir, "file.sock")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.sock")
	if err := os.Symlink(dead, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		if _, err := api.Listen(path, ""); err == nil || !strings.Contains(err.Error(), "is not a socket") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
}

func TestListenRefusesALongPath(t *testing.T) {
	if _, err := api.Listen(filepath.Join(t.TempDir(), strings.Repeat("x", 100)), ""); err == nil ||
		!strings.Contains(err.Error(), "choose a shorter one") {
		t.Errorf("got %v", err)
	}
}

func TestListenRefusesAFolderForEverybody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Listen(filepath.Join(dir, "s"), ""); err == nil ||
		!strings.Contains(err.Error(), "can be written by everybody") {
		t.Errorf("got %v", err)
	}
}
