// Package atomicfile writes files so that they are there, whole, once a call returns: the
// bytes and the name are on disk then, and what a crash leaves before is what was there
// or what is new, never a part. Errors are those of package os.
//
// The libraries for it fit less: github.com/google/renameio does not build on Windows
// and follows $TMPDIR, github.com/natefinch/atomic takes no mode, and neither puts the
// name on disk.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts a file with this text at path, in the place of what was there. A link
// is replaced, and not what it leads to; a folder, a device and a pipe are refused, and
// a link to one. The file gets mode, less what the umask takes.
func Replace(path string, text []byte, mode fs.FileMode) error {
	return replace(path, text, mode, false)
}

// Rewrite replaces the text of a file, which keeps its mode. What a link leads to is
// replaced, and not the link.
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
		return of(path, err)
	}
	if err := os.Rename(aside, path); err != nil {
		return errors.Join(of(path, err), os.Remove(aside))
	}
	return Sync(filepath.Dir(path))
}

// of makes an error one of path, which a caller knows.
func of(path string, err error) error {
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

// Create puts a file at path, where none may be: fs.ErrExist. A link is one, wherever
// it leads. A crash can leave a part of it.
func Create(path string, text []byte, mode fs.FileMode) error {
	if err := write(path, text, mode, false); err != nil {
		return err
	}
	if err := Sync(filepath.Dir(path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// write makes a file that is not there, or none. An exact mode is not the umask's to
// take from.
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

// Sync puts the names in a folder on disk.
func Sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // which has no such call
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
