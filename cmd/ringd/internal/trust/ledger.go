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

// ledgerFormat is the format of the file. A reader refuses any other.
const ledgerFormat = "ringd.pushes/v1"

// Limits of the file.
const (
	maxLedger  = 256 << 10 // bytes
	maxHistory = 1024      // number of revisions
)

// ledgerState is the state about accepted pushes.
type ledgerState struct {
	Format   string    `json:"format"`
	Sequence int64     `json:"sequence"` // of the last accepted push; 0 if there was none
	Digest   string    `json:"digest"`   // of its payload
	Revision string    `json:"revision"`
	Seen     time.Time `json:"seen"`    // the latest time ever seen; no clock may go back before it
	History  []string  `json:"history"` // revisions that were in force before, oldest first
}

// Ledger stores in one file the state about accepted pushes. It is safe for concurrent use. The daemon is the
// only writer, because it holds the lock of its state folder.
type Ledger struct {
	path string

	mu        sync.Mutex
	now       ledgerState
	unwritten bool // now.Seen is later than in the file, because a write failed
}

// OpenLedger reads the file, which may be missing. A file that cannot be parsed is an error with a remedy: if
// it counted as empty, old pushes would be accepted.
func OpenLedger(path string) (*Ledger, error) {
	l := &Ledger{path: path, now: ledgerState{Format: ledgerFormat, History: []string{}}}
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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
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
	var m ledgerState
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, damaged(err)
	}
	if !m.isEncodingOf(text) {
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

// isEncodingOf reports whether a text is the encoding of m, apart from spaces. A person may correct a time in the
// file.
func (m ledgerState) isEncodingOf(text []byte) bool {
	raw, err := json.Marshal(m)
	var have, want bytes.Buffer
	return errors.Join(err, json.Compact(&have, text), json.Compact(&want, raw)) == nil &&
		bytes.Equal(have.Bytes(), want.Bytes())
}

func (l *Ledger) read() ledgerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// accept stores a push as the last accepted one, durably, before it comes into force.
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

// seen stores the time, durably. An earlier one changes nothing. If the write fails, the time counts for this
// process, and is written at the next call.
func (l *Ledger) seen(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.After(l.now.Seen) && !l.unwritten {
		return nil
	}
	l.now.Seen = later(l.now.Seen, now)
	return l.writeLocked(l.now)
}

// AcceptTime makes now the latest time seen, durably, even if a later one was stored: an operator states that
// the clock was wrong then. It returns the previous time.
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
	return l.unwritten
}

// LastSeen returns the latest time ever seen, or zero.
func (l *Ledger) LastSeen() time.Time { return l.read().Seen }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC().Round(0)
	}
	return a
}

// writeLocked replaces the file. A crash leaves the old or the new one.
func (l *Ledger) writeLocked(next ledgerState) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(next); err != nil {
		return fmt.Errorf("keep accepted pushes: %w", err)
	}
	if err := atomicfile.Replace(l.path, b.Bytes(), 0o600); err != nil {
		l.unwritten = true
		return fmt.Errorf("keep accepted pushes: %w", err)
	}
	l.now, l.unwritten = next, false
	return nil
}
