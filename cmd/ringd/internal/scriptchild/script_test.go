package scriptchild_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/scriptchild"
	"github.com/ringd/ringd/profiles"
)

// TestMain lets the test binary be its own child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		os.Exit(scriptchild.Main(os.Stdin, os.Stdout, os.Stderr, decide))
	}
	if len(os.Args) > 1 && os.Args[1] == "silent" {
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// decide plays what a script may do to the process that reads it.
func decide(d *profiles.Decider, a profiles.ShellAction, tree bool) (profiles.Decision, any) {
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

func reader(t *testing.T, args ...string) *scriptchild.Reader {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := scriptchild.New(scriptchild.Config{Path: self, Args: args, Wall: 2 * time.Second, MemoryBytes: 96 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func decider(path string) *profiles.Decider {
	return profiles.NewDecider(profiles.Agent{Name: "a", Shell: &profiles.Shell{Binaries: []profiles.Binary{{Path: path}}}}, "sha256:"+path, profiles.Environment{})
}

// Whatever a script does to its reader, it is denied with what ended it, and the
// next one is read.
func TestDeaths(t *testing.T) {
	r, d := reader(t, "child"), decider("/usr/bin/git")
	for text, want := range map[string]profiles.Code{
		"hang": profiles.CodeShellEndless, "spin": profiles.CodeShellEndless, "memory": profiles.CodeShellSize,
		"stack": profiles.CodeShellSize, "crash": profiles.CodeShellUnsettled, "exit": profiles.CodeShellUnsettled,
		strings.Repeat("x", scriptchild.MaxTextBytes+1): profiles.CodeShellSize,
	} {
		name := text[:min(len(text), 8)]
		if got := r.Read(t.Context(), d, profiles.ShellAction{Script: text}, false).Decision; got.Verdict != profiles.Deny || got.Code != want {
			t.Errorf("%s: %s, %s (%s), want %s", name, got.Verdict, got.Code, got.Reason, want)
		}
		if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "fine"}, false).Decision; got.Verdict != profiles.Allow {
			t.Errorf("after %s: %s (%s)", name, got.Verdict, got.Reason)
		}
	}
}

// A child decides by the profile of who asks, also when it changes between.
// A long pipeline has many pipes, also in a dry run.
func TestPipes(t *testing.T) {
	if got := reader(t, "child").Read(t.Context(), decider("/usr/bin/git"), profiles.ShellAction{Script: "pipes"}, false).Decision; got.Verdict != profiles.Allow {
		t.Errorf("%s (%s)", got.Code, got.Reason)
	}
}

func TestProfiles(t *testing.T) {
	r := reader(t, "child")
	one, two := decider("/usr/bin/git"), decider("/usr/bin/jq")
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
func TestConcurrent(t *testing.T) {
	r, d := reader(t, "child"), decider("/usr/bin/git")
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "fine"}, false).Decision; got.Verdict != profiles.Allow {
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
	if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "fine"}, false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("after Close: %s", got.Verdict)
	}
}

// A binary that is no reader denies.
func TestNoReader(t *testing.T) {
	d := decider("/usr/bin/git")
	if got := reader(t, "silent").Read(t.Context(), d, profiles.ShellAction{Script: "x"}, false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("%s", got.Verdict)
	}
	r, err := scriptchild.New(scriptchild.Config{Path: "/nonexistent", Args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Read(t.Context(), d, profiles.ShellAction{Script: "x"}, false).Decision; got.Verdict != profiles.Deny {
		t.Errorf("%s", got.Verdict)
	}
	if _, err := scriptchild.New(scriptchild.Config{}); err == nil {
		t.Error("a reader without a binary")
	}
}

func BenchmarkRead(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	r, err := scriptchild.New(scriptchild.Config{Path: self, Args: []string{"child"}})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	d := decider("/usr/bin/git")
	for b.Loop() {
		if got := r.Read(b.Context(), d, profiles.ShellAction{Script: "fine"}, false).Decision; got.Verdict != profiles.Allow {
			b.Fatal(got.Reason)
		}
	}
}

// A script that says no folder is decided in the one that a guest would begin it in.
func TestBegins(t *testing.T) {
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
			r, err := scriptchild.New(scriptchild.Config{Path: self, Args: []string{"child"}, Workspace: tt.workspace})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			d := profiles.NewDecider(profiles.Agent{Files: tt.files, Shell: &profiles.Shell{}}, "r", profiles.Environment{
				Workspace: tt.workspace, Script: r.Decide(t.Context())})
			if got := d.Shell(profiles.ShellAction{Script: "where", Cwd: tt.cwd}).Reason; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
