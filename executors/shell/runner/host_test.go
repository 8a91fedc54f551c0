package runner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// rules allows builtins and the listed programs; shells are interpreted.
type rules struct {
	programs []string
	refused  []string // variables
	denied   []string // first words
}

func (r rules) Command(c argv.Command) (profiles.Decision, command.Judgement) {
	name := path.Base(c.Words[0].Text)
	if slices.Contains(r.denied, name) {
		return profiles.Decision{Code: profiles.CodeExecDenied, Reason: name}, command.Judgement{}
	}
	switch {
	case name == "bash" || name == "sh":
		return profiles.Decision{Verdict: profiles.Allow}, command.Judgement{Verdict: command.Allow}
	case slices.Contains(r.programs, name):
		return profiles.Decision{Verdict: profiles.Allow}, command.Judgement{
			Verdict: command.Allow, Path: "/usr/bin/" + name}
	}
	return profiles.Decision{Verdict: profiles.Allow}, command.Judgement{Verdict: command.Allow, Builtin: true}
}

func (r rules) Variable(a profiles.VariableAction) profiles.Decision {
	if slices.Contains(r.refused, a.Name) {
		return profiles.Decision{Code: profiles.CodeVariable, Reason: a.Name}
	}
	return profiles.Decision{Verdict: profiles.Allow}
}

// host starts real programs of a list, in one folder, and keeps what was asked.
type host struct {
	allow []string
	dir   string
	mu    sync.Mutex
	asked []string
}

func (h *host) note(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, s)
}

func (h *host) notes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

func (h *host) Start(ctx context.Context, p runner.Program) (uint8, error) {
	h.note("start " + strings.Join(p.Argv, " "))
	if !slices.Contains(h.allow, p.Argv[0]) {
		return 0, &profiles.Denial{Capability: "shell", Decision: profiles.Decision{
			Code: profiles.CodeExecNotGranted, Reason: p.Argv[0]}}
	}
	c := exec.CommandContext(ctx, "/usr/bin/"+p.Argv[0], p.Argv[1:]...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return uint8(exit.ExitCode()), nil //nolint:gosec // an exit code
	}
	return 0, err
}

func (h *host) Open(_ context.Context, f runner.File) (io.ReadWriteCloser, error) {
	h.note(f.Op + " " + path.Base(f.Path))
	if strings.HasPrefix(path.Base(f.Path), "secret") {
		return nil, &profiles.Denial{Capability: "file", Decision: profiles.Decision{
			Code: profiles.CodeShellRedirect, Reason: f.Path}}
	}
	switch f.Op {
	case runner.Read:
		return os.Open(f.Path)
	case runner.Append:
		return os.OpenFile(f.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	default:
		return os.Create(f.Path)
	}
}

func (h *host) Look(_ context.Context, l runner.Look) (runner.Seen, error) {
	var s runner.Seen
	var err error
	switch {
	case l.List:
		s.Entries, err = os.ReadDir(l.Path)
	case l.Link:
		s.Info, err = os.Lstat(l.Path)
	default:
		s.Info, err = os.Stat(l.Path)
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return s, pe
	}
	return s, err
}

func (h *host) Set(_ context.Context, name, _ string) error {
	h.note("set " + name)
	return &profiles.Denial{Capability: "variable", Decision: profiles.Decision{
		Code: profiles.CodeVariable, Reason: name}}
}

func (h *host) Keep(_ context.Context, content []byte) (string, error) {
	f, err := os.CreateTemp(h.dir, "kept")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	_, err = f.Write(content)
	return f.Name(), err
}

// ran is how one script of a test ended.
type ran struct {
	out, errs string
	res       runner.Result
	err       error
	asked     []string
}

func runText(t testing.TB, dir, text string, change func(*runner.Config)) ran {
	t.Helper()
	s, refusal := script.Parse(text)
	if refusal != nil {
		t.Fatalf("parse %q: %v", text, refusal)
	}
	h := &host{dir: dir, allow: []string{"cat", "sort", "head", "seq", "wc", "tr", "cut", "true", "sleep", "env", "ls",
		"mkdir", "touch", "uniq", "grep", "sed", "rm", "printenv", "timeout", "nice", "tail", "yes", "awk"}}
	var out, errs locked
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	c := runner.Config{
		Host: h, Decider: rules{programs: h.allow, refused: []string{"PATH", "LD_PRELOAD"}}, Dir: dir,
		Env:   []string{"PATH=/nothing", "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"), "LC_ALL=C.UTF-8"},
		Stdin: null, Stdout: &out, Stderr: &errs, Now: time.Now, User: os.Getuid(),
	}
	if change != nil {
		change(&c)
	}
	res, err := runner.Run(t.Context(), c, s)
	return ran{out: out.String(), errs: errs.String(), res: res, err: err, asked: h.notes()}
}

// locked is a buffer for the parts of a pipe.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
