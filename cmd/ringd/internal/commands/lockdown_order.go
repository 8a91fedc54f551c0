package commands

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

// orderFlags holds the flags of `lockdown --sign`.
type orderFlags struct {
	sign                 bool
	keys                 []string
	issuer, out, expires string
	audience             string
	sequence             int64
}

// Order adds the flags of a signed order to the command lockdown. It returns a function that makes one, and
// returns false without --sign.
func (c SigningConfig) Order(cmd *cobra.Command) func(ctx context.Context, o wire.LockdownOrder, asJSON bool) (
	bool, error) {
	var t orderFlags
	f := cmd.Flags()
	f.BoolVar(&t.sign, "sign", false, "write a signed order for sync folders instead")
	f.StringArrayVar(&t.keys, "key", nil, "private key file of the role; may be repeated")
	f.StringVar(&t.issuer, "issuer", "", "who issues the order: user:ana@acme.example")
	f.StringVar(&t.audience, "audience", "", "trust.audience of the hosts that the order is for")
	f.Int64Var(&t.sequence, "sequence", 0, "number of the order (default: seconds since 1970)")
	f.StringVar(&t.expires, "expires", "24h", "expiry: 24h, 7d, or a time")
	f.StringVarP(&t.out, "output", "o", trust.LockdownFile, "file to write")
	_ = cmd.MarkFlagFilename("key")
	_ = cmd.MarkFlagFilename("output", "json")
	for _, name := range []string{"issuer", "audience", "sequence", "expires"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	with := []string{"key", "issuer", "audience", "sequence", "expires", "output"}
	return func(ctx context.Context, o wire.LockdownOrder, asJSON bool) (bool, error) {
		if t.sign {
			if err := refuseFlags(cmd, "lockdown --sign", "it contacts no daemon, and only writes the order",
				"socket", "url", "token-file", "ca", "cert", "cert-key", "state"); err != nil {
				return true, err
			}
			return true, c.order(ctx, t, o, asJSON)
		}
		for _, name := range with {
			if cmd.Flags().Changed(name) {
				return true, cli.Usage("--%s goes with --sign", name)
			}
		}
		return false, nil
	}
}

// order signs an order and prints it.
func (c SigningConfig) order(ctx context.Context, t orderFlags, asked wire.LockdownOrder, asJSON bool) error {
	if t.issuer == "" || len(t.keys) == 0 || asked.Reason == "" {
		return cli.Usage("lockdown --sign needs --key FILE, --issuer WHO and --reason TEXT")
	}
	keys, err := c.keys(t.keys)
	if err != nil {
		return err
	}
	now := c.Now().UTC().Truncate(time.Second)
	until, err := parseExpiry(t.expires, now)
	if err != nil {
		return err
	}
	o := lockdown.Order{Type: lockdown.OrderType, State: asked.State, Sequence: cmp.Or(t.sequence, now.Unix()),
		Issued: now, Expires: until, Issuer: t.issuer, Audience: t.audience, Reason: asked.Reason}
	e, err := lockdown.SignOrder(ctx, o, keys...)
	if err != nil {
		return cli.Usage("%w", err)
	}
	raw, err := e.Encode()
	if err != nil {
		return err
	}
	if err := replaceFile(t.out, raw); err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(o)
	}
	fmt.Fprintf(c.Out, "%s %d by %s\n", o.State, o.Sequence, cli.Clean(o.Issuer))
	c.printLine("reason", cli.Clean(o.Reason))
	if o.Audience != "" {
		c.printLine("audience", o.Audience)
	}
	c.printLine("issued", o.Issued.Format(time.RFC3339))
	c.printLine("expires", o.Expires.Format(time.RFC3339))
	for _, s := range e.Signatures {
		c.printLine("signed", s.KeyID)
	}
	return nil
}

// TrustOrders returns the sink for signed orders of a sync folder, or nil without trust roots. cfg has all
// fields but the roots.
func TrustOrders(t *config.Trust, cfg lockdown.OrdersConfig) (*lockdown.OrderDesk, error) {
	roots, err := trustRoots(t)
	if roots == nil || err != nil {
		return nil, err
	}
	cfg.Roots = roots
	return lockdown.NewDesk(cfg)
}
