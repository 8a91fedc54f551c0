package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/show"
	"github.com/ringd/ringd/cmd/ringd/internal/render"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// statusEvery is how often `status --wait` asks again, statusWait how long when
// nobody says.
const (
	statusEvery = 20 * time.Millisecond
	statusWait  = 10 * time.Second
)

// connect returns a client of the daemon at socket, or where the environment
// says.
func (p *program) connect(socket string) (*client.Client, error) {
	socket = cmp.Or(socket, p.env.DefaultSocket())
	if socket == "" {
		return nil, usage("no socket: name the daemon's with --socket")
	}
	c, err := client.New(client.Config{Socket: socket})
	if err != nil {
		return nil, usage("%w", err)
	}
	return c, nil
}

func socketFlag(cmd *cobra.Command, socket *string) {
	cmd.Flags().StringVar(socket, "socket", "", "the daemon's socket (default: $RINGD_SOCKET)")
}

// refusedBy turns an error of the daemon into an exit: a refusal is 1, what the
// daemon's host lacks is 125, a daemon that is not there is 2.
func refusedBy(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return usage("%w", err)
	}
	switch {
	case unenforceable(profiles.Code(e.Code)), e.Code == wire.CodeAuditUnavailable:
		return &exit{exitUnavailable, errors.New(render.Clean(e.Error()))}
	case e.Code == wire.CodeRequestInvalid:
		return &exit{exitUsage, errors.New(render.Clean(e.Error()))}
	default:
		return &exit{exitRefused, errors.New(render.Clean(e.Error()))}
	}
}

func newStatus(p *program) *cobra.Command {
	var socket string
	var asJSON bool
	var generation int64
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is in force, and why the last push was refused",
		Long: `Status asks the daemon for generation and revision, every ring and executor, and
the last push with its findings. With --wait it waits for a daemon that is about
to start, and with --generation until that one or a later one is in force.

Exit codes: 0 new runs are taken, 1 they are not, or --wait passed, 2 no daemon.`,
		Example: `  ringd status
  ringd status --generation 4 --wait 5s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.connect(socket)
			if err != nil {
				return err
			}
			defer c.Close()
			if generation > 0 && !cmd.Flags().Changed("wait") {
				wait = statusWait
			}
			st, err := awaitGeneration(cmd.Context(), c, generation, wait)
			if err != nil {
				return refusedBy(err)
			}
			if asJSON {
				err = render.JSON(p.out, st)
			} else {
				p.page(p.out).Status(st)
			}
			if err == nil && (!st.Ready || st.Generation < generation) {
				err = &exit{exitRefused, nil}
			}
			return err
		},
	}
	socketFlag(cmd, &socket)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().Int64Var(&generation, "generation", 0, "wait for this generation")
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for the daemon and --generation (10s)")
	return cmd
}

func awaitGeneration(ctx context.Context, c *client.Client, generation int64, wait time.Duration) (wire.Status, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	again := time.NewTicker(statusEvery)
	defer again.Stop()
	for {
		st, err := c.Status(ctx)
		var told *client.Error
		absent := err != nil && !errors.As(err, &told) // it may be about to start
		if wait == 0 || (err != nil && !absent) || (err == nil && st.Generation >= generation) {
			return st, err
		}
		select {
		case <-again.C:
		case <-over.C:
			return st, err
		case <-ctx.Done():
			return st, context.Cause(ctx)
		}
	}
}

func newRuns(p *program) *cobra.Command {
	var socket, state string
	var f client.Filter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List the daemon's runs, or show one",
		Long: `Runs lists the runs of the daemon, newest first, or shows one with its console
and outcome. With --state it reads the folder that a run or a daemon kept and
has left.`,
		Example: "  ringd runs --only paused\n  ringd runs RUN --json\n  ringd runs --state ./state",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Limit < 0 {
				return usage("--limit %d: a number of runs", f.Limit)
			}
			if state != "" {
				return p.keptRuns(cmd.Context(), state, args, f, asJSON)
			}
			c, err := p.connect(socket)
			if err != nil {
				return err
			}
			defer c.Close()
			if len(args) == 1 {
				run, err := c.GetRun(cmd.Context(), args[0], 0)
				if err != nil {
					return refusedBy(err)
				}
				return p.showRun(run, asJSON)
			}
			list, err := c.Runs(cmd.Context(), f)
			if err != nil {
				return refusedBy(err)
			}
			return p.listRuns(list, asJSON)
		},
	}
	socketFlag(cmd, &socket)
	cmd.Flags().StringVar(&state, "state", "", "read this state folder, which no daemon uses")
	cmd.Flags().StringVar(&f.Agent, "agent", "", "runs of this agent")
	cmd.Flags().StringSliceVar(&f.States, "only", nil, "runs in these states, such as paused")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "how many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) listRuns(list wire.RunList, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, list)
	}
	for _, r := range list.Runs {
		fmt.Fprintf(p.out, "%s  %-9s  %s  %s  %s  %s\n", r.ID, r.State, r.Created.UTC().Format(time.RFC3339),
			render.Clean(r.Agent), r.Executor, r.Actor)
	}
	return nil
}

// keptRuns lists the runs of a state folder, or shows one.
func (p *program) keptRuns(ctx context.Context, state string, args []string, f client.Filter, asJSON bool) (err error) {
	dir, err := filepath.Abs(layout(state).store)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return usage("read state folder: %w", sources.Bare(err))
	}
	st, err := store.Open(ctx, store.Config{Dir: dir, Now: time.Now})
	if errors.Is(err, store.ErrInUse) {
		return usage("read state folder: %w: ask its daemon with --socket", err)
	}
	if err != nil {
		return usage("read state folder: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if len(args) == 1 {
		row, err := st.Run(ctx, args[0])
		if err != nil {
			return &exit{exitRefused, fmt.Errorf("run %s: %w", args[0], err)}
		}
		run, err := show.Row(row)
		if err != nil {
			return err
		}
		return p.showRun(run, asJSON)
	}
	list, err := daemon.ListKept(ctx, st, daemon.Filter{Agent: f.Agent, States: f.States, Limit: f.Limit})
	if err != nil {
		return usage("read state folder: %w", err)
	}
	return p.listRuns(list, asJSON)
}

func (p *program) showRun(run wire.Run, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, run)
	}
	fmt.Fprintf(p.out, "run %s: %s\n", run.ID, run.State)
	for _, e := range run.Console {
		fmt.Fprintf(p.out, "  %s\n", render.Clean(e.Text))
	}
	p.page(p.err).Run(run)
	return p.page(p.out).Value(run)
}

func newAnswer(p *program) *cobra.Command {
	var socket, text, failure string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "answer RUN CALL",
		Short: "Answer an open call of a paused run, as its harness",
		Long: `Answer settles a call that waits for the harness, with a value (JSON) or an
error that the program gets as a BridgeError. The first answer counts.

Exit codes: 0 taken, 1 refused, 2 usage or no daemon.`,
		Example: `  ringd answer RUN c2 --value '"go on"'
  ringd answer RUN c2 --error "the user said no"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a := wire.Answer{Call: args[1]}
			switch {
			case cmd.Flags().Changed("value") == cmd.Flags().Changed("error"):
				return usage("answer needs --value JSON or --error TEXT")
			case cmd.Flags().Changed("error"):
				a.Error = &wire.AnswerError{Message: failure}
			default:
				tagged, err := value.FromJSON([]byte(text))
				if err != nil {
					return usage("--value: %w", err)
				}
				a.Value = json.RawMessage(tagged)
			}
			c, err := p.connect(socket)
			if err != nil {
				return err
			}
			defer c.Close()
			run, err := c.Answer(cmd.Context(), args[0], a)
			if err != nil {
				return refusedBy(err)
			}
			if asJSON {
				return render.JSON(p.out, run)
			}
			_, err = fmt.Fprintf(p.out, "run %s: %s\n", run.ID, run.State)
			return err
		},
	}
	socketFlag(cmd, &socket)
	cmd.Flags().StringVar(&text, "value", "", "the result, as JSON")
	cmd.Flags().StringVar(&failure, "error", "", "the error's message")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the outcome so far as JSON")
	return cmd
}

