// Package cli is what every command of ringd shares: its streams, its exit
// codes, and how a daemon's refusal becomes one of them.
//
// It decides nothing and prints an error once. main and the packages of verbs
// use it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// The exit codes of every command.
const (
	Done        = 0   // done, nothing refused
	Refused     = 1   // refused, findings, or the program failed
	Misused     = 2   // usage, or input that cannot be read
	Paused      = 75  // the run waits for an answer, and can go on
	Unavailable = 125 // a required layer is unavailable here; nothing ran

	Interrupted = 130 // the user ended it
)

// Program is what a command may touch: its streams and its environment. Out and Err are
// those of an [Edge], but in tests.
type Program struct {
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	Env  config.Environment
	Self string // path of this binary, for its hidden verbs
}

// Exit is an error that carries its exit code. A nil Err prints nothing: the
// command has already said what there is to say.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Exit) Unwrap() error { return e.Err }

// Failed is an error that ends the command with code.
func Failed(code int, err error) error { return &Exit{code, err} }

// Usage is a mistake on the command line or input that cannot be read.
func Usage(format string, args ...any) error {
	return &Exit{Misused, fmt.Errorf(format, args...)}
}

// Code prints err once and turns it into the exit code. What carries no code
// is a mistake on the command line.
func (p *Program) Code(err error) int {
	if err == nil {
		return Done
	}
	var e *Exit
	if !errors.As(err, &e) {
		fmt.Fprintf(p.Err, "ringd: %s\n", Lines(err.Error()))
		return Misused
	}
	if e.Err != nil {
		fmt.Fprintf(p.Err, "ringd: %s\n", Lines(e.Err.Error()))
	}
	return e.Code
}

// Page is where text goes: colour only on a terminal.
func (p *Program) Page(w io.Writer) Page {
	e, ok := w.(*safetext.Edge)
	return Page{W: w, Terminal: ok && e.Terminal(), Colour: ok && e.Colour()}
}

// Console writes what a run wrote: its standard streams each to our own, unless
// ours is taken by JSON, and its console to ours of errors.
func (p *Program) Console(e wire.ConsoleEntry, asJSON bool) {
	switch {
	case e.Level == executors.LevelStdout && asJSON:
	case e.Level == executors.LevelStdout:
		p.Page(p.Out).Stream(e)
	case e.Level == executors.LevelStderr:
		p.Page(p.Err).Stream(e)
	default:
		p.Page(p.Err).Console(e)
	}
}

// Terminal reports whether a stream is a terminal.
func Terminal(stream any) bool {
	if e, ok := stream.(*safetext.Edge); ok {
		return e.Terminal()
	}
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Edge is the stream w as commands write to it: colour only on a terminal.
func Edge(w io.Writer, env config.Environment) *safetext.Edge {
	is := Terminal(w)
	return safetext.NewEdge(w, is, !env.NoColor && !env.Dumb && is)
}

// Interruptible ends ctx at the first SIGINT or SIGTERM, for commands with
// something to end in order; a second one kills. stop gives the signals back.
func Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// RefusedBy turns an error of the daemon into an exit: a refusal is 1, what the
// daemon's host lacks is 125, a daemon that is not there is 2.
func RefusedBy(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return Usage("%w\n    hint: no daemon listens there: start one with ringd serve, or name it with\n      "+
				"--socket or --url", err)
		}
		if errors.Is(err, fs.ErrPermission) {
			return Usage("%w\n    hint: the socket is for the users of its group: add this user to it, or name the\n "+
				"     group with socketGroup: in the daemon's configuration (docs/HOSTS.md)", err)
		}
		return Usage("%w", err)
	}
	text := errors.New(RenderRefused(e.Error()))
	switch {
	case Unenforceable(profiles.Code(e.Code)), e.Code == string(profiles.CodeClosed),
		e.Code == wire.CodeAuditUnavailable, e.Code == wire.CodeDiskLow:
		return Failed(Unavailable, text)
	case e.Code == wire.CodeRequestInvalid:
		return Failed(Misused, text)
	default:
		return Failed(Refused, text)
	}
}

// Unenforceable reports whether a code says that this host or build lacks what
// is asked for, as opposed to a policy that refuses.
func Unenforceable(c profiles.Code) bool {
	return c == profiles.CodeExecutorUnavailable || c == profiles.CodeTierUnavailable ||
		c == profiles.CodeRingUnavailable ||
		c == profiles.CodeHostFull
}

// Counts reports whether a refusal is told by the exit code of a program that went on
// without it. What the kernel refused its guest is on record, and may be a library's
// guess at what there is; a Python program that tries an import and does without is
// ordinary.
func Counts(executor string, code profiles.Code) bool {
	switch code {
	case profiles.CodeGuestRefused, profiles.CodeEgressNoAddress: // a name that does not resolve is nobody's refusal
		return false
	case profiles.CodeImportDenied, profiles.CodeImportNotAllowed:
		return executor != profiles.ExecutorPython
	default:
		return true
	}
}
