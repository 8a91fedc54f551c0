// Command ringd compiles policies for AI-agent code, decides actions, runs untrusted programs in guests, and
// serves as the host daemon.
//
// Each subcommand that starts guests has its file, cmd_<name>.go; the others are in internal/commands. Only
// the files wire*.go construct the parts and connect them. This package refuses what it cannot read or
// enforce. Exit codes are those of docs/ARCHITECTURE.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/schema"
)

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// program holds what the commands share.
type program struct {
	*cli.Program
	point func(label string) // called at each step on disk, for tests that end the process there; may be nil
}

// policyVerbs compiles policies for the commands.
type policyVerbs struct{ *program }

// stackBuilder constructs the parts that run programs, and connects them.
type stackBuilder struct{ *program }

// runVerbs runs and resumes programs for the commands run and resume.
type runVerbs struct{ *program }

func (p *program) policyVerbs() policyVerbs { return policyVerbs{p} }
func (p *program) stacks() stackBuilder     { return stackBuilder{p} }
func (p *program) runs() runVerbs           { return runVerbs{p} }

func run(ctx context.Context, argv []string, in io.Reader, out, stderr io.Writer) int {
	return runAt(ctx, argv, in, out, stderr, nil)
}

// runAt is run with a callback at each step of a run on disk.
func runAt(ctx context.Context, argv []string, in io.Reader, out, stderr io.Writer, point func(label string)) int {
	if len(argv) > 1 {
		if verb, ok := hiddenVerb(argv[1]); ok {
			return verb(ctx, in, out, stderr)
		}
	}
	p, end := newProgram(in, out, stderr)
	defer end()
	p.point = point
	self, err := os.Executable()
	if err != nil {
		return p.Code(cli.Failed(cli.Unavailable, fmt.Errorf("find this program: %w", err)))
	}
	p.Self = self
	root := newRoot(p)
	if len(argv) > 1 {
		root.SetArgs(argv[1:])
	} else {
		root.SetArgs([]string{})
	}
	return p.Code(root.ExecuteContext(ctx))
}

// newProgram returns a program that writes to out and stderr through safetext edges. end flushes them.
func newProgram(in io.Reader, out, stderr io.Writer) (p *program, end func()) {
	env := config.FromSystem()
	shown, told := cli.Edge(out, env), cli.Edge(stderr, env)
	return &program{Program: &cli.Program{In: in, Out: shown, Err: told, Env: env}}, func() {
		_, _ = shown.Close(), told.Close() // a reader that closed the stream is no error of the command
	}
}

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "ringd",
		Short: "Policy for AI-agent code, enforced",
		Long: `ringd compiles a typed policy for AI-agent code into profiles, and runs
untrusted programs under them. A program can only ask; ringd decides, records
and answers.`,
		Example: `  ringd vet policy.yaml
  ringd run -p policy.yaml program.ts
  ringd serve --sync /etc/ringd/policy`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           buildVersion().String(),
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return cli.Failed(cli.Misused, nil)
		},
	}
	root.SetVersionTemplate("ringd {{.Version}}\n")
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.AddGroup(
		&cobra.Group{ID: "policy", Title: "Policy:"},
		&cobra.Group{ID: "run", Title: "Programs:"},
		&cobra.Group{ID: "daemon", Title: "Daemon:"},
		&cobra.Group{ID: "host", Title: "Host and records:"},
	)
	addCommands(root, p)
	root.SetCompletionCommandGroupID("host")
	root.SetHelpCommandGroupID("host")
	root.InitDefaultCompletionCmd()
	completionUsage(root)
	cli.ShowUse(root)
	return root
}

// addCommands adds the commands to root, in groups.
func addCommands(root *cobra.Command, p *program) {
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	verbs := p.policyVerbs()
	policies, signing := verbs.policies(), verbs.signing()
	check := func(ctx context.Context, files cli.Policy) (schema.Diagnostics, error) {
		_, found, err := verbs.compile(ctx, files)
		return found, err
	}
	add("policy", commands.NewPolicy(policies)...)
	add("policy", commands.NewDecide(verbs.answers())...)
	add("policy", commands.NewInit(commands.InitConfig{Program: p.Program, Check: check})...)
	add("policy", commands.NewSuggest(commands.SuggestConfig{
		Program: p.Program, Now: time.Now, Compile: policies.Compiled,
	}))
	add("policy", commands.NewExceptions(commands.ExceptionsConfig{
		Program: p.Program, Now: time.Now, Compile: verbs.compileEnded,
	}))
	add("policy", commands.NewTest(verbs.tests()), commands.NewDiff(verbs.diffs()))
	add("policy", commands.NewSigning(signing)...)
	add("run", newRun(p), newResume(p))
	clients := commands.ClientsConfig{
		Program: p.Program, Now: time.Now, Kept: p.stacks().openKept, Order: signing.Order,
	}
	add("daemon", newServe(p))
	add("daemon", commands.NewClients(clients)...)
	audit := commands.AuditConfig{Program: p.Program, Now: time.Now}
	add("host", newDoctor(p), commands.NewAudit(audit, commands.NewArchive(clients)), newVersion(p))
}

// completionUsage makes the command completion print its help without a shell, and refuse an unknown one.
func completionUsage(root *cobra.Command) {
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage("completion %q: want bash, fish, powershell or zsh", args[0])
			}
			return c.Help()
		}
		c.Args = cobra.ArbitraryArgs
	}
}
