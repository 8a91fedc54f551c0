// This file hands on what a guest writes to its standard streams, in pieces
// of whole characters and within a limit. The executors whose guests have such
// streams call it. It decides nothing.

package executors

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// OutputConfig is what an Output needs. All fields must be set.
type OutputConfig struct {
	Host Host   // gets each entry as it is made
	Most int64  // bytes of all streams together
	Over func() // is called once when there are more
}

// Output is what one run prints. It is safe for concurrent use.
type Output struct {
	cfg OutputConfig

	mu      sync.Mutex
	left    int64
	cut     bool
	entries []ConsoleEntry
	dropped int64
}

// NewOutput returns an Output that has nothing yet.
func NewOutput(c OutputConfig) *Output { return &Output{cfg: c, left: c.Most} }

// Begun tells whether anything was printed.
func (o *Output) Begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) > 0 || o.dropped > 0
}

// Cut tells whether there was more than the limit.
func (o *Output) Cut() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}

// Entries are what was handed on, and how many bytes were not. It is called when
// nothing reads any more.
func (o *Output) Entries() (entries []ConsoleEntry, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.entries, o.dropped
}

// pieceBytes is how much is read at once.
const pieceBytes = 32 << 10

// Behind so many entries, what is printed is held until there is some more of it:
// a program that prints byte by byte would cost far more than its bytes.
const (
	eagerEntries = 1000
	heldBytes    = 4 << 10
)

// OutputReader reads one stream into an Output. One goroutine at a time has it.
type OutputReader struct {
	out   *Output
	level string
	from  io.Reader
	held  []byte // read and not yet handed on
}

// Reader returns a reader of one stream, whose entries have that level.
func (o *Output) Reader(level string, from io.Reader) *OutputReader {
	return &OutputReader{out: o, level: level, from: from, held: make([]byte, 0, pieceBytes)}
}

// ReadAll reads to the end of the stream, or until Stop. It never fails: a stream
// that breaks has ended. stopped says that there may be more.
func (r *OutputReader) ReadAll() (stopped bool) {
	for {
		n, err := r.from.Read(r.held[len(r.held):cap(r.held)])
		r.take(n)
		if err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// take hands on n bytes that were read behind the held ones.
func (r *OutputReader) take(n int) {
	r.held = r.held[:len(r.held)+n]
	if r.out.eager() || len(r.held) >= heldBytes {
		whole := wholeOf(r.held)
		r.out.Print(r.level, r.held[:whole])
		r.held = r.held[:copy(r.held, r.held[whole:])]
	}
}

// End hands on what is held: the end of a stream, or of a run.
func (r *OutputReader) End() {
	r.out.Print(r.level, r.held)
	r.held = r.held[:0]
}

// Stop has ReadAll of a stream that goes on return, and Resume lets it read again.
// A stream that cannot be stopped is an error.
func (r *OutputReader) Stop() error { return deadline(r.from, time.Unix(1, 0)) }

// Resume undoes Stop.
func (r *OutputReader) Resume() error { return deadline(r.from, time.Time{}) }

// Rest reads what is in the stream now, while it is stopped: all that was written
// before its writer said something that the caller has read.
func (r *OutputReader) Rest() error {
	d, ok := r.from.(drainer)
	if !ok {
		return errEndless
	}
	for {
		n, err := d.Drain(r.held[len(r.held):cap(r.held)])
		r.take(n)
		if err != nil || n == 0 {
			return nil //nolint:nilerr // a stream that breaks has ended
		}
	}
}

// DiscardOutput reads what is in a stream now and gives back how much it was: nobody's.
func DiscardOutput(from io.Reader, most int64) (n int64, err error) {
	d, ok := from.(drainer)
	if !ok {
		return 0, errEndless
	}
	buf := make([]byte, pieceBytes)
	for n < most {
		k, err := d.Drain(buf)
		n += int64(k)
		if err != nil || k == 0 {
			return n, nil //nolint:nilerr // its end shows on the guest
		}
	}
	return n, nil
}

var errEndless = errors.New("a stream of the guest can be read to its end only")

func deadline(from io.Reader, t time.Time) error {
	d, ok := from.(drainer)
	if !ok {
		return errEndless
	}
	return d.SetReadDeadline(t)
}

// wholeOf is the length of b without a character whose end is yet to come.
func wholeOf(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		at := len(b) - i
		if utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}

func (o *Output) eager() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) < eagerEntries
}

// Print hands on what fits into the limit. What is no text is replaced.
func (o *Output) Print(level string, b []byte) {
	if len(b) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut { // nothing is handed on behind a gap
		o.dropped += int64(len(b))
		return
	}
	if int64(len(b)) > o.left {
		whole := wholeOf(b[:o.left])
		o.dropped += int64(len(b) - whole)
		b = b[:whole]
		o.cut = true
		o.cfg.Over()
	}
	o.left -= int64(len(b))
	if len(b) == 0 {
		return
	}
	e := ConsoleEntry{
		Seq: int64(len(o.entries)) + 1, Level: level, Text: strings.ToValidUTF8(string(b), string(utf8.RuneError)),
	}
	o.entries = append(o.entries, e)
	o.cfg.Host.Console(e) // under mu: entries arrive in the order of their numbers
}
