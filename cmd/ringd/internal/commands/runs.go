// The commands that ask a daemon over its socket or TCP, or work on the state folder of a stopped one:
// status, runs, answer, cancel, approvals, approve, deny, revoke, sessions, lockdown. The daemon decides what
// a caller may do. In a folder without a daemon the file system does.

package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// statusEvery is how often `status --wait` polls, statusWait how long it waits by default.
const (
	statusEvery = 20 * time.Millisecond
	statusWait  = 10 * time.Second
)

// ClientsConfig configures the commands.
type ClientsConfig struct {
	*cli.Program
	Now func() time.Time
	// Kept opens a state folder that no daemon uses. as is the owner that the user approves for. Its errors
	// are exits.
	Kept func(ctx context.Context, dir, as string) (Desk, error)
	// Order adds the flags of a signed order to lockdown, and returns what makes one. If Order is nil, there
	// are no such flags.
	Order func(cmd *cobra.Command) func(ctx context.Context, o wire.LockdownOrder, asJSON bool) (bool, error)
}

type clientVerbs struct{ ClientsConfig }

// NewClients returns the commands.
func NewClients(cfg ClientsConfig) []*cobra.Command {
	p := &clientVerbs{cfg}
	return []*cobra.Command{
		newStatus(p), newRuns(p), newAnswer(p), newCancel(p),
		newApprovals(p), newApprove(p), newDeny(p), newRevoke(p), newSessions(p), newLockdown(p), newClock(p),
	}
}

