package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/schema/wire"
)

// ErrNotArchived: the archive cannot take the audit log, all of which stays where it is.
var ErrNotArchived = errors.New("the audit log is not archived")

// Archive is what the configuration says of the archive of the audit log.
type Archive struct {
	To string // folder; "": there is none
}

// Archive moves the beginning of the audit log to the archive that is configured, on the
// word of an operator; see ArchiveLog.
func (d *Daemon) Archive(ctx context.Context, actor Actor, o wire.ArchiveOrder) (wire.Archived, error) {
	if d.cfg.Archive.To == "" {
		return wire.Archived{}, &InvalidError{Text: "this host names no archive of the audit log: set audit.archive in its configuration"}
	}
	return ArchiveLog(ctx, d.cfg.Recorder, d.cfg.Archive.To, actor.Name, o)
}

// ArchiveLog is Daemon.Archive for whoever has the state folder alone. Errors:
// *InvalidError, ErrUnavailable, ErrNotArchived.
func ArchiveLog(ctx context.Context, log *records.Recorder, to, actor string, o wire.ArchiveOrder) (wire.Archived, error) {
	out := wire.Archived{To: to, Files: []wire.ArchivedFile{}}
	switch {
	case o.Seq < 0:
		return out, &InvalidError{Field: "seq", Text: "a sequence is not negative"}
	case o.Seq == 0 && o.Time.IsZero():
		return out, &InvalidError{Text: "seq or time is required: what is to be archived"}
	}
	done, err := log.Archive(ctx, audit.Order{To: to, Before: o.Seq, Until: o.Time, Actor: actor})
	if err != nil {
		return out, archiveError(ctx, err)
	}
	for _, f := range done {
		out.Files = append(out.Files, wire.ArchivedFile(f))
		out.Seq = f.Last
	}
	return out, nil
}

func archiveError(ctx context.Context, err error) error {
	if errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotArchived, err)
}
