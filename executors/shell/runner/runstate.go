package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/interp"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

// runState is the state of one run that all of its shells share.
type runState struct {
	c    Config
	stop context.CancelFunc
	open sync.WaitGroup // calls of the host

	mu      sync.Mutex
	over    bool // no more calls of the host
	ended   error
	refused []Refusal
	endless string
	steps   int
	seen    map[string]string // variables with values that are allowed
	funcs   map[string]bool   // functions that the texts define
	sources map[string]string // texts for source, by the path that it is given
	kept    map[string]string // output of <(list), by its path
	turns   map[int]*loopCount
	starts  int // number of started programs
	options string
	pipes   map[int][]string // reported statuses of the parts of pipes
	piped   int              // number of the last pipe
	entered map[string]bool  // folders that a dry run has entered
}

// errStop ends the interpreter. The runState holds the reason.
var errStop = errors.New("the script was stopped")

func run(ctx context.Context, c Config, s *script.Script) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g := &runState{
		c: withDefaults(c), stop: stop, seen: map[string]string{}, funcs: map[string]bool{},
		sources: map[string]string{}, kept: map[string]string{}, entered: map[string]bool{},
		turns: map[int]*loopCount{}, pipes: map[int][]string{},
	}
	root := &frame{base: g.c.Stderr, home: &shell{}}
	r, err := g.shell(c.Dir, startEnv(g.c), c.Params, c.Stdin, g.c.Stdout, root)
	if err != nil {
		return Result{Exit: profiles.ExitRefused}, err
	}
	if err := g.restore(ctx, r, c.State); err != nil {
		return Result{Exit: profiles.ExitRefused}, err
	}
	g.enter(c.Dir)
	tree, err := g.plant(s, nil)
	if err != nil {
		_ = g.failed(err, At{})
		return g.result(r, profiles.ExitRefused, nil)
	}
	exit, fault := g.end(ctx, r.Run(ctx, tree))
	if !g.c.Dry {
		g.checkLast(ctx, r)
	} else if g.stopped() == nil {
		_ = g.variables(ctx, vars(r.Vars), 0, 0, At{})
	}
	stop()
	g.close()
	return g.result(r, exit, fault)
}

func withDefaults(c Config) Config {
	c.Limits.Steps = or(c.Limits.Steps, defaultSteps)
	c.Limits.Depth = or(c.Limits.Depth, defaultDepth)
	c.Limits.Shell = or(c.Limits.Shell, defaultShell)
	if c.Limits.Bytes <= 0 {
		c.Limits.Bytes = DefaultBytes
	}
	if c.Name == "" {
		c.Name = "bash"
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Stderr == nil {
		c.Stderr = io.Discard
	}
	return c
}

func or(n, other int) int {
	if n <= 0 {
		return other
	}
	return n
}

// shell makes an interpreter. It is the only place that does. Every handler is set, and none of them calls a
// default handler of the library.
func (g *runState) shell(
	dir string, env *environ, params []string, stdin io.Reader, stdout io.Writer, errs *frame,
) (*interp.Runner, error) {
	r, err := interp.New(
		// the options of the library would look at the host
		func(r *interp.Runner) error { r.Dir, r.Params = dir, params; return nil },
		interp.Env(env),
		interp.StdIO(stdin, stdout, errs),
		interp.CallHandler(g.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return g.exec }),
		interp.OpenHandler(g.openFile),
		interp.ReadDirHandler2(g.readDir),
		interp.StatHandler(g.stat),
		interp.AccessHandler(g.access),
	)
	if err != nil {
		return nil, fmt.Errorf("make interpreter: %w", err)
	}
	r.Reset()
	env.ready = true
	return r, nil
}

// end returns how the interpreter ended.
func (g *runState) end(ctx context.Context, err error) (uint8, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return profiles.ExitRefused, g.fault()
	}
	if err := ctx.Err(); err != nil {
		return ExitBound, err
	}
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &status):
		return uint8(status), nil
	default:
		return ExitBound, fmt.Errorf("run script: %w", err)
	}
}

// fault is the reason why the script ended, if that was neither a denial nor a limit.
func (g *runState) fault() error {
	if errors.Is(g.ended, errStop) {
		return nil
	}
	return g.ended
}

func (g *runState) result(r *interp.Runner, exit uint8, fault error) (Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	res := Result{Exit: exit, Refused: g.refused, Endless: g.endless}
	slices.SortStableFunc(res.Refused, func(a, b Refusal) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	switch {
	case len(g.refused) > 0:
		res.Exit = profiles.ExitRefused
		return res, nil
	case g.endless != "":
		res.Exit = ExitBound
		return res, nil
	case g.ended != nil:
		fault = g.fault()
	}
	if fault != nil {
		res.Exit = ExitBound
		return res, fault
	}
	if !g.c.Dry {
		res.State = g.state(r)
	}
	return res, nil
}

// close waits for the open calls of the host, and allows no new ones.
func (g *runState) close() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.open.Wait()
}

// begin says whether a call of the host may begin. If it returns nil, done has to follow.
func (g *runState) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.ended != nil {
		return errStop
	}
	g.open.Add(1)
	return nil
}

// enter records a folder that a dry run enters.
func (g *runState) enter(dir string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.c.Dry {
		g.entered[path.Clean(dir)] = true
	}
}

// failed handles an error of the host. It returns the error for the interpreter, or nil if the script
// continues.
func (g *runState) failed(err error, at At) error {
	var denial *profiles.Denial
	switch {
	case err == nil:
		return nil
	case errors.As(err, &denial):
		return g.refuse(denial.Decision, at)
	case errors.Is(err, errStop):
		return errStop
	default:
		g.mu.Lock()
		if g.ended == nil {
			g.ended = err
		}
		g.mu.Unlock()
		g.stop()
		return errStop
	}
}

// maxRefused limits the denials that a dry run keeps.
const maxRefused = 64

// refuse records a denial. Outside of a dry run it stops the script, and never returns nil.
func (g *runState) refuse(d profiles.Decision, at At) error { return g.refuseAs(d, at, false) }

func (g *runState) refuseAs(d profiles.Decision, at At, output bool) error {
	d.Verdict = profiles.Deny
	if d.Evidence == nil {
		d.Evidence = &profiles.Evidence{}
	} else {
		e := *d.Evidence
		d.Evidence = &e
	}
	if d.Evidence.Line == 0 {
		d.Evidence.Line, d.Evidence.Column = at.Line, at.Column
	}
	if len(at.Chain) > 0 {
		d.Evidence.Chain = slices.Concat(at.Chain, d.Evidence.Chain)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.refused) < maxRefused && (g.c.Dry || g.ended == nil) {
		g.refused = append(g.refused, Refusal{Decision: d, At: at, Output: output})
	}
	if g.c.Dry {
		return nil
	}
	if g.ended == nil {
		g.ended = errStop
	}
	g.stop()
	return errStop
}

// bound stops a script that exceeded one of its limits.
func (g *runState) bound(format string, args ...any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.endless == "" {
		g.endless = fmt.Sprintf(format, args...)
	}
	if g.ended == nil {
		g.ended = errStop
	}
	g.stop()
	return errStop
}

func (g *runState) stopped() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.ended != nil {
		return errStop
	}
	return nil
}

// permissionError is the error that a script sees in a dry run for a denied open.
func permissionError(name string) error {
	return &os.PathError{Op: "open", Path: name, Err: os.ErrPermission}
}

// reader reads a text in place of a file.
type reader struct{ *strings.Reader }

func (reader) Write([]byte) (int, error) { return 0, os.ErrPermission }
func (reader) Close() error              { return nil }
