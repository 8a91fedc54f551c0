package wasmcache

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

//go:embed digest.go install.go kept.go owner_other.go owner_unix.go
var sources embed.FS

// Digest returns the digest of this package's sources: the files of one build are not for another one, whose
// format may differ.
func Digest() (string, error) {
	return DigestOf(sources)
}

// DigestOf returns the digest of the names and texts of all files of a folder.
func DigestOf(files fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		fmt.Fprintf(h, "%s %d\n", path, len(text))
		h.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("digest of sources: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
