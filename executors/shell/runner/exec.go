package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ringd/ringd/executors/shell/bashcompat"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// exec runs commands that are neither a builtin of the interpreter nor a function: a builtin of this package, a
// shell that is interpreted, or a program of the host.
func (g *runState) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	p := placeOf(hc)
	if err := g.stopped(); err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(args[0], ours); ok {
		return g.runOwnBuiltin(ctx, hc, p, name, args[1:])
	}
	if args[0] == bashcompat.Capture {
		return g.keep(ctx, hc, p)
	}
	if args[0] == bashcompat.Quoted {
		if len(args) == 3 {
			_, _ = io.WriteString(hc.Stdout, encloseWord(args[1]))
		}
		return nil
	}
	if strings.HasPrefix(args[0], bashcompat.Pipe) || args[0] == bashcompat.Stage {
		return g.statuses(ctx, hc, args)
	}
	if args[0] == program {
		args = args[1:]
	}
	if shellName(args[0]) {
		_, j := g.c.Decider.Command(argv.Command{Words: argv.AllKnown(args)})
		if interpreted(args, j) {
			return g.nested(ctx, hc, p, launcher{args: args})
		}
	}
	if l, ok := readLauncher(args); ok {
		_, j := g.c.Decider.Command(argv.Command{Words: argv.AllKnown(args)})
		_, inner := g.c.Decider.Command(argv.Command{Words: argv.AllKnown(l.args)})
		if j.Verdict != command.Deny && interpreted(l.args, inner) {
			return g.nested(ctx, hc, p, l)
		}
	}
	return g.start(ctx, hc, p, args)
}

// keep writes the output of a substitution <(list) into a file.
func (g *runState) keep(ctx context.Context, hc interp.HandlerContext, p *frame) error {
	var content []byte
	if hc.Stdin != nil {
		var err error
		content, err = io.ReadAll(io.LimitReader(hc.Stdin, g.c.Limits.Bytes+1))
		if err != nil {
			return g.failed(fmt.Errorf("read a substitution: %w", err), p.at)
		}
	}
	if int64(len(content)) > g.c.Limits.Bytes {
		return g.bound("a substitution writes more than %d bytes", g.c.Limits.Bytes)
	}
	if err := g.begin(); err != nil {
		return err
	}
	name, err := g.c.Host.Keep(ctx, content)
	g.open.Done()
	if err != nil {
		return g.failed(err, p.at)
	}
	g.mu.Lock()
	g.kept[name] = string(content)
	g.mu.Unlock()
	_, _ = io.WriteString(hc.Stdout, name)
	return nil
}

// start starts a program of the host. Its variables are those that call has checked: nothing runs between the
// two.
func (g *runState) start(ctx context.Context, hc interp.HandlerContext, p *frame, args []string) error {
	if err := g.begin(); err != nil {
		return err
	}
	defer g.open.Done()
	if p.job != nil {
		var stop context.CancelFunc
		g.mu.Lock()
		ctx, stop = p.job.context(ctx)
		g.mu.Unlock()
		defer stop()
	}
	pr := Program{
		Argv: args, Dir: hc.Dir, Env: exported(hc.Env), Stdout: innermostWriter(hc.Stdout),
		Stderr: innermostWriter(hc.Stderr), At: p.at,
	}
	if hc.Stdin != nil {
		pr.Stdin = hc.Stdin
	}
	g.mu.Lock()
	g.starts++
	g.mu.Unlock()
	exit, err := g.c.Host.Start(ctx, pr)
	if signal, killed := g.killed(p); killed {
		return interp.ExitStatus(uint8(128 + signal)) //nolint:gosec // a signal is small
	}
	if err != nil && ctx.Err() != nil && g.stopped() == nil { // the limit of timeout
		return interp.ExitStatus(128 + 15)
	}
	if err != nil {
		if err := g.failed(err, p.at); err != nil {
			return err
		}
		exit = profiles.ExitRefused
	}
	if exit != 0 {
		return interp.ExitStatus(exit)
	}
	return nil
}

// context ends with the job.
func (j *job) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if j.killed {
		stop()
	}
	j.stops = append(j.stops, stop)
	return ctx, stop
}

// killed reports whether the job of a statement was killed, and by which signal.
func (g *runState) killed(p *frame) (signal int, is bool) {
	if p.job == nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return p.job.signal, p.job.killed
}

