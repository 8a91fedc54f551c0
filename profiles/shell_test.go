package profiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// shellAgent has a shell profile with the rules that a program can have.
func shellAgent() profiles.Agent {
	return profiles.Agent{Name: "a", Shell: &profiles.Shell{Rule: rule(1, "shell"),
		Binaries: []profiles.Binary{
			{Path: "/usr/bin/git", Rule: rule(2, "git"), ForceArgs: []string{"-c", "core.fsmonitor=false"}, ForceEnv: []string{"GIT_PAGER=cat", "HOME=/private"},
				Deny: []profiles.Pattern{
					{Words: []string{"push", "--force"}, Text: "push --force", Reason: "it rewrites history", Instead: []string{"git push --force-with-lease"}, Rule: rule(3, "git.deny[0]")}},
				Ask: []profiles.AskRule{
					{Pattern: profiles.Pattern{Words: []string{"push"}}, Approval: profiles.Approval{Count: 2, From: []string{"team:ops"}, Rule: rule(4, "git.ask[0]")}}}},
			{Path: "/usr/bin/bash", Interpreted: true, Rule: rule(5, "bash")},
			{Path: "/usr/bin/timeout", Rule: rule(6, "timeout")}, {Path: "/usr/bin/env"}, {Path: "/usr/bin/find"}, {Path: "/usr/bin/rm"}, {Path: "/opt/git"},
		},
		DeniedPatterns: []profiles.Pattern{
			{Words: []string{"rm", "-rf"}, Text: "rm -rf", Reason: "nothing brings it back", Rule: rule(7, "denied[0]")}},
	}}
}

func exec(line string, env ...string) profiles.ExecAction {
	return profiles.ExecAction{Argv: strings.Fields(line), Cwd: "/workspace", Env: env}
}

// TestExecStart: what is started is the listed file, with what the policy forces
// put in, also where another program starts it.
func TestExecStart(t *testing.T) {
	d := profiles.NewDecider(shellAgent(), "r", home)
	forced := []string{"GIT_PAGER=cat", "HOME=/private"}
	for line, want := range map[string]*profiles.Start{
		"git status":                {Path: "/usr/bin/git", Argv: []string{"git", "-c", "core.fsmonitor=false", "status"}, Env: forced},
		"/bin/git status":           {Path: "/usr/bin/git", Argv: []string{"/bin/git", "-c", "core.fsmonitor=false", "status"}, Env: forced},
		"/opt/git status":           {Path: "/opt/git", Argv: []string{"/opt/git", "status"}},
		"timeout 5 git status":      {Path: "/usr/bin/timeout", Argv: []string{"timeout", "5", "git", "-c", "core.fsmonitor=false", "status"}, Env: forced},
		"env A=1 timeout 5 git log": {Path: "/usr/bin/env", Argv: []string{"env", "A=1", "timeout", "5", "git", "-c", "core.fsmonitor=false", "log"}, Env: forced},
		"find . -exec git add {} ;": {Path: "/usr/bin/find", Argv: []string{"find", ".", "-exec", "git", "-c", "core.fsmonitor=false", "add", "{}", ";"}, Env: forced},
		"rm x":                      {Path: "/usr/bin/rm", Argv: []string{"rm", "x"}},
	} {
		got := d.Exec(exec(line))
		if got.Verdict != profiles.Allow || !cmp.Equal(got.Start, want) {
			t.Errorf("%s: %+v\n%s", line, got, cmp.Diff(want, got.Start))
		}
	}
	for _, line := range []string{"env -i git status", "env - git status", "env -u HOME git status"} {
		if got := d.Exec(exec(line)); got.Verdict != profiles.Deny || got.Start != nil {
			t.Errorf("%s takes the forced environment away: %+v", line, got)
		}
	}
	if got := shellAgent().Shell.Binaries[0].ForceArgs; len(got) != 2 {
		t.Errorf("the profile changed: %v", got)
	}
}

