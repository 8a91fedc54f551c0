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

// StartPrefix is the prefix of the name of every file that keeps a Start. Files of other builds may still be in
// use: at most StartFiles of them are kept.
const (
	StartPrefix = "ringd-js-start-"
	StartFiles  = 4
)

// Limits of Install.
const maxInstalled = 64 // files and folders

// ErrForeign is returned by Install for a file that no guest keeps.
var ErrForeign = errors.New("not an entry of an engine")

// Install copies the files that a process has kept under from into the folder to, each file atomically. The
// process had a folder of its own to write to, so no process that could run a program ever had access to this
// one. If public is set, others may read the installed files, since the guests of a root daemon are another
// user. to must be a folder that CheckFolder accepts.
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
			return copyFile(root, filepath.FromSlash(name), to, fileMode)
		}
	})
	if err != nil {
		return fmt.Errorf("install the engine's cache: %w", err)
	}
	Prune(to, StartPrefix, StartFiles)
	return nil
}

// folder creates a folder. An existing folder that can be read is left as it is.
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

// copyFile copies one file.
func copyFile(root *os.Root, name, to string, mode fs.FileMode) error {
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
