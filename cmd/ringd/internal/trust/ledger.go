package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
	"github.com/ringd/ringd/profiles/canonjson"
)

// ledgerFormat is the version of the file. A reader refuses any other.
const ledgerFormat = "ringd.pushes/v1"

// The limits of the file.
const (
	maxLedger  = 256 << 10 // bytes
	maxHistory = 1024      // revisions that are remembered
)

// memory is what a host remembers of the pushes it accepted.
type memory struct {
	Format   string    `json:"format"`
	Sequence int64     `json:"sequence"` // of the last accepted; 0: none yet
	Digest   string    `json:"digest"`   // of its payload
	Revision string    `json:"revision"`
	Seen     time.Time `json:"seen"`    // the latest time that was ever seen: no clock may go back behind it
	History  []string  `json:"history"` // revisions that were in force before, the oldest first
}

// Ledger keeps in one file what a host remembers of pushes. It is safe for concurrent
// use; the daemon, which holds the lock of its state folder, is the only writer.
type Ledger struct {
	path string

	mu    sync.Mutex
	now   memory
	owing bool // now.Seen is later than what the file says: it could not be written
}

// OpenLedger reads the file, which need not be there. One that cannot be understood
// is an error with a remedy: taking it for a new one would accept old pushes.
func OpenLedger(path string) (*Ledger, error) {
	l := &Ledger{path: path, now: memory{Format: ledgerFormat, History: []string{}}}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	damaged := func(why error) error {
		var at *fs.PathError
		if errors.As(why, &at) {
			why = at.Err
		}
		return fmt.Errorf("accepted pushes %s: %w; restore it from a backup, or remove it if no old push can be in "+
			"the sync folder", path, why)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for somebody
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("read accepted pushes: %w; the state folder must belong to this user", err)
	}
	if err != nil {
		return nil, damaged(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, damaged(err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxLedger {
		return nil, damaged(errors.New("not a small regular file"))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLedger+1))
	if err != nil {
		return nil, damaged(err)
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, damaged(err)
	}
	if !m.says(text) {
		return nil, damaged(errors.New("a field is missing, is there twice, or is not in the form that ringd writes"))
	}
	if m.Format != ledgerFormat {
		return nil, damaged(fmt.Errorf("format %q, this build reads %q", canonjson.Clip(m.Format), ledgerFormat))
	}
	if m.Sequence < 0 || m.Sequence > canonjson.MaxExact || m.Sequence > 0 &&
		(!isDigest(m.Digest) || !isDigest(m.Revision)) {
		return nil, damaged(errors.New("it does not describe a push that could have been accepted"))
	}
	l.now = m
	return l, nil
}

// says reports whether a text is what would be written, but for spaces: people may put a
// time right in it.
func (m memory) says(text []byte) bool {
	raw, err := json.Marshal(m)
	var have, want bytes.Buffer
	return errors.Join(err, json.Compact(&have, text), json.Compact(&want, raw)) == nil &&
		bytes.Equal(have.Bytes(), want.Bytes())
}

func (l *Ledger) read() memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// accept notes a push as the last accepted, durably, before it takes force.
func (l *Ledger) accept(p *Push, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.now
	next.Seen = later(next.Seen, now)
	if p.Digest != l.now.Digest {
		next.History = slices.Clone(l.now.History)
		if l.now.Revision != "" && l.now.Revision != p.Revision && !slices.Contains(next.History, l.now.Revision) {
			next.History = append(next.History, l.now.Revision)
		}
		next.History = next.History[max(0, len(next.History)-maxHistory):]
		next.Sequence, next.Digest, next.Revision = p.Sequence, p.Digest, p.Revision
	}
	return l.writeLocked(next)
}

// seen notes the time, durably. An earlier one changes nothing. Where it cannot be
// written it counts for this process all the same, and is written with the next call.
func (l *Ledger) seen(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.After(l.now.Seen) && !l.owing {
		return nil
	}
	l.now.Seen = later(l.now.Seen, now)
	return l.writeLocked(l.now)
}

// AcceptTime makes now the latest time that was seen, durably, where a later one was:
// somebody says that the clock was wrong then. It returns the time before.
func (l *Ledger) AcceptTime(now time.Time) (before time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.now.Seen
	if !before.After(now) {
		return before, nil
	}
	next := l.now
	next.Seen = now.UTC().Round(0)
	return before, l.writeLocked(next)
}

func (l *Ledger) owed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owing
}

// LastSeen is the latest time that was ever seen; zero: none was.
func (l *Ledger) LastSeen() time.Time { return l.read().Seen }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC().Round(0)
	}
	return a
}

// writeLocked replaces the file: what a crash leaves is the old one or the new one.
func (l *Ledger) writeLocked(next memory) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(next); err != nil {
		return fmt.Errorf("keep accepted pushes: %w", err)
	}
	if err := atomicfile.Replace(l.path, b.Bytes(), 0o600); err != nil {
		l.owing = true
		return fmt.Errorf("keep accepted pushes: %w", err)
	}
	l.now, l.owing = next, false
	return nil
}