func newCancel(p *program) *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "End a run of the daemon",
		Example: "  ringd cancel RUN",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(socket)
			if err != nil {
				return err
			}
			defer c.Close()
			run, err := c.Cancel(cmd.Context(), args[0])
			if err != nil {
				return refusedBy(err)
			}
			_, err = fmt.Fprintf(p.out, "run %s: %s\n", run.ID, run.State)
			return err
		},
	}
	socketFlag(cmd, &socket)
	return cmd
}

// runThere runs the program in the daemon.
func (p *program) runThere(ctx context.Context, o runOptions, req wire.RunRequest) error {
	c, err := p.connect(o.socket)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, stop := interruptible(ctx)
	defer stop()
	run, err := c.StartRun(ctx, req)
	if err != nil {
		return refusedBy(err)
	}
	if o.detach {
		_, err := fmt.Fprintln(p.out, run.ID)
		return err
	}
	printed := int64(0)
	for e, err := range c.Events(ctx, run.ID, 0) {
		if err != nil {
			return p.leave(ctx, c, run.ID, err)
		}
		if e.Console != nil && e.Console.Seq > printed {
			printed = e.Console.Seq
			p.page(p.err).Console(*e.Console)
		}
		if e.Type == wire.EventState && e.State != wire.StateRunning {
			break
		}
	}
	if run, err = c.Wait(ctx, run.ID); err != nil {
		return p.leave(ctx, c, run.ID, err)
	}
	for _, e := range run.Console {
		if e.Seq > printed {
			p.page(p.err).Console(e)
		}
	}
	return p.finish(o, run, nil)
}

// leave cancels a run that nobody waits for any more, when the user ended the
// wait.
func (p *program) leave(ctx context.Context, c *client.Client, id string, err error) error {
	if ctx.Err() == nil {
		return refusedBy(err)
	}
	run, err := c.Cancel(context.WithoutCancel(ctx), id)
	if err != nil {
		return refusedBy(err)
	}
	return &exit{exitRefused, fmt.Errorf("run %s: %s", run.ID, run.State)}
}
