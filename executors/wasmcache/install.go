package wasmcache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// StartPrefix begins the name of every file that keeps a Start. Of those of other
// builds, of which some may still be in use, at most StartFiles stay.
const (
	StartPrefix = "ringd-js-start-"
	StartFiles  = 4
)

// Bounds of what Install takes.
const maxInstalled = 64 // files and folders

// ErrForeign is returned by Install for something that no guest keeps.
var ErrForeign = errors.New("not what an engine keeps")

// Install copies what a process has kept under from into the folder to, each file
// at once or not at all. The process had a folder of its own to write, so that
// nothing that could run a program ever had this one. With public set others may
// read what is installed, since the guests of a root daemon are another user. to
// must be a folder that CheckFolder takes.
func Install(from, to string, public bool) error {
	dirMode, fileMode := fs.FileMode(0o700), fs.FileMode(0o600)
	if public {
		dirMode, fileMode = 0o755, 0o644
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("install the engine's cache: %w", err)
	}
	defer root.Close()
	left := maxInstalled
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		left--
		switch {
		case err != nil:
			return err
		case left < 0, strings.Count(name, "/") > 1:
			return fmt.Errorf("%w: %d entries or more", ErrForeign, maxInstalled)
		case d.IsDir():
			return folder(filepath.Join(to, filepath.FromSlash(name)), dirMode)
		case !d.Type().IsRegular():
			return fmt.Errorf("%w: %q", ErrForeign, name)
		default:
			return one(root, filepath.FromSlash(name), to, fileMode)
		}
	})
	if err != nil {
		return fmt.Errorf("install the engine's cache: %w", err)
	}
	Prune(to, StartPrefix, StartFiles)
	return nil
}

// folder makes one; one that was there and may be looked into stays so.
func folder(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm()&mode == mode {
		return err
	}
	return os.Chmod(path, mode)
}

// one copies one file.
func one(root *os.Root, name, to string, mode fs.FileMode) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxBytes {
		return fmt.Errorf("%w: %q", ErrForeign, name)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes))
	if err != nil {
		return err
	}
	return keep(filepath.Join(to, name), b, mode)
}