// TestExecAsk: who is asked, and that a refusal wins.
func TestExecAsk(t *testing.T) {
	d := profiles.NewDecider(shellAgent(), "r", home)
	for _, line := range []string{"git push", "git -C x push origin main", "timeout 5 git push"} {
		got, who := d.Exec(exec(line)), d.Approval(exec(line))
		if got.Verdict != profiles.Ask || got.Code != profiles.CodeApprovalRequired || got.Start == nil || who == nil ||
			who.Count != 2 || got.Rule == nil || got.Rule.Line != 4 ||
			!strings.Contains(got.Reason, "2 approvals from team:ops") {
			t.Errorf("%s: %+v, %+v", line, got, who)
		}
	}
	for _, line := range []string{"git push -f", "git status", "rm -rf x", "unknown"} {
		if who := d.Approval(exec(line)); who != nil {
			t.Errorf("%s: %+v", line, who)
		}
	}
	got := d.Exec(exec("git push -f"))
	if got.Verdict != profiles.Deny || got.Rule == nil || got.Rule.Line != 3 ||
		!strings.Contains(got.Reason, "rewrites history") ||
		!cmp.Equal(got.Instead, []string{"git push --force-with-lease"}) || got.Evidence == nil ||
		!cmp.Equal(got.Evidence.Argv, []string{"git", "push", "-f"}) {
		t.Errorf("got %+v", got)
	}
	if got := d.Exec(exec("timeout 5 rm -fr x")); got.Rule == nil || got.Rule.Line != 7 ||
		!cmp.Equal(got.Evidence.Chain, []string{"timeout"}) {
		t.Errorf("got %+v", got)
	}
}

func TestExecRefuses(t *testing.T) {
	d := profiles.NewDecider(shellAgent(), "r", home)
	for _, tt := range []struct {
		a    profiles.ExecAction
		want profiles.Code
	}{
		{exec("bash -c x"), profiles.CodeShellOpaque}, {exec("/usr/bin/bash x"), profiles.CodeShellStarts}, {exec("find . -exec bash -c x ;"), profiles.CodeShellOpaque},
		{exec("git status", "PATH=/x"), profiles.CodeVariable}, {exec("git status", "LD_PRELOAD=x"), profiles.CodeVariable}, {exec("git status", "HOME=/x"), profiles.CodeVariable},
		{exec("git status", "GIT_PAGER=less"), profiles.CodeVariable}, {exec("rm x", "HOME=/private"), profiles.CodeVariable},
		{exec("git status", "x"), profiles.CodeActionMalformed}, {exec("git status", "=x"), profiles.CodeActionMalformed}, {exec("git status", "A=\x00"), profiles.CodeActionMalformed},
		{exec("echo x"), profiles.CodeExecNotGranted}, {exec("./git"), profiles.CodeExecNotGranted}, {exec("/usr/bin/../../bin/sh"), profiles.CodeExecNotGranted},
		{profiles.ExecAction{Argv: make([]string, 5000)}, profiles.CodeActionMalformed},
	} {
		if got := d.Exec(tt.a); got.Verdict != profiles.Deny || got.Code != tt.want || got.Start != nil {
			t.Errorf("%q %q: %+v, want %s", tt.a.Argv[:min(3, len(tt.a.Argv))], tt.a.Env, got, tt.want)
		}
	}
	for _, env := range []string{"HOME=/private", "GIT_PAGER=cat", "FOO=1"} {
		if got := d.Exec(exec("git status", env)); got.Verdict != profiles.Allow {
			t.Errorf("%s: %+v", env, got)
		}
	}
}

