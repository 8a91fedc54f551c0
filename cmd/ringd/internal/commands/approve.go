package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// forApprover is the Pending.For of a call that waits for a person.
const forApprover = "approver"

// endpoint is where a command finds its runs: a daemon, or the state folder of a stopped one.
type endpoint struct {
	daemon cli.Daemon
	state  string
	as     string
}

func (w *endpoint) bind(cmd *cobra.Command) {
	w.daemon.Bind(cmd)
	cmd.Flags().StringVar(&w.state, "state", "", "work on the state folder of a stopped daemon")
}

func (w *endpoint) bindAs(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.as, "as", "", "owner of approval.from that you answer for")
}

// check refuses flags for both a daemon and a folder.
func (w endpoint) check() error {
	if w.state != "" && w.daemon.Named() {
		return cli.Usage("%s and --state: give only one of them", w.daemon.Flag())
	}
	return w.daemon.Check()
}

// hint returns the flags that select w, for a command that is shown to the user.
func (w endpoint) hint() string {
	if w.state != "" {
		return " --state " + cli.Word(w.state)
	}
	return w.daemon.Hint()
}

// noRun rewords an exit for a run that the daemon or folder does not have, or does not show to this caller.
func (w endpoint) noRun(exit, err error, run string) error {
	return w.notFound(exit, err, fmt.Sprintf("run %q", run), "runs")
}

// notFound rewords an exit for something that was not found, and names the command that lists what exists. Any
// other exit is returned unchanged.
func (w endpoint) notFound(exit, err error, what, list string) error {
	var e *cli.Exit
	missing := errors.Is(err, policy.ErrNotFound) || errors.Is(err, &client.Error{Code: wire.CodeNotFound})
	if !missing || !errors.As(exit, &e) {
		return exit
	}
	where := "the daemon shows you"
	if w.state != "" {
		where = "the folder " + cli.Visible(w.state) + " has"
	}
	return cli.Failed(e.Code, fmt.Errorf("not found: %s no %s\n    hint: ringd %s%s lists them", where, what, list,
		cli.Clean(w.hint())))
}

// openDesk returns the desk of w.
func (p *clientVerbs) openDesk(ctx context.Context, w endpoint) (Desk, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if w.state == "" {
		c, err := p.Connect(w.daemon)
		if err != nil {
			return nil, err
		}
		return daemonDesk{c}, nil
	}
	dir, err := p.Program.State(w.state)
	if err != nil {
		return nil, err
	}
	return p.Kept(ctx, dir, w.as)
}

// withDesk opens the desk of w, and closes it after do.
func (p *clientVerbs) withDesk(ctx context.Context, w endpoint, do func(Desk) error) (err error) {
	d, err := p.openDesk(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d)
}

func newApprovals(p *clientVerbs) *cobra.Command {
	var w endpoint
	var how listFlags
	var long bool
	var limit int
	var after string
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List the calls that wait for an approval",
		Long: `Approvals lists the calls that wait for an approver: how long each has waited,
how long it can still wait, and what it would do. --long shows each call in
full: the arguments and their digest, who may decide, and until when. The newest
call of each agent and actor comes first, then the next of each, so that no
agent can hide the calls of others. Arguments above 4 KiB are shown by ringd
approve only.

Exit codes: 0 shown, 2 no daemon.`,
		Example: "  ringd approvals\n  ringd approvals --long\n  ringd approvals --state ./state --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withDesk(cmd.Context(), w, func(d Desk) error {
				if limit < 1 || limit > waiting.MaxPage {
					return cli.Usage("--limit %d: want 1 to %d", limit, waiting.MaxPage)
				}
				list, err := d.Approvals(cmd.Context(), limit, after)
				if err != nil {
					return d.Refused(err)
				}
				switch {
				case how.asJSON:
					return cli.JSON(p.Out, list)
				case len(list.Approvals) == 0:
					fmt.Fprintln(p.Err, "no calls wait for an approval")
				case long:
					p.showCalls(list, w)
				default:
					p.listCalls(list, w, how)
				}
				if list.More {
					fmt.Fprintf(p.Err, "more calls wait: ringd approvals --limit %d --after %s%s\n", limit,
						cli.Clean(list.Next), cli.Clean(w.hint()))
				}
				return nil
			})
		},
	}
	w.bind(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of calls, up to 500")
	cmd.Flags().StringVar(&after, "after", "", "the next page, as printed by the page before")
	cmd.Flags().BoolVar(&long, "long", false, "show each call in full, with arguments and digest")
	cmd.Flags().BoolVar(&how.wide, "wide", false, "print whole ids and names, in long lines")
	cmd.Flags().BoolVar(&how.asJSON, "json", false, "print JSON")
	return cmd
}

