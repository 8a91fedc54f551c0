package start

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// stateFormat is the version of a State.
const stateFormat = 1

// Bounds of a State.
const (
	MaxStateBytes = 4 << 20
	maxVariables  = 4096
	maxFunctions  = 1024
	maxWords      = 1 << 16 // of one array
	maxAsks       = 1024
	maxNameBytes  = 256
)

// State is what a guest leaves behind. Exactly one field beside Format is set.
type State struct {
	Format  int      `json:"format"`
	Waits   *Waits   `json:"waits,omitempty"`   // of a script that has not begun
	Session *Session `json:"session,omitempty"` // of one that has ended
}

// Waits is a script before its start: which of its approvals are open, and which
// are there.
type Waits struct {
	Source string `json:"source"` // digest of the text
	Asks   []Open `json:"asks"`
}

// Open is one approval: that of the preflight's Ask number Index.
type Open struct {
	Index int    `json:"index"`
	Call  uint64 `json:"call"` // 0: it was given
}

// Session is what a named session keeps between scripts.
type Session struct {
	Dir       string              `json:"dir"`
	Variables map[string]Variable `json:"variables,omitempty"`
	Functions map[string]string   `json:"functions,omitempty"` // by name: the body as it is printed
	Options   []string            `json:"options,omitempty"`   // those of set -o and shopt that are on
}

// Variable is a variable of a script. One of Text, List and Map counts, by Kind.
type Variable struct {
	Kind     string            `json:"kind"` // text, list or map
	Exported bool              `json:"exported,omitempty"`
	ReadOnly bool              `json:"readOnly,omitempty"`
	Text     string            `json:"text,omitempty"`
	List     []string          `json:"list,omitempty"`
	Map      map[string]string `json:"map,omitempty"`
}

// Kinds of a Variable.
const (
	Text = "text"
	List = "list"
	Map  = "map"
)

// ErrState is wrapped by errors about a state that cannot be gone on with.
var ErrState = errors.New("the state of the script is malformed")

// Encode returns what DecodeState reads.
func (s State) Encode() ([]byte, error) {
	s.Format = stateFormat
	if err := s.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a script: %w", err)
	}
	if len(b) > MaxStateBytes {
		return nil, fmt.Errorf("the state of the script has %d bytes, the limit is %d", len(b), MaxStateBytes)
	}
	return b, nil
}

// DecodeState reads a state, and refuses what no guest would have written.
func DecodeState(b []byte) (State, error) {
	if len(b) > MaxStateBytes || !utf8.Valid(b) {
		return State{}, ErrState
	}
	var s State
	if err := decode(b, &s); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrState, err)
	}
	if s.Format != stateFormat {
		return State{}, fmt.Errorf("%w: format %d", ErrState, s.Format)
	}
	return s, s.check()
}

func (s State) check() error {
	switch {
	case (s.Waits == nil) == (s.Session == nil):
		return fmt.Errorf("%w: it is of one script that waits, or of one that has ended", ErrState)
	case s.Waits != nil:
		return s.Waits.check()
	default:
		return s.Session.check()
	}
}

func (w *Waits) check() error {
	if len(w.Asks) == 0 || len(w.Asks) > maxAsks || len(w.Source) > maxNameBytes {
		return fmt.Errorf("%w: %d approvals", ErrState, len(w.Asks))
	}
	calls := map[uint64]bool{}
	for i, a := range w.Asks {
		if a.Index != i || a.Call != 0 && calls[a.Call] {
			return fmt.Errorf("%w: approval %d", ErrState, i)
		}
		calls[a.Call] = true
	}
	return nil
}

func (s *Session) check() error {
	if !Clean(s.Dir) || len(s.Variables) > maxVariables || len(s.Functions) > maxFunctions || len(s.Options) > maxNameBytes {
		return fmt.Errorf("%w: its folder, or too much of it", ErrState)
	}
	for name, v := range s.Variables {
		if !Name(name) || len(name) > maxNameBytes || !v.sound() {
			return fmt.Errorf("%w: a variable", ErrState)
		}
	}
	for name := range s.Functions {
		if name == "" || len(name) > maxNameBytes {
			return fmt.Errorf("%w: a function", ErrState)
		}
	}
	for _, o := range s.Options {
		if !option(o) {
			return fmt.Errorf("%w: an option", ErrState)
		}
	}
	return nil
}

// option tells whether an option of the shell can be called so.
func option(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func (v Variable) sound() bool {
	if len(v.List) > maxWords || len(v.Map) > maxWords {
		return false
	}
	switch v.Kind {
	case Text:
		return v.List == nil && v.Map == nil
	case List:
		return v.Text == "" && v.Map == nil
	case Map:
		return v.Text == "" && v.List == nil
	default:
		return false
	}
}