// TestNestedScript: text for a shell is allowed as whoever can read it says, with
// its parameters, and by nobody else.
func TestNestedScript(t *testing.T) {
	env := home
	var read []string
	env.Script = func(_ *profiles.Decider, a profiles.ShellAction) profiles.Decision {
		read = append(read, a.Script)
		if strings.Contains(a.Script, "evil") {
			return profiles.Decision{Code: profiles.CodeShellDenied, Reason: "evil"}
		}
		return profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed}
	}
	d := profiles.NewDecider(shellAgent(), "r", env)
	of := func(words ...string) profiles.Decision {
		return d.Exec(profiles.ExecAction{Argv: words, Cwd: "/workspace"})
	}
	if got := of("timeout", "5", "bash", "-c", "git status"); got.Verdict != profiles.Allow {
		t.Errorf("got %+v", got)
	}
	if got := of("timeout", "5", "bash", "-c", "evil"); got.Code != profiles.CodeShellDenied {
		t.Errorf("got %+v", got)
	}
	if got := of("timeout", "5", "bash", "-c", `$1`, "_", "evil"); got.Code != profiles.CodeShellDenied {
		t.Errorf("got %+v", got)
	}
	if got := of("find", ".", "-exec", "bash", "-c", "x", "_", "{}", ";"); got.Code != profiles.CodeShellOpaque {
		t.Errorf("parameters that nobody knows: %+v", got)
	}
	if !slices.Contains(read, "set -- 'evil'\n$1") {
		t.Errorf("read %q", read)
	}
}

