package lockdown

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

// block is the fixed size of the file. Starting a lockdown overwrites the file, so it needs no space on a
// full disk. A torn write cannot be read, and a file that cannot be read is a lockdown.
const block = 8192

// kept is the content of the file.
type kept struct {
	State    string    `json:"state"` // locked | open
	By       string    `json:"by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Sequence int64     `json:"sequence,omitempty"` // of the last signed order
	Order    string    `json:"order,omitempty"`    // digest of the last signed order; empty if there was none
	Forgot   time.Time `json:"forgot,omitzero"`    // when a previous file could not be read
}

const (
	stateLocked = "locked"
	stateOpen   = "open"
)

// read returns the content of the file. A missing file means open. An unreadable one is an error.
func read(name string) (kept, error) {
	if err := regular(name); errors.Is(err, os.ErrNotExist) {
		return kept{State: stateOpen}, nil
	} else if err != nil {
		return kept{}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return kept{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, block+1))
	if err != nil {
		return kept{}, err
	}
	var k kept
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&k); err != nil {
		return kept{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || len(b) != block ||
		(k.State != stateLocked && k.State != stateOpen) {
		return kept{}, errors.New("it is not what ringd writes")
	}
	return k, nil
}

// regular refuses anything but a regular file: opening a pipe would wait for its other end. It returns
// os.ErrNotExist if there is no file.
func regular(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file: move it away while ringd runs")
	}
	return nil
}

// write returns once k is on disk.
func write(name string, k kept) (err error) {
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if len(b) > block {
		return fmt.Errorf("%d bytes do not fit", len(b))
	}
	b = append(b, bytes.Repeat([]byte{'\n'}, block-len(b))...)
	statErr := regular(name)
	if statErr != nil && !errors.Is(statErr, os.ErrNotExist) {
		return statErr
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	if err := f.Truncate(block); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || statErr == nil {
		return err
	}
	return atomicfile.Sync(filepath.Dir(name)) // the directory entry of a new file must be on disk too
}

// Keep writes a lockdown into the file of a stopped daemon whose log or store cannot be opened. The next
// daemon starts under the lockdown.
func Keep(name, by, reason string, now time.Time) error {
	if err := check(by, reason); err != nil {
		return err
	}
	k, err := read(name)
	switch {
	case err != nil:
		k = kept{Forgot: now.UTC()}
	case k.State == stateLocked:
		return nil
	}
	return write(
		name,
		kept{
			State:    stateLocked,
			By:       by,
			Reason:   reason,
			Since:    now.UTC(),
			Sequence: k.Sequence,
			Order:    k.Order,
			Forgot:   k.Forgot,
		},
	)
}
