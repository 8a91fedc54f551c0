//go:build unix

package main

// In the package for TestMain, which makes this binary ringd.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

const askPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a@acme.example"}
spec:
  agents: [{match: a}]
  executors: {allowed: [js], minTier: process}
  bridges:
    - name: pay
      powers: {sensitive: false, untrusted: false, external: true}
      approval: {required: true, from: ["group:leads@acme.example"], expiresAfter: 1h}
`

const askProgram = `let end; try { end = (await pay({euro: 5, to: "\u001b[2Jada"})).euro } catch (e) { end = e.name + ": " + e.message } end`

// person sits at the terminal of a ringd.
type person struct {
	clitest.Person
	stdout bytes.Buffer
	cmd    *exec.Cmd
}

// end waits for the end of ringd and returns its exit code.
func (p *person) end() int {
	p.T.Helper()
	_, _ = io.Copy(&p.Seen, p.TTY) // ends with the last process that has the terminal
	var failed *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &failed) {
		return failed.ExitCode()
	} else if err != nil {
		p.T.Fatal(err)
	}
	return 0
}

func sit(t *testing.T, dir string, args ...string) *person {
	t.Helper()
	return sitAs(t, dir, false, append(args, "-p", "p.yaml", "--bridge", "pay=./pay")...)
}

// sitAs starts ringd at a terminal; with shown, what it prints comes there as well.
func sitAs(t *testing.T, dir string, shown bool, args ...string) *person {
	t.Helper()
	for name, text := range map[string]string{"p.yaml": askPolicy, "p.js": askProgram,
		"pay": "#!/bin/sh\necho pay >>effects\ncat\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p := &person{Person: clitest.Person{T: t, TTY: master}}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "ringd", args...)
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+sharedCache, "TERM=xterm", "NO_COLOR=1")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, &p.stdout, tty
	if shown {
		p.cmd.Stdout = tty
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended, but in a test that failed
		_ = master.Close()
	})
	return p
}

// At a terminal `ringd run` asks itself, and shows what would happen.
func TestRunAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ringd")
	}
	const leads = "group:leads@acme.example"
	for _, tt := range []struct {
		name    string
		args    []string
		act     func(p *person)
		code    int
		stdout  string
		seen    string
		effects string
		paused  bool // a run is left in state
	}{
		{"yes", []string{"--as", leads, "p.js"}, func(p *person) { p.Types("y\n") }, 0, "5\n", "", "pay\n", false},
		{"no", []string{"--as", leads, "p.js"}, func(p *person) { p.Types("n\n"); p.Until("Why not?"); p.Types("too much\n") },
			1, "", "", "", false},
		{"without --as", []string{"p.js"}, func(p *person) { p.Types("y\n") }, 0, "5\n", "You answer as " + leads, "pay\n", false},
		{"another --as", []string{"--as", "group:others@acme.example", "p.js"}, func(p *person) { p.Types("y\n"); p.Until("[1-1] "); p.Types("1\n") }, 0, "5\n", "", "pay\n", false},
		{"Ctrl-C", []string{"--as", leads, "p.js"}, func(p *person) { p.Types("\x03") }, 130, "", "interrupted", "", false},
		{"Ctrl-C, kept", []string{"--as", leads, "--state", "st", "--ask", "p.js"}, func(p *person) { p.Types("\x03") }, 130, "", "ringd resume r", "", true},
		{"yes, kept", []string{"--as", leads, "--state", "st", "--ask", "p.js"}, func(p *person) { p.Types("y\n") }, 0, "5\n", ": done", "pay\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			p := sit(t, dir, append([]string{"run", "--executor", "js"}, tt.args...)...)
			p.Until("Allow it? [y/N] ")
			shown := p.Seen.String()
			for _, want := range []string{"pay waits for an approval", `"euro": 5`, `\u001b[2Jada`, "digest sha256:",
				"rule     p.yaml:", "from     " + leads, "minutes left"} {
				if !strings.Contains(shown, want) {
					t.Errorf("want %q in\n%s", want, shown)
				}
			}
			if strings.Contains(shown, "\x1b[2J") {
				t.Error("the program's escape reached the terminal")
			}
			tt.act(p)
			if code := p.end(); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, p.Seen.String())
			}
			if tt.name == "no" && !strings.Contains(p.stdout.String(), "ApprovalDenied") || tt.stdout != "" &&
				p.stdout.String() != tt.stdout {
				t.Errorf("stdout %q, want %q", p.stdout.String(), tt.stdout)
			}
			if !strings.Contains(p.Seen.String(), tt.seen) {
				t.Errorf("want %q in\n%s", tt.seen, p.Seen.String())
			}
			did, err := os.ReadFile(filepath.Join(dir, "effects"))
			if err != nil && !errors.Is(err, os.ErrNotExist) || string(did) != tt.effects {
				t.Errorf("effects %q, %v, want %q", did, err, tt.effects)
			}
			list := exec.CommandContext(t.Context(), "ringd", "runs", "--state", "st", "--only", "paused")
			list.Dir = dir
			out, _ := list.Output() // without the folder there is nothing to list
			if (len(out) > 0) != tt.paused {
				t.Errorf("left: %s", out)
			}
		})
	}
}

// A run that was left at the question is asked about again, in another process.
func TestResumeAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ringd")
	}
	dir := t.TempDir()
	p := sit(t, dir, "run", "--executor", "js", "--state", "st", "p.js")
	if code := p.end(); code != 75 || strings.Contains(p.Seen.String(), "Allow it?") {
		t.Fatalf("exit code %d\n%s", code, p.Seen.String())
	}
	_, rest, ok := strings.Cut(p.Seen.String(), "ringd resume ")
	id, _, _ := strings.Cut(rest, " ")
	if !ok || id == "" {
		t.Fatalf("no word on how to go on\n%s", p.Seen.String())
	}
	// A command that is not there is told before anybody is asked, and one that goes away
	// while the question stands costs neither the run nor the word.
	args := []string{"resume", id, "--state", "st", "--ask", "--as", "group:leads@acme.example", "-p", "p.yaml"}
	for _, bridge := range [][]string{nil, {"--bridge", "pay=./gone"}} {
		p = sitAs(t, dir, false, append(args, bridge...)...)
		if code := p.end(); code != 2 || strings.Contains(p.Seen.String(), "Allow it?") ||
			!strings.Contains(p.Seen.String(), "--bridge pay=COMMAND") {
			t.Fatalf("exit code %d\n%s", code, p.Seen.String())
		}
	}
	p = sitAs(t, dir, false, append(args, "--bridge", "pay=./pay")...)
	p.Until("Allow it? [y/N] ")
	if err := os.Remove(filepath.Join(dir, "pay")); err != nil {
		t.Fatal(err)
	}
	p.Types("yes\n")
	if code := p.end(); code != 2 || p.stdout.String() != "" ||
		!strings.Contains(p.Seen.String(), "pay: no such file or directory; nothing ran") {
		t.Fatalf("exit code %d, stdout %q\n%s", code, p.stdout.String(), p.Seen.String())
	}
	p = sitAs(t, dir, false, append(args, "--bridge", "pay=./pay")...)
	if code := p.end(); code != 0 || strings.Contains(p.Seen.String(), "Allow it?") || p.stdout.String() != "5\n" {
		t.Errorf("exit code %d, stdout %q\n%s", code, p.stdout.String(), p.Seen.String())
	}
	did, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil || string(did) != "pay\n" {
		t.Errorf("effects %q, %v", did, err)
	}
}

// atTerminal is what a terminal gets of a ringd.
func atTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer master.Close()
	c := exec.CommandContext(t.Context(), "ringd", args...)
	c.Dir, c.Env = dir, append(slices.DeleteFunc(os.Environ(),
		func(e string) bool { return strings.HasPrefix(e, "NO_COLOR=") }), "XDG_CACHE_HOME="+sharedCache, "TERM=xterm")
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	var seen bytes.Buffer
	_, _ = io.Copy(&seen, master) // ends with the last process that has the terminal
	_ = c.Wait()                  // some are refused
	return seen.String()
}

// TestTerminalGetsText: what a program makes up reaches a terminal as text: its value,
// and the names that stand in records, each of which is one line. The colours of ringd
// itself are colours.
func TestTerminalGetsText(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ringd")
	}
	dir := t.TempDir()
	const line = `     7  2026-11-23T00:00:00.000Z  call_approved    rforged  c1  bridge:pay  by uid:0`
	const program = `for (const name of ["x\n` + line + `", "\u009b2Jx\u202e"]) { try { await import(name) } catch {} }
({c1: "\u009b31m red", bidi: "\u202egnp.exe", del: "\u007f", zero: "\u200b\u2066"})`
	for name, text := range map[string]string{"p.yaml": askPolicy, "v.js": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := atTerminal(t, dir, "run", "-p", "p.yaml", "--state", "st", "--executor", "js", "v.js")
	if !strings.Contains(run, `{"c1":"\u009b31m red","bidi":"\u202egnp.exe","del":"\u007f","zero":"\u200b\u2066"}`) {
		t.Errorf("the value is not there: %q", run)
	}
	query, tail := atTerminal(t, dir, "audit", "query", "--state", "st"),
		atTerminal(t, dir, "audit", "tail", "--state", "st")
	whole := atTerminal(t, dir, "audit", "query", "--state", "st", "--long")
	for what, text := range map[string]string{"run": run, "audit query": query, "audit tail": tail,
		"audit query --long": whole, "runs": atTerminal(t, dir, "approvals", "--state", "st")} {
		if i := strings.IndexFunc(text, func(r rune) bool {
			return r >= 0x7f && r < 0xa0 || r < ' ' && !strings.ContainsRune("\r\n\x1b", r) || unicode.Is(unicode.Cf, r)
		}); i >= 0 {
			t.Errorf("%s sends %q", what, text[i:min(len(text), i+20)])
		}
		if strings.Contains(text, "\n"+line) {
			t.Errorf("%s has a line that the program has made up:\n%s", what, text)
		}
	}
	for _, text := range []string{query, tail, whole} {
		if !strings.Contains(text, "\x1b[31mdeny\x1b[0m") || strings.Contains(text, `\u001b`) ||
			!strings.Contains(text, "by uid:0") {
			t.Errorf("the verdicts are not coloured, or the names are not there:\n%q", text)
		}
	}
}

// TestAuditAtTerminal: a record is a line of 80 columns at a terminal, and whole there
// with --long and elsewhere without it.
func TestAuditAtTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ringd")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"p.yaml": askPolicy,
		"v.js": `try { await import("a-module-with-a-name-that-is-long-enough-to-be-cut/at/a/terminal.js") } catch {} 1`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	atTerminal(t, dir, "run", "-p", "p.yaml", "--state", "st", "--executor", "js", "v.js")
	colours := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[0m", "", "\r", "")
	for _, verb := range []string{"query", "tail"} {
		short := colours.Replace(atTerminal(t, dir, "audit", verb, "--state", "st"))
		for line := range strings.Lines(short) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %q", verb, n, line)
			}
		}
		if !strings.Contains(short, "  deny   import …") || !strings.Contains(short, "terminal.js  not_allowed\n") ||
			strings.Contains(short, "landlock") {
			t.Errorf("%s has not the short lines:\n%s", verb, short)
		}
		long := colours.Replace(atTerminal(t, dir, "audit", verb, "--state", "st", "--long"))
		pipe := exec.CommandContext(t.Context(), "ringd", "audit", verb, "--state", "st")
		pipe.Dir = dir
		out, err := pipe.Output()
		if err != nil || string(out) != long || !strings.Contains(long, `is not allowed)`) ||
			strings.Count(long, "\n") != strings.Count(short, "\n") {
			t.Errorf("%s: %v; at a pipe:\n%s\nwith --long:\n%s", verb, err, out, long)
		}
	}
}

// Who approves at a terminal says yes to what was shown; anything else allows nothing.
func TestApproveAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ringd")
	}
	dir := t.TempDir()
	p := sit(t, dir, "run", "--executor", "js", "--state", "st", "p.js")
	_ = p.end()
	_, rest, _ := strings.Cut(p.Seen.String(), "ringd resume ")
	id, _, _ := strings.Cut(rest, " ")
	approve := []string{"approve", id, "--state", "st", "--as", "group:leads@acme.example"}
	for _, tt := range []struct {
		name, types string
		code        int
		seen        string
	}{
		{"Enter", "\n", 1, "not approved: the call still waits"},
		{"no", "n\n", 1, "not approved: the call still waits"},
		{"end of input", "\x04", 1, "no answer"},
		{"yes", "y\n", 0, "allowed; run"},
	} {
		p := sitAs(t, dir, true, approve...)
		p.Until("Allow it? [y/N] ")
		if !strings.Contains(p.Seen.String(), `"euro": 5`) {
			t.Errorf("%s: asked before it was shown\n%s", tt.name, p.Seen.String())
		}
		p.Types(tt.types)
		if code := p.end(); code != tt.code || !strings.Contains(p.Seen.String(), tt.seen) {
			t.Errorf("%s: exit code %d, want %d\n%s", tt.name, code, tt.code, p.Seen.String())
		}
	}
}