// kill ends a job with the commands that it runs.
func (g *runState) kill(p *frame, target string, signal int) bool {
	n, err := strconv.Atoi(strings.TrimLeft(target, "g%"))
	if err != nil || target == "" || target[0] != 'g' && target[0] != '%' {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if n < 1 || n > len(p.home.jobs) {
		return false
	}
	j := p.home.jobs[n-1]
	if signal == 0 {
		return !j.killed
	}
	j.killed, j.signal = true, signal
	for _, stop := range j.stops {
		stop()
	}
	return true
}

// runOwnBuiltin runs a builtin of package runner.
func (g *runState) runOwnBuiltin(
	ctx context.Context, hc interp.HandlerContext, p *frame, name string, args []string,
) error {
	switch name {
	case "refused":
		return interp.ExitStatus(profiles.ExitRefused)
	case "usage", "failed":
		_, _ = fmt.Fprintln(hc.Stderr, "bash: "+args[0])
		if name == "usage" {
			return interp.ExitStatus(2)
		}
		return interp.ExitStatus(1)
	}
	s := builtinShell{
		Stdin: hc.Stdin, Stdout: hc.Stdout, Stderr: hc.Stderr, Dir: hc.Dir, Now: g.c.Now,
		Get: func(name string) (string, bool) {
			v := hc.Env.Get(name)
			return v.String(), v.IsSet()
		},
		Set:     func(name, value string) error { return assign(ctx, hc, name, value) },
		SetList: func(name string, values []string) error { return assignList(ctx, hc, name, values) },
		What:    func(name string) (string, string) { return g.classify(name) },
		Kill:    func(target string, signal int) bool { return g.kill(p, target, signal) },
	}
	if exit := runBuiltin(ctx, name, args, s); exit != 0 {
		return interp.ExitStatus(exit)
	}
	return nil
}

// assign sets a variable of the calling shell.
func assign(ctx context.Context, hc interp.HandlerContext, name, value string) error {
	q, err := quote(value)
	if err != nil {
		return err
	}
	return hc.Builtin(ctx, []string{"eval", name + "=" + q})
}

func assignList(ctx context.Context, hc interp.HandlerContext, name string, values []string) error {
	var b strings.Builder
	b.WriteString(name + "=(")
	for _, v := range values {
		q, err := quote(v)
		if err != nil {
			return err
		}
		b.WriteString(q + " ")
	}
	return hc.Builtin(ctx, []string{"eval", b.String() + ")"})
}

// quote returns v as a word in single quotes.
func quote(v string) (string, error) {
	if strings.IndexByte(v, 0) >= 0 {
		return "", errors.New("a NUL byte")
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'", nil
}

// classify classifies a name, as type and command -v do. PATH is not searched.
func (g *runState) classify(name string) (kind, text string) {
	g.mu.Lock()
	function := g.funcs[name]
	g.mu.Unlock()
	switch {
	case syntax.IsKeyword(name):
		return "keyword", name
	case function:
		return "function", name
	case interp.IsBuiltin(name):
		return "builtin", name
	}
	_, j := g.c.Decider.Command(argv.Command{Words: argv.AllKnown([]string{name})})
	switch {
	case j.Path != "" && path.Base(name) == name:
		return "file", j.Path
	case j.Path != "":
		return "file", name
	case interpreted([]string{name}, j):
		return "file", "/usr/bin/" + path.Base(name)
	default:
		return "", ""
	}
}

// interpreted reports whether a command is a shell that ringd interprets itself.
func interpreted(args []string, j command.Judgement) bool {
	return j.Path == "" && !j.Builtin && shellName(args[0]) && (j.Verdict != command.Deny || len(j.Scripts) > 0)
}

func shellName(name string) bool {
	switch path.Base(name) {
	case "sh", "bash", "dash", "ash", "ksh", "zsh", "rbash", "mksh":
		return true
	default:
		return false
	}
}

// nested runs a shell that the script calls. It is an interpreter of its own, which shares only the exported
// variables, the folder and the streams with the script.
func (g *runState) nested(ctx context.Context, hc interp.HandlerContext, p *frame, l launcher) error {
	args := l.args
	call, problem := readCall(args)
	if problem != "" {
		d := profiles.Decision{
			Code: profiles.CodeShellOpaque, Reason: problem, Evidence: &profiles.Evidence{Argv: args},
		}
		if err := g.refuse(d, p.at); err != nil {
			return err
		}
		return interp.ExitStatus(profiles.ExitRefused)
	}
	if p.shell+1 > g.c.Limits.Shell {
		return g.bound("shells run inside of one another more than %d deep", g.c.Limits.Shell)
	}
	if err := g.variables(ctx, hc.Env, 0, 0, p.at); err != nil {
		return err
	}
	at := p.at
	at.Chain = slices.Concat(at.Chain, l.shown, []string{call.shown})
	stdin := hc.Stdin
	if call.stdin {
		text, err := g.script(hc.Stdin)
		if err != nil {
			return g.failed(err, at)
		}
		if err := g.opaqueInput(text, call.shown, hc, at); err != nil {
			return err
		}
		call.text, stdin = text, nil
	}
	if err := g.opaque(call.text, call.shown, &frame{at: at}); err != nil {
		return err
	}
	var tree *syntax.File
	s, err := g.read(ctx, call.text, hc.Dir)
	if err == nil {
		tree, err = g.plant(s, &at)
	}
	if err != nil {
		if err := g.failed(err, at); err != nil {
			return err
		}
		return interp.ExitStatus(profiles.ExitRefused)
	}
	inner := &frame{
		base: innermostWriter(hc.Stderr), at: at, depth: p.depth + 1, shell: p.shell + 1, home: &shell{}, job: p.job,
	}
	r, err := g.shell(
		hc.Dir, environOf(l.environment(exported(hc.Env)), g.c.User), call.params, stdin, hc.Stdout, inner,
	)
	if err != nil {
		return g.failed(err, at)
	}
	if len(call.options) > 0 {
		if err := interp.Params(call.options...)(r); err != nil {
			return g.failed(err, at)
		}
	}
	if call.name != "" {
		tree.Name = call.name
	}
	return runNested(ctx, g, r, tree, l, at)
}

// runNested runs the interpreter of a nested shell within the limit of its launchers.
func runNested(
	ctx context.Context, g *runState, r *interp.Runner, tree *syntax.File, l launcher, at At,
) error {
	if g.c.Dry {
		l.limit = 0
	}
	within, done := l.bounded(ctx)
	err := r.Run(within, tree)
	late := within.Err() != nil && ctx.Err() == nil
	done()
	if err := g.stopped(); err != nil {
		return err
	}
	if late {
		return interp.ExitStatus(exitTimeout)
	}
	var status interp.ExitStatus
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		return status
	default:
		return g.failed(err, at)
	}
}

// script reads the text on the standard input of a shell.
func (g *runState) script(in io.Reader) (string, error) {
	if in == nil {
		return "", nil
	}
	b, err := io.ReadAll(io.LimitReader(in, maxSource))
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return "", fmt.Errorf("read the text of a shell: %w", err)
	}
	return strings.ReplaceAll(string(b), "\x00", ""), nil
}

