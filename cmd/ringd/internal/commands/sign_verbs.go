package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

func (c SigningConfig) newKeygen() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "keygen -o FILE",
		Short: "Create a key that signs pushes",
		Long: `Keygen creates an Ed25519 key pair. The private key goes to FILE, which only its
owner can read, and the public key to FILE.pub. Existing files are never
overwritten. It prints the public key in one line, in the form for the trust
roots of a daemon.

Exit codes: 0 created, 2 a file exists already or cannot be written.`,
		Example: "  ringd keygen -o ana.key",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, err := trust.MakeKey(out, c.Random)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usage("%w: existing files are not overwritten; name another file", err)
			}
			if err != nil {
				return cli.Usage("%w", err)
			}
			fmt.Fprintf(c.Out, "%s\n", trust.KeyLine(key))
			fmt.Fprintf(c.Err, "private key %s, public key %s.pub, id %s\n", out, out, trust.KeyID(key))
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file of the private key (required)")
	_ = cmd.MarkFlagRequired("output") // the flag is defined above
	_ = cmd.MarkFlagFilename("output")
	return cmd
}

func (c SigningConfig) newSign() *cobra.Command {
	var t signFlags
	var policy string
	var add bool
	cmd := &cobra.Command{
		Use:   "sign --key FILE {-p PATH --issuer WHO | --add PUSH}",
		Short: "Sign a push of a policy, or add a signature",
		Long: `Sign compiles a policy and signs the result: push.dsse.json, a DSSE envelope.
The signed statement has the compiled set, its revision, the revision before it,
its sequence, its period of validity and its issuer. A policy that does not
compile is not signed. Sign prints what it signs and, compared with --previous
FILE, how many grants it widens and narrows. Guardrails get the set of that file
as input.previous, or null without --previous. Each host evaluates them again
with the set that it has in force.

With --add another person signs an existing envelope. The command prints the
statement first, and adds only the signature.

Exit codes: 0 signed, 1 findings, 2 usage, or a file that cannot be read.`,
		Example: `  ringd sign -p policy --key ana.key --issuer user:ana@acme.example
  ringd sign -p policy --key ana.key --issuer user:ana@acme.example \
    --previous /srv/sync/push.dsse.json --expires 14d -o push.dsse.json
  ringd sign --add --key bob.key push.dsse.json`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if add == (policy != "") || add != (len(args) == 1) {
				return cli.Usage("sign needs a policy, -p PATH, or --add and one PUSH")
			}
			if add {
				return refuseFlags(cmd, "sign --add", "it changes only the signatures in PUSH",
					"output", "previous", "sequence", "expires", "issuer", "audience", "reason")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if add {
				return c.add(cmd.Context(), args[0], t)
			}
			return c.sign(cmd.Context(), policy, t)
		},
	}
	t.bind(cmd)
	cmd.Flags().StringVarP(&policy, "policy", "p", "", "policy file or folder")
	cmd.Flags().BoolVar(&add, "add", false, "add a signature to PUSH; goes with --key and --json")
	delete(cmd.Flags().Lookup("issuer").Annotations, cobra.BashCompOneRequiredFlag) // not needed with --add
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json", "cue")
	return cmd
}

// refuseFlags refuses flags that a command would ignore.
func refuseFlags(cmd *cobra.Command, verb, why string, flags ...string) error {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return cli.Usage("%s cannot be combined with --%s: %s", verb, name, why)
		}
	}
	return nil
}

func (c SigningConfig) sign(ctx context.Context, policy string, t signFlags) error {
	if t.issuer == "" {
		return cli.Usage("sign needs --issuer: who issues the push")
	}
	s, keys, err := c.read(&t)
	if err != nil {
		return err
	}
	set, _, err := c.Compile(ctx, policy)
	if err != nil {
		return err
	}
	if t.before != nil { // otherwise it is unknown here what the hosts have in force
		if err := c.Guardrails(ctx, set, t.before.Policy); err != nil {
			return err
		}
	}
	e, err := trust.New(ctx, s, set, keys...)
	if err != nil {
		return cli.Usage("%w", err)
	}
	return c.write(e, t)
}

// write writes an envelope and prints what is signed.
func (c SigningConfig) write(e *trust.Envelope, t signFlags) error {
	raw, err := e.Encode()
	if err != nil {
		return err
	}
	p, _, err := trust.Peek(raw)
	if err != nil {
		return err
	}
	if err := replaceFile(t.out, raw); err != nil {
		return err
	}
	return c.printPush(show(p, e, t.before), t.json)
}

