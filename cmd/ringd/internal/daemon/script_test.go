package daemon_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

func script(t *testing.T, s *daemontest.Stack, program string) wire.Run {
	t.Helper()
	req := request(program, 0)
	req.Executor = "shell"
	r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A script that needs an approval waits in the store, is approved in another process
// and goes on there; wherever that one is killed on the way, the next does.
func TestScriptAskedAhead(t *testing.T) {
	for _, kill := range []string{"", "answer_recorded", "answer_kept", "claimed", "resume_recorded", "executing_kept",
		"acted", "result_kept"} {
		t.Run("killed at "+kill, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, "one $git!push $ls")
			id := script(t, s, "steps ^run:git:push:origin run:ls run:git:push:origin").ID
			paused := waitPaused(t, s, id)
			s = again(t, s, daemontest.Config{})
			list, err := s.Daemon.ListApprovals(t.Context(), everyone(), waiting.Page{})
			if err != nil || len(list.Approvals) != 1 || list.Approvals[0].Pending.Bridge != "exec:/usr/bin/git" ||
				string(list.Approvals[0].Pending.Args) != `{"exec":{"argv":["/usr/bin/git","push","origin"]}}` {
				t.Fatalf("%+v, %v", list, err)
			}
			approve := func(s *daemontest.Stack) {
				if _, err := allow(t, s, person("uid:1"), id, paused.Pending[0]); err != nil {
					t.Fatal(err)
				}
			}
			if kill == "" {
				approve(s)
			} else {
				s = killedAt(t, s, func(label string) bool { return label == kill }, approve)
			}
			if kill == "answer_recorded" { // the word was not kept: it is said again
				if _, err := allow(t, s, person("uid:1"), id, paused.Pending[0]); err != nil {
					t.Fatal(err)
				}
			}
			got := ended(t, s, id)
			if got.State != "done" {
				t.Fatalf("%+v", got)
			}
			want := [][]string{{"/usr/bin/ls"}, {"/usr/bin/git", "push", "origin"}}
			if diff := cmp.Diff(want, got.Ran); diff != "" {
				t.Error(diff)
			}
			asked := []wire.Asked{{Call: "c1", Capability: "exec:/usr/bin/git",
				Argv: []string{"/usr/bin/git", "push", "origin"}, When: wire.AskedBeforeStart}}
			if diff := cmp.Diff(asked, got.Asked); diff != "" {
				t.Error(diff)
			}
			for _, rec := range s.Records(t, audit.CallApproved) {
				if rec.Capability != "exec:/usr/bin/git" || rec.Digest != paused.Pending[0].Digest {
					t.Errorf("recorded: %+v", rec)
				}
			}
			var words []string
			for _, rec := range s.Records(t, audit.ExecDecided) {
				words = append(words, rec.Call+" "+rec.Decision.Verdict.String()+" "+rec.Capability)
				if strings.Contains(rec.Decision.Reason, "origin") || len(rec.Full) > 0 {
					t.Errorf("a record has the words: %+v", rec)
				}
			}
			if n := len(words); n < 3 || words[0] != "c1 ask exec:/usr/bin/git" ||
				words[n-1] != "c3 allow exec:/usr/bin/git" {
				t.Errorf("recorded: %v", words)
			}
		})
	}
}

// A script that has gone on, and may have started a program, is never gone on with
// again from where it waited.
func TestScriptIsNotRunTwice(t *testing.T) {
	for _, point := range []string{"call_open", "result_kept"} {
		s := daemontest.New(t, daemontest.Config{})
		s.Apply(t, "one $git!push $ls")
		id := script(t, s, "steps ^run:git:push run:ls run:git:push").ID
		waiting := waitPaused(t, s, id)
		seen := 0
		s = killedAt(t, s, func(label string) bool {
			if label == "call_open" {
				seen++
			}
			return label == point && seen > 0 // behind the first program, in this life
		}, func(s *daemontest.Stack) {
			if _, err := allow(t, s, person("uid:1"), id, waiting.Pending[0]); err != nil {
				t.Fatal(err)
			}
			ended(t, s, id)
		})
		if got := ended(t, s, id); got.State != "unknown" && got.State != "failed" || len(got.Ran) != 0 {
			t.Errorf("%s: %+v", point, got)
		}
		for _, rec := range s.Records(t, audit.ExecDecided) {
			if rec.Call == "c3" {
				t.Errorf("%s: it went on: %+v", point, rec)
			}
		}
	}
}

