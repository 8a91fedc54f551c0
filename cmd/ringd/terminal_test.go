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
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/ringd/ringd/cmd/ringd/internal/ask/asktest"
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
	asktest.Person
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
	for name, text := range map[string]string{"p.yaml": askPolicy, "p.js": askProgram, "pay": "#!/bin/sh\necho pay >>effects\ncat\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p := &person{Person: asktest.Person{T: t, TTY: master}}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "ringd", append(args, "-p", "p.yaml", "--bridge", "pay=./pay")...)
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+sharedCache, "TERM=xterm", "NO_COLOR=1")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, &p.stdout, tty
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
		{"somebody else", []string{"p.js"}, func(p *person) { p.Types("y\n") }, 1, "", "another owner", "", false},
		{"Ctrl-C", []string{"--as", leads, "p.js"}, func(p *person) { p.Types("\x03") }, 1, "", "", "", false},
		{"Ctrl-C, kept", []string{"--as", leads, "--state", "st", "--ask", "p.js"}, func(p *person) { p.Types("\x03") }, 1, "", "ringd resume r", "", true},
		{"yes, kept", []string{"--as", leads, "--state", "st", "--ask", "p.js"}, func(p *person) { p.Types("y\n") }, 0, "5\n", ": done", "pay\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			p := sit(t, dir, append([]string{"run", "--executor", "js"}, tt.args...)...)
			p.Until("Allow it? [y/N] ")
			shown := p.Seen.String()
			for _, want := range []string{"pay waits for an approval", `"euro": 5`, `\u001b[2Jada`, "digest   sha256:", "rule     p.yaml:", "from     " + leads, "minutes left"} {
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
			if tt.name == "no" && !strings.Contains(p.stdout.String(), "ApprovalDenied") || tt.stdout != "" && p.stdout.String() != tt.stdout {
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
	if code := p.end(); code != 1 || strings.Contains(p.Seen.String(), "Allow it?") {
		t.Fatalf("exit code %d\n%s", code, p.Seen.String())
	}
	_, rest, ok := strings.Cut(p.Seen.String(), "ringd resume ")
	id, _, _ := strings.Cut(rest, " ")
	if !ok || id == "" {
		t.Fatalf("no word on how to go on\n%s", p.Seen.String())
	}
	p = sit(t, dir, "resume", id, "--state", "st", "--ask", "--as", "group:leads@acme.example")
	p.Until("Allow it? [y/N] ")
	p.Types("yes\n")
	if code := p.end(); code != 0 || p.stdout.String() != "5\n" {
		t.Errorf("exit code %d, stdout %q\n%s", code, p.stdout.String(), p.Seen.String())
	}
	did, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil || string(did) != "pay\n" {
		t.Errorf("effects %q, %v", did, err)
	}
}
