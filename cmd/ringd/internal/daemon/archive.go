package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/schema/wire"
)

// ErrNotArchived: the archive cannot take the audit log. All of the log stays where it is.
var ErrNotArchived = errors.New("the audit log is not archived")

// Archive configures the archive of the audit log.
type Archive struct {
	To string // archive folder; empty means no archive
	// Bytes and Age limit the part of the log that stays in the state folder. The older part is archived.
	// Zero means that only an operator starts archiving.
	Bytes int64
	Age   time.Duration
}

// archiveEvery is the interval between checks of the size and age of the log.
const archiveEvery = 10 * time.Second

// archiver moves the oldest part of the audit log to the archive.
type archiver struct {
	cfg *Config

	mu         sync.Mutex
	unarchived *outage // why the log is not archived, and since when; nil if it is
}

// failing returns why the log is not archived, and since when. It returns nil if archiving works.
func (d *archiver) failing() *outage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unarchived
}

// loop archives the oldest part of the log by the configured limits until ctx ends.
func (d *archiver) loop(ctx context.Context) {
	for {
		d.archiveOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-d.cfg.Clock.After(archiveEvery):
		}
	}
}

// archiveOnce archives what is above the limits, and sets unarchived if that fails.
func (d *archiver) archiveOnce(ctx context.Context) {
	a := d.cfg.Disk.Archive
	o := audit.Order{To: a.To, Bytes: a.Bytes, Actor: self}
	if a.Age > 0 {
		o.Until = d.cfg.Clock.Now().Add(-a.Age)
	}
	done, err := d.cfg.Recorder.Archive(ctx, o)
	// if ErrUnavailable, the status shows a condition for it already
	if ctx.Err() != nil || errors.Is(err, records.ErrUnavailable) {
		return
	}
	d.mu.Lock()
	was := d.unarchived
	d.unarchived = nil
	if err != nil {
		d.unarchived = &outage{since: d.cfg.Clock.Now(), why: err.Error()}
		if was != nil {
			d.unarchived.since = was.since
		}
	}
	d.mu.Unlock()
	if len(done) > 0 {
		d.cfg.Logger.Info("audit log archived", "to", a.To, "segments", len(done), "last", done[len(done)-1].Last)
	}
	if err != nil && (was == nil || was.why != err.Error()) {
		d.cfg.Logger.Error("the audit log cannot be archived, and grows", "error", err)
	}
}

// Archive moves the oldest part of the audit log to the configured archive on an operator's request; see
// [ArchiveLog].
func (d *archiver) Archive(ctx context.Context, actor Actor, o wire.ArchiveOrder) (wire.Archived, error) {
	if d.cfg.Disk.Archive.To == "" {
		return wire.Archived{}, &policy.InvalidError{
			Text: "this host has no archive of the audit log: set audit.archive in its configuration",
		}
	}
	return ArchiveLog(ctx, d.cfg.Recorder, d.cfg.Disk.Archive.To, actor.Name, o)
}

// ArchiveLog is [Daemon.Archive] for a caller that has only the state folder. Errors: *InvalidError,
// ErrUnavailable, ErrNotArchived.
func ArchiveLog(
	ctx context.Context,
	log *records.Recorder,
	to, actor string,
	o wire.ArchiveOrder,
) (wire.Archived, error) {
	out := wire.Archived{To: to, Files: []wire.ArchivedFile{}}
	switch {
	case o.Seq < 0:
		return out, &policy.InvalidError{Field: "seq", Text: "a sequence is not negative"}
	case o.Seq == 0 && o.Time.IsZero():
		return out, &policy.InvalidError{Text: "seq or time is required"}
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
	if errors.Is(err, records.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotArchived, err)
}
