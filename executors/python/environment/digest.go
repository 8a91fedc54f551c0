package environment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFiles limits the number of files in an environment.
const maxFiles = 200_000

// Digest is the digest of a folder with packages: "sha256:" and the SHA-256, in hex, of one line for each entry
// in it, in the order of a walk with sorted names:
//
//	f PATH SIZE SHA256      a file, with its content
//	x PATH SIZE SHA256      the same, which its owner may start
//	l PATH TEXT             a symbolic link
//	d PATH                  a folder
//
// Paths are relative to the folder, and quoted as Go quotes a string. Byte code is included, since it is what
// runs: install with --no-compile if several hosts should have one digest. Owners and times are not included.
// Any other entry of the folder (a socket, a device) is an error.
func Digest(folder string) (string, error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", fmt.Errorf("digest of an environment: %w", err)
	}
	sum, files := sha256.New(), 0
	err = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; files > maxFiles {
			return fmt.Errorf("it holds more than %d files and folders", maxFiles)
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || rel == "." {
			return err
		}
		line, err := lineOf(p, rel, e)
		if err == nil {
			_, err = io.WriteString(sum, line)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("digest of the environment %s: %w", folder, err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func lineOf(p, rel string, e fs.DirEntry) (string, error) {
	switch {
	case e.IsDir():
		return fmt.Sprintf("d %q\n", rel), nil
	case e.Type() == fs.ModeSymlink:
		to, err := os.Readlink(p)
		return fmt.Sprintf("l %q %q\n", rel, to), err
	case e.Type().IsRegular():
		return fileLine(p, rel)
	default:
		return "", fmt.Errorf("%s is neither file nor folder", p)
	}
}

func fileLine(p, rel string) (line string, err error) {
	f, err := os.Open(p)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return "", err
	}
	kind := "f"
	if info.Mode()&0o100 != 0 {
		kind = "x"
	}
	return fmt.Sprintf("%s %q %d %s\n", kind, rel, n, hex.EncodeToString(sum.Sum(nil))), nil
}

// sameDigest reports whether a policy names this digest, with or without "sha256:".
func sameDigest(want, have string) bool {
	return strings.EqualFold(strings.TrimPrefix(want, "sha256:"), strings.TrimPrefix(have, "sha256:"))
}
