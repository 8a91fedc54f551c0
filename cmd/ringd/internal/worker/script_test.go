package worker_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
)

// decide plays what a script may do to the process that reads it.
func hostileDecide(d *profiles.Decider, a profiles.ShellAction, tree bool) (profiles.Decision, any) {
	switch a.Script {
	case "hang":
		time.Sleep(time.Hour) // the child is killed long before
	case "spin":
		for i := 0; ; i++ {
			a.Cwd = a.Cwd[:0]
		}
	case "memory":
		var all [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
			a.Cwd = string(all[0][:1])
		}
	case "stack":
		return profiles.Decision{Reason: deep(0, a.Script)}, nil
	case "crash":
		var p *int
		*p = 1
	case "exit":
		os.Exit(0)
	case "where":
		return profiles.Decision{Reason: a.Cwd}, nil
	case "pipes":
		for range 500 {
			if _, _, err := os.Pipe(); err != nil {
				return profiles.Decision{Code: profiles.CodeShellUnsettled, Reason: err.Error()}, nil
			}
		}
	}
	agent := d.Profile()
	return profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Revision: d.Revision(),
		Reason: agent.Shell.Binaries[0].Path}, map[string]string{"tree": a.Script}
}

func deep(n int, s string) string {
	if n < 0 {
		return s
	}
	return deep(n+1, s+"x") + s
}

func scripts(t *testing.T, args ...string) *worker.Scripts {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := worker.NewScripts(worker.ScriptsConfig{Path: self, Args: args, Wall: 2 * time.Second,
		MemoryBytes: 96 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func shellDecider(path string) *profiles.Decider {
	return profiles.NewDecider(
		profiles.Agent{Name: "a", Shell: &profiles.Shell{Binaries: []profiles.Binary{{Path: path}}}}, "sha256:"+path,
		profiles.Environment{})
}

// Whatever a script does to its reader, it is denied with what ended it, and the
// next one is read.
func TestScriptDeaths(t *testing.T) {
	r, d := scripts(t, "child"), shellDecider("/usr/bin/git")
	for text, want := range map[string]profiles.Code{
		"hang": profiles.CodeShellEndless, "spin": profiles.CodeShellEndless, "memory": profiles.CodeShellSize,
		"stack": profiles.CodeShellSize, "crash": profiles.CodeShellUnsettled, "exit": profiles.CodeShellUnsettled,
		strings.Repeat("x", worker.MaxScriptBytes+1): profiles.CodeShellSize,
	} {
		name := text[:min(len(text), 8)]
		if got := r.Read(t.Context(), d, profiles.ShellAction{Script: text},
			false).Decision; got.Verdict != profiles.Deny || got.Code != want {
			t.Errorf("%s: %s, %s (%s), want %s", name, got.Verdict, got.Code, got.Reason, want)
		}
		if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "fine"},
			false).Decision; got.Verdict != profiles.Allow {
			t.Errorf("after %s: %s (%s)", name, got.Verdict, got.Reason)
		}
	}
}

// A long pipeline has many pipes, also in a dry run.
func TestScriptPipes(t *testing.T) {
	if got := scripts(t, "child").Read(t.Context(), shellDecider("/usr/bin/git"), profiles.ShellAction{Script: "pipes"},
		false).Decision; got.Verdict != profiles.Allow {
		t.Errorf("%s (%s)", got.Code, got.Reason)
	}
}

// A child decides by the profile of the caller, also when it changes between two scripts.
func TestScriptProfiles(t *testing.T) {
	r := scripts(t, "child")
	one, two := shellDecider("/usr/bin/git"), shellDecider("/usr/bin/jq")
	for range 3 {
		for _, d := range []*profiles.Decider{one, two, two} {
			got := r.Decide(t.Context())(d, profiles.ShellAction{Script: "x"})
			if want := d.Profile().Shell.Binaries[0].Path; got.Reason != want || got.Revision != d.Revision() {
				t.Fatalf("%s under %s, want %s", got.Reason, got.Revision, want)
			}
		}
	}
	if got := string(r.Read(t.Context(), one, profiles.ShellAction{Script: "x"}, true).Tree); got != `{"tree":"x"}` {
		t.Errorf("tree %s", got)
	}
	if got := r.Read(t.Context(), one, profiles.ShellAction{Script: "x"}, false).Tree; got != nil {
		t.Errorf("a tree that nobody asked for: %s", got)
	}
}

// Many may ask at once, and whoever is not answered in time is denied.
func TestScriptsConcurrent(t *testing.T) {
	r, d := scripts(t, "child"), shellDecider("/usr/bin/git")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "fine"},
					false).Decision; got.Verdict != profiles.Allow {
					t.Errorf("%s: %s", got.Code, got.Reason)
				}
			}
		})
	}
	all.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.Read(ended, d, profiles.ShellAction{Script: "fine"}, false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("after its context ended: %s", got.Verdict)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "fine"},
		false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("after Close: %s", got.Verdict)
	}
}

