// Command ringd compiles policies for AI-agent code, decides actions, runs
// untrusted programs in guests, and serves as the host daemon.
//
// Each subcommand has its file, cmd_<verb>.go; wire.go alone constructs the
// parts and joins them. This package refuses what it cannot read or enforce:
// exit codes are those of docs/ARCHITECTURE.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
)

// The exit codes of every command.
const (
	exitDone        = 0   // done, nothing refused
	exitRefused     = 1   // refused, findings, or the program failed
	exitUsage       = 2   // usage, or input that cannot be read
	exitUnavailable = 125 // a required layer is unavailable here; nothing ran
)

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// interruptible ends ctx at the first SIGINT or SIGTERM, for commands with
// something to end in order; a second one kills. stop gives the signals back.
func interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// program is what a command may touch: its streams and its environment.
type program struct {
	in   io.Reader
	out  io.Writer
	err  io.Writer
	env  config.Environment
	self string // path of this binary, for its hidden verbs
}

// exit is an error that carries its exit code. A nil err prints nothing: the
// command has already said what there is to say.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage is a mistake on the command line or input that cannot be read.
func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

func run(ctx context.Context, argv []string, in io.Reader, out, stderr io.Writer) int {
	if len(argv) > 1 {
		if verb, ok := hiddenVerb(argv[1]); ok {
			return verb(ctx, in, out, stderr)
		}
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(stderr, "ringd: find this program: %v\n", err)
		return exitUsage
	}
	p := &program{in: in, out: out, err: stderr, env: config.FromSystem(), self: self}
	root := newRoot(p)
	if len(argv) > 1 {
		root.SetArgs(argv[1:])
	} else {
		root.SetArgs([]string{})
	}
	return p.code(root.ExecuteContext(ctx))
}

// code prints err once and turns it into the exit code. What carries no code
// is a mistake on the command line.
func (p *program) code(err error) int {
	if err == nil {
		return exitDone
	}
	var e *exit
	if !errors.As(err, &e) {
		fmt.Fprintf(p.err, "ringd: %v\n", err)
		return exitUsage
	}
	if e.err != nil {
		fmt.Fprintf(p.err, "ringd: %v\n", e.err)
	}
	return e.code
}

// page is where text goes: colour only on a terminal.
func (p *program) page(w io.Writer) render.Page {
	f, ok := w.(*os.File)
	return render.Page{W: w, Colour: ok && !p.env.NoColor && !p.env.Dumb && isatty.IsTerminal(f.Fd())}
}

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "ringd",
		Short: "Policy for AI-agent code, enforced",
		Long: `ringd compiles a typed policy for AI-agent code into profiles, and runs
untrusted programs under them: a program can do nothing but ask, ringd
decides, records and answers.`,
		Example: `  ringd vet policy.yaml
  ringd run -p policy.yaml --executor js program.ts
  ringd serve --sync /etc/ringd/policy`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return &exit{exitUsage, nil}
		},
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.AddGroup(
		&cobra.Group{ID: "policy", Title: "Policy:"},
		&cobra.Group{ID: "run", Title: "Programs:"},
		&cobra.Group{ID: "daemon", Title: "Daemon:"},
		&cobra.Group{ID: "host", Title: "Host and records:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("policy", newVet(p), newCompile(p), newDecide(p), newSchema(p))
	add("run", newRun(p))
	add("daemon", newServe(p), newStatus(p), newRuns(p), newAnswer(p), newCancel(p))
	add("host", newDoctor(p), newAudit(p), newVersion(p))
	root.SetCompletionCommandGroupID("host")
	root.SetHelpCommandGroupID("host")
	root.AddCommand(later()...)
	return root
}

// later are verbs of the contract that a later version brings. They are not
// in the help, and refuse by name.
func later() []*cobra.Command {
	var out []*cobra.Command
	for _, verb := range []string{"approve", "deny", "test", "diff", "explain"} {
		out = append(out, &cobra.Command{
			Use: verb, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usage("%s is not in this version of ringd; see ringd --help for what is", verb)
			},
		})
	}
	return out
}
