package shell

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ringd/ringd/executors"
)

// output is what a script prints, on both of its streams, in pieces of whole
// characters.
type output struct {
	host executors.Host
	over func() // is called once when there is more than it may print

	mu      sync.Mutex
	left    int64
	cut     bool
	entries []executors.ConsoleEntry
	dropped int64
}

// begun tells whether anything was printed.
func (o *output) begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) > 0 || o.dropped > 0
}

// pieceBytes is how much is read at once.
const pieceBytes = 32 << 10

// Behind so many entries, what is printed is held until there is some more of it:
// a script that prints byte by byte would cost far more than its bytes.
const (
	eagerEntries = 1000
	heldBytes    = 4 << 10
)

// read takes a stream to its end. It never fails: a stream that breaks has ended.
func (o *output) read(level string, from io.Reader) {
	buf := make([]byte, 0, pieceBytes)
	for {
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			o.print(level, buf)
			return
		}
		if o.eager() || len(buf) >= heldBytes {
			whole := wholeOf(buf)
			o.print(level, buf[:whole])
			buf = buf[:copy(buf, buf[whole:])]
		}
	}
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

func (o *output) eager() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries) < eagerEntries
}

// print hands on what fits into the limit. What is no text is replaced.
func (o *output) print(level string, b []byte) {
	if len(b) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if fits := int(min(int64(len(b)), o.left)); fits < len(b) {
		o.dropped += int64(len(b) - fits)
		b = b[:wholeOf(b[:fits])]
		if !o.cut {
			o.cut = true
			o.over()
		}
	}
	o.left -= int64(len(b))
	if len(b) == 0 || o.cut && o.left < 0 {
		return
	}
	e := executors.ConsoleEntry{
		Seq: int64(len(o.entries)) + 1, Level: level, Text: strings.ToValidUTF8(string(b), string(utf8.RuneError)),
	}
	o.entries = append(o.entries, e)
	o.host.Console(e) // under mu: entries arrive in the order of their numbers
}
