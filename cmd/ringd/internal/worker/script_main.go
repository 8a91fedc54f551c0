package worker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// DecideScript reads and decides one script, in the child. If wanted is set, it returns the tree of
// its commands, which marshals to JSON.
type DecideScript func(d *profiles.Decider, a profiles.ShellAction, wanted bool) (dec profiles.Decision, tree any)

// scriptRequest is one script. Profile is empty if it is that of the request before.
type scriptRequest struct {
	Profile json.RawMessage      `json:"profile,omitempty"`
	Action  profiles.ShellAction `json:"action"`
	Tree    bool                 `json:"tree,omitempty"`
}

// scriptProfile is the data by which a child decides.
type scriptProfile struct {
	Agent     profiles.Agent `json:"agent"`
	Revision  string         `json:"revision"`
	Workspace string         `json:"workspace,omitempty"`
	Home      string         `json:"home,omitempty"`
	Now       time.Time      `json:"now,omitzero"`
}

const (
	maxScriptRequest = profiles.MaxSetBytes + 8*MaxScriptBytes
	maxScriptReply   = 8 << 20
	// maxScriptFiles is for the pipes of a dry run, two for each part of a pipeline.
	maxScriptFiles = 4096
)

// ScriptMain is the child's side; see servePool.
func ScriptMain(stdin io.Reader, stdout, stderr io.Writer, decide DecideScript) int {
	w := &scriptDecider{decide: decide}
	return servePool(stdin, stdout, stderr, maxScriptFiles, maxScriptRequest, w.one)
}

// scriptDecider decides by the profile that came last.
type scriptDecider struct {
	decide DecideScript
	d      *profiles.Decider
	begins string
}

// one decides one script.
func (w *scriptDecider) one(next, tell func(v any) error) error {
	var q scriptRequest
	if err := next(&q); err != nil {
		return err
	}
	if q.Profile != nil {
		var p scriptProfile
		if err := json.Unmarshal(q.Profile, &p); err != nil {
			return fmt.Errorf("read the profile: %w", err)
		}
		w.begins = p.begins()
		w.d = profiles.NewDecider(p.Agent, p.Revision, profiles.Environment{Workspace: p.Workspace, Home: p.Home,
			Script: func(d *profiles.Decider, a profiles.ShellAction) profiles.Decision {
				dec, _ := w.decide(d, a, false)
				return dec
			}})
	}
	if w.d == nil {
		return errors.New("a script without a profile")
	}
	q.Action.Cwd = cmp.Or(q.Action.Cwd, w.begins)
	dec, tree := w.decide(w.d, q.Action, q.Tree)
	ans := ScriptAnswer{Decision: dec}
	if q.Tree && tree != nil {
		text, err := json.Marshal(tree)
		if err != nil {
			return fmt.Errorf("encode the tree: %w", err)
		}
		if len(text) < maxScriptReply/2 { // a larger tree is not shown anywhere
			ans.Tree = text
		}
	}
	return tell(ans)
}

// begins is the folder in which a script starts that names none, as in a guest. Whether the folder
// exists on this host is not known here.
func (p scriptProfile) begins() string {
	places := shellproto.Options{Agent: p.Agent, Workspace: p.Workspace, Home: p.Home}.Places()
	if len(places) == 1 { // no granted folder: the guest starts in its workspace
		return cmp.Or(p.Workspace, places[0])
	}
	return places[0]
}
