package safetext

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Styles that a terminal may get.
const (
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Green  = "\x1b[32m"
	Dim    = "\x1b[2m"
	Plain  = "\x1b[0m"
)

// style returns the style at the start of b, or "".
func style(b []byte) string {
	for _, s := range [...]string{Red, Yellow, Green, Dim, Plain} {
		if bytes.HasPrefix(b, []byte(s)) {
			return s
		}
	}
	return ""
}

// Edge is an output stream of this process. It writes [Text] of its input, and the styles if the stream has
// colour. It is safe for concurrent use.
type Edge struct {
	w                io.Writer
	terminal, colour bool

	mu   sync.Mutex
	held []byte // the start of a rune whose rest comes in the next Write
}

// NewEdge returns an edge before w. With colour it passes the styles and no other sequence. The caller closes
// it.
func NewEdge(w io.Writer, terminal, colour bool) *Edge {
	return &Edge{w: w, terminal: terminal, colour: colour}
}

// Terminal reports whether the stream is a terminal.
func (e *Edge) Terminal() bool { return e.terminal }

// Colour reports whether the stream has the styles.
func (e *Edge) Colour() bool { return e.colour }

// Write writes b. An incomplete rune at its end is written with the next call.
func (e *Edge) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := b
	if len(e.held) > 0 {
		text = append(e.held, b...)
	}
	whole := len(text) - incompleteBytes(text)
	e.held = bytes.Clone(text[whole:])
	if err := e.sendLocked(text[:whole]); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close writes an incomplete rune. The stream stays open.
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
		text = textWithStyles(text)
	} else {
		text = Text(text)
	}
	_, err := e.w.Write(text)
	return err
}

// textWithStyles is Text that keeps the styles.
func textWithStyles(text []byte) []byte {
	if isClean(text) {
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

// incompleteBytes returns the number of bytes of an incomplete rune at the end of b.
func incompleteBytes(b []byte) int {
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

// Bytes returns the writer for unchanged bytes, which are for a program: the pipe or file behind an Edge. A
// terminal never gets such bytes: for a terminal it returns the Edge.
func Bytes(w io.Writer) io.Writer {
	if e, ok := w.(*Edge); ok && !e.terminal {
		return e.w
	}
	return w
}
