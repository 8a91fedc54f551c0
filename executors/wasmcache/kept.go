// Package wasmcache stores the results that a process computes from the engine file, so that the next process
// does not have to: the metered code, and the image from which every VM starts. The files are in the folder
// from which compiled code is loaded, and are trusted like that code. A digest detects a damaged file.
//
// It rejects an incomplete file. Package engine calls it, and checks the numbers of an image.
package wasmcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Start is the content of a file.
type Start struct {
	Wasm    []byte   // metered
	Memory  []byte   // of the image
	Numbers []uint32 // of the image, at most MaxNumbers
}

// Limits of a file.
const (
	MaxBytes   = 64 << 20
	maxNumbers = 64
)

const magic = "ringd js start 1\n"

// ErrDamaged is returned for bytes that Encode has not made.
var ErrDamaged = errors.New("the engine's start that was kept is damaged")

// Encode returns the bytes that Decode reads.
func (s Start) Encode() []byte {
	b := make([]byte, 0, len(magic)+sha256.Size+12+4*len(s.Numbers)+len(s.Wasm)+len(s.Memory))
	b = append(append(b, magic...), make([]byte, sha256.Size)...)
	for _, n := range []int{len(s.Numbers), len(s.Wasm), len(s.Memory)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for _, n := range s.Numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	b = append(append(b, s.Wasm...), s.Memory...)
	sum := sha256.Sum256(b[len(magic)+sha256.Size:])
	copy(b[len(magic):], sum[:])
	return b
}

// Decode decodes the output of Encode, and nothing else. The result aliases b.
func Decode(b []byte) (Start, error) {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok || len(rest) < sha256.Size || sha256.Sum256(rest[sha256.Size:]) != [sha256.Size]byte(rest) {
		return Start{}, ErrDamaged
	}
	return body(rest[sha256.Size:])
}

func body(b []byte) (Start, error) {
	if len(b) < 12 {
		return Start{}, ErrDamaged
	}
	numbers, wasm := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))
	memory := uint64(binary.LittleEndian.Uint32(b[8:]))
	b = b[12:]
	if numbers > maxNumbers || uint64(len(b)) != 4*numbers+wasm+memory {
		return Start{}, ErrDamaged
	}
	s := Start{Numbers: make([]uint32, numbers)}
	for i := range s.Numbers {
		s.Numbers[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	b = b[4*numbers:]
	s.Wasm, s.Memory = b[:wasm:wasm], b[wasm:]
	return s, nil
}

// Load returns the Start in the file path.
func Load(path string) (Start, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Start{}, fmt.Errorf("load the engine's start: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > MaxBytes {
		return Start{}, ErrDamaged
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Start{}, fmt.Errorf("load the engine's start: %w", err)
	}
	return Decode(b)
}

// Keep stores the encoded Start in the file path, atomically. It does not wait for the disk: the digest detects
// damage by a crash, and the file is made again.
func Keep(path string, encoded []byte) error { return keep(path, encoded, 0o600) }

func keep(path string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("keep the engine's start: %w", err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the engine's start: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// Prune removes files of dir whose name begins with prefix, except the newest ones, at most most. A file that
// cannot be removed stays until the next time.
func Prune(dir, prefix string, most int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), prefix) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, f := range files[min(most, len(files)):] {
		_ = os.Remove(filepath.Join(dir, f.Name()))
	}
}

// CheckFolder makes dir. It returns an error if others own it or may write there, since its content is loaded
// as native code. Root does not count as another user.
func CheckFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("make the engine's cache: %w", err)
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("use the engine's cache: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("use the engine's cache: %s is not a folder that only its owner can write", dir)
	}
	if owner, ok := ownerOf(info); ok && owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("use the engine's cache: %s belongs to user %d, who could change the code in it", dir, owner)
	}
	return nil
}
