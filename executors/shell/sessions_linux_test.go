package shell_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/profiles"
)

// developer is an agent with what its work needs.
func developer() *profiles.Agent {
	a := agent(append([]string{
		"git", "jq", "sed", "awk", "uniq", "paste", "mktemp", "diff", "cmp", "comm", "tar", "gzip", "sha256sum", "dirname", "bash", "sh", "date",
	}, tools...)...)
	for i := range a.Shell.Binaries {
		if b := &a.Shell.Binaries[i]; b.Path == "/usr/bin/git" {
			b.Helpers = []profiles.PathRule{{Path: "/usr/lib/git-core"}}
			b.ForceEnv = []string{"GIT_TEMPLATE_DIR=", "GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_TERMINAL_PROMPT=0"}
		}
	}
	a.Shell.JIT = true // git grep makes code of its patterns
	return a
}

// result is what two shells are compared by. What they say on standard error is in
// words of their own.
type result struct {
	Out    string
	Exit   int
	Errors bool
}

// inBash runs a script with bash itself, in a folder of its own.
func inBash(t *testing.T, script, stdin string) result {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "/bin/bash", file)
	c.Dir, c.Stdin = work, strings.NewReader(stdin)
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "USER=agent",
		"LOGNAME=agent", "LANG=C.UTF-8", "TERM=dumb"}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return result{strings.ReplaceAll(out.String(), work, executors.Workspace), c.ProcessState.ExitCode(),
		errs.Len() > 0}
}

// withBash skips where there is none of the programs that the sessions use.
func withBash(t *testing.T) {
	t.Helper()
	for _, p := range developer().Shell.Binaries {
		if _, err := os.Stat(p.Path); err != nil {
			if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// What agents do all day runs in a guest as it does in bash.
func TestSessionsOfAgents(t *testing.T) {
	withBash(t)
	e := executor(t, func(c *shell.Config) { c.Blank = 1 })
	list, err := filepath.Glob("testdata/sessions/*.sh")
	if err != nil || len(list) < 60 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	for _, p := range list {
		t.Run(strings.TrimSuffix(filepath.Base(p), ".sh"), func(t *testing.T) {
			script, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			want := inBash(t, string(script), "")
			o, _ := play(t, e, run(developer(), string(script)))
			got := result{printed(o, "stdout"), o.ExitCode, printed(o, "stderr") != ""}
			if diff := cmp.Diff(want, got); diff != "" || o.State != executors.StateDone &&
				o.State != executors.StateFailed {
				t.Errorf("(-bash +guest)\n%s\n%s", diff, brief(o))
			}
		})
	}
}
