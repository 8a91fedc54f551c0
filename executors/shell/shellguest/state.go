package shellguest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/executors/shell/shellproto"
)

// stateFormat is the version of a state.
const stateFormat = 1

// Limits of a state.
const (
	maxStateBytes = 4 << 20
	maxVariables  = 4096
	maxFunctions  = 1024
	maxElements   = 1 << 16 // of one array
	maxAsks       = 1024
	maxNameBytes  = 256
)

// state is the snapshot of a guest. Besides Format, exactly one field is set.
type state struct {
	Format  int           `json:"format"`
	Waits   *waits        `json:"waits,omitempty"`   // of a script that has not begun
	Session *runner.State `json:"session,omitempty"` // of a script that has ended
}

// waits is the state of a script that waits before its start: its open approvals and the approvals that it has.
type waits struct {
	Asks []awaited `json:"asks"` // in the order of the preflight
}

// awaited is one approval.
type awaited struct {
	Argv []string `json:"argv"`
	Call uint64   `json:"call"` // if 0, the approval was given
}

// errState is wrapped by errors about a state that cannot be continued.
var errState = errors.New("the state of the script is malformed")

// encode returns the bytes that decodeState reads.
func (s state) encode() ([]byte, error) {
	s.Format = stateFormat
	if err := s.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a script: %w", err)
	}
	if len(b) > maxStateBytes {
		return nil, fmt.Errorf("the state of the script has %d bytes, the limit is %d", len(b), maxStateBytes)
	}
	return b, nil
}

// decodeState reads a state, and rejects one that no guest would have written.
func decodeState(b []byte) (state, error) {
	if len(b) > maxStateBytes || !utf8.Valid(b) {
		return state{}, errState
	}
	var s state
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return state{}, fmt.Errorf("%w: %w", errState, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return state{}, fmt.Errorf("%w: text behind it", errState)
	}
	if s.Format != stateFormat {
		return state{}, fmt.Errorf("%w: format %d", errState, s.Format)
	}
	if err := s.check(); err != nil {
		return state{}, err
	}
	return s, nil
}

func (s state) check() error {
	switch {
	case (s.Waits == nil) == (s.Session == nil):
		return fmt.Errorf("%w: it is of one script that waits, or of one that has ended", errState)
	case s.Waits != nil:
		return s.Waits.check()
	default:
		return checkSession(s.Session)
	}
}

func (w *waits) check() error {
	if len(w.Asks) == 0 || len(w.Asks) > maxAsks {
		return fmt.Errorf("%w: %d approvals", errState, len(w.Asks))
	}
	calls := map[uint64]bool{}
	open := 0
	for _, a := range w.Asks {
		if len(a.Argv) == 0 || a.Call != 0 && calls[a.Call] {
			return fmt.Errorf("%w: an approval", errState)
		}
		calls[a.Call] = true
		if a.Call != 0 {
			open++
		}
	}
	if open == 0 {
		return fmt.Errorf("%w: it waits for nothing", errState)
	}
	return nil
}

// checkSession checks the limits of a session. The commands in its functions are decided when they are called,
// as all others. The runner checks that they are functions.
func checkSession(s *runner.State) error {
	bad := func(what string) error { return fmt.Errorf("%w: %s", errState, what) }
	switch {
	case !shellproto.CleanPath(s.Dir):
		return bad("its folder")
	case len(s.Variables) > maxVariables:
		return bad("its variables are too many")
	case len(s.Functions) > maxFunctions:
		return bad("its functions are too many")
	case len(s.Options) > 4*maxNameBytes:
		return bad("its options")
	}
	seen := map[string]bool{}
	for _, v := range s.Variables {
		if !shellproto.ValidName(v.Name) || len(v.Name) > maxNameBytes || seen[v.Name] {
			return bad("the name of a variable")
		}
		seen[v.Name] = true
		if err := checkVariable(v); err != nil {
			return err
		}
	}
	for name, text := range s.Functions {
		if name == "" || len(name) > maxNameBytes || len(text) > script.MaxBytes || !utf8.ValidString(name) ||
			!utf8.ValidString(text) {
			return bad("a function")
		}
	}
	return nil
}

func checkVariable(v runner.Variable) error {
	bad := fmt.Errorf("%w: the value of a variable", errState)
	if len(v.List) > maxElements || len(v.Map) > maxElements || len(v.Indexes) > maxElements {
		return bad
	}
	switch v.Kind {
	case "":
		if v.List != nil || v.Map != nil || v.Indexes != nil {
			return bad
		}
	case "list":
		if v.Map != nil || v.Value != "" || v.Indexes != nil && len(v.Indexes) != len(v.List) {
			return bad
		}
	case "map":
		if v.List != nil || v.Indexes != nil || v.Value != "" {
			return bad
		}
	default:
		return bad
	}
	// JSON would silently change a value that is not valid UTF-8.
	if !utf8.ValidString(v.Value) {
		return fmt.Errorf("%w: the value of %s is no text", errState, v.Name)
	}
	for _, e := range v.List {
		if !utf8.ValidString(e) {
			return fmt.Errorf("%w: the value of %s is no text", errState, v.Name)
		}
	}
	for k, e := range v.Map {
		if !utf8.ValidString(k) || !utf8.ValidString(e) {
			return fmt.Errorf("%w: the value of %s is no text", errState, v.Name)
		}
	}
	return nil
}
