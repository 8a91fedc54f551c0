// Package dryrun runs a script without effects: builtins run, each program is decided on its final words and
// counts as exit 0 with no output, and files are decided but not opened. Callers use a dry run if the text of a
// script alone does not show the final words of its commands.
//
// A dry run reaches nothing of the host: no file, no program, no clock. It is limited in steps, memory and depth, and
// its result is the same every time.
package dryrun

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/executors/shell/runner"
	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

// Config is what a dry run needs. A nil Decider denies everything.
type Config struct {
	Decider *profiles.Decider
	Cwd     string // absolute; if empty, /workspace
	Home    string // if empty, /home/agent
	// Output makes each program write a marker, so that the dry run finds texts that come from a program and
	// would be run. Other findings of such a run have no meaning.
	Output bool
	// Check is as in runner.Config.
	Check func(ctx context.Context, s *script.Script, dir string, functions []string) profiles.Decision

	name   string   // $0 of a text that a program passes to a shell; if empty, that of the script
	params []string // $1 and following, of a text that is run with parameters
	env    []string // NAME=value, the environment that the program would give the text
	depth  int
}

// Report holds the findings of a dry run. The zero Report settles nothing.
type Report struct {
	Refused []profiles.Decision // in the order of the text
	Endless string              // the limit that the script exceeded; if empty, the script came to its end
	Asks    []profiles.Decision // starts that people have to approve
	Settled bool                // the script came to its end
	Reads   bool                // programs were started or files read: their content is not known
	Output  []profiles.Decision // denials of texts that come from programs and files, with Config.Output
}

// The limits of a dry run.
const (
	maxSteps  = 40_000
	maxBytes  = 4 << 20
	maxDepth  = 1000
	maxShells = 16
	maxTime   = 1500 * time.Millisecond
)

// Run runs s dry. It ends by itself. If ctx ends it earlier, nothing is settled.
func Run(ctx context.Context, c Config, s *script.Script) Report {
	if c.Cwd == "" {
		c.Cwd = "/workspace"
	}
	if c.Home == "" {
		c.Home = "/home/agent"
	}
	ctx, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return Report{}
	}
	defer func() { _ = null.Close() }()
	h := &host{c: c, null: null}
	if sh := c.Decider.Profile().Shell; sh != nil {
		h.declared = sh.Env
	}
	res, err := runner.Run(ctx, runner.Config{
		Host: h, Decider: c.Decider, Dir: path.Clean(c.Cwd), Name: c.name, Params: c.params, Stdin: null, User: 1000,
		Dry: true, Check: c.Check, Now: func() time.Time { return time.Unix(0, 0) },
		Env: append([]string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + c.Home, "PWD=" + c.Cwd, "USER=agent", "LOGNAME=agent",
			"LANG=C.UTF-8", "TMPDIR=/tmp", "TERM=dumb", "SHELL=/bin/bash",
		}, slices.Concat(h.declared, c.env)...),
		Limits: runner.Limits{Steps: maxSteps, Depth: maxDepth, Bytes: maxBytes, Shell: maxShells},
	}, s)
	r := Report{Endless: res.Endless}
	for _, f := range res.Refused {
		r.Refused = append(r.Refused, f.Decision)
		if f.Output {
			r.Output = append(r.Output, f.Decision)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r.Asks, r.Reads = h.asks, h.reads
	r.Output = append(r.Output, h.output...)
	r.Settled = err == nil && res.Endless == ""
	return r
}

// host decides and has no effect.
type host struct {
	c        Config
	null     *os.File
	declared []string // NAME=value that the policy gives every script

	mu     sync.Mutex
	asks   []profiles.Decision
	reads  bool
	output []profiles.Decision
}

// maxAsks limits how many of them are kept.
const maxAsks = 64

// Start decides a program, and also the programs that it would start by its words.
func (h *host) Start(ctx context.Context, p runner.Program) (uint8, error) {
	dec, j := h.c.Decider.Command(argv.Command{Words: wordsOf(p.Argv), Set: h.changed(p.Env)})
	switch j.Verdict {
	case command.Allow:
	case command.Ask:
		h.mu.Lock()
		if len(h.asks) < maxAsks {
			h.asks = append(h.asks, dec)
		}
		h.mu.Unlock()
	case command.Deny, command.Unsettled:
		return 0, denied(dec)
	default:
		return 0, denied(dec)
	}
	h.mu.Lock()
	h.reads = true
	h.mu.Unlock()
	for _, s := range j.Scripts {
		if err := h.text(ctx, p, s); err != nil {
			return 0, err
		}
	}
	if h.c.Output {
		_, _ = io.WriteString(p.Stdout, runner.Output+"\n")
	}
	return 0, nil
}

func denied(d profiles.Decision) error {
	d.Verdict = profiles.Deny
	return &profiles.Denial{Capability: profiles.ExecutorShell, Decision: d}
}

// text runs, dry, a text that a program would pass to a shell.
func (h *host) text(ctx context.Context, p runner.Program, s argv.Script) error {
	opaque := profiles.Decision{
		Code:     profiles.CodeShellOpaque,
		Reason:   "what " + strings.Join(s.Chain, " ") + " would run cannot be read before it runs",
		Evidence: &profiles.Evidence{Argv: p.Argv, Chain: s.Chain},
	}
	if strings.Contains(s.Text, runner.Output) {
		h.mu.Lock()
		h.output = append(h.output, opaque)
		h.mu.Unlock()
	}
	if !s.Known || strings.Contains(s.Text, runner.Output) {
		return denied(opaque)
	}
	text, refusal := script.Parse(s.Text)
	if refusal != nil {
		return denied(
			profiles.Decision{
				Code: refusal.Code, Reason: refusal.Reason, Instead: refusal.Instead,
				Evidence: &profiles.Evidence{Argv: p.Argv, Chain: s.Chain},
			},
		)
	}
	if h.c.Check != nil {
		if d := h.c.Check(ctx, text, p.Dir, nil); d.Verdict == profiles.Deny {
			return denied(withChain(d, s.Chain))
		}
	}
	if h.c.depth >= maxShells {
		return denied(opaque)
	}
	c := h.c
	c.Cwd, c.depth, c.env = p.Dir, c.depth+1, nil
	c.name, c.params = paramsOf(s.Params)
	for _, a := range h.changed(p.Env) {
		c.env = append(c.env, a.Name+"="+a.Value.Text)
	}
	r := Run(ctx, c, text)
	switch {
	case len(r.Refused) > 0:
		return denied(withChain(r.Refused[0], s.Chain))
	case !r.Settled:
		return denied(
			profiles.Decision{
				Code:     profiles.CodeShellEndless,
				Reason:   "the text given to a shell does not end: " + r.Endless,
				Evidence: &profiles.Evidence{Argv: p.Argv, Chain: s.Chain},
			},
		)
	}
	return nil
}

// filledIn is a placeholder in a parameter for text that a program inserts there.
const filledIn = "\u2060{}\u2060"

// paramsOf returns $0, and $1 and following, of a text.
func paramsOf(all []argv.Word) (name string, rest []string) {
	rest = []string{}
	for i, w := range all {
		text := w.Text
		if w.Open {
			text += filledIn
		}
		if i == 0 {
			name = text
		} else {
			rest = append(rest, text)
		}
	}
	return name, rest
}

// wordsOf returns the words of a start. The part of a parameter that a program fills is not known, and no later
// step settles it.
func wordsOf(words []string) []argv.Word {
	out := argv.AllKnown(words)
	for i, a := range words {
		if before, _, ok := strings.Cut(a, filledIn); ok {
			out[i] = argv.Word{Text: before, Open: true, Fed: true}
		}
	}
	return out
}

// withChain adds the chain of commands that leads to a nested text to a decision about it.
func withChain(d profiles.Decision, chain []string) profiles.Decision {
	var e profiles.Evidence
	if d.Evidence != nil {
		e = *d.Evidence
	}
	e.Line, e.Column, e.Chain = 0, 0, slices.Concat(chain, e.Chain)
	d.Evidence = &e
	return d
}

// changed lists the variables that differ from those at the start.
func (h *host) changed(env []string) []argv.Assignment {
	var out []argv.Assignment
	for _, e := range env {
		if slices.Contains(h.declared, e) {
			continue
		}
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "PWD", "OLDPWD", "SHLVL", "_", "PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TERM", "SHELL":
			// A change of these is denied where it happens.
		default:
			out = append(out, argv.Assignment{Name: name, Value: argv.Known(value)})
		}
	}
	return out
}

