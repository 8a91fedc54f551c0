package store

import (
	"errors"
	"fmt"
	"os"
)

// ErrInUse: another process holds the folder.
var ErrInUse = errors.New("store is in use by another process")

// ownDir creates dir if it is missing, and refuses one that other users can enter.
func ownDir(dir string) error {
	if err := writable(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("mode %04o: others can enter it; run chmod 700 on it", mode)
	}
	return nil
}

// makeFile creates a file that only the owner can read, if it is missing. It refuses a link.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// notEmpty reports whether path is a file with content.
func notEmpty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}
