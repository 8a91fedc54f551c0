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

// fileBytes is the fixed size of the file. Starting a lockdown overwrites the file, so it needs no space on a
// full disk. A torn write cannot be read, and a file that cannot be read is a lockdown.
const fileBytes = 8192

// fileState is the content of the file.
type fileState struct {
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

// readState returns the content of the file. A missing file means open. An unreadable one is an error.
func readState(name string) (fileState, error) {
	if err := checkRegular(name); errors.Is(err, os.ErrNotExist) {
		return fileState{State: stateOpen}, nil
	} else if err != nil {
		return fileState{}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return fileState{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileBytes+1))
	if err != nil {
		return fileState{}, err
	}
	var k fileState
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&k); err != nil {
		return fileState{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || len(b) != fileBytes ||
		(k.State != stateLocked && k.State != stateOpen) {
		return fileState{}, errors.New("it is not what ringd writes")
	}
	return k, nil
}

// checkRegular refuses anything but a regular file: opening a pipe would wait for its other end. It returns
// os.ErrNotExist if there is no file.
func checkRegular(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file: move it away while ringd runs")
	}
	return nil
}

// writeState returns once k is on disk.
func writeState(name string, k fileState) (err error) {
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if len(b) > fileBytes {
		return fmt.Errorf("%d bytes do not fit", len(b))
	}
	b = append(b, bytes.Repeat([]byte{'\n'}, fileBytes-len(b))...)
	statErr := checkRegular(name)
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
	if err := f.Truncate(fileBytes); err != nil {
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
	k, err := readState(name)
	switch {
	case err != nil:
		k = fileState{Forgot: now.UTC()}
	case k.State == stateLocked:
		return nil
	}
	return writeState(
		name,
		fileState{
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
