package pause

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Prefixes of the names of acts: things that a guest does itself. No bridge has such a name.
const (
	actExec     = "exec:"
	actFile     = "file:"
	actVariable = "variable:"
)

// IsAct reports whether the name of a call is that of an act of a guest.
func IsAct(name string) bool {
	return strings.HasPrefix(name, actExec) || strings.HasPrefix(name, actFile) || strings.HasPrefix(name, actVariable)
}

// Limits of Acts.
const (
	MaxActs  = 10_000 // acts of one run
	maxRan   = 256    // commands, and approvals, that are kept
	maxWords = 64     // words of each
	maxWord  = 256    // bytes of each
)

// Acts are the acts of the guests of a run, as far as it remembers them. The zero Acts is
// that of a run that begins. It is not safe for concurrent use: its owner guards it.
type Acts struct {
	Count int64      `json:"count,omitempty"` // allowed so far
	Ran   [][]string `json:"ran,omitempty"`   // the first programs that were started
	More  int64      `json:"more,omitempty"`  // programs started after those
	Asked []Asked    `json:"asked,omitempty"` // that people were asked about
	Given []Given    `json:"given,omitempty"` // approvals that hold for the rest of the run
}

// Values of Asked.When.
const (
	BeforeStart = "before_start" // the program had not begun
	WhileHeld   = "held"         // the program was held while it was running
)

// Asked is an act that people were asked about.
type Asked struct {
	Call string   `json:"call"`
	Name string   `json:"name"`
	Argv []string `json:"argv,omitempty"`
	When string   `json:"when"`
}

// Given is an approval that is valid for every start of a program with these words.
type Given struct {
	Words string `json:"words"` // digest of the path and the words
	Call  string `json:"call"`  // the call that was approved
	By    string `json:"by"`
	Terms Terms  `json:"terms"`
}

// Start notes a program that a guest starts.
func (a *Acts) Start(argv []string) {
	if len(a.Ran) >= maxRan {
		a.More++
		return
	}
	a.Ran = append(a.Ran, clipped(argv))
}

// Ask notes that people are asked about an act.
func (a *Acts) Ask(call, name, when string, argv []string) {
	if len(a.Asked) < maxRan {
		a.Asked = append(a.Asked, Asked{Call: call, Name: name, When: when, Argv: clipped(argv)})
	}
}

// Give stores an approval. If there is no room for it, the approval is valid only for its own call.
func (a *Acts) Give(g Given) {
	if len(a.Given) < maxRan {
		a.Given = append(a.Given, g)
	}
}

// Of returns a copy of the approval for these words, or nil. Empty words have none.
func (a *Acts) Of(words string) *Given {
	for _, g := range a.Given {
		if words != "" && g.Words == words {
			return &g
		}
	}
	return nil
}

// Clone returns a copy that shares nothing that is written to.
func (a *Acts) Clone() Acts {
	b := *a
	b.Ran, b.Asked, b.Given = slices.Clip(a.Ran), slices.Clip(a.Asked), slices.Clip(a.Given)
	return b
}

func clipped(argv []string) []string {
	out := make([]string, 0, min(len(argv), maxWords))
	for _, w := range argv[:min(len(argv), maxWords)] {
		if len(w) > maxWord {
			w = strings.ToValidUTF8(w[:maxWord], "") + "…"
		}
		out = append(out, w)
	}
	if len(argv) > maxWords {
		out = append(out, "…")
	}
	return out
}

func (a *Acts) check() error {
	if a.Count < 0 || a.More < 0 || len(a.Ran) > maxRan || len(a.Asked) > maxRan || len(a.Given) > maxRan {
		return errors.New("a count of acts is out of range")
	}
	for _, g := range a.Given {
		if g.Words == "" || g.Call == "" || g.Terms.Count < 1 || g.Terms.Millis < 1 {
			return errors.New("an approval of an act is not whole")
		}
	}
	return nil
}

// Action returns what an act asks for, or nil if the call is one of a bridge.
func (c *Call) Action() (*profiles.Action, error) {
	if !IsAct(c.Bridge) {
		return nil, nil
	}
	a, err := profiles.DecodeAction(c.Args)
	switch {
	case err != nil:
		return nil, fmt.Errorf("call %s is no act: %w", c.ID, err)
	case a.Exec == nil || !strings.HasPrefix(c.Bridge, actExec):
		return nil, fmt.Errorf("call %s is not the act that it says", c.ID)
	}
	return &a, nil
}

// NameOf returns the name of an act. path is that of the program, empty if it is not known.
func NameOf(a *profiles.Action, path string) string {
	switch {
	case a.Exec != nil && path == "" && len(a.Exec.Argv) > 0:
		path = a.Exec.Argv[0]
		fallthrough
	case a.Exec != nil:
		return actExec + strings.ToValidUTF8(path[:min(len(path), 200)], "")
	case a.File != nil:
		return actFile + a.File.Op
	default:
		return actVariable + "set"
	}
}

// ArgsOf encodes an act as its approver sees it, and as it is decided again.
func ArgsOf(a *profiles.Action) (json.RawMessage, error) { return json.Marshal(a) }

// ApprovalKey returns the key of the starts for which an approval is valid: the program and its words.
func ApprovalKey(path string, argv []string) string {
	text, err := json.Marshal(append([]string{path}, argv...))
	if err != nil {
		return "" // cannot happen: words are text
	}
	return Digest(text)
}

// Left returns how long an approval may still be given.
func (t *Terms) Left(now time.Time) time.Duration { return t.Expires.Sub(now) }
