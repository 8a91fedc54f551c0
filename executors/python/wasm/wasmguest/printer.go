package wasmguest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/executors"
)

// pieceBytes is how much of a stream goes into one frame.
const pieceBytes = 32 << 10

// printer is a standard stream of the program: pieces of whole characters, as console entries, within the limit
// of the run.
type printer struct {
	r     *run
	level string
	rest  []byte // the bytes of an incomplete character
}

// earlyBytes limits how much of an interpreter's output is kept before it is ready.
const earlyBytes = 2 << 10

// Write implements io.Writer. Before there is a program, it gets the interpreter's own output, which is kept
// for the case that it does not become ready.
func (p *printer) Write(b []byte) (int, error) {
	if !p.r.begun {
		p.r.early = append(p.r.early, b[:min(len(b), earlyBytes-len(p.r.early))]...)
		return len(b), nil
	}
	p.r.made(int64(4 * len(b)))
	text := append(p.rest, b...)
	whole := wholeOf(text)
	for at := 0; at < whole; {
		end := at + wholeOf(text[at:min(at+pieceBytes, whole)])
		if err := p.line(text[at:end]); err != nil {
			return 0, err
		}
		at = end
	}
	p.rest = append([]byte(nil), text[whole:]...)
	return len(b), p.r.p.s.Flush()
}

// end prints the rest.
func (p *printer) end() {
	if len(p.rest) > 0 {
		_ = p.line(p.rest) // the result meets the same error of the connection
		p.rest = nil
	}
}

// line forwards the part of b that is within the limit. Each entry costs one byte in addition to its text, as in
// the count of the host.
func (p *printer) line(b []byte) error {
	text := strings.ToValidUTF8(string(b), string(utf8.RuneError))
	if n := int64(len(text)) + 1; n <= p.r.left {
		p.r.left -= n
		return p.r.put(executors.Line{Level: p.level, Text: text})
	}
	if fits := max(p.r.left-1, 0); fits > 0 {
		cut := text[:wholeOf([]byte(text[:fits]))]
		p.r.left = 0
		if err := p.r.put(executors.Line{Level: p.level, Text: cut}); err != nil {
			return err
		}
	}
	res := failed(
		executors.StateLimit, "OutputTooLarge",
		fmt.Sprintf("the program has printed more than its limit of %d bytes", p.r.o.OutputBytes),
	)
	res.PeakBytes = p.r.memory.Bytes()
	return p.r.finish(res)
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
