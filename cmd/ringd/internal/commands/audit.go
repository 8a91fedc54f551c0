// The commands that read the audit log of a state folder: verify, tail and query. They write nothing and need
// no daemon.

package commands

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/spelling"
	"github.com/ringd/ringd/schema/wire"
)

// tailEvery is how often `audit tail -f` reads new records.
const tailEvery = 200 * time.Millisecond

// AuditConfig configures the commands.
type AuditConfig struct {
	*cli.Program
	Now func() time.Time
}

type auditVerbs struct{ AuditConfig }

// NewAudit returns the command audit with its subcommands, and the given ones.
func NewAudit(cfg AuditConfig, more ...*cobra.Command) *cobra.Command {
	p := &auditVerbs{cfg}
	var state string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Verify, read and archive the audit log",
		Long: `Audit reads the log of a state folder. Verify finds the first invalid record,
tail prints the last records, and query prints the records that match. Archive
moves the oldest records to another folder.`,
		Example: `  ringd audit verify --state /var/lib/ringd
  ringd audit tail -f
  ringd audit query --run RUN --verdict deny --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return cli.Failed(cli.Misused, nil)
		},
	}
	cmd.PersistentFlags().StringVar(&state, "state", "", "state folder (default: ~/.local/state/ringd)")
	cmd.AddCommand(newAuditVerify(p, &state), newAuditTail(p, &state), newAuditQuery(p, &state))
	cmd.AddCommand(more...)
	return cmd
}

func newAuditVerify(p *auditVerbs, state *string) *cobra.Command {
	var asJSON bool
	var key string
	var archive []string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the whole log: chain, signatures, end",
		Long: `Verify reads the log from its first record and names the first invalid one. It
tells tampering apart from a torn tail, which a crash leaves and the next start
cuts off. It checks the log against the host's key and, if no daemon runs,
against the newest record that the store knows.

If the beginning of the log was archived, verification starts at the head that
the host signed. With --archive it also reads the archived segments, from record
1.

Exit codes: 0 valid, 1 not valid, 2 the log cannot be read.`,
		Example: `  ringd audit verify --state /var/lib/ringd --key host.key.pub
  ringd audit verify --archive /srv/archive/ringd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.auditVerify(cmd.Context(), *state, key, archive, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&key, "key", "", "public key file (default: STATE/host.key.pub)")
	bindArchive(cmd, &archive)
	return cmd
}

func (p *auditVerbs) auditVerify(ctx context.Context, state, keyFile string, archive []string, asJSON bool) error {
	dir, err := p.auditDir(&state)
	if err != nil {
		return err
	}
	check := audit.Check{Archive: archive}
	if check.Key, err = publicKey(state, keyFile); err != nil {
		return err
	}
	note := ""
	if check.Least, note, err = p.storedHead(ctx, state); err != nil {
		return err
	}
	r, err := audit.Verify(ctx, dir, check)
	broken := errors.Is(err, audit.ErrTampered) || errors.Is(err, audit.ErrKey) || errors.Is(err, audit.ErrFormat)
	if err != nil && !broken {
		return cli.Usage("%w", err)
	}
	if asJSON {
		if werr := cli.JSON(p.Out, r); werr != nil {
			return werr
		}
	} else {
		p.Page(p.Out).Verified(r, note)
	}
	if broken {
		return cli.Failed(cli.Refused, err)
	}
	return nil
}

func bindArchive(cmd *cobra.Command, into *[]string) {
	cmd.Flags().StringSliceVar(into, "archive", nil, "folders of archived segments to read as well")
}

// auditDir returns the folder of the log of a state folder. It makes state absolute.
func (p *auditVerbs) auditDir(state *string) (string, error) {
	*state = cmp.Or(*state, p.Env.State)
	if *state == "" {
		return "", cli.Usage("no state folder: give one with --state")
	}
	abs, err := filepath.Abs(*state)
	if err != nil {
		return "", cli.Usage("--state: %w", err)
	}
	*state = abs
	dir := cli.Layout(abs).Audit
	if _, err := os.Stat(dir); err != nil {
		return "", cli.Usage("no audit log: %w", cli.Bare(err))
	}
	return dir, nil
}

func publicKey(state, file string) (ed25519.PublicKey, error) {
	given := file != ""
	if !given {
		file = cli.Layout(state).Key + ".pub"
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil, nil
	}
	if err != nil {
		return nil, cli.Usage("read key: %w", cli.Bare(err))
	}
	key, err := audit.PublicKey(text)
	if err != nil {
		return nil, cli.Usage("read key %s: %w", file, err)
	}
	return key, nil
}

