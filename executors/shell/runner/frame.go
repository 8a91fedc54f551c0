package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"github.com/ringd/ringd/executors/shell/bashcompat"
	"github.com/ringd/ringd/profiles"
)

// frame is the standard error of a statement while it runs, and holds the position of the statement.
type frame struct {
	base   io.Writer
	at     At
	depth  int
	texts  int // depth of nested texts: eval in eval, a file that sources itself
	shell  int // depth of nested shells
	shells map[int]*shell
	home   *shell // the shell that runs the statement
	job    *job   // the job of the statement, or nil
	// start is set if the time of the statement is wanted.
	start time.Time
	now   func() time.Time
}

// shell is one shell with its jobs.
type shell struct {
	jobs []*job
	left map[int]bool // lists that break and continue have left
}

// inner returns the shell with that number inside of a statement. Its statements share it. The caller holds mu.
func (p *frame) inner(number int) *shell {
	if p.shells == nil {
		p.shells = map[int]*shell{}
	}
	if p.shells[number] == nil {
		p.shells[number] = &shell{}
	}
	return p.shells[number]
}

// job is a list that runs in the background.
type job struct {
	stops  []context.CancelFunc // of its commands
	killed bool
	signal int
}

// framed is a value that has a place: a place itself, and a file that was opened for a script.
type framed interface{ where() *frame }

func (p *frame) where() *frame { return p }

// Write drops messages of the interpreter about its own end: the denial is shown elsewhere.
func (p *frame) Write(b []byte) (int, error) {
	if string(b) == errStop.Error()+"\n" {
		return len(b), nil
	}
	return p.base.Write(b)
}

func (p *frame) Read([]byte) (int, error) { return 0, io.EOF }

// Close ends the statement.
func (p *frame) Close() error {
	if !p.start.IsZero() {
		d := p.now().Sub(p.start)
		_, _ = fmt.Fprintf(
			p.base, "\nreal\t%dm%.3fs\nuser\t0m0.000s\nsys\t0m0.000s\n", int(d.Minutes()), (d % time.Minute).Seconds(),
		)
	}
	return nil
}

// file is a file that was opened for a script, with its place.
type file struct {
	io.ReadWriteCloser
	at *frame
}

func (f *file) where() *frame { return f.at }

// innermostWriter returns the innermost writer of a writer of the interpreter.
func innermostWriter(w io.Writer) io.Writer {
	for {
		switch v := w.(type) {
		case *frame:
			w = v.base
		case *file:
			if f, ok := v.ReadWriteCloser.(*os.File); ok {
				return f
			}
			return v.ReadWriteCloser
		default:
			return w
		}
	}
}

// nowhere is the place of a statement whose standard error is not a place, as with 2>&1 into a pipe.
func nowhere(w io.Writer) *frame { return &frame{base: w, home: &shell{}} }

func placeOf(hc interp.HandlerContext) *frame {
	if p, ok := hc.Stderr.(framed); ok {
		return p.where()
	}
	if p, ok := hc.Stdout.(framed); ok {
		return p.where()
	}
	return nowhere(hc.Stderr)
}

// step begins a statement.
func (g *runState) step(ctx context.Context, hc interp.HandlerContext, s bashcompat.Step) (*frame, error) {
	from := placeOf(hc)
	p := &frame{
		base: innermostWriter(hc.Stderr), at: from.at, depth: from.depth + 1, texts: from.texts, shell: from.shell,
		home: from.home, job: from.job,
	}
	p.at.Line, p.at.Column = s.Line, s.Column
	if s.Time {
		p.start, p.now = g.c.Now(), g.c.Now
	}
	g.mu.Lock()
	g.steps++
	if s.Shell != 0 {
		p.home = from.inner(s.Shell)
	}
	n := g.steps
	if s.Job {
		p.job = &job{}
		p.home.jobs = append(p.home.jobs, p.job)
	}
	g.mu.Unlock()
	switch {
	case n > g.c.Limits.Steps:
		return nil, g.bound("more than %d statements ran", g.c.Limits.Steps)
	case p.depth > g.c.Limits.Depth || n%32 == 0 && runtime.Callers(g.c.Limits.Depth*8, make([]uintptr, 1)) > 0:
		return nil, g.bound(
			"statements are nested more than %d deep, such as a function that calls itself",
			g.c.Limits.Depth,
		)
	}
	if err := g.variables(ctx, hc.Env, s.Weight, s.Square, p.at); err != nil {
		return nil, err
	}
	return p, g.stopped()
}

// isShellVariable names variables that the shell sets itself. Programs do not depend on them.
func isShellVariable(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "IFS", "OPTIND", "OPTARG", "REPLY", "UID", "EUID", "GID", "_", "BASH_REMATCH", "MAPFILE",
		"PIPESTATUS":
		return true
	default:
		return false
	}
}

// variables checks all variables: whether the Decider denies a new value, and whether the next expansion could
// exceed the limit.
func (g *runState) variables(ctx context.Context, env expand.Environ, weight, square int, at At) error {
	var total, longest int64
	var bad []string
	var values []string
	g.mu.Lock()
	for name, v := range env.Each {
		size := sizeOf(v)
		total += size
		longest = max(longest, size)
		if isShellVariable(name) || !v.IsSet() {
			continue
		}
		value := v.Str
		if v.Kind == expand.Indexed && len(v.List) > 0 {
			value = v.List[0]
		}
		if known, ok := g.seen[name]; ok && (known == value || hidden(env, name, known)) {
			continue
		}
		bad, values = append(bad, name), append(values, value)
	}
	g.mu.Unlock()
	if total > g.c.Limits.Bytes || int64(weight)*longest+int64(square)*longest*longest > g.c.Limits.Bytes {
		return g.bound("variables grow beyond %d bytes", g.c.Limits.Bytes)
	}
	for i, name := range bad {
		if err := g.variable(ctx, name, values[i], at); err != nil {
			return err
		}
	}
	return nil
}

// hidden reports whether a variable's own value is a known one. The value that was found is then from an
// enclosing scope, which nothing reads meanwhile.
func hidden(env expand.Environ, name, known string) bool {
	v := env.Get(name)
	return v.IsSet() && v.Kind == expand.String && v.Str == known
}

func sizeOf(v expand.Variable) int64 {
	size := int64(len(v.Str)) + 64
	for _, e := range v.List {
		size += int64(len(e)) + 16
	}
	for k, e := range v.Map {
		size += int64(len(k)+len(e)) + 32
	}
	return size
}

// variable asks about one variable that has changed.
func (g *runState) variable(ctx context.Context, name, value string, at At) error {
	d := g.c.Decider.Variable(profiles.VariableAction{Name: name, Value: value})
	if d.Verdict != profiles.Allow {
		if err := g.begin(); err != nil {
			return err
		}
		err := g.c.Host.Set(ctx, name, value)
		g.open.Done()
		if err := g.failed(err, at); err != nil {
			return err
		}
	}
	g.mu.Lock()
	g.seen[name] = value
	g.mu.Unlock()
	return nil
}
