package script

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/ringd/ringd/profiles"
)

// Limits of a script.
const (
	MaxBytes = 64 << 10
	maxDepth = 200 // depth of nesting
)

// maxFrames limits the stack of the parser. It is more than MaxDepth needs in any form of nesting, and far
// below the limit of a stack.
const maxFrames = 12000

// pieceBytes is how much the parser reads between two checks of its stack. One byte opens at most one level.
const pieceBytes = 256

// bounds rejects a text that must not reach the parser.
func bounds(text string) *Refusal {
	if len(text) > MaxBytes {
		return &Refusal{
			Code:    profiles.CodeShellSize,
			Reason:  fmt.Sprintf("the script has %d bytes, and at most %d are read", len(text), MaxBytes),
			Instead: []string{"write the long part to a file, or run it as several scripts"},
		}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		line := 1 + strings.Count(text[:i], "\n")
		return &Refusal{
			Code: profiles.CodeShellParse, Line: line, Column: i - strings.LastIndexByte(text[:i], '\n'),
			Reason: "the script holds a NUL byte, which a shell would drop",
		}
	}
	return nil
}

// tooDeep rejects a text that is nested too deeply.
func tooDeep(line, column int) *Refusal {
	return &Refusal{
		Code: profiles.CodeShellSize, Line: line, Column: column,
		Reason:  fmt.Sprintf("the script is nested more than %d deep", maxDepth),
		Instead: []string{"move the inner part into a function or a variable"},
	}
}

var errDeep = errors.New("nested too deeply")

// feed gives a text to the parser in pieces. When the parser's stack is too deep, feed ends the text. feed
// looks only at the stack, not at the text, so quotes, comments and here-documents cannot deceive it.
type feed struct {
	text string
	pcs  [1]uintptr
	deep bool
}

func (f *feed) Read(p []byte) (int, error) {
	if f.deep || runtime.Callers(maxFrames, f.pcs[:]) > 0 {
		f.deep = true
		return 0, errDeep
	}
	if f.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), pieceBytes)], f.text)
	f.text = f.text[n:]
	return n, nil
}
