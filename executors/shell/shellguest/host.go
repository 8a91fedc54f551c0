package shellguest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/shellproto"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
)

// host is everything that a script can reach. It decides, asks the daemon, and does what was allowed.
type host struct {
	talk    *talk
	decider *profiles.Decider
	base    []string // the environment at the start
	most    int64    // max. number of programs
	atOnce  int64    // max. number of programs at once

	mu      sync.Mutex
	started int64
	last    [maxLast]string // the last starts, in a ring
	groups  map[int]bool    // live process groups
	refused map[recordedDenial]bool
}

// recordedDenial identifies a decision of the daemon, which has recorded it.
type recordedDenial struct {
	code   profiles.Code
	reason string
}

// errPrograms ends a script that starts too many programs.
var errPrograms = errors.New("the script has started as many programs as it may")

// errStopped says that the script, or the job that asks, was stopped meanwhile. The cause is recorded elsewhere.
// If a script leaves processes behind at its end, they are stopped, and the script does not fail because of that.
var errStopped = errors.New("the script was stopped")

// decide asks the daemon about an action that this process would allow.
func (h *host) decide(ctx context.Context, capability string, a profiles.Action) (profiles.Decision, error) {
	dec, err := h.talk.ask(ctx, a)
	if err != nil && ctx.Err() != nil {
		return dec, errStopped
	}
	if err != nil {
		return dec, err
	}
	if dec.Verdict != profiles.Allow {
		h.mu.Lock()
		h.refused[recordedDenial{dec.Code, dec.Reason}] = true
		h.mu.Unlock()
		return dec, &profiles.Denial{Capability: capability, Decision: dec}
	}
	return dec, nil
}

// recorded reports whether the daemon itself made this denial.
func (h *host) recorded(d profiles.Decision) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[recordedDenial{d.Code, d.Reason}]
}

// maxWordBytes limits the words and the environment of a start: less than the kernel accepts, and less than a
// question holds.
const maxWordBytes = 512 << 10

// Start implements runner.Host.
func (h *host) Start(ctx context.Context, p runner.Program) (uint8, error) {
	a := &profiles.ExecAction{Argv: p.Argv, Cwd: p.Dir, Env: h.changed(p)}
	size := 0
	for _, w := range slices.Concat(p.Argv, p.Env) {
		size += len(w) + 1
		if !utf8.ValidString(w) {
			return 0, denial(
				"exec", profiles.CodeActionMalformed, "a word or a variable of the command is not text in UTF-8",
			)
		}
	}
	if size > maxWordBytes {
		fmt.Fprintf(p.Stderr, "%s: argument list too long\n", p.Argv[0])
		return exitNotExecuted, nil
	}
	dec := h.decider.Exec(*a)
	if dec.Verdict == profiles.Deny {
		return 0, &profiles.Denial{Capability: "exec", Decision: dec}
	}
	dec, err := h.decide(ctx, "exec", profiles.Action{Exec: a})
	if errors.Is(err, errStopped) {
		return exitKilled, nil
	}
	if err != nil {
		return 0, err
	}
	if dec.Start == nil || !shellproto.CleanPath(dec.Start.Path) || len(dec.Start.Argv) == 0 {
		return 0, errors.New("a start was allowed, and nothing says what it is")
	}
	return h.exec(ctx, dec.Start, p)
}

// Exit codes that shells report for programs that did not start.
const (
	exitNotExecuted = 126
	exitNotFound    = 127
	exitNoFork      = 254
	exitSignal      = 128
	exitKilled      = exitSignal + 9
)

// maxLast is how many of the last starts a denial names.
const maxLast = 5

// ran returns the programs that were started last, oldest first, and how many there were before them.
func (h *host) ran() (last []string, more int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := max(0, h.started-maxLast); i < h.started; i++ {
		last = append(last, short(h.last[i%maxLast], maxMessage))
	}
	return last, int(h.started) - len(last)
}

// exec starts exactly what was allowed, and waits for it.
func (h *host) exec(ctx context.Context, s *profiles.Start, p runner.Program) (uint8, error) {
	c := exec.CommandContext(ctx, s.Path)
	c.Args, c.Env, c.Dir = s.Argv, override(p.Env, s.Env), p.Dir
	c.Stdin, c.Stdout, c.Stderr = p.Stdin, p.Stdout, p.Stderr
	newProcessGroup(c)
	c.Cancel = func() error { return kill(c.Process.Pid) }
	c.WaitDelay = time.Second // for a descendant that left the group and holds the streams
	if err := h.begin(c); err != nil {
		return h.unstarted(ctx, s, p, err)
	}
	err := errors.Join(await(c.Process.Pid), c.Wait())
	h.mu.Lock()
	delete(h.groups, c.Process.Pid)
	h.mu.Unlock()
	if c.ProcessState == nil {
		return 0, fmt.Errorf("wait for %s: %w", s.Path, err)
	}
	if n := signaled(c.ProcessState); n != 0 {
		return uint8(exitSignal + n), nil
	}
	return uint8(c.ProcessState.ExitCode()), nil
}

// begin starts a program, unless too many are running.
func (h *host) begin(c *exec.Cmd) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.started >= h.most:
		return errPrograms
	case int64(len(h.groups)) >= h.atOnce:
		return syscall.EAGAIN
	}
	if err := c.Start(); err != nil {
		return err
	}
	h.last[h.started%maxLast] = strings.Join(c.Args, " ")
	h.started++
	h.groups[c.Process.Pid] = true
	return nil
}