// storedHead returns the newest record that the store knows of. If the log lacks it, the log was cut, which
// the log alone cannot show. A daemon may be running.
func (p *auditVerbs) storedHead(ctx context.Context, state string) (audit.Head, string, error) {
	head, err := store.ReadAuditHead(ctx, cli.Layout(state).Store)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return audit.Head{}, "not compared with a store: there is none", nil
	case err != nil:
		return audit.Head{}, "", cli.Usage("read store: %w", err)
	}
	out := audit.Head{Seq: head.Seq}
	if head.Hash != "" {
		if err := out.Hash.UnmarshalText([]byte(head.Hash)); err != nil {
			return audit.Head{}, "", cli.Usage("read store: %w", err)
		}
	}
	return out, "", nil
}

// auditFlags holds the filters of tail and query.
type auditFlags struct {
	run, agent, actor, call, capability, verdict string
	kinds                                        []string
	since, until                                 string
	after                                        int64
	asJSON, long                                 bool
	archive                                      []string
}

func (f *auditFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.run, "run", "", "records of this run, by id or the beginning of it")
	cmd.Flags().StringVar(&f.agent, "agent", "", "records of this agent")
	cmd.Flags().StringVar(&f.actor, "actor", "", "records of this actor, such as uid:1000")
	cmd.Flags().StringVar(&f.call, "call", "", "records of this call")
	cmd.Flags().StringVar(&f.capability, "capability", "", "such as bridge:spawnSubagent")
	cmd.Flags().StringVar(&f.verdict, "verdict", "", "allow, ask or deny")
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil, "kinds of record, such as call_decided")
	cmd.Flags().StringVar(&f.since, "since", "", "a time (RFC 3339) or an age such as 2h or 30d")
	cmd.Flags().StringVar(&f.until, "until", "", "a time (RFC 3339) or an age such as 1h or 7d")
	cmd.Flags().Int64Var(&f.after, "after", 0, "records after this sequence number")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().BoolVar(&f.long, "long", false, "print whole records at a terminal too")
	bindArchive(cmd, &f.archive)
	cli.OneOf(cmd, "verdict", profiles.Allow.String(), profiles.Ask.String(), profiles.Deny.String())
	cli.OneOf(cmd, "kind", auditKinds()...)
}

// auditKinds returns the values of --kind.
func auditKinds() []string {
	var out []string
	for _, k := range audit.Kinds() {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}

func (f *auditFlags) filter(now time.Time) (audit.Filter, error) {
	out := audit.Filter{Agent: f.agent, Actor: f.actor, Call: f.call, Capability: f.capability, After: f.after}
	if f.verdict != "" {
		var v profiles.Verdict
		if err := v.UnmarshalText([]byte(f.verdict)); err != nil {
			return out, cli.Usage("--verdict: %w", err)
		}
		out.Verdict = &v
	}
	for _, k := range f.kinds {
		if !audit.Kind(k).Known() {
			return out, unknownKind(k)
		}
		out.Kinds = append(out.Kinds, audit.Kind(k))
	}
	var err error
	if out.Since, err = parseMoment("--since", f.since, now); err != nil {
		return out, err
	}
	out.Until, err = parseMoment("--until", f.until, now)
	return out, err
}

// runOf returns the whole id of the run of the log that begins with given, or "" if given is empty.
func runOf(ctx context.Context, dir string, archive []string, given string) (string, error) {
	if given == "" {
		return "", nil
	}
	return cli.RunKept(given, func(prefix string, limit int) (out wire.RunList, err error) {
		seen := map[string]bool{}
		for e, err := range records(ctx, dir, archive, audit.Filter{RunPrefix: prefix}) {
			if err != nil {
				return out, fmt.Errorf("read log: %w", err)
			}
			r := e.Record
			if seen[r.Run] {
				continue
			}
			seen[r.Run] = true
			out.Runs = append(out.Runs, wire.RunSummary{ID: r.Run, State: string(r.Kind), Agent: r.Agent})
			if len(out.Runs) == limit {
				break
			}
		}
		return out, nil
	})
}

// unknownKind returns the error for a wrong value of --kind.
func unknownKind(word string) error {
	names := auditKinds()
	if i := spelling.Of(word, names, spelling.Effort{Names: 256, Letters: 4096}); i >= 0 {
		return cli.Usage("--kind %q: there is no such kind of record; did you mean %s?", word, names[i])
	}
	return cli.Usage("--kind %q: there is no such kind of record\n    hint: kinds are for example %s, %s and %s", word,
		audit.RunAsked, audit.CallDecided, audit.EgressDecided)
}

// parseMoment parses a time (RFC 3339) or an age such as 2h or 30d. An empty text is the zero time. The error
// names the flag.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := config.Span(text); err == nil {
		return now.Add(-age), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, cli.Usage("%s %q: want a time such as 2026-11-20T08:00:00Z or an age such as 2h or 30d",
			flag, text)
	}
	return t, nil
}

