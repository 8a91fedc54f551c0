package bridges

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// shellArgs is the argument of a call.
type shellArgs struct {
	script, stdin, session, cwd string
}

// Limits of an argument. The executor limits the script.
const (
	maxName = 64
	maxCwd  = 4095
)

// readShell parses the argument of a call: an object, or only the script.
func readShell(args json.RawMessage) (*shellArgs, error) {
	wrong := func(text string) (*shellArgs, error) { return nil, failure("TypeError", text) }
	var q shellArgs
	if err := json.Unmarshal(args, &q.script); err == nil {
		return q.check()
	}
	members := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(args))
	if err := d.Decode(&members); err != nil || members == nil {
		return wrong("want {script, stdin?, session?, cwd?}, or the script alone")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("want one argument")
	}
	for name, raw := range members {
		var to *string
		switch name {
		case "script":
			to = &q.script
		case "stdin":
			to = &q.stdin
		case "session":
			to = &q.session
		case "cwd":
			to = &q.cwd
		default:
			return wrong("there is no such option: want script, stdin, session or cwd")
		}
		if string(raw) == undefined && name != "script" {
			continue
		}
		if string(raw) == "null" || json.Unmarshal(raw, to) != nil {
			return wrong(name + " is a text")
		}
	}
	return q.check()
}

// undefined is the encoding of an option that the program left undefined.
const undefined = `{"$ringd":"undefined"}`

func (q *shellArgs) check() (*shellArgs, error) {
	switch {
	case q.script == "":
		return nil, failure("TypeError", "script is missing")
	case len(q.session) > maxName || !utf8.ValidString(q.session):
		return nil, failure("RangeError", "the name of a session has at most 64 bytes")
	case q.cwd != "" && (len(q.cwd) > maxCwd || !strings.HasPrefix(q.cwd, "/") || strings.IndexByte(q.cwd, 0) >= 0):
		return nil, failure("RangeError", "cwd is an absolute path")
	}
	return q, nil
}

// shellResult is the result for the program.
type shellResult struct {
	Stdout   string     `json:"stdout"`
	Stderr   string     `json:"stderr"`
	ExitCode int        `json:"exit_code"`
	Ran      [][]string `json:"ran"` // the started programs, up to a limit
	// Dropped is the number of omitted bytes of output, above a limit or above the maximum result of the
	// bridge.
	Dropped int64 `json:"dropped_bytes,omitempty"`
	// SessionError is why the session was not kept.
	SessionError string `json:"session_error,omitempty"`
}

// encode returns the value of a script that ended. It cuts output that does not fit: the script has run, and
// its exit code must be returned.
func encode(out executors.Outcome, h *host, unkept string, most int64) (json.RawMessage, error) {
	var stdout, stderr strings.Builder
	for _, e := range out.Console {
		switch e.Level {
		case executors.LevelStdout:
			stdout.WriteString(e.Text)
		case executors.LevelStderr:
			stderr.WriteString(e.Text)
		}
	}
	h.mu.Lock()
	r := shellResult{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: out.ExitCode, Ran: h.ran,
		Dropped: out.Dropped, SessionError: unkept}
	h.mu.Unlock()
	if r.Ran == nil {
		r.Ran = [][]string{}
	}
	for {
		text, err := marshal(r)
		if err != nil || int64(len(text)) <= most {
			return text, err
		}
		over := int(int64(len(text)) - most)
		switch longest := max(len(r.Stdout), len(r.Stderr)); {
		case longest == 0 && len(r.Ran) == 0:
			return nil, failure(
				profiles.ErrorResultTooLarge, "the result limit of the bridge is too small for an exit code",
			)
		case longest == 0:
			r.Ran = r.Ran[:len(r.Ran)/2]
		case len(r.Stdout) == longest:
			r.Stdout = r.cut(r.Stdout, over)
		default:
			r.Stderr = r.cut(r.Stderr, over)
		}
	}
}

// cut removes at least over bytes from the end of s, in whole characters.
func (r *shellResult) cut(s string, over int) string {
	n := len(s) - max(min(over, len(s)/2), 1)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	r.Dropped += int64(len(s) - n)
	return s[:n]
}

// marshal encodes v and leaves < and > unescaped.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
