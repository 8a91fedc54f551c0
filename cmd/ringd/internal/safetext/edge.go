package safetext

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// The styles that a terminal may get.
const (
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Green  = "\x1b[32m"
	Dim    = "\x1b[2m"
	Plain  = "\x1b[0m"
)

// style is the style that b begins with, or "".
func style(b []byte) string {
	for _, s := range [...]string{Red, Yellow, Green, Dim, Plain} {
		if bytes.HasPrefix(b, []byte(s)) {
			return s
		}
	}
	return ""
}

// Edge is a stream of this process: it sends [Text] of what is written to it, and the
// styles where the stream takes colour. Several goroutines may write to it.
type Edge struct {
	w                io.Writer
	terminal, colour bool

	mu   sync.Mutex
	held []byte // the begin of a rune, of which the next Write has the rest
}

// NewEdge returns the edge before w. With colour it lets the styles through, and no other
// sequence. The caller closes it.
func NewEdge(w io.Writer, terminal, colour bool) *Edge {
	return &Edge{w: w, terminal: terminal, colour: colour}
}

// Terminal reports whether the stream is a terminal.
func (e *Edge) Terminal() bool { return e.terminal }

// Colour reports whether the stream takes the styles.
func (e *Edge) Colour() bool { return e.colour }

// Write sends b. A rune that b does not end is sent with the rest of it.
func (e *Edge) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := b
	if len(e.held) > 0 {
		text = append(e.held, b...)
	}
	whole := len(text) - begun(text)
	e.held = bytes.Clone(text[whole:])
	if err := e.sendLocked(text[:whole]); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close sends what no Write has ended. The stream stays open.
func (e *Edge) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	rest := e.held
	e.held = nil
	return e.sendLocked(rest)
}

func (e *Edge) sendLocked(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if e.colour {
		text = styled(text)
	} else {
		text = Text(text)
	}
	_, err := e.w.Write(text)
	return err
}

// styled is Text but for the styles.
func styled(text []byte) []byte {
	if clean(text) {
		return text
	}
	var out []byte
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '\x1b')
		if i < 0 {
			return append(out, Text(text)...)
		}
		i += from
		s := style(text[i:])
		if s == "" {
			from = i + 1
			continue
		}
		out = append(append(out, Text(text[:i])...), s...)
		text, from = text[i+len(s):], 0
	}
}

// begun is how many bytes at the end of b begin a rune and do not end it.
func begun(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Bytes is where bytes go that are not for a reader but for a program, as they are: a
// pipe or a file behind an Edge. A terminal gets no such bytes: of one, it is the Edge.
func Bytes(w io.Writer) io.Writer {
	if e, ok := w.(*Edge); ok && !e.terminal {
		return e.w
	}
	return w
}