// add adds signatures to an envelope.
func (c SigningConfig) add(ctx context.Context, name string, t signFlags) error {
	raw, err := readKeyFile(name)
	if err != nil {
		return err
	}
	_, e, err := trust.Peek(raw)
	if err != nil {
		return cli.Usage("%s: %w", name, err)
	}
	keys, err := c.keys(t.keys)
	if err != nil {
		return err
	}
	if err := e.Sign(ctx, keys...); err != nil {
		return cli.Usage("%s: %w", name, err)
	}
	t.out = name
	return c.write(e, t)
}

func (c SigningConfig) newRollback() *cobra.Command {
	var t signFlags
	cmd := &cobra.Command{
		Use: "rollback PUSH --previous FILE --key FILE --issuer WHO --reason TEXT",

		DisableFlagsInUseLine: true,

		Short: "Sign a push that restores an earlier one",
		Long: `Rollback signs the set of an earlier PUSH again, as it was compiled then, on top
of the push in force. The new push has the next sequence and a reason, which
every host records as policy_rolled_back. A host accepts an earlier revision in
no other way. The guardrails of the earlier set are asked with the set of
--previous FILE.

Exit codes: 0 signed, 1 a guardrail refuses, 2 usage, or a file that cannot be
read.`,
		Example: `  ringd rollback push-7.dsse.json --previous push-8.dsse.json --key ana.key \
    --issuer user:ana@acme.example --reason "8 denies the warehouse"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := readKeyFile(args[0])
			if err != nil {
				return err
			}
			old, _, err := trust.Peek(raw)
			if err != nil {
				return cli.Usage("%s: %w", args[0], err)
			}
			s, keys, err := c.read(&t)
			if err != nil {
				return err
			}
			if s.Rollback = true; s.Previous == old.Revision {
				return cli.Usage("rollback: %s is the revision of --previous as well", cli.Short(old.Revision))
			}
			if t.before != nil {
				if err := c.Guardrails(cmd.Context(), old.Policy, t.before.Policy); err != nil {
					return err
				}
			}
			e, err := trust.New(cmd.Context(), s, old.Policy, keys...)
			if err != nil {
				return cli.Usage("%w", err)
			}
			return c.write(e, t)
		},
	}
	t.bind(cmd)
	for _, name := range []string{"previous", "reason"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

// rootsFrom reads the trust roots of a configuration file.
func (c SigningConfig) rootsFrom(name string) (*trust.Roots, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, cli.Usage("read trust roots: %w", cli.Bare(err))
	}
	defer in.Close()
	f, err := config.Read(name, in)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	roots, err := trustRoots(f.Trust)
	if err != nil {
		return nil, cli.Usage("%s: %w", name, err)
	}
	if roots == nil {
		return nil, cli.Usage("%s: it has no trust: section", name)
	}
	return roots, nil
}

// refusalExit turns a refusal into an exit.
func refusalExit(name string, err error) error {
	return cli.Failed(cli.Refused, fmt.Errorf("%s: %w", name, err))
}

// verified verifies a push with the roots of a file, at the current time.
func (c SigningConfig) verified(ctx context.Context, name, rootsFile string) (shownPush, error) {
	raw, err := readKeyFile(name)
	if err != nil {
		return shownPush{}, err
	}
	roots, err := c.rootsFrom(rootsFile)
	if err != nil {
		return shownPush{}, err
	}
	p, err := roots.Open(ctx, raw)
	if err == nil {
		err = trust.Timely(p, c.Now())
	}
	if err != nil {
		return shownPush{}, refusalExit(name, err)
	}
	_, e, err := trust.Peek(raw)
	if err != nil {
		return shownPush{}, refusalExit(name, err)
	}
	out := show(p, e, nil)
	for _, name := range roots.Names() {
		need, keys := roots.Threshold(name)
		out.Roles = append(out.Roles, roleCount{name, trust.Count(name, p.Signers), need, keys})
	}
	return out, nil
}

// bindRoots adds the flag of the file with the trust roots.
func bindRoots(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "config", "", "configuration with the trust roots, under trust:")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flag is defined above
}

func (c SigningConfig) newVerify() *cobra.Command {
	var roots string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify PUSH --config FILE",
		Short: "Verify the signatures and the content of a push",
		Long: `Verify checks a push as a daemon with this configuration does: the envelope, the
signatures and their thresholds, the set and its revision, the approvers of its
exceptions, and its times. It cannot check which push a host accepted last. It
prints the push, its signers and what each role needs.

Exit codes: 0 valid, 1 refused, with the first reason, 2 usage, or a file that
cannot be read.`,
		Example: "  ringd verify push.dsse.json --config /etc/ringd/ringd.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if roots == "" {
				return cli.Usage("verify needs trust roots: --config FILE")
			}
			out, err := c.verified(cmd.Context(), args[0], roots)
			if err != nil {
				return err
			}
			return c.printPush(out, asJSON)
		},
	}
	bindRoots(cmd, &roots)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c SigningConfig) newPush() *cobra.Command {
	var roots string
	var at cli.Daemon
	var wait time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "push PUSH DIR",
		Short: "Put a signed push into a sync folder",
		Long: `Push copies PUSH into the sync folder DIR as push.dsse.json, atomically. With
--config it first verifies PUSH with the trust roots there. With --socket or
--url it waits until the daemon has applied or refused it.

Exit codes: 0 copied and, with a daemon, in force; 1 refused, 2 usage, a file
that cannot be read, or a daemon that does not answer in time.`,
		Example: `  ringd push push.dsse.json /srv/sync --config /etc/ringd/ringd.yaml
  ringd push push.dsse.json /srv/sync --socket /run/ringd.sock`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := at.Check(); err != nil {
				return err
			}
			if roots != "" {
				if _, err := c.verified(cmd.Context(), args[0], roots); err != nil {
					return err
				}
			}
			digest, err := c.installPush(args[0], args[1])
			if err != nil {
				return err
			}
			if !at.Named() {
				fmt.Fprintf(c.Err, "%s is in %s; see ringd status of the daemon that syncs the folder\n", args[0],
					args[1])
				return nil
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), wait)
			defer cancel()
			return c.awaitDaemon(ctx, at, digest, asJSON)
		},
	}
	bindRoots(cmd, &roots)
	at.Bind(cmd)
	cli.Span(cmd, &wait, "wait", 60*time.Second, "how long to wait for the daemon")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the status of the daemon as JSON")
	return cmd
}

// installPush moves a push into a folder by rename. It returns the digest by which a daemon then knows the folder. A
// folder that holds other files and no push is refused, because it may be one of sources.
func (c SigningConfig) installPush(name, dir string) (string, error) {
	raw, err := readKeyFile(name)
	if err != nil {
		return "", err
	}
	if _, _, err := trust.Peek(raw); err != nil {
		return "", refusalExit(name, err)
	}
	limits := TrustLimits(&config.Trust{})
	switch _, err := syncer.Read(dir, limits); {
	case errors.Is(err, syncer.ErrAnother): // and no push yet: its hosts may not accept signed ones
		return "", cli.Failed(cli.Refused, fmt.Errorf("%s: %w: remove it first", dir, err))
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.Usage("%s: no such folder", dir)
	}
	if err := replaceFile(filepath.Join(dir, trust.FileName), raw); err != nil {
		return "", err
	}
	p, err := syncer.Read(dir, limits)
	if err != nil {
		return "", cli.Usage("read %s: %w", dir, err)
	}
	if p.Beside != "" {
		fmt.Fprintf(c.Err, "warning: %s\n", cli.Clean(p.Beside))
	}
	return p.Digest, nil
}

// awaitDaemon polls the daemon until it has handled the push with a digest.
func (c SigningConfig) awaitDaemon(ctx context.Context, at cli.Daemon, digest string, asJSON bool) error {
	daemon, err := c.Connect(at)
	if err != nil {
		return err
	}
	for {
		st, err := daemon.Status(ctx)
		if ctx.Err() != nil {
			return cli.Usage("push: the daemon has not read it in time; see ringd status")
		}
		if err != nil {
			return cli.RefusedBy(err)
		}
		if last := st.LastPush; last != nil && last.Digest == digest {
			return c.printResult(st, asJSON)
		}
		c.Sleep(ctx, 100*time.Millisecond)
	}
}

// printResult prints what a daemon did with a push.
func (c SigningConfig) printResult(st wire.Status, asJSON bool) error {
	last := st.LastPush
	if asJSON {
		if err := c.printJSON(last); err != nil {
			return err
		}
	}
	switch last.Result {
	case wire.PushApplied, wire.PushUnchanged:
		if !asJSON {
			fmt.Fprintf(c.Out, "%s: generation %d, %s\n", cli.Clean(last.Result), st.Generation, cli.Short(st.Revision))
		}
		return nil
	case wire.PushWaiting:
		return cli.Failed(cli.Refused, fmt.Errorf("the daemon has read it, and applies it when the lockdown ends: %s",
			cli.Clean(last.Message)))
	default:
		return cli.Failed(cli.Refused, fmt.Errorf("the daemon refused it: %s", cli.Clean(last.Message)))
	}
}
