// Package records owns the writes of the daemon and the rings that must be on disk: the audit log, and the
// calls in the store. It refuses everything after a failed write. The daemon and the rings call it.
package records

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// ErrUnavailable: the audit log or the store cannot be written. Nothing runs until they can be again.
var ErrUnavailable = errors.New("the audit log or the store cannot be written: nothing runs")

// Log is the audit log.
type Log interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
	Head() audit.Head
	Err() error
	// Reopen makes the log accept records again after a failed write.
	Reopen(ctx context.Context) error
}

// Recorder is the only writer of the audit log. It counts records and remembers a failed write. The daemon
// and the rings share one. It is safe for concurrent use.
type Recorder struct {
	log     Log
	metrics *metrics.Metrics
	broken  atomic.Pointer[fault]

	beside atomic.Pointer[Beside] // nil if there is no candidate policy

	shares shares // of runs

	preparing atomic.Int64 // number of the generation that rings prepare
}

// Generation returns the number of the generation that rings are preparing, for
// interpreter.Config.Generation.
func (r *Recorder) Generation() int64 { return r.preparing.Load() }

type fault struct{ err error }

// NewRecorder returns a recorder over an open log. m may be nil.
func NewRecorder(log Log, m *metrics.Metrics) *Recorder {
	return &Recorder{log: log, metrics: m}
}

// Beside is called with each decision after it is recorded. a is the action if the record does not hold all
// of it. Beside must be fast.
type Beside func(ctx context.Context, r audit.Record, a *profiles.Action)

// Beside sets the callback.
func (r *Recorder) Beside(tell Beside) { r.beside.Store(&tell) }

func (r *Recorder) callBeside(ctx context.Context, rec audit.Record, a *profiles.Action) {
	if tell := r.beside.Load(); tell != nil {
		(*tell)(ctx, rec, a)
	}
}

// Append writes rec. After an error, the act that rec is about must not happen. The error wraps
// ErrUnavailable, unless the log refuses the record or ctx ended.
func (r *Recorder) Append(ctx context.Context, rec audit.Record, d audit.Durability) (audit.Head, error) {
	if f := r.broken.Load(); f != nil {
		return audit.Head{}, f.err
	}
	if err := r.shares.take(&rec); err != nil {
		return audit.Head{}, err
	}
	head, err := r.log.Append(ctx, rec, d)
	if err != nil {
		return audit.Head{}, r.setFault(err)
	}
	if rec.Decision != nil {
		r.metrics.Decided(rec.Decision.Verdict.String(), string(rec.Decision.Code))
	}
	return head, nil
}

func (r *Recorder) setFault(err error) error {
	r.metrics.Fault("audit")
	if errors.Is(err, audit.ErrRecord) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	wrapped := fmt.Errorf("%w: %w", ErrUnavailable, err)
	r.broken.CompareAndSwap(nil, &fault{wrapped})
	return wrapped
}

// Err returns nil if records can be written. Otherwise it wraps ErrUnavailable.
func (r *Recorder) Err() error {
	if f := r.broken.Load(); f != nil {
		return f.err
	}
	if err := r.log.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Tight reports whether the log found no space on its disk.
func (r *Recorder) Tight() bool {
	t, ok := r.log.(interface{ Tight() bool })
	return ok && t.Tight()
}

// Size returns the bytes and the files of the log.
func (r *Recorder) Size() (bytes, segments int64) {
	if l, ok := r.log.(interface{ Size() (int64, int64) }); ok {
		return l.Size()
	}
	return 0, 0
}

// Packed returns the bytes and the files of the log that are in an archive.
func (r *Recorder) Packed() (bytes, files int64) {
	if l, ok := r.log.(interface{ Packed() (int64, int64) }); ok {
		return l.Packed()
	}
	return 0, 0
}

// Archive moves the oldest part of the log to an archive; see [audit.Log.Archive]. It returns ErrUnavailable
// if the log takes no records.
func (r *Recorder) Archive(ctx context.Context, o audit.Order) ([]audit.ArchivedFile, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	l, ok := r.log.(interface {
		Archive(ctx context.Context, o audit.Order) ([]audit.ArchivedFile, error)
	})
	if !ok {
		return nil, fmt.Errorf("%w: this log has none", audit.ErrArchive)
	}
	done, err := l.Archive(ctx, o)
	switch {
	case errors.Is(err, audit.ErrClosed):
		err = r.setFault(err)
	case err != nil && ctx.Err() == nil:
		r.metrics.Fault("archive")
	}
	return done, err
}

// Reopen accepts records again once the log does. No caller may be appending: its failure would close the
// recorder again.
func (r *Recorder) Reopen(ctx context.Context) error {
	if err := r.log.Reopen(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.broken.Store(nil)
	return nil
}

// Prepare sets what Generation returns.
func (r *Recorder) Prepare(generation int64) { r.preparing.Store(generation) }

// Seq returns the sequence of the last record.
func (r *Recorder) Seq() int64 { return r.log.Head().Seq }

// CountGuests wraps a launcher and counts the guests that it starts.
func CountGuests(l executors.Launcher, m *metrics.Metrics) executors.Launcher {
	return countingLauncher{l, m}
}

type countingLauncher struct {
	executors.Launcher
	metrics *metrics.Metrics
}

func (l countingLauncher) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	g, err := l.Launcher.Launch(ctx, s)
	if err == nil {
		l.metrics.Guest(s.Executor)
	}
	return g, err
}
