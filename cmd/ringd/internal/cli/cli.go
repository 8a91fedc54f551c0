// Package cli owns what every command of ringd shares: its streams, its exit codes, its output, and the
// conversion of a daemon's refusal to an exit. It prints each error once. main and package commands call it.
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

// Exit codes.
const (
	Done        = 0   // done, nothing refused
	Refused     = 1   // refused, findings, or the program failed
	Misused     = 2   // usage, or unreadable input
	Paused      = 75  // the run waits for an answer, and can be resumed
	Unavailable = 125 // a required layer is unavailable; nothing ran

	Interrupted = 130 // by the user
)

// Program holds the streams and the environment of a command. Out and Err are those of an [Edge], except in
// tests.
type Program struct {
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	Env  config.Environment
	Self string // path of this binary, for its hidden commands
}

// Exit is an error with an exit code. If Err is nil, nothing is printed: the command has printed the reason.
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

// Failed returns an error that ends the command with code.
func Failed(code int, err error) error { return &Exit{code, err} }

// Usage returns an error about the command line or unreadable input.
func Usage(format string, args ...any) error {
	return &Exit{Misused, fmt.Errorf(format, args...)}
}

// Code prints err once and returns its exit code. An error without a code is a usage error.
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

// Page returns the output for w. It has colour only on a terminal.
func (p *Program) Page(w io.Writer) Page {
	e, ok := w.(*safetext.Edge)
	return Page{W: w, Terminal: ok && e.Terminal(), Colour: ok && e.Colour()}
}

// Console writes the output of a run: its standard streams to ours, unless JSON needs ours, and its console
// to stderr.
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

// Edge returns the stream w as commands write to it, with colour only on a terminal.
func Edge(w io.Writer, env config.Environment) *safetext.Edge {
	is := Terminal(w)
	return safetext.NewEdge(w, is, !env.NoColor && !env.Dumb && is)
}

// Interruptible ends ctx at the first SIGINT or SIGTERM, for commands that end in an orderly way. A second
// signal kills. stop restores the signals.
func Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// RefusedBy converts an error of the daemon to an exit: a refusal is 1, a missing feature of the daemon's
// host is 125, a missing daemon is 2.
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
	text := errors.New(RefusalText(e.Error()))
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

// Unenforceable reports whether a code means that this host or build lacks something, not that a policy
// refuses.
func Unenforceable(c profiles.Code) bool {
	return c == profiles.CodeExecutorUnavailable || c == profiles.CodeTierUnavailable ||
		c == profiles.CodeRingUnavailable ||
		c == profiles.CodeHostFull
}

// Counts reports whether a denial sets the exit code of a program that continued without it. A refusal by the
// kernel is recorded, but may be a library's probe of the system, so it does not count. A Python program that
// tries an import and continues without it is ordinary.
func Counts(executor string, code profiles.Code) bool {
	switch code {
	case profiles.CodeGuestRefused, profiles.CodeEgressNoAddress: // a name that does not resolve is no refusal
		return false
	case profiles.CodeImportDenied, profiles.CodeImportNotAllowed:
		return executor != profiles.ExecutorPython
	default:
		return true
	}
}
