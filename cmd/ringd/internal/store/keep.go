package store

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
	"sync"
	"syscall"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

// ErrDamaged: a snapshot is missing, or does not have its size.
var ErrDamaged = errors.New("snapshot is damaged")

// Keep is a folder of snapshots. It is safe for concurrent use and needs no Close.
type Keep struct {
	dir string

	mu     sync.Mutex
	pinned map[string]int // names whose row may be committed soon
	temps  int64
}

// temporary is the prefix of files that are being written.
const temporary = "new-"

// openKeepDir creates the folder, durably, if it is missing. It removes each file that named does not know:
// one that was written and not committed, or deleted and not removed.
func openKeepDir(dir string, named func(name string) bool) (*Keep, error) {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = os.Lstat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", dir)
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if checkName(e.Name()) != nil && !strings.HasPrefix(e.Name(), temporary) || named(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	if err := atomicfile.Sync(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	return &Keep{dir: dir, pinned: map[string]int{}}, nil
}

// checkName returns an error for a name that Put does not return.
func checkName(name string) error {
	b, err := hex.DecodeString(name)
	if err != nil || len(b) != sha256.Size || name != strings.ToLower(name) {
		return fmt.Errorf("%w: %q is not the name of one", ErrDamaged, name)
	}
	return nil
}

// Put writes body and returns its name once both are on disk. The caller commits the row with the name and
// then calls done, on every path. Until then Drop does not remove the file.
func (k *Keep) Put(body []byte) (name string, done func(), err error) {
	sum := sha256.Sum256(body)
	name = hex.EncodeToString(sum[:])
	k.mu.Lock()
	k.pinned[name]++
	k.temps++
	path := filepath.Join(k.dir, fmt.Sprintf("%s%d", temporary, k.temps))
	k.mu.Unlock()
	done = func() { k.unpin(name) }
	if err := k.write(path, name, body); err != nil {
		done()
		return "", nil, fmt.Errorf("write snapshot: %w", errors.Join(err, ignoreMissing(os.Remove(path))))
	}
	return name, done, nil
}

func (k *Keep) unpin(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pinned[name]--; k.pinned[name] <= 0 {
		delete(k.pinned, name)
	}
}

// ignoreMissing ignores the error that a file does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (k *Keep) write(path, name string, body []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(k.dir, name)); err != nil {
		return err
	}
	return atomicfile.Sync(k.dir)
}

// Get reads the snapshot with this name and size. It does not check the content; the seal does. Error:
// ErrDamaged.
func (k *Keep) Get(name string, size int64) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	// do not block on a pipe
	f, err := os.OpenFile(filepath.Join(k.dir, name), os.O_RDONLY|noFollow|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: file %s is not there", ErrDamaged, name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return nil, fmt.Errorf("%w: file %s has %d bytes, not %d", ErrDamaged, name, info.Size(), size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(f, body); err != nil {
		return nil, fmt.Errorf("%w: read file %s: %w", ErrDamaged, name, err)
	}
	return body, nil
}

// Drop removes each file of names that no row names and none is about to. A file that cannot be removed now
// is removed by the next Open.
func (k *Keep) Drop(names []string, named func(name string) bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, name := range names {
		if checkName(name) != nil || k.pinned[name] > 0 || named(name) {
			continue
		}
		errs = append(errs, ignoreMissing(os.Remove(filepath.Join(k.dir, name))))
	}
	return errors.Join(errs...)
}