// What a script did before the daemon was killed may have happened: the run is
// unknown then, whether it had ever waited or not. Before that, it is not.
func TestScriptKilledHalfWay(t *testing.T) {
	for _, c := range []struct{ policy, script, point, want string }{
		{"one $ls", "steps run:ls run:ls", "call_recorded", "failed"}, // not told yet
		{"one $ls", "steps run:ls run:ls", "call_open", "unknown"},
		{"one $ls", "steps run:ls run:ls", "result_kept", "unknown"},
		{"one $ls", "steps run:ls run:ls", "end_recorded", "unknown"},
		{"one $git!push $ls", "steps run:git:push run:ls", "end_recorded", "unknown"}, // held, and approved
		{"one $git!push $ls", "steps run:git:push", "call_open", "failed"},            // asked, and not approved
	} {
		t.Run(c.script+" at "+c.point, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{})
			s.Apply(t, c.policy)
			var id string
			s = killedAt(t, s, func(label string) bool { return label == c.point }, func(s *daemontest.Stack) {
				id = script(t, s, c.script).ID
				if p, ok := held(t, s, id); ok {
					if _, err := allow(t, s, person("uid:1"), id, p); err != nil {
						t.Fatal(err)
					}
				}
				if got := ended(t, s, id); got.State != "done" {
					t.Errorf("alive: %+v", got)
				}
				calls, err := s.Store().Calls(t.Context(), id)
				if err != nil || len(calls) != 1 || calls[0].State != store.CallClosed {
					t.Errorf("one act is committed, and ends with the run: %+v, %v", calls, err)
				}
			})
			if _, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0); c.point == "call_recorded" &&
				errors.Is(err, policy.ErrNotFound) {
				return // not even its start was on disk, and nobody had been told of it
			}
			if got := ended(t, s, id); got.State != c.want {
				t.Errorf("%s, want %s: %+v", got.State, c.want, got)
			}
		})
	}
}

// held waits until the run is over, or asks for an approval.
func held(t *testing.T, s *daemontest.Stack, id string) (wire.Pending, bool) {
	t.Helper()
	for after := int64(0); ; {
		r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Pending) > 0 {
			return r.Pending[0], true
		}
		if view.Ended(r.State) {
			return wire.Pending{}, false
		}
		events, err := s.Daemon.Events(t.Context(), daemontest.Me(), id, after)
		if err != nil || len(events) == 0 {
			t.Fatalf("%+v, %v", events, err)
		}
		after = events[len(events)-1].Seq
	}
}

// killedAt does something with a daemon that is gone at a point of it, and opens the
// next one.
func killedAt(t *testing.T, s *daemontest.Stack, point func(string) bool,
	do func(*daemontest.Stack)) *daemontest.Stack {
	t.Helper()
	copied := make(chan string, 1)
	s = again(t, s, daemontest.Config{Point: func(label string) {
		if point(label) {
			select {
			case copied <- snapshotOf(t, s.Dir):
			default:
			}
		}
	}})
	do(s)
	select {
	case dir := <-copied: // what a process that was killed there leaves behind
		s.Close(t)
		return daemontest.New(t, daemontest.Config{Dir: dir, Clock: s.Clock})
	case <-time.After(time.Minute):
		t.Fatalf("the daemon does not come to the point")
		return nil
	}
}

// Half way a script is held in its guest: it is asked about while it runs.
func TestScriptHeld(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{})
	s.Apply(t, "one $git!push $ls")
	id := script(t, s, "steps run:ls run:git:push").ID
	var p wire.Pending
	for after := int64(0); p.ID == ""; {
		events, err := s.Daemon.Events(t.Context(), daemontest.Me(), id, after)
		if err != nil || len(events) == 0 {
			t.Fatalf("%+v, %v", events, err)
		}
		after = events[len(events)-1].Seq
		r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range r.Pending {
			p = one
		}
	}
	if st := s.Daemon.Status(t.Context()); st.Runs.Live != 1 || st.Runs.Paused != 0 ||
		p.Bridge != "exec:/usr/bin/git" || p.Expires == nil {
		t.Errorf("%+v, %+v", st.Runs, p)
	}
	if _, err := allow(t, s, person("uid:1"), id, p); err != nil {
		t.Fatal(err)
	}
	got := ended(t, s, id)
	if got.State != "done" || len(got.Ran) != 2 || len(got.Asked) != 1 || got.Asked[0].When != wire.AskedHeld {
		t.Errorf("%+v", got)
	}
}

// snapshotOf copies the folder of a daemon as it is in this moment.
func snapshotOf(t *testing.T, dir string) string {
	to := t.TempDir()
	err := os.CopyFS(to, os.DirFS(dir))
	if err == nil {
		err = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			mode := fs.FileMode(0o600)
			if err == nil && d.IsDir() {
				mode = 0o700
			}
			return errors.Join(err, os.Chmod(path, mode))
		})
	}
	if err != nil {
		t.Error(err)
	}
	return to
}
