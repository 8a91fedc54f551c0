package script

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/ringd/ringd/cmd/ringd/internal/confine"
	shellstart "github.com/ringd/ringd/executors/shell/start"
	"github.com/ringd/ringd/profiles"
)

// Decide reads one script and decides it, in the child. tree is wanted or not;
// it marshals to JSON.
type Decide func(d *profiles.Decider, a profiles.ShellAction, wanted bool) (dec profiles.Decision, tree any)

// limits is the first message to a child.
type limits struct {
	MemoryBytes uint64 `json:"memoryBytes"`
	Seconds     uint64 `json:"seconds"`
}

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
}

const (
	maxRequest = profiles.MaxSetBytes + 8*MaxTextBytes
	maxReply   = 8 << 20
	// maxFiles is for the pipes of a dry run, two for each part of a pipeline.
	maxFiles = 4096
	// maxStack makes runaway recursion a quick death.
	maxStack = 128 << 20
)

// Main is the child's side: it takes its limits from stdin, then answers one
// script after the other until stdin ends, and returns the exit code. Its process
// must not have done anything before, and does nothing after.
func Main(stdin io.Reader, stdout, stderr io.Writer, decide Decide) int {
	var l limits
	err := read(stdin, maxRequest, &l)
	if err == nil && (l.MemoryBytes == 0 || l.Seconds == 0) {
		err = errors.New("no limits")
	}
	if err == nil {
		runtime.GOMAXPROCS(2) // one to work, one to collect garbage
		debug.SetMaxStack(maxStack)
		debug.SetTraceback("single")
		debug.SetMemoryLimit(int64(l.MemoryBytes / 4 * 3))
		err = confine.Under(confine.Limits{MemoryBytes: l.MemoryBytes, Seconds: l.Seconds, Files: maxFiles}, func() error { return serve(stdin, stdout, decide) })
	}
	if err != nil {
		fmt.Fprintln(stderr, err) // nobody is left to tell
		return 1
	}
	return 0
}

func serve(stdin io.Reader, stdout io.Writer, decide Decide) error {
	var d *profiles.Decider
	var begins string
	for {
		var q request
		if err := read(stdin, maxRequest, &q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if q.Profile != nil {
			var p profile
			if err := json.Unmarshal(q.Profile, &p); err != nil {
				return fmt.Errorf("read the profile: %w", err)
			}
			begins = p.begins()
			d = profiles.NewDecider(p.Agent, p.Revision, profiles.Environment{Workspace: p.Workspace, Home: p.Home,
				Script: func(d *profiles.Decider, a profiles.ShellAction) profiles.Decision {
					dec, _ := decide(d, a, false)
					return dec
				}})
		}
		if d == nil {
			return errors.New("a script without a profile")
		}
		q.Action.Cwd = cmp.Or(q.Action.Cwd, begins)
		dec, tree := decide(d, q.Action, q.Tree)
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
		if err := write(stdout, ans); err != nil {
			return err
		}
	}
}

// begins is the folder that a script begins in which says none, as in a guest. What
// is no folder of this host is not known here.
func (p profile) begins() string {
	places := shellstart.Options{Agent: p.Agent, Workspace: p.Workspace, Home: p.Home}.Places()
	if len(places) == 1 { // a folder of its own
		return cmp.Or(p.Workspace, places[0])
	}
	return places[0]
}

// A message is its length, four bytes big endian, and that much JSON.
func write(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	if _, err := w.Write(append(b, text...)); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	return nil
}

// read returns io.EOF where the other side ended between two messages.
func read(r io.Reader, most int, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(most) {
		return fmt.Errorf("read a message: %d bytes are above the limit", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return fmt.Errorf("read a message: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	return nil
}