// Open decides a file. A file that is read is empty. Written text is dropped.
func (h *host) Open(_ context.Context, f runner.File) (io.ReadWriteCloser, error) {
	dec, settled := h.c.Decider.Redirect(f.Op, argv.Known(path.Clean(f.Path)), "/")
	if !settled || dec.Verdict != profiles.Allow {
		return nil, &profiles.Denial{Capability: profiles.ExecutorShell, Decision: dec}
	}
	if f.Op == runner.Read {
		h.mu.Lock()
		h.reads = true
		h.mu.Unlock()
		if h.c.Output && !strings.HasPrefix(f.Path, "/dev/") {
			return &sink{text: strings.NewReader(runner.Output + "\n")}, nil
		}
		file, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		return file, nil
	}
	return &sink{}, nil
}

// sink drops writes, and has a text to read.
type sink struct{ text *strings.Reader }

func (s *sink) Read(b []byte) (int, error) {
	if s.text == nil {
		return 0, io.EOF
	}
	return s.text.Read(b)
}
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) Close() error                { return nil }

// Look reports every entered folder as present, and everything else as absent.
func (h *host) Look(_ context.Context, l runner.Look) (runner.Seen, error) {
	if l.List && (l.Enter || l.Path == "/") {
		return runner.Seen{}, nil
	}
	if l.Enter && !l.List {
		return runner.Seen{Info: folder(path.Base(l.Path))}, nil
	}
	return runner.Seen{}, &fs.PathError{Op: "stat", Path: l.Path, Err: fs.ErrNotExist}
}

// Set denies.
func (h *host) Set(_ context.Context, name, value string) error {
	dec := h.c.Decider.Variable(profiles.VariableAction{Name: name, Value: value})
	return &profiles.Denial{Capability: profiles.ExecutorShell, Decision: dec}
}

// Keep returns a path as bash does.
func (h *host) Keep(context.Context, []byte) (string, error) { return "/dev/fd/63", nil }

// folder is the file info that cd gets.
type folder string

func (f folder) Name() string     { return string(f) }
func (folder) Size() int64        { return 0 }
func (folder) Mode() fs.FileMode  { return fs.ModeDir | 0o755 }
func (folder) ModTime() time.Time { return time.Time{} }
func (folder) IsDir() bool        { return true }
func (folder) Sys() any           { return nil }
