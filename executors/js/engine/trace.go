// The prelude describes an error together with the stack trace that the engine wrote. All of that is text of a
// program.

package engine

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxFrames is how many frames are read.
const maxFrames = 32

// Exception is an error as the program threw it. All of it is the program's text: limited, and not to be
// trusted.
type Exception struct {
	Name    string
	Message string
	Frames  []Frame
	// Reference is the message of the ReferenceError that the error is, or names as its cause. It is empty if
	// there is none.
	Reference string
}

// OutOfMemory reports whether this is the error that the engine throws when the heap is full. A program can
// throw the same.
func (e Exception) OutOfMemory() bool {
	return e.Name == "InternalError" && strings.HasPrefix(e.Message, "out of memory")
}

// Frame is a line of a stack trace.
type Frame struct {
	Function string
	File     string
	Line     int
	Column   int
}

// parseException parses the prelude's description of an error.
func parseException(text string) Exception {
	var d struct{ Name, Message, Stack, Reference string }
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Exception{Name: "Error", Message: "an error without a description"}
	}
	return Exception{Name: d.Name, Message: d.Message, Frames: parseFrames(d.Stack), Reference: d.Reference}
}

// parseFrames parses lines such as "    at pick (plan.js:3:9)". Lines without a position are the engine's own
// and are left out, and so are those after the first maxFrames.
func parseFrames(stack string) []Frame {
	var out []Frame
	for line := range strings.Lines(stack) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "at ")
		if !ok {
			continue
		}
		place := line
		var f Frame
		if i := strings.LastIndex(line, " ("); i >= 0 && strings.HasSuffix(line, ")") {
			f.Function, place = line[:i], line[i+2:len(line)-1]
		}
		if !f.place(place) {
			continue
		}
		if f.Function == "<anonymous>" || f.Function == "<eval>" {
			f.Function = ""
		}
		if out = append(out, f); len(out) == maxFrames {
			break
		}
	}
	return out
}

// place parses "file:line:column".
func (f *Frame) place(s string) bool {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return false
	}
	column, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return false
	}
	j := strings.LastIndexByte(s[:i], ':')
	if j < 0 {
		return false
	}
	line, err := strconv.Atoi(s[j+1 : i])
	if err != nil || line < 1 || column < 0 {
		return false
	}
	f.File, f.Line, f.Column = s[:j], line, column
	return true
}
