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
	Host Host   // receives each entry as it is made
	Max  int64  // max. bytes of all streams together
	Over func() // called once, when there is more
}

// Output is the printed output of one run. It is safe for concurrent use.
type Output struct {
	cfg OutputConfig

	mu      sync.Mutex
	left    int64
	cut     bool
	entries []ConsoleEntry
	dropped int64
}

// NewOutput returns an empty Output.
func NewOutput(c OutputConfig) *Output { return &Output{cfg: c, left: c.Max} }

// Begun reports whether anything was printed.
func (o *Output) Begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) > 0 || o.dropped > 0
}

// Cut reports whether the output was over the limit.
func (o *Output) Cut() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}

// Entries returns the entries that were forwarded, and the number of bytes that were dropped. It must not be
// called while a reader is active.
func (o *Output) Entries() (entries []ConsoleEntry, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.entries, o.dropped
}

// pieceBytes is the size of one read.
const pieceBytes = 32 << 10

// After so many entries, output is buffered until there is more of it. Otherwise a program that prints byte by
// byte would cost far more than its bytes.
const (
	eagerEntries = 1000
	heldBytes    = 4 << 10
)

// OutputReader reads one stream into an Output. Only one goroutine may use it at a time.
type OutputReader struct {
	out   *Output
	level string
	from  io.Reader
	held  []byte // read and not yet forwarded
}

// Reader returns a reader of one stream. Its entries get the given level.
func (o *Output) Reader(level string, from io.Reader) *OutputReader {
	return &OutputReader{out: o, level: level, from: from, held: make([]byte, 0, pieceBytes)}
}

// ReadAll reads to the end of the stream, or until Stop. It never fails: a broken stream counts as ended.
// stopped says that there may be more.
func (r *OutputReader) ReadAll() (stopped bool) {
	for {
		n, err := r.from.Read(r.held[len(r.held):cap(r.held)])
		r.forward(n)
		if err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// forward forwards n bytes that were read after the held ones.
func (r *OutputReader) forward(n int) {
	r.held = r.held[:len(r.held)+n]
	if r.out.eager() || len(r.held) >= heldBytes {
		whole := wholeOf(r.held)
		r.out.Print(r.level, r.held[:whole])
		r.held = r.held[:copy(r.held, r.held[whole:])]
	}
}

// End forwards the held bytes at the end of a stream or of a run.
func (r *OutputReader) End() {
	r.out.Print(r.level, r.held)
	r.held = r.held[:0]
}

// Stop makes ReadAll return while the stream is still open. Resume allows it to read again. A stream that
// cannot be stopped is an error.
func (r *OutputReader) Stop() error { return deadline(r.from, time.Unix(1, 0)) }

// Resume undoes Stop.
func (r *OutputReader) Resume() error { return deadline(r.from, time.Time{}) }

// Rest reads the bytes that are in the stopped stream now. That is all the output written before the message of
// the writer that the caller has already read.
func (r *OutputReader) Rest() error {
	d, ok := r.from.(drainer)
	if !ok {
		return errEndless
	}
	for {
		n, err := d.Drain(r.held[len(r.held):cap(r.held)])
		r.forward(n)
		if err != nil || n == 0 {
			return nil //nolint:nilerr // a broken stream counts as ended
		}
	}
}

// DiscardOutput reads and drops the bytes that are in a stream now, and returns how many there were. They
// belong to no run.
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

var errEndless = errors.New("this stream of the guest cannot be read without waiting for its end")

func deadline(from io.Reader, t time.Time) error {
	d, ok := from.(drainer)
	if !ok {
		return errEndless
	}
	return d.SetReadDeadline(t)
}

// wholeOf is the length of b without a trailing character that is incomplete.
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

// Print forwards the part that fits into the limit. Invalid text is replaced.
func (o *Output) Print(level string, b []byte) {
	if len(b) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut { // no entry follows a gap
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