// showCalls shows each call as an approver sees it.
func (p *clientVerbs) showCalls(list wire.Approvals, w endpoint) {
	for _, a := range list.Approvals {
		p.Page(p.Out).Question(cli.Question{Run: a.Run, Agent: a.Agent, Pending: a.Pending, Rule: a.Pending.Rule,
			Now: p.Now(), Place: w.hint()})
		fmt.Fprintf(p.Out, "  %-8s ringd approve %s %s%s\n\n", "allow", cli.ShortID(a.Run), cli.Clean(a.Pending.ID),
			cli.Clean(w.hint()))
	}
}

// listCalls shows each call in one line, and how to decide it.
func (p *clientVerbs) listCalls(list wire.Approvals, w endpoint, how listFlags) {
	var rows []cli.Row
	for _, a := range list.Approvals {
		left := "-"
		if e := a.Pending.Expires; e != nil {
			left = cli.Age(e.Sub(p.Now()))
		}
		rows = append(rows, cli.Row{
			Cells: []string{how.id(a.Run), a.Pending.ID, cli.Age(p.Now().Sub(a.Created)), left, a.Agent,
				cli.Does(a.Pending)}})
	}
	p.Page(p.Out).Table([]string{"RUN", "CALL", "AGE", "LEFT", "AGENT", "DOES"}, rows, how.wide)
	if len(rows) > 0 {
		at := cli.Clean(w.hint())
		fmt.Fprintf(p.Out, "\nshow them whole: ringd approvals --long%s\nallow one:       ringd approve RUN CALL%s\n",
			at, at)
	}
}

// approvalFlags holds the flags that approve and deny share.
type approvalFlags struct {
	endpoint
	verb, digest, reason string
	asJSON, yes          bool
}

func newApprove(p *clientVerbs) *cobra.Command {
	v := approvalFlags{verb: "allow"}
	cmd := &cobra.Command{
		Use:   "approve RUN [CALL]",
		Short: "Approve a waiting call, once",
		Long: `Approve shows a call that waits for an approver, and allows it. The approval is
valid for exactly these arguments. With --digest the approval is refused if the
arguments are not those that you have seen. At a terminal approve asks first,
unless --digest or --yes is given. If not all of the arguments are shown and
there is no terminal, --digest or --yes is required. CALL may be left out if
only one call waits.

The run continues when all of its calls are answered. With --state, continue it
with ` + "`ringd resume RUN --state DIR -p POLICY`" + `. --state works on a
folder without a daemon, where --as may name any owner: only the permissions of
the files protect the folder.

Exit codes: 0 recorded, 1 refused, 2 usage or no daemon.`,
		Example: `  ringd approve RUN
  ringd approve RUN c2 --as group:leads@acme.example --digest sha256:…
  ringd approve RUN --state ./state`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return p.decide(cmd.Context(), v, args) },
	}
	v.bind(cmd)
	v.bindAs(cmd)
	cmd.Flags().StringVar(&v.digest, "digest", "", "digest of the arguments that you have seen")
	cmd.Flags().StringVar(&v.reason, "reason", "", "reason, for the audit log")
	cmd.Flags().BoolVar(&v.yes, "yes", false, "allow it without asking")
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "print the run as JSON")
	p.complete(cmd, &v.endpoint)
	return cmd
}