// shellCall is a parsed call of a shell.
type shellCall struct {
	text    string
	stdin   bool // the text comes from standard input
	name    string
	params  []string
	options []string // for the interpreter
	shown   string
}

// readCall parses the words of a call of a shell. problem describes a call that cannot be parsed or is not
// supported.
func readCall(args []string) (c shellCall, problem string) {
	base := path.Base(args[0])
	c = shellCall{shown: base}
	rest := args[1:]
	text := false
	for len(rest) > 0 && len(rest[0]) > 1 && (rest[0][0] == '-' || rest[0][0] == '+') {
		a := rest[0]
		rest = rest[1:]
		if a == "--" {
			break
		}
		if strings.HasPrefix(a, "--") {
			switch a {
			case "--norc", "--noprofile", "--posix", "--login", "--noediting":
				continue
			}
			return c, base + " " + a + " is not interpreted"
		}
		var isText bool
		if isText, rest, problem = c.letters(a, rest, base); problem != "" {
			return c, problem
		}
		text = text || isText
	}
	switch {
	case text:
		if len(rest) == 0 {
			return c, base + " -c has no text"
		}
		c.text, c.shown, c.stdin = rest[0], base+" -c", false
		if len(rest) > 1 {
			c.name, c.params = rest[1], rest[2:]
		}
	case len(rest) > 0 && !c.stdin:
		return c, "the script file " + rest[0] + " is not read: give its text to " + base +
			" -c, or its commands one by one"
	default:
		c.stdin, c.params = true, rest
	}
	return c, ""
}

// letters parses one word of single-letter options of the shell base. rest are the words after it; the options
// may take one of them.
func (c *shellCall) letters(a string, rest []string, base string) (text bool, _ []string, problem string) {
	for i := 1; i < len(a); i++ {
		switch a[i] {
		case 'c':
			text = true
		case 's':
			c.stdin = true
		case 'l', 'i', 'h', 'B', 'E', 'T', 'm', 'b', 'H', 'p':
		case 'e', 'u', 'x', 'f', 'a', 'n':
			c.options = append(c.options, a[:1]+string(a[i]))
		case 'o':
			if len(rest) == 0 {
				return text, rest, base + " -o has no option"
			}
			if !harmless(rest[0]) {
				c.options = append(c.options, a[:1]+"o", rest[0])
			}
			rest = rest[1:]
		default:
			return text, rest, base + " -" + string(a[i]) + " is not interpreted"
		}
	}
	return text, rest, ""
}