func TestRedirect(t *testing.T) {
	plain := profiles.NewDecider(shellAgent(), "r", home)
	a := shellAgent()
	a.Files = profiles.Files{Read: []profiles.PathRule{{Path: "/data"}}, Write: []profiles.PathRule{{Path: "/out"}},
		Deny: []profiles.PathRule{{Path: "/out/no"}}}
	granted := profiles.NewDecider(a, "r", home)
	a.Files = profiles.Files{Read: []profiles.PathRule{{Path: "/tmp/tmp/in"}},
		Deny: []profiles.PathRule{{Path: "/tmp/tmp/no"}}}
	closed := profiles.NewDecider(a, "r", home)
	for _, tt := range []struct {
		d               *profiles.Decider
		op, target, cwd string
		want            profiles.Code
	}{
		{plain, "write", "x", "/workspace", profiles.CodeAllowed}, {plain, "append", "a/b", "/workspace/c", profiles.CodeAllowed}, {plain, "write", "/workspace/x", "/", profiles.CodeAllowed},
		{plain, "write", "../x", "/workspace/a", profiles.CodeAllowed}, {plain, "read", "/etc/passwd", "/workspace", profiles.CodeAllowed},
		{plain, "write", "/dev/null", "/", profiles.CodeAllowed}, {plain, "write", "/dev/stderr", "/", profiles.CodeAllowed}, {plain, "read", "/dev/urandom", "/", profiles.CodeAllowed},
		{plain, "readwrite", "/dev/null", "/", profiles.CodeAllowed}, {plain, "write", "x/../../dev/null", "/workspace", profiles.CodeAllowed},
		{plain, "write", ".gitignore", "/workspace", profiles.CodeAllowed}, {plain, "write", "hooks/x", "/workspace", profiles.CodeAllowed}, {plain, "read", ".git/config", "/workspace", profiles.CodeAllowed},
		{plain, "write", "/etc/x", "/workspace", profiles.CodeShellRedirect}, {plain, "append", "../x", "/workspace", profiles.CodeShellRedirect}, {plain, "write", "/workspace", "/", profiles.CodeShellRedirect},
		{plain, "write", "/workspace2/x", "/", profiles.CodeShellRedirect}, {plain, "write", "x", "/etc", profiles.CodeShellRedirect}, {plain, "readwrite", "/etc/x", "/", profiles.CodeShellRedirect},
		{plain, "write", "/dev/tcp/a/80", "/", profiles.CodeShellRedirect}, {plain, "read", "/dev/udp/a/80", "/", profiles.CodeShellRedirect}, {plain, "read", "//dev/tcp/a/80", "/", profiles.CodeShellRedirect},
		{plain, "write", "/dev/../dev/tcp/a/1", "/", profiles.CodeShellRedirect}, {plain, "write", "tcp/a/1", "/dev", profiles.CodeShellRedirect}, {plain, "write", "/dev/sda", "/", profiles.CodeShellRedirect},
		{plain, "write", ".git/config", "/workspace", profiles.CodeShellRedirect}, {plain, "write", "config", "/workspace/.git", profiles.CodeShellRedirect}, {plain, "append", "a/.GIT/Hooks/x", "/workspace", profiles.CodeShellRedirect},
		{plain, "write", ".git/modules/a/config", "/workspace", profiles.CodeShellRedirect}, {plain, "write", ".git/modules/a/b/hooks/x", "/workspace", profiles.CodeShellRedirect}, {plain, "write", ".git", "/workspace", profiles.CodeShellRedirect},
		{plain, "write", "x.git/hooks/x", "/workspace", profiles.CodeShellRedirect}, {plain, "write", ".git/./config", "/workspace", profiles.CodeShellRedirect}, {plain, "write", ".git/info/attributes", "/workspace", profiles.CodeShellRedirect},
		{plain, "write", ".git/worktrees/a/config.worktree", "/workspace", profiles.CodeShellRedirect}, {plain, "write", "", "/workspace", profiles.CodeShellRedirect}, {plain, "write", "a\x00b", "/workspace", profiles.CodeShellRedirect},
		{plain, "delete", "x", "/workspace", profiles.CodeActionMalformed}, {plain, "write", "x", "", profiles.CodeShellUnsettled},
		{granted, "read", "/data/x", "/", profiles.CodeAllowed}, {granted, "write", "/out/x", "/", profiles.CodeAllowed}, {granted, "write", "x", "/out", profiles.CodeAllowed},
		{granted, "write", "/dev/null", "/", profiles.CodeAllowed}, {granted, "read", "/etc/x", "/", profiles.CodeFileNotGranted}, {granted, "write", "/workspace/x", "/", profiles.CodeFileNotGranted},
		{granted, "write", "/data/x", "/", profiles.CodeFileNotGranted}, {granted, "write", "/out/no/x", "/", profiles.CodeFileDenied}, {granted, "readwrite", "/out/x", "/", profiles.CodeFileNotGranted},
		{granted, "write", "/out/.git/hooks/x", "/", profiles.CodeShellRedirect}, {granted, "write", "/out/../etc/x", "/", profiles.CodeFileNotGranted},
		{plain, "write", "/tmp/tmp/x", "/", profiles.CodeAllowed}, {granted, "append", "x", "/tmp/tmp/tmp.1", profiles.CodeAllowed}, {granted, "read", "/tmp/tmp/x", "/", profiles.CodeAllowed},
		{plain, "write", "/tmp/x", "/", profiles.CodeShellRedirect}, {granted, "write", "/tmp/x", "/", profiles.CodeFileNotGranted}, {plain, "write", "/tmp/tmp", "/", profiles.CodeShellRedirect},
		{plain, "write", "/tmp/tmp/../x", "/", profiles.CodeShellRedirect}, {granted, "write", "/tmp/tmp2/x", "/", profiles.CodeFileNotGranted}, {granted, "write", "/tmp/tmp/a/.git/config", "/", profiles.CodeShellRedirect},
		{closed, "write", "/tmp/tmp/no/x", "/", profiles.CodeFileDenied}, {closed, "write", "/tmp/tmp/in/x", "/", profiles.CodeFileNotGranted}, {closed, "read", "/tmp/tmp/in/x", "/", profiles.CodeAllowed},
		{profiles.NewDecider(profiles.Agent{}, "r", home), "write", "/tmp/tmp/x", "/", profiles.CodeExecutorNotGranted},
		{profiles.NewDecider(profiles.Agent{}, "r", home), "write", "/workspace/x", "/", profiles.CodeExecutorNotGranted}, {nil, "write", "x", "/workspace", profiles.CodeClosed},
	} {
		got, settled := tt.d.Redirect(tt.op, argv.Known(tt.target), tt.cwd)
		if got.Code != tt.want || (got.Verdict == profiles.Allow) != (tt.want == profiles.CodeAllowed) ||
			settled != (tt.want != profiles.CodeShellUnsettled) {
			t.Errorf("%s %q in %q: %+v, want %s", tt.op, tt.target, tt.cwd, got, tt.want)
		}
	}
	for text, settled := range map[string]bool{"": false, "/etc/": false, "/dev/tcp/": true, "/workspace/": false} {
		if got, is := plain.Redirect("write", argv.Word{Text: text, Open: true},
			"/workspace"); got.Verdict != profiles.Deny || is != settled {
			t.Errorf("%q…: %+v, settled %v", text, got, is)
		}
	}
}

