package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

func newResume(p *program) *cobra.Command {
	o := runOptions{request: cli.GivenRequest{Executor: profiles.ExecutorJS}}
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Resume a paused run",
		Long: `Resume continues a run whose calls are all answered. A daemon continues such a
run by itself, so with a daemon use resume only to retry after an error, such as
a missing key or engine.

With --state the run continues in this process, under the policy PATH and the
bridges given. Every call is decided again, and must be granted by both the
run's own policy and PATH. At a terminal, resume asks about calls that need an
approval. If an approved call needs a bridge that is not given, or whose command
is missing, nothing runs (exit 2) and the run stays paused.

Exit codes: those of ringd run.`,
		Example: `  ringd resume RUN
  ringd resume RUN --state ./state -p policy.yaml --bridge sendEmail=./send`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.state == "" && (o.policy != "" || o.configuresHost() || o.ask || o.as != "" || o.report):
				return cli.Usage("without --state the daemon resumes the run: it has its own policy, workspace, " +
					"bridges, gateways and credentials")
			case o.state != "" && (o.daemon.Named() || o.policy == ""):
				return cli.Usage("resume --state DIR needs a policy: -p PATH")
			case o.state == "":
				return p.runs().resumeThere(cmd.Context(), o, args[0])
			}
			if _, err := p.State(o.state); err != nil {
				return err
			}
			return p.runs().resumeHere(cmd.Context(), o, args[0])
		},
	}
	f := cmd.Flags()
	o.daemon.Bind(cmd)
	f.StringVar(&o.state, "state", "", "resume a run of this state folder here")
	f.StringVarP(&o.policy, "policy", "p", "", "with --state: policy file or folder")
	f.StringArrayVar(&o.bridges, "bridge", nil, "NAME=COMMAND: perform a bridge with sh -c")
	f.StringArrayVar(&o.bridgeEnv, "bridge-env", nil, "NAME: pass this variable to bridge commands")
	f.BoolVar(&o.asJSON, "json", false, "print the whole outcome as JSON")
	f.BoolVar(&o.report, "report", false, "show on stderr what ran and its limits")
	o.bindHere(cmd)
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json", "cue") // the flag is defined above
	_ = cmd.MarkFlagDirname("state")
	return cmd
}

// resumeHere resumes a stored run in a stack of this process. If the run still waits for an approver, it asks
// the person at the terminal.
func (p runVerbs) resumeHere(ctx context.Context, o runOptions, id string) error {
	return p.runInStack(ctx, o, func(ctx context.Context, l *local) (string, error) {
		id, err := storedRunID(ctx, l.stack, l.actor, id)
		if err != nil {
			return "", err
		}
		was, err := l.stack.daemon.GetRun(ctx, l.actor, id, 0)
		if err != nil {
			return id, err
		}
		for _, e := range was.Console {
			l.shown = max(l.shown, e.Seq)
		}
		_, err = l.stack.daemon.ResumeRun(context.WithoutCancel(ctx), l.actor, id)
		if errors.Is(err, daemon.ErrNotAnswered) {
			err = nil
		}
		return id, err
	})
}

// resumeThere asks the daemon to resume the run.
func (p runVerbs) resumeThere(ctx context.Context, o runOptions, id string) error {
	c, err := p.Connect(o.daemon)
	if err != nil {
		return err
	}
	defer c.Close()
	if id, err = cli.RunThere(ctx, c, id); err != nil {
		return err
	}
	run, err := c.Resume(ctx, id)
	if err != nil {
		return cli.RefusedBy(err)
	}
	if o.asJSON {
		err = cli.JSON(p.Out, run)
	} else {
		_, err = fmt.Fprintf(p.Out, "run %s: %s\n", cli.Clean(run.ID), cli.Clean(run.State))
	}
	if err != nil || run.State != string(executors.StatePaused) {
		return err
	}
	if !o.asJSON {
		p.printNext(o, run)
	}
	return cli.Failed(cli.Paused, nil)
}
