package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/wire"
)

func newClock(p *clientVerbs) *cobra.Command {
	var w endpoint
	var reason string
	var accept, asJSON bool
	cmd := &cobra.Command{
		Use:   "clock --accept-time --reason TEXT",
		Short: "Accept the host's time after its clock ran ahead",
		Long: `A host with trust roots remembers the latest time that it has seen, so that
setting the clock back cannot make an expired push valid. If the clock was ahead
and is right again, pushes are refused (push_clock, clock_back) until the
remembered time is reached. Clock --accept-time makes the host remember the
current time instead. The caller needs the role operator. The change is recorded
as clock_accepted before it takes effect.

Check the clock first: if it is behind, an expired push becomes valid again.

With --state the command changes the state folder of a stopped daemon.

Exit codes: 0 accepted, or the clock is not behind; 1 refused; 2 usage or no
daemon.`,
		Example: `  ringd clock --accept-time --reason "NTP was wrong until 10:05, INC-812"
  ringd clock --accept-time --state /var/lib/ringd \
    --reason "the host booted in 2031"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !accept || strings.TrimSpace(reason) == "" {
				return cli.Usage("clock needs --accept-time and --reason TEXT, for the audit log")
			}
			return p.acceptTime(cmd.Context(), w, wire.ClockOrder{Reason: reason}, asJSON)
		},
	}
	w.bind(cmd)
	cmd.Flags().BoolVar(&accept, "accept-time", false, "the clock was ahead, and is right now")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *clientVerbs) acceptTime(ctx context.Context, w endpoint, o wire.ClockOrder, asJSON bool) (err error) {
	d, err := p.openDesk(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	now, err := d.AcceptTime(ctx, o)
	switch {
	case err != nil:
		return d.Refused(err)
	case asJSON:
		return cli.JSON(p.Out, now)
	case now.Accepted:
		fmt.Fprintf(p.Out, "accepted: %s, where %s had been seen\n", now.Now.Format(time.RFC3339),
			now.Before.Format(time.RFC3339))
	default:
		fmt.Fprintf(p.Out, "the clock is not behind: %s\n", now.Now.Format(time.RFC3339))
	}
	return nil
}