// lineHelp describes the line of a record.
const lineHelp = `At a terminal a record is one line of 80 columns: month, day and time (UTC),
run, verdict, subject, and the code of the decision. Longer values are cut and
marked. --long prints whole records; a pipe or a file always gets them. Programs
should read --json.`

func newAuditQuery(p *auditVerbs, state *string) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:     "query",
		Short:   "Print the records that match",
		Long:    "Query prints the records that match all flags.\n\n" + lineHelp,
		Example: "  ringd audit query --kind call_decided --verdict deny --since 2h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter(p.Now())
			if err != nil {
				return err
			}
			dir, err := p.auditDir(state)
			if err != nil {
				return err
			}
			if err := p.printArchiveStart(dir, f.archive, filter); err != nil {
				return err
			}
			if filter.Run, err = runOf(cmd.Context(), dir, f.archive, f.run); err != nil {
				return err
			}
			for e, err := range records(cmd.Context(), dir, f.archive, filter) {
				if err != nil {
					return cli.Usage("read log: %w", err)
				}
				if err := p.printRecord(e, &f); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.bind(cmd)
	return cmd
}

// records returns the selected records, including those of the archive folders.
func records(ctx context.Context, dir string, archive []string, f audit.Filter) iter.Seq2[audit.Entry, error] {
	if len(archive) > 0 {
		return audit.Whole(ctx, dir, archive, f)
	}
	return audit.Query(ctx, dir, f)
}

// printArchiveStart prints where the log begins, if selected records may be in an archive that was not named.
func (p *auditVerbs) printArchiveStart(dir string, archive []string, f audit.Filter) error {
	head, err := audit.ReadArchived(dir, nil)
	if err != nil {
		return cli.Usage("read log: %w", err)
	}
	if len(archive) == 0 && head.Seq > f.After && (f.Since.IsZero() || f.Since.Before(head.Until())) {
		p.Page(p.Err).Begins(head)
	}
	return nil
}

func newAuditTail(p *auditVerbs, state *string) *cobra.Command {
	var f auditFlags
	var follow bool
	var last int
	cmd := &cobra.Command{
		Use:     "tail",
		Short:   "Print the last records, and follow new ones with -f",
		Long:    "Tail prints the last records that match all flags.\n\n" + lineHelp,
		Example: "  ringd audit tail -n 20 -f",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 {
				return cli.Usage("-n %d: a number of records", last)
			}
			filter, err := f.filter(p.Now())
			if err != nil {
				return err
			}
			dir, err := p.auditDir(state)
			if err != nil {
				return err
			}
			if filter.Run, err = runOf(cmd.Context(), dir, f.archive, f.run); err != nil {
				return err
			}
			return p.auditTail(cmd.Context(), dir, &f, filter, last, follow)
		},
	}
	f.bind(cmd)
	cmd.Flags().IntVarP(&last, "lines", "n", 10, "number of records")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new records until interrupted")
	return cmd
}

func (p *auditVerbs) auditTail(ctx context.Context, dir string, f *auditFlags, filter audit.Filter, last int,
	follow bool) error {
	all := filter
	var kept []audit.Entry
	for e, err := range records(ctx, dir, f.archive, filter) {
		if err != nil {
			return cli.Usage("read log: %w", err)
		}
		filter.After = e.Seq
		if kept = append(kept, e); len(kept) > max(2*last, 1024) {
			kept = slices.Delete(kept, 0, len(kept)-last)
		}
	}
	if len(kept) < last {
		if err := p.printArchiveStart(dir, f.archive, all); err != nil {
			return err
		}
	}
	for _, e := range kept[max(0, len(kept)-last):] {
		if err := p.printRecord(e, f); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	wake := time.NewTicker(tailEvery)
	defer wake.Stop()
	for e, err := range audit.Tail(ctx, dir, filter, wake.C) {
		if err != nil {
			return cli.Usage("read log: %w", err)
		}
		if err := p.printRecord(e, f); err != nil {
			return err
		}
	}
	return nil
}

// printRecord prints a record on a line. It is short at a terminal, and whole otherwise, because other
// programs read it there.
func (p *auditVerbs) printRecord(e audit.Entry, f *auditFlags) error {
	page := p.Page(p.Out)
	if page.Terminal && !f.long && !f.asJSON {
		return page.Brief(e)
	}
	return page.Record(e, f.asJSON)
}