// TestCommandDecision: what is known in part is no permission.
func TestCommandDecision(t *testing.T) {
	d := profiles.NewDecider(shellAgent(), "r", home)
	open := argv.Word{Open: true, Many: true}
	dec, j := d.Command(argv.Command{Words: []argv.Word{argv.Known("rm"), open}})
	if dec.Verdict != profiles.Deny || dec.Code != profiles.CodeShellUnsettled || j.Verdict != command.Unsettled ||
		dec.Rule == nil || dec.Rule.Line != 7 {
		t.Errorf("got %+v", dec)
	}
	if dec, _ := d.Command(argv.Command{Words: argv.AllKnown([]string{"echo", "x"})}); dec.Verdict != profiles.Allow {
		t.Errorf("got %+v", dec)
	}
	if dec, _ := d.Command(argv.Command{Words: argv.AllKnown([]string{"gti", "status"})}); len(dec.Instead) == 0 ||
		dec.Instead[0] != "git" {
		t.Errorf("got %+v", dec)
	}
	for _, name := range []string{"cd", "echo", "trap", "[", ":"} {
		if dec, is := d.Builtin(name); dec.Verdict != profiles.Allow || !is {
			t.Errorf("%s: %+v", name, dec)
		}
	}
	for _, name := range []string{"enable", "bind", "fc", "git", ""} {
		if dec, _ := d.Builtin(name); dec.Verdict != profiles.Deny || dec.Reason == "" {
			t.Errorf("%s: %+v", name, dec)
		}
	}
	if dec := d.Variable(profiles.VariableAction{Name: "GIT_PAGER",
		Value: "less"}); dec.Code != profiles.CodeVariable || !cmp.Equal(dec.Instead, []string{"GIT_PAGER=cat"}) {
		t.Errorf("got %+v", dec)
	}
	if dec, settled := d.Assign("GIT_PAGER", open); dec.Verdict != profiles.Deny || settled {
		t.Errorf("got %+v", dec)
	}
	if dec, settled := d.Assign("FOO", open); dec.Verdict != profiles.Allow || !settled {
		t.Errorf("got %+v", dec)
	}
}

func BenchmarkExec(b *testing.B) {
	d := profiles.NewDecider(shellAgent(), "r", home)
	for _, line := range []string{"git status --short", "rm -r build", "git push origin main -f",
		"timeout 5 git fetch --all"} {
		a := exec(line, "FOO=1")
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Exec(a)
			}
		})
	}
	many := shellAgent()
	shell := *many.Shell
	many.Shell = &shell
	for i := range 5000 {
		shell.DeniedPatterns = append(shell.DeniedPatterns, profiles.Pattern{
			Words: []string{"git", fmt.Sprintf("sub%d", i), "--force"}})
		shell.Binaries = append(shell.Binaries, profiles.Binary{Path: fmt.Sprintf("/usr/bin/tool%d", i)})
	}
	b.Run("10,000 rules", func(b *testing.B) {
		b.ReportAllocs()
		d := profiles.NewDecider(many, "r", home)
		a := exec("git status --short")
		for b.Loop() {
			d.Exec(a)
		}
	})
	b.Run("decider of 10,000 rules", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			profiles.NewDecider(many, "r", home)
		}
	})
	b.Run("decider", func(b *testing.B) {
		b.ReportAllocs()
		a := shellAgent()
		for b.Loop() {
			profiles.NewDecider(a, "r", home)
		}
	})
}
