// Package atomicfile owns durable writes of files: when a call returns, content and name are on disk. After a
// crash there is the old file or the new one, never a part. Errors are those of package os.
//
// The libraries fit less: github.com/google/renameio does not build on Windows and follows $TMPDIR,
// github.com/natefinch/atomic takes no mode, and neither syncs the name.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace replaces the file at path by one with this text. It replaces a link itself, not its target. A
// folder, a device or a pipe is refused, and a link to one. The file gets mode without the bits of the umask.
func Replace(path string, text []byte, mode fs.FileMode) error {
	return replace(path, text, mode, false)
}

// Rewrite replaces the text of a file, which keeps its mode. It replaces the target of a link, not the link.
func Rewrite(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return replace(path, text, info.Mode()&fs.ModePerm, true)
}

func replace(path string, text []byte, mode fs.FileMode, exact bool) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "replace", Path: path, Err: errors.New("not a regular file")}
	}
	dir, name := filepath.Split(path)
	aside := filepath.Join(dir, "."+name+"."+rand.Text()+".new")
	if err := write(aside, text, mode, exact); err != nil {
		return withPath(path, err)
	}
	if err := os.Rename(aside, path); err != nil {
		return errors.Join(withPath(path, err), os.Remove(aside))
	}
	return Sync(filepath.Dir(path))
}

// withPath returns an error with path, which the caller knows.
func withPath(path string, err error) error {
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		err = one.Err
	case errors.As(err, &two):
		err = two.Err
	}
	return &fs.PathError{Op: "replace", Path: path, Err: err}
}

// Create creates a file at path. An existing file, or a link of any kind, is fs.ErrExist. A crash can leave a
// part of the file.
func Create(path string, text []byte, mode fs.FileMode) error {
	if err := write(path, text, mode, false); err != nil {
		return err
	}
	if err := Sync(filepath.Dir(path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// write creates a new file, or none. If exact is set, the umask does not apply to mode.
func write(path string, text []byte, mode fs.FileMode, exact bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if exact {
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Sync syncs the names in a folder.
func Sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // this system has no such call
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