// unstarted returns the message of a shell for a program that the kernel does not start.
func (h *host) unstarted(ctx context.Context, s *profiles.Start, p runner.Program, err error) (uint8, error) {
	if ctx.Err() != nil {
		return exitKilled, nil
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return 0, fmt.Errorf("start %s: %w", s.Path, err)
	}
	fmt.Fprintf(p.Stderr, "%s: %v\n", s.Argv[0], errno)
	switch errno {
	case syscall.ENOENT:
		return exitNotFound, nil
	case syscall.EAGAIN, syscall.ENOMEM:
		return exitNoFork, nil
	default:
		return exitNotExecuted, nil
	}
}

// changed lists the variables that differ from those at the start. PWD and OLDPWD of the shell itself do not
// count.
func (h *host) changed(p runner.Program) []string {
	var out []string
	for _, e := range p.Env {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "PWD", "OLDPWD", "SHLVL", "_":
			continue
		}
		if !slices.Contains(h.base, e) {
			out = append(out, e)
		}
	}
	return out
}

// override returns an environment in which the forced variables of the policy replace others.
func override(env, force []string) []string {
	out := make([]string, 0, len(env)+len(force))
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(force, func(f string) bool { return strings.HasPrefix(f, name+"=") }) {
			out = append(out, e)
		}
	}
	return append(out, force...)
}

// stop kills every live program.
func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most = 0
	for pid := range h.groups {
		_ = kill(pid) // a process outside of its group ends with this process
	}
}

// Set implements runner.Host. It reports the attempt to the daemon, so that it is recorded, and denies.
func (h *host) Set(ctx context.Context, name, value string) error {
	const most = 4 << 10
	own := h.decider.Variable(profiles.VariableAction{Name: name, Value: value})
	told := strings.ToValidUTF8(value[:min(len(value), most)], "\uFFFD")
	if _, err := h.decide(
		ctx, "variable", profiles.Action{Variable: &profiles.VariableAction{Name: name, Value: told}},
	); err != nil && !errors.Is(err, errStopped) {
		return err
	}
	if own.Verdict != profiles.Allow {
		return &profiles.Denial{Capability: "variable", Decision: own}
	}
	return nil
}

// device reports whether p is a device of the guest that anything may open.
func device(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom":
		return true
	default:
		return false
	}
}

// Open implements runner.Host. The opened file is the one that was decided: the path is resolved first, the
// resolved path is decided, and it is opened through no link.
func (h *host) Open(ctx context.Context, f runner.File) (io.ReadWriteCloser, error) {
	flags := map[string]int{
		runner.Read:   os.O_RDONLY,
		runner.Write:  os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
		runner.Append: os.O_WRONLY | os.O_CREATE | os.O_APPEND,
	}
	how, known := flags[f.Op]
	if !known || !path.IsAbs(f.Path) || strings.IndexByte(f.Path, 0) >= 0 || !utf8.ValidString(f.Path) {
		return nil, denial("file", profiles.CodeShellRedirect, fmt.Sprintf("%q cannot be opened to %q", f.Path, f.Op))
	}
	if device(f.Path) {
		return openReal(f.Path, how&^(os.O_CREATE|os.O_TRUNC), 0)
	}
	// In a name such as link/../x, link is followed before .. is applied, so the name leads elsewhere than its
	// text says. Therefore only the resolved path is checked below.
	if err := h.redirect(f.Op, path.Clean(f.Path)); err != nil {
		return nil, err
	}
	real, err := realPath(f.Path)
	if real != "" && real != path.Clean(f.Path) {
		if err := h.redirect(f.Op, real); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, shown(f.Path, err)
	}
	op := "write"
	if f.Op == runner.Read {
		op = "read"
	}
	if _, err := h.decide(
		ctx, "file", profiles.Action{File: &profiles.FileAction{Op: op, Path: real}},
	); errors.Is(err, errStopped) {
		return nil, &fs.PathError{Op: "open", Path: f.Path, Err: syscall.ECANCELED}
	} else if err != nil {
		return nil, err
	}
	writes := f.Op != runner.Read
	if writes && steersGit(real) {
		return nil, steers(real)
	}
	file, err := openReal(real, how, 0o666)
	if err != nil {
		return nil, shown(f.Path, err)
	}
	// Two concurrent opens may each see the other file here.
	if writes && steersGit(real) {
		_ = file.Close() // nothing was written
		return nil, steers(real)
	}
	return file, nil
}

func steers(p string) error {
	return denial(
		"file", profiles.CodeShellRedirect,
		short(p, 512)+" cannot be written: its folder is a git repository, or becomes one, and the file decides what "+
			"git runs there",
	)
}

func (h *host) redirect(op, p string) error {
	dec, settled := h.decider.Redirect(op, argv.Known(p), "/")
	if !settled || dec.Verdict != profiles.Allow {
		return &profiles.Denial{Capability: "file", Decision: dec}
	}
	return nil
}

// shown returns an error with the name that the script uses for the file.
func shown(p string, err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return &fs.PathError{Op: "open", Path: p, Err: err}
}

// Look implements runner.Host. A script sees the files that its guest sees.
func (h *host) Look(_ context.Context, l runner.Look) (seen runner.Seen, err error) {
	switch {
	case l.List:
		seen.Entries, err = os.ReadDir(l.Path)
	case l.Access != 0:
		err = access(l.Path, l.Access)
	case l.Link:
		seen.Info, err = os.Lstat(l.Path)
	default:
		seen.Info, err = os.Stat(l.Path)
	}
	if err != nil {
		return runner.Seen{}, shown(l.Path, err)
	}
	return seen, nil
}

func denial(capability string, code profiles.Code, reason string) error {
	return &profiles.Denial{Capability: capability, Decision: profiles.Decision{Code: code, Reason: reason}}
}
