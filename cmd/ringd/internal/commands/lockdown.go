package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

func newLockdown(p *clientVerbs) *cobra.Command {
	var w endpoint
	var reason string
	var lift, asJSON bool
	order := func(context.Context, wire.LockdownOrder, bool) (bool, error) { return false, nil }
	cmd := &cobra.Command{
		Use:   "lockdown --reason TEXT",
		Short: "Close everything at once, including running programs",
		Long: `Lockdown ends every run, session and connection of the daemon. New runs,
connections, approvals and decisions are denied until the lockdown is lifted,
also after a restart. The caller needs the role operator. A lockdown does not
wait for the disk: if it cannot be recorded, it takes effect all the same, and
the answer says so. --lift ends the lockdown, and is refused if the end cannot
be recorded.

With --state the command closes the folder of a stopped daemon: the next daemon
starts in lockdown. Both commands may be repeated. Without --reason the command
shows the current state.

With --sign the command contacts no daemon. It writes an order, signed by keys
of the role lockdown, for the sync folders of any number of hosts: put the order
next to the push. Hosts with trust roots obey an order at once, and only once. A
later order needs a higher sequence.

Exit codes: 0 done, 1 refused, or closed and not on disk; 2 usage or no daemon.
Without --reason: 0 open, 1 closed.`,
		Example: `  ringd lockdown --reason "leaked token, INC-812"
  ringd lockdown
  ringd lockdown --lift --reason "token revoked, INC-812"
  ringd lockdown --state /var/lib/ringd --reason "host under forensics"
  ringd lockdown --sign --key soc.key --issuer group:soc@acme.example \
    --reason "leaked token, INC-812" -o /srv/sync/lockdown.dsse.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := wire.LockdownOrder{State: wire.LockdownBegin, Reason: reason}
			if lift {
				o.State = wire.LockdownLift
			}
			given := cmd.Flags().Changed("reason")
			if lift && !given || given && strings.TrimSpace(reason) == "" {
				return cli.Usage("lockdown needs --reason TEXT: refused callers and the audit log get it")
			}
			if len(reason) > lockdown.MaxReason {
				return cli.Usage("--reason is longer than %d bytes", lockdown.MaxReason)
			}
			if done, err := order(cmd.Context(), o, asJSON); done || err != nil {
				return err
			}
			return p.lockdown(cmd.Context(), w, o, given, asJSON)
		},
	}
	w.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for refused callers and the audit log")
	cmd.Flags().BoolVar(&lift, "lift", false, "open again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	if p.Order != nil {
		order = p.Order(cmd)
	}
	return cmd
}

// lockdown sends the order, if there is one, and prints the state.
func (p *clientVerbs) lockdown(ctx context.Context, w endpoint, o wire.LockdownOrder, given bool, asJSON bool) (
	err error) {
	d, err := p.openDesk(ctx, w)
	if err != nil {
		return p.closeFile(w, o, given, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var now wire.Lockdown
	if given {
		now, err = d.SetLockdown(ctx, o)
	} else {
		now, err = d.Lockdown(ctx)
	}
	if err != nil {
		return d.Refused(err)
	}
	return p.showLockdown(now, given, o.State == wire.LockdownLift, asJSON)
}

func (p *clientVerbs) showLockdown(now wire.Lockdown, given, lift, asJSON bool) error {
	locked := now.State != wire.LockdownOpen
	var end error
	if locked && (!given || lift || now.Unrecorded != "") {
		end = cli.Failed(cli.Refused, nil)
	}
	if asJSON {
		return errors.Join(cli.JSON(p.Out, now), end)
	}
	p.Page(p.Out).Lockdown(now)
	return end
}

// closeFile starts a lockdown in a folder of which only the lockdown file can be written. cause is why the
// folder cannot be opened.
func (p *clientVerbs) closeFile(w endpoint, o wire.LockdownOrder, given bool, cause error) error {
	var e *cli.Exit
	inUse := errors.Is(cause, store.ErrInUse)
	if w.state == "" || !given || o.State != wire.LockdownBegin || inUse || !errors.As(cause, &e) ||
		e.Code != cli.Unavailable {
		return cause
	}
	dir, err := filepath.Abs(w.state)
	if err != nil {
		return cli.Usage("--state: %w", err)
	}
	by := fmt.Sprintf("owner:uid:%d", os.Getuid())
	if err := lockdown.Keep(cli.Layout(dir).Lockdown, by, o.Reason, p.Now()); err != nil {
		return errors.Join(cause, cli.Failed(cli.Refused, fmt.Errorf("close %s: %w", dir, err)))
	}
	fmt.Fprintf(p.Out, "closed: the next daemon of this folder starts in lockdown\n")
	return cli.Failed(cli.Refused, fmt.Errorf("it is not in the audit log: %w", cause))
}
