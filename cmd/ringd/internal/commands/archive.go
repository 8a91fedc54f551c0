package commands

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/schema/wire"
)

// NewArchive returns the command archive, which is below audit.
func NewArchive(cfg ClientsConfig) *cobra.Command {
	p := &clientVerbs{cfg}
	var w endpoint
	var before, to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "archive --before N|TIME|AGE",
		Short: "Move the oldest records of the log to an archive",
		Long: `Archive moves segments of the log to a folder, compressed, oldest first. It
moves a segment if all of its records have a sequence below N, or are older than
a time or an age. The segment that is being written is closed for this. The rest
of the log begins with a head that the host signs (archived.json). Without that
head no daemon starts. A segment is removed only when its copy and the head are
on disk and the audit log has recorded this as audit_archived.

A daemon archives to the folder of its configuration (audit.archive). The caller
needs the role operator. With --state the command archives the log of a stopped
daemon, and --to names the folder of the archive, which must exist.

Exit codes: 0 archived, or nothing to archive; 1 refused, and nothing is lost;
2 usage or no daemon.`,
		Example: `  ringd audit archive --before 720h
  ringd audit archive --before 500000
  ringd audit archive --before 2026-11-01T00:00:00Z \
    --state /var/lib/ringd --to /srv/archive/ringd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (w.state == "") != (to == "") {
				return cli.Usage("--state and --to go together: a daemon archives to the folder of its configuration " +
					"(audit.archive)")
			}
			if _, err := p.archiveOrder(before); err != nil {
				return err
			}
			return p.archive(cmd.Context(), w, to, before, asJSON)
		},
	}
	w.bind(cmd)
	cmd.Flags().StringVar(&before, "before", "", "a sequence, a time (RFC 3339) or an age such as 720h")
	cmd.Flags().StringVar(&to, "to", "", "with --state: folder of the archive")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *clientVerbs) archiveOrder(before string) (o wire.ArchiveOrder, err error) {
	if before == "" {
		return o, cli.Usage("archive needs --before with a sequence, a time or an age")
	}
	if n, err := strconv.ParseInt(before, 10, 64); err == nil {
		if n < 1 {
			return o, cli.Usage("--before %d: sequences begin at 1", n)
		}
		return wire.ArchiveOrder{Seq: n}, nil
	}
	o.Time, err = parseMoment("--before", before, p.Now())
	return o, err
}

func (p *clientVerbs) archive(ctx context.Context, w endpoint, to, before string, asJSON bool) (err error) {
	if to != "" {
		if to, err = filepath.Abs(to); err != nil {
			return cli.Usage("--to: %w", err)
		}
	}
	d, err := p.openDesk(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	o, err := p.archiveOrder(before) // after open, so that --before covers the records of opening
	if err != nil {
		return err
	}
	done, err := d.Archive(ctx, to, o)
	switch {
	case err != nil:
		return d.Refused(err)
	case asJSON:
		return cli.JSON(p.Out, done)
	case len(done.Files) == 0:
		fmt.Fprintln(p.Out, "nothing to archive: every segment of the log has a record that must stay")
		return nil
	}
	for _, f := range done.Files {
		fmt.Fprintf(p.Out, "%s  records %d to %d, until %s, %d bytes\n", cli.Clean(f.Name), f.First, f.Last,
			f.Until.UTC().Format(time.RFC3339), f.Bytes)
	}
	fmt.Fprintf(p.Out, "archived in %s: the log begins with record %d\n", cli.Visible(done.To), done.Seq+1)
	return nil
}
