package scriptchild

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/childproc"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
)

// Decide reads one script and decides it, in the child. tree is wanted or not;
// it marshals to JSON.
type Decide func(d *profiles.Decider, a profiles.ShellAction, wanted bool) (dec profiles.Decision, tree any)

// request is one script. Profile is there when it is not that of the one before.
type request struct {
	Profile json.RawMessage      `json:"profile,omitempty"`
	Action  profiles.ShellAction `json:"action"`
	Tree    bool                 `json:"tree,omitempty"`
}

// profile is what a child decides by.
type profile struct {
	Agent     profiles.Agent `json:"agent"`
	Revision  string         `json:"revision"`
	Workspace string         `json:"workspace,omitempty"`
	Home      string         `json:"home,omitempty"`
	Now       time.Time      `json:"now,omitzero"`
}

const (
	maxRequest = profiles.MaxSetBytes + 8*MaxTextBytes
	maxReply   = 8 << 20
	// maxFiles is for the pipes of a dry run, two for each part of a pipeline.
	maxFiles = 4096
)

// Main is the child's side: it takes its limits from stdin, then answers one
// script after the other until stdin ends, and returns the exit code. Its process
// must not have done anything before, and does nothing after.
func Main(stdin io.Reader, stdout, stderr io.Writer, decide Decide) int {
	w := &worker{decide: decide}
	return childproc.Serve(stdin, stdout, stderr, maxFiles, maxRequest, w.one)
}

// worker decides by the profile that it was told last.
type worker struct {
	decide Decide
	d      *profiles.Decider
	begins string
}

// one decides one script.
func (w *worker) one(next, tell func(v any) error) error {
	var q request
	if err := next(&q); err != nil {
		return err
	}
	if q.Profile != nil {
		var p profile
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
	ans := Answer{Decision: dec}
	if q.Tree && tree != nil {
		text, err := json.Marshal(tree)
		if err != nil {
			return fmt.Errorf("encode the tree: %w", err)
		}
		if len(text) < maxReply/2 { // more is nothing that anybody reads
			ans.Tree = text
		}
	}
	return tell(ans)
}

// begins is the folder that a script begins in which says none, as in a guest. What
// is no folder of this host is not known here.
func (p profile) begins() string {
	places := shellproto.Options{Agent: p.Agent, Workspace: p.Workspace, Home: p.Home}.Places()
	if len(places) == 1 { // a folder of its own
		return cmp.Or(p.Workspace, places[0])
	}
	return places[0]
}
