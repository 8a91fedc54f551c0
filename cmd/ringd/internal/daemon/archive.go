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

// ErrNotArchived: the archive cannot take the audit log, all of which stays where it is.
var ErrNotArchived = errors.New("the audit log is not archived")

// Archive is what the configuration says of the archive of the audit log.
type Archive struct {
	To string // folder; "": there is none
	// Bytes and Age are how much of the log is kept in the state folder: what is beyond
	// goes to the archive. 0: an operator says when.
	Bytes int64
	Age   time.Duration
}

// archiveEvery is how often the daemon looks whether the log is larger or older than what
// is kept.
const archiveEvery = 10 * time.Second

// archiver moves the beginning of the audit log to the archive.
type archiver struct {
	cfg *Config

	mu         sync.Mutex
	unarchived *low // since when, and why, the log is not archived; nil if it is
}

// failing returns since when, and why, the log is not archived; nil if it is.
func (d *archiver) failing() *low {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unarchived
}

// loop moves the beginning of the log to the archive, as the configuration says,
// until ctx ends.
func (d *archiver) loop(ctx context.Context) {
	for {
		d.archiveNow(ctx)
		select {
		case <-ctx.Done():
			return
		case <-d.cfg.Clock.After(archiveEvery):
		}
	}
}

// archiveNow archives what is beyond, and takes note of why that cannot be done.
func (d *archiver) archiveNow(ctx context.Context) {
	a := d.cfg.Disk.Archive
	o := audit.Order{To: a.To, Bytes: a.Bytes, Actor: self}
	if a.Age > 0 {
		o.Until = d.cfg.Clock.Now().Add(-a.Age)
	}
	done, err := d.cfg.Recorder.Archive(ctx, o)
	if ctx.Err() != nil || errors.Is(err, records.ErrUnavailable) { // which has a condition of its own
		return
	}
	d.mu.Lock()
	was := d.unarchived
	d.unarchived = nil
	if err != nil {
		d.unarchived = &low{since: d.cfg.Clock.Now(), why: err.Error()}
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

// Archive moves the beginning of the audit log to the archive that is configured, on the
// word of an operator; see ArchiveLog.
func (d *archiver) Archive(ctx context.Context, actor Actor, o wire.ArchiveOrder) (wire.Archived, error) {
	if d.cfg.Disk.Archive.To == "" {
		return wire.Archived{}, &policy.InvalidError{
			Text: "this host has no archive of the audit log: set audit.archive in its configuration",
		}
	}
	return ArchiveLog(ctx, d.cfg.Recorder, d.cfg.Disk.Archive.To, actor.Name, o)
}

// ArchiveLog is Daemon.Archive for whoever has the state folder alone. Errors:
// *InvalidError, ErrUnavailable, ErrNotArchived.
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