func newStatus(p *clientVerbs) *cobra.Command {
	var at cli.Daemon
	var asJSON bool
	var generation int64
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is in force, and why the last push was refused",
		Long: `Status asks the daemon for its generation and revision, every ring and executor,
and the last push with its findings. --wait waits for a daemon that is starting
and, with --generation, until that generation or a later one is in force.

Exit codes: 0 new runs are accepted, 1 they are not, or --wait is over, 2 no
daemon.`,
		Example: `  ringd status
  ringd status --generation 4 --wait 5s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.Connect(at)
			if err != nil {
				return err
			}
			defer c.Close()
			if generation > 0 && !cmd.Flags().Changed("wait") {
				wait = statusWait
			}
			st, err := awaitGeneration(cmd.Context(), c, generation, wait)
			if err != nil {
				return cli.RefusedBy(err)
			}
			if asJSON {
				err = cli.JSON(p.Out, st)
			} else {
				p.Page(p.Out).Status(st)
			}
			if err == nil && (!st.Ready || st.Generation < generation) {
				err = cli.Failed(cli.Refused, nil)
			}
			return err
		},
	}
	at.Bind(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().Int64Var(&generation, "generation", 0, "wait for this generation")
	cli.Span(cmd, &wait, "wait", 0, "for the daemon and --generation (10s)")
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
		absent := err != nil && !errors.As(err, &told) // the daemon may be about to start
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

func newRuns(p *clientVerbs) *cobra.Command {
	var at cli.Daemon
	var state string
	var f client.Filter
	var how listFlags
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List the daemon's runs, or show one",
		Long: `Runs lists the runs of the daemon, newest first, or shows one run with its
console and outcome. --state reads the folder of a finished run or of a stopped
daemon.

The list shows 12 letters of each id. Every argument RUN may be the beginning of
an id: at least 4 letters, with which no other id begins.`,
		Example: "  ringd runs --only paused\n  ringd runs RUN --json\n  ringd runs --wide --state ./state",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Limit < 0 {
				return cli.Usage("--limit %d: a number of runs", f.Limit)
			}
			if state != "" {
				if err := (endpoint{daemon: at, state: state}).check(); err != nil {
					return err
				}
				return p.keptRuns(cmd.Context(), state, args, f, how)
			}
			c, err := p.Connect(at)
			if err != nil {
				return err
			}
			defer c.Close()
			if len(args) == 1 {
				id, err := cli.RunThere(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				run, err := c.GetRun(cmd.Context(), id, wait)
				if err != nil {
					return (endpoint{daemon: at}).noRun(cli.RefusedBy(err), err, args[0])
				}
				return p.showRun(run, how.asJSON)
			}
			list, err := c.Runs(cmd.Context(), f)
			if err != nil {
				return cli.RefusedBy(err)
			}
			return p.listRuns(list, how, func(id string) (wire.Run, error) { return c.GetRun(cmd.Context(), id, 0) })
		},
	}
	at.Bind(cmd)
	p.completeRuns(cmd, &at)
	cmd.Flags().StringVar(&state, "state", "", "read the state folder of a stopped daemon")
	cmd.Flags().StringVar(&f.Agent, "agent", "", "runs of this agent")
	cmd.Flags().StringSliceVar(&f.States, "only", nil, "runs in these states, such as paused")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "number of runs")
	cli.OneOf(cmd, "only", wire.StateRunning, string(executors.StatePaused), string(executors.StateDone),
		string(executors.StateFailed),
		string(executors.StateDenied), string(executors.StateLimit), string(executors.StateCancelled),
		string(executors.StateUnknown))
	cli.Span(cmd, &wait, "wait", 0, "with RUN: wait until it pauses or ends (at most 1m)")
	cmd.Flags().BoolVar(&how.wide, "wide", false, "print whole ids and names, in long lines")
	cmd.Flags().BoolVar(&how.asJSON, "json", false, "print JSON")
	return cmd
}

// maxShown limits the waiting runs whose calls a list shows.
const maxShown = 100

// listFlags holds the format flags of a list.
type listFlags struct{ wide, asJSON bool }

// id formats an id for the list.
func (l listFlags) id(run string) string {
	if l.wide {
		return run
	}
	return cli.ShortID(run)
}

func (p *clientVerbs) listRuns(list wire.RunList, how listFlags, get func(id string) (wire.Run, error)) error {
	if how.asJSON {
		return cli.JSON(p.Out, list)
	}
	if len(list.Runs) == 0 {
		fmt.Fprintln(p.Err, "no runs") // on stderr: a script reads an empty list
		return nil
	}
	shown, now := 0, p.Now()
	var rows []cli.Row
	for _, r := range list.Runs {
		row := cli.Row{Cells: []string{how.id(r.ID), r.State, cli.Age(now.Sub(r.Created)), r.Agent, r.Executor,
			r.Actor}}
		if r.State == string(executors.StatePaused) && shown < maxShown {
			shown++
			if run, err := get(r.ID); err == nil { // otherwise it was resumed, or is gone, since it was listed
				row.Under = waitLines(run)
			}
		}
		rows = append(rows, row)
	}
	p.Page(p.Out).Table([]string{"RUN", "STATE", "AGE", "AGENT", "EXECUTOR", "ACTOR"}, rows, how.wide)
	return nil
}

// waitLines returns a line for each call that a paused run waits for.
func waitLines(run wire.Run) []string {
	var out []string
	for _, c := range run.Pending {
		out = append(out, fmt.Sprintf("call %s of %s waits for %s", c.ID, cli.Visible(c.Bridge), waitsFor(c)))
	}
	if run.Error != nil {
		out = append(out, fmt.Sprintf("cannot be resumed: %s: %s", run.Error.Name, run.Error.Message))
	}
	return out
}

// keptRuns lists the runs of a state folder, or shows one.
func (p *clientVerbs) keptRuns(ctx context.Context, state string, args []string, f client.Filter, how listFlags) (
	err error) {
	dir, err := p.State(state)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Config{Dir: cli.Layout(dir).Store, Now: p.Now})
	if errors.Is(err, store.ErrInUse) {
		return cli.Usage("read state folder: %w: ask its daemon with --socket", err)
	}
	if err != nil {
		return cli.Usage("read state folder: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if len(args) == 1 {
		id, err := cli.RunKept(args[0], func(prefix string, limit int) (wire.RunList, error) {
			return view.ListKept(ctx, st, view.Filter{Prefix: prefix, Limit: limit})
		})
		if err != nil {
			return err
		}
		run, err := keptRun(ctx, st, id)
		if errors.Is(err, store.ErrNotFound) {
			err = policy.ErrNotFound
		}
		if err != nil {
			return (endpoint{state: state}).noRun(cli.Failed(cli.Refused, fmt.Errorf("run %s: %w", args[0], err)), err,
				args[0])
		}
		return p.showRun(run, how.asJSON)
	}
	list, err := view.ListKept(ctx, st, view.Filter{Agent: f.Agent, States: f.States, Limit: f.Limit})
	if err != nil {
		return cli.Usage("read state folder: %w", err)
	}
	return p.listRuns(list, how, func(id string) (wire.Run, error) { return keptRun(ctx, st, id) })
}

// keptRun returns a run of a store, with its open calls.
func keptRun(ctx context.Context, st *store.Store, id string) (wire.Run, error) {
	row, err := st.Run(ctx, id)
	if err != nil {
		return wire.Run{}, err
	}
	run, err := view.Row(row)
	run.State = view.Kept(row.State)
	if err != nil || row.State != store.Paused {
		run.Pending, run.Queued = nil, 0
		return run, err
	}
	calls, err := st.Calls(ctx, id)
	if err != nil {
		return wire.Run{}, err
	}
	given, err := st.Approvals(ctx, id)
	run.Pending = view.Waits(calls, given, run.Pending)
	return run, err
}

func (p *clientVerbs) showRun(run wire.Run, asJSON bool) error {
	if asJSON {
		return cli.JSON(p.Out, run)
	}
	fmt.Fprintf(p.Out, "run %s: %s\n", cli.Clean(run.ID), cli.Clean(run.State))
	for _, e := range run.Console {
		fmt.Fprintf(p.Out, "  %s\n", cli.Indented(e.Text, "  "))
	}
	p.Page(p.Err).Run(run)
	return p.Page(p.Out).Value(run)
}

func newAnswer(p *clientVerbs) *cobra.Command {
	var at cli.Daemon
	var text, failure string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "answer RUN CALL",
		Short: "Answer an open call of a paused run, as its harness",
		Long: `Answer settles a call that waits for the harness, with a value (JSON) or with an
error, which the program gets as a BridgeError. Only the first answer is
accepted.

Exit codes: 0 accepted, 1 refused, 2 usage or no daemon.`,
		Example: `  ringd answer RUN c2 --value '"go on"'
  ringd answer RUN c2 --error "the user said no"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a := wire.Answer{Call: args[1]}
			switch {
			case cmd.Flags().Changed("value") == cmd.Flags().Changed("error"):
				return cli.Usage("answer needs --value JSON or --error TEXT")
			case cmd.Flags().Changed("error"):
				a.Error = &wire.AnswerError{Message: failure}
			default:
				tagged, err := value.FromJSON([]byte(text))
				if err != nil {
					return cli.Usage("--value: %w", err)
				}
				a.Value = json.RawMessage(tagged)
			}
			c, err := p.Connect(at)
			if err != nil {
				return err
			}
			defer c.Close()
			id, err := cli.RunThere(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			run, err := c.Answer(cmd.Context(), id, a)
			if err != nil {
				return cli.RefusedBy(err)
			}
			return p.stateOf(run, asJSON)
		},
	}
	at.Bind(cmd)
	p.completeRuns(cmd, &at, string(executors.StatePaused), wire.StateRunning)
	cmd.Flags().StringVar(&text, "value", "", "the result, as JSON")
	cmd.Flags().StringVar(&failure, "error", "", "the error's message")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the outcome so far as JSON")
	return cmd
}

func newCancel(p *clientVerbs) *cobra.Command {
	var w endpoint
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "End a run, live or paused",
		Example: "  ringd cancel RUN",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDesk(cmd.Context(), w, func(d Desk) error {
				id, err := d.RunID(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				run, err := d.Cancel(cmd.Context(), id)
				if err != nil {
					return w.noRun(d.Refused(err), err, args[0])
				}
				return p.stateOf(run, asJSON)
			})
		},
	}
	w.bind(cmd)
	p.completeRuns(cmd, &w.daemon, string(executors.StatePaused), wire.StateRunning)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as JSON")
	return cmd
}