func newDeny(p *clientVerbs) *cobra.Command {
	v := approvalFlags{verb: "deny"}
	cmd := &cobra.Command{
		Use:   "deny RUN [CALL] --reason TEXT",
		Short: "Deny a waiting call, for good",
		Long: `Deny refuses a call that waits for an approver. The program gets an
ApprovalDenied with the reason, and may continue without the call.

Exit codes: 0 recorded, 1 refused, 2 usage or no daemon.`,
		Example: `  ringd deny RUN --reason "not to this address"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(v.reason) == "" {
				return cli.Usage("deny needs --reason TEXT: the program reads the reason")
			}
			return p.decide(cmd.Context(), v, args)
		},
	}
	v.bind(cmd)
	v.bindAs(cmd)
	cmd.Flags().StringVar(&v.digest, "digest", "", "digest of the arguments that you have seen")
	cmd.Flags().StringVar(&v.reason, "reason", "", "reason; the program reads it (required)")
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "print the run as JSON")
	p.complete(cmd, &v.endpoint)
	return cmd
}

// decide shows the call and sends the verdict.
func (p *clientVerbs) decide(ctx context.Context, v approvalFlags, args []string) error {
	return p.withDesk(ctx, v.endpoint, func(d Desk) error {
		id, err := d.RunID(ctx, args[0])
		if err != nil {
			return err
		}
		run, err := d.GetRun(ctx, id)
		if err != nil {
			return v.noRun(d.Refused(err), err, args[0])
		}
		call, err := chooseCall(run, args[1:])
		if err != nil {
			return err
		}
		whole := true
		if !v.asJSON {
			whole = p.Page(p.Out).Question(cli.Question{Run: run.ID, Agent: run.Agent, Pending: call, Rule: call.Rule,
				Now: p.Now(), Place: v.hint()})
		}
		if err := p.confirm(ctx, v, call, whole); err != nil {
			return err
		}
		digest := call.Digest
		if v.digest != "" {
			digest = v.digest
		}
		run, err = d.Approve(ctx, run.ID, call.ID, wire.ApprovalAnswer{
			Verdict: v.verb, Reason: v.reason, Digest: digest, As: v.as})
		if err != nil {
			return v.remedy(d.Refused(err), err, call)
		}
		if v.asJSON {
			return cli.JSON(p.Out, run)
		}
		said := "allowed"
		if v.verb == "deny" {
			said = "denied"
		}
		state := run.State
		if v.state != "" && len(run.Pending) == 0 && state == wire.StateRunning {
			state = "answered" // nothing runs in a stopped daemon's folder
		}
		fmt.Fprintf(p.Out, "%s; run %s: %s\n", said, cli.Clean(run.ID), cli.Clean(state))
		p.printNext(run, v.hint(), state)
		return nil
	})
}

// confirm asks the person who allows a call to confirm it. A caller that gives the digest has seen the call
// before.
func (p *clientVerbs) confirm(ctx context.Context, v approvalFlags, c wire.Pending, whole bool) error {
	switch {
	case v.verb != "allow" || v.yes || v.digest != "" || v.asJSON:
		return nil
	case !cli.Terminal(p.In) || !cli.Terminal(p.Out):
		if whole {
			return nil
		}
		return cli.Usage("not all of the arguments are shown\n    hint: read them with ringd runs --json, then give "+
			"--digest %s or --yes", c.Digest)
	}
	tty, err := cli.Open(p.Page(p.Out).Colour)
	if err != nil {
		return cli.Failed(cli.Refused, err)
	}
	defer func() { _ = tty.Close() }() // the error of a close cannot change the verdict
	question := "Allow it?"
	if !whole {
		question = "Not everything is shown above. Allow it?"
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	yes, err := tty.Confirm(ctx, question)
	if err == nil && !yes {
		err = errors.New("not approved: the call still waits")
	}
	if err != nil {
		return cli.Failed(cli.Refused, err)
	}
	return nil
}

// remedy adds who may approve to the exit of a verdict that did not count.
func (v approvalFlags) remedy(exit, err error, c wire.Pending) error {
	var e *cli.Exit
	if !errors.As(exit, &e) {
		return exit
	}
	if errors.Is(err, &client.Error{Code: wire.CodeForbidden}) {
		return cli.Failed(e.Code, fmt.Errorf("%w\n    hint: %s it as a user of roles.approver (sudo -u USER ringd "+
			"…), or with\n"+
			"          the token of an approver (--url, --token-file); docs/HOSTS.md has the\n"+
			"          commands under \"Approvals on one machine\"", e.Err, v.verb))
	}
	other := errors.Is(err, waiting.ErrNotApprover) || errors.Is(err, &client.Error{Code: wire.CodeNotAnApprover})
	if !other || len(c.From) == 0 {
		return exit
	}
	owners := make([]string, len(c.From))
	for i, owner := range c.From {
		owners[i] = cli.Visible(owner)
	}
	did, fix := "", "; pass --as "+owners[0]
	switch {
	case v.as != "":
		did = ", not as " + cli.Visible(v.as)
	case v.state == "":
		fix = ", which you are not; add yourself to approvers in the daemon's configuration"
	}
	return cli.Failed(e.Code, fmt.Errorf("%w\n    hint: this call needs approval as %s%s%s", e.Err,
		strings.Join(owners, " or "), did, fix))
}

// printNext prints what a run still waits for, and how to resume it.
func (p *clientVerbs) printNext(run wire.Run, place, state string) {
	for _, c := range run.Pending {
		fmt.Fprintf(p.Out, "call %s of %s waits for %s\n", cli.Clean(c.ID), cli.Visible(c.Bridge), waitsFor(c))
	}
	if state == "answered" {
		policy, with := "POLICY", "the policy and every --bridge" // an older ringd did not store the path
		if run.PolicyPath != "" {
			policy, with = cli.Clean(cli.Word(run.PolicyPath)), "every --bridge"
		}
		fmt.Fprintf(p.Out, "resume it with: ringd resume %s%s -p %s\n    and with %s that ringd run was given\n",
			cli.ShortID(run.ID), cli.Clean(place), policy, with)
	}
}

func waitsFor(c wire.Pending) string {
	if c.For == forApprover && c.Count > 1 {
		return fmt.Sprintf("an approver (%d of %d)", len(c.Approvals), c.Count)
	}
	if c.For == forApprover {
		return "an approver"
	}
	return "its harness"
}

// chooseCall returns the named call, or the only one that waits for an approver.
func chooseCall(run wire.Run, named []string) (wire.Pending, error) {
	var waiting []string
	var only wire.Pending
	for _, c := range run.Pending {
		if len(named) > 0 && c.ID == named[0] {
			return c, nil
		}
		if c.For == forApprover {
			waiting, only = append(waiting, c.ID), c
		}
	}
	switch {
	case len(named) > 0:
		return only, cli.Failed(cli.Refused, fmt.Errorf("run %s: no open call %s (state %s)", run.ID,
			cli.Visible(named[0]), run.State))
	case len(waiting) == 0:
		return only, cli.Failed(cli.Refused, fmt.Errorf("run %s: no call waits for an approver (state %s)", run.ID,
			run.State))
	case len(waiting) > 1:
		return only, cli.Usage("run %s: calls %s wait for an approver: name one of them", run.ID,
			strings.Join(waiting, ", "))
	default:
		return only, nil
	}
}

func newRevoke(p *clientVerbs) *cobra.Command {
	var w endpoint
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke RUN GRANT…",
		Short: "Revoke grants of one run, while it runs or waits",
		Long: `Revoke takes grants from a single run, for good: bridge:NAME, host:NAME,
exec:PATH or import:NAME. Open calls of the bridge end, and later calls get
CapabilityRevoked. Connections to the host are cut, and new ones are denied. The
program cannot be started any more. Subagents of the run lose the grants too;
other runs keep theirs. A module can be revoked only while the run is paused.

Exit codes: 0 revoked, 1 refused, 2 usage or no daemon.`,
		Example: "  ringd revoke RUN bridge:sendEmail host:api.example.com",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, g := range args[1:] {
				kind, name, ok := strings.Cut(g, ":")
				if !ok || name == "" || (kind != "bridge" && kind != "host" && kind != "import" && kind != "exec") {
					return cli.Usage("%q is not a grant: want bridge:NAME, host:NAME, exec:PATH or import:NAME", g)
				}
			}
			return p.withDesk(cmd.Context(), w, func(d Desk) error {
				id, err := d.RunID(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				run, err := d.Revoke(cmd.Context(), id, args[1:])
				if err != nil {
					return w.noRun(d.Refused(err), err, args[0])
				}
				return p.stateOf(run, asJSON)
			})
		},
	}
	w.bind(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as JSON")
	p.complete(cmd, &w)
	return cmd
}

func (p *clientVerbs) stateOf(run wire.Run, asJSON bool) error {
	if asJSON {
		return cli.JSON(p.Out, run)
	}
	fmt.Fprintf(p.Out, "run %s: %s\n", cli.Clean(run.ID), cli.Clean(run.State))
	return nil
}

func newSessions(p *clientVerbs) *cobra.Command {
	var w endpoint
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List or drop kept sessions",
		Long: `Sessions lists the state that runs with --session left for the next run of the
same agent and actor. AGE is the time since the last run. Drop removes one.`,
		Example: "  ringd sessions\n  ringd sessions drop notebook",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withDesk(cmd.Context(), w, func(d Desk) error {
				list, err := d.Sessions(cmd.Context())
				if err != nil {
					return d.Refused(err)
				}
				if asJSON {
					return cli.JSON(p.Out, list)
				}
				if len(list.Sessions) == 0 {
					fmt.Fprintln(p.Err, "no sessions")
				}
				var rows []cli.Row
				for _, s := range list.Sessions {
					rows = append(rows, cli.Row{Cells: []string{
						s.Name, cli.Age(p.Now().Sub(s.Updated)), strconv.FormatInt(s.Bytes, 10), s.Agent, s.Actor}})
				}
				p.Page(p.Out).Table([]string{"SESSION", "AGE", "BYTES", "AGENT", "ACTOR"}, rows, wide)
				return nil
			})
		},
	}
	w.bind(cmd)
	cmd.Flags().BoolVar(&wide, "wide", false, "print whole names, in long lines")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(newDrop(p))
	return cmd
}

func newDrop(p *clientVerbs) *cobra.Command {
	var w endpoint
	cmd := &cobra.Command{
		Use:     "drop NAME",
		Short:   "Drop a session",
		Example: "  ringd sessions drop notebook",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDesk(cmd.Context(), w, func(d Desk) error {
				if err := d.DropSession(cmd.Context(), args[0]); err != nil {
					return w.notFound(d.Refused(err), err, fmt.Sprintf("session %q", args[0]), "sessions")
				}
				return nil
			})
		},
	}
	w.bind(cmd)
	return cmd
}

// maxCompleted limits the suggestions of shell completion.
const maxCompleted = 50

// complete suggests the waiting runs, and then their calls.
func (p *clientVerbs) complete(cmd *cobra.Command, w *endpoint) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		d, err := p.openDesk(cmd.Context(), *w)
		if err != nil {
			return nil, none
		}
		defer func() { _ = d.Close() }() // what was read stays true
		list, err := d.Approvals(cmd.Context(), 0, "")
		if err != nil || len(args) > 1 {
			return nil, none
		}
		var out []string
		for _, a := range list.Approvals {
			word := a.Run
			if len(args) == 1 {
				if !strings.HasPrefix(a.Run, args[0]) {
					continue
				}
				word = a.Pending.ID
			}
			if word += "\t" + cli.Visible(a.Pending.Bridge); len(out) < maxCompleted {
				out = append(out, word)
			}
		}
		return out, none
	}
}

// completeRuns suggests the newest runs of the daemon in the given states. No states means all.
func (p *clientVerbs) completeRuns(cmd *cobra.Command, at *cli.Daemon, states ...string) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		c, err := p.Connect(*at)
		if err != nil || len(args) > 0 {
			return nil, none
		}
		defer c.Close()
		list, err := c.Runs(cmd.Context(), client.Filter{States: states, Limit: maxCompleted})
		if err != nil {
			return nil, none
		}
		var out []string
		for _, r := range list.Runs {
			out = append(out, r.ID+"\t"+r.State+" "+cli.Visible(r.Agent))
		}
		return out, none
	}
}