// A binary that is no reader denies.
func TestScriptsWithoutChild(t *testing.T) {
	d := shellDecider("/usr/bin/git")
	if got := scripts(t, "silent").Read(t.Context(), d, profiles.ShellAction{Script: "x"},
		false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("%s", got.Verdict)
	}
	r, err := worker.NewScripts(worker.ScriptsConfig{Path: "/nonexistent", Args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "x"}, false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("%s", got.Verdict)
	}
	if _, err := worker.NewScripts(worker.ScriptsConfig{}); err == nil {
		t.Error("a reader without a binary")
	}
}

func BenchmarkScripts(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	r, err := worker.NewScripts(worker.ScriptsConfig{Path: self, Args: []string{"child"}})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	d := shellDecider("/usr/bin/git")
	for b.Loop() {
		if got := r.Read(b.Context(), d, profiles.ShellAction{Script: "fine"},
			false).Decision; got.Verdict != profiles.Allow {
			b.Fatal(got.Reason)
		}
	}
}

// A script that says no folder is decided in the one that a guest would begin it in.
func TestScriptFolder(t *testing.T) {
	grants := func(write, read string) profiles.Files {
		f := profiles.Files{Read: []profiles.PathRule{{Path: read}}}
		if write != "" {
			f.Write = []profiles.PathRule{{Path: write}}
		}
		return f
	}
	for _, tt := range []struct {
		name      string
		files     profiles.Files
		workspace string
		cwd, want string
	}{
		{"what it may write", grants("/srv/w", "/srv/r"), "/workspace", "", "/srv/w"},
		{"what it may read", grants("", "/srv/r"), "/workspace", "", "/srv/r"},
		{"a place", grants("$WORKSPACE/sub", "/srv/r"), "/home/me/work", "", "/home/me/work/sub"},
		{"a place that is none", grants("$WORKSPACE", "/srv/r"), "", "", "/srv/r"},
		{"below a place that is none", grants("$WORKSPACE/sub", "~/r"), "", "", "/workspace"},
		{"no grants", profiles.Files{}, "", "", "/workspace"},
		{"no grants, and a workspace", profiles.Files{}, "/srv/w", "", "/srv/w"},
		{"it says one", grants("/srv/w", "/srv/r"), "/workspace", "/tmp", "/tmp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			r, err := worker.NewScripts(worker.ScriptsConfig{
				Path: self, Args: []string{"child"}, Workspace: tt.workspace})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			d := profiles.NewDecider(profiles.Agent{Files: tt.files, Shell: &profiles.Shell{}}, "r",
				profiles.Environment{
					Workspace: tt.workspace, Script: r.Decide(t.Context())})
			if got := d.Shell(profiles.ShellAction{Script: "where", Cwd: tt.cwd}).Reason; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
