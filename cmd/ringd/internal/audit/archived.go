package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

const (
	archivedName    = "archived.json"
	archivedVersion = 1
	archivedDomain  = "ringd audit archived v1\n"
	archivedMost    = 64 << 20 // of the file: some 200,000 segments
	archiveSuffix   = ".gz"
)

// Archived is the head of the archived segments. Open verifies the rest of the log with it, and the daemon
// reads it at its start. It is stored as archived.json in the folder of the log, signed by the host, with a
// copy in the archive. The zero Archived means that nothing was archived.
type Archived struct {
	Version int64  `json:"v"`
	Key     string `json:"key"`     // the host's public key, hex
	Segment int64  `json:"segment"` // number of the last archived segment
	Head           // its last record; sequences begin at 1, so Seq is also the number of archived records
	Line    Hash   `json:"line"` // of its last line, which the next header names
	// Kinds has the sequence of the last archived record of each kind.
	Kinds map[Kind]int64 `json:"kinds"`
	Files []ArchivedFile `json:"files"` // one for each segment, in order
}

// ArchivedFile is one segment in an archive.
type ArchivedFile struct {
	Name   string    `json:"name"`
	Digest string    `json:"digest"` // of the file
	Bytes  int64     `json:"bytes"`
	First  int64     `json:"first"` // sequences of its records
	Last   int64     `json:"last"`
	From   time.Time `json:"from"` // times of these two
	Until  time.Time `json:"until"`
}

// Until returns the time of the last archived record, or zero if there is none.
func (a Archived) Until() time.Time {
	if len(a.Files) == 0 {
		return time.Time{}
	}
	return a.Files[len(a.Files)-1].Until
}

// ReadArchived reads the head in dir, the folder of a log or an archive. Without a key it trusts the key in
// the head; Verify and Open do not. Errors: ErrTampered, ErrKey, ErrFormat, faults.
func ReadArchived(dir string, key ed25519.PublicKey) (Archived, error) {
	f, err := openRegular(filepath.Join(dir, archivedName))
	if errors.Is(err, fs.ErrNotExist) {
		return Archived{}, nil
	}
	if err != nil {
		return Archived{}, fmt.Errorf("read audit log: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, archivedMost+1))
	if err != nil {
		return Archived{}, fmt.Errorf("read %s: %w", archivedName, err)
	}
	a, why, cause := parseArchived(text, key)
	if cause != nil {
		return Archived{}, &headError{cause, why}
	}
	return a, nil
}

// headError is an invalid head. cause is the sentinel.
type headError struct {
	cause error
	why   string
}

// Error names the file and the problem, and where a copy is.
func (e *headError) Error() string {
	return fmt.Sprintf("%v: %s: %s", e.cause, archivedName, e.detail())
}

func (e *headError) detail() string { return e.why + "; the archive has a copy of the file" }

// Unwrap returns the sentinel.
func (e *headError) Unwrap() error { return e.cause }

// parseArchived parses a head: a line of JSON, and a line with its signature.
func parseArchived(text []byte, key ed25519.PublicKey) (a Archived, why string, cause error) {
	line, rest, whole := bytes.Cut(text, []byte("\n"))
	c := cursor{b: rest}
	c.literal(`{"sig":"`)
	sig := c.signature()
	c.literal("\"}\n")
	var named struct {
		Version int64  `json:"v"`
		Key     string `json:"key"`
	}
	if !whole || !c.end() || len(text) > archivedMost || json.Unmarshal(line, &named) != nil {
		return a, "it is not in the form that ringd writes", ErrTampered
	}
	own, err := hex.DecodeString(named.Key)
	switch {
	case err != nil || len(own) != ed25519.PublicKeySize:
		return a, "it names no key", ErrTampered
	case key != nil && !bytes.Equal(key, own):
		return a, "it names another key", ErrKey
	case !ed25519.Verify(own, append([]byte(archivedDomain), line...), sig):
		return a, "the signature is not valid: the file was changed after it was written", ErrTampered
	case named.Version != archivedVersion:
		return a, fmt.Sprintf("format %d; this ringd reads %d", named.Version, archivedVersion), ErrFormat
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if err := in.Decode(&a); err != nil || !a.isConsecutive() {
		return Archived{}, "its parts do not match", ErrTampered
	}
	return a, "", nil
}

// isConsecutive reports whether the files are consecutive and end at the head.
func (a Archived) isConsecutive() bool {
	seq := int64(0)
	for i, f := range a.Files {
		if f.Name != segmentName(int64(i)+1)+archiveSuffix || f.First != seq+1 || f.Last < f.First {
			return false
		}
		seq = f.Last
	}
	return len(a.Files) > 0 && a.Segment == int64(len(a.Files)) && a.Seq == seq
}

// text returns a with its signature. A head that is too large to be read again is ErrArchive: no daemon could
// start on it.
func (a Archived) text(key ed25519.PrivateKey) ([]byte, error) {
	line, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", archivedName, err)
	}
	text := signArchived(line, key)
	if len(text) > archivedMost {
		return nil, fmt.Errorf("%w: %s may have %d bytes, and would have %d with %d segments", ErrArchive, archivedName,
			archivedMost, len(text), len(a.Files))
	}
	return text, nil
}

func signArchived(line []byte, key ed25519.PrivateKey) []byte {
	sig := ed25519.Sign(key, append([]byte(archivedDomain), line...))
	out := append(slices.Clone(line), "\n{\"sig\":\""...)
	return append(base64.StdEncoding.AppendEncode(out, sig), "\"}\n"...)
}

// removeArchived removes the segments that a has as archived. A crash may have left them.
func (a Archived) removeArchived(dir string) error {
	list, err := segments(dir)
	if err != nil {
		return err
	}
	for _, n := range list {
		if n > a.Segment {
			break
		}
		if err := os.Remove(filepath.Join(dir, segmentName(n))); err != nil {
			return fmt.Errorf("remove archived segment: %w", err)
		}
	}
	if len(list) == 0 || list[0] > a.Segment {
		return nil
	}
	return atomicfile.Sync(dir)
}
