package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Reopen takes up a log again that a failed write or sync has closed. It replays
// the log as Open does: every record that was synced has to be there, what a
// failed write left behind is cut, and what was written and not synced is written
// once more, since after a failed sync nobody knows whether it is on disk. Then it
// takes room for further records and leaves a LogReopened record. Until all of
// that is on disk the log stays closed. A log that is open is left as it is.
// Errors: ErrTampered (now, or as the cause that closed it), ErrKey, ErrFormat,
// ErrDiskFull, ErrClosed after Close, faults.
func (l *Log) Reopen(ctx context.Context) error {
	l.archiving.Lock()
	defer l.archiving.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.leading || l.syncing {
		l.idle.Wait()
	}
	switch {
	case l.closed:
		return ErrClosed
	case l.err == nil:
		return nil
	case errors.Is(l.err, ErrTampered):
		return l.err
	}
	l.syncing = true // nobody writes, and Close waits
	n := &Log{cfg: l.cfg, open: l.open, cur: &batch{}}
	n.idle = sync.NewCond(&n.mu)
	if l.synced.Seq > n.cfg.Least.Seq {
		n.cfg.Least = l.synced
	}
	written, durable, segment, cause := l.written, l.durable, l.segment, l.err
	l.mu.Unlock()
	err := n.again(ctx, written, durable, segment, cause)
	l.mu.Lock()
	l.syncing = false
	l.idle.Broadcast()
	if err != nil {
		if n.f != nil {
			_ = n.f.Close()
		}
		return full(fmt.Errorf("reopen audit log: %w", err))
	}
	_ = l.f.Close() // its error was that of the write that failed
	l.f, l.reserved, l.segment, l.cur = n.f, n.reserved, n.segment, n.cur
	l.tight.Store(n.tight.Load())
	l.placed, l.written, l.synced, l.durable = n.placed, n.written, n.synced, n.durable
	l.unsigned, l.signedAt = n.unsigned, n.signedAt
	l.err, l.failed = nil, make(chan struct{})
	return nil
}

// again is recover of a log that failed while it was written: written and segment
// are where it had come to, durable how far the segment was synced.
func (l *Log) again(ctx context.Context, written mark, durable, segment int64, cause error) error {
	if err := l.recover(ctx); err != nil {
		return err
	}
	// Room for a chunk more: else the next record closes it again.
	if err := l.reserve(l.placed.off + reserveChunk); err != nil {
		return err
	}
	if l.placed.seq < written.seq {
		err := l.noteCutLocked(&Break{Segment: segmentName(l.segment), Offset: l.placed.off,
			Why: fmt.Sprintf("records up to %d were written and are gone after a failed sync", written.seq)})
		if err != nil {
			return err
		}
	}
	if segment != l.segment {
		durable = 0
	}
	if err := l.rewrite(durable); err != nil {
		return err
	}
	body, err := l.encode(Record{Kind: LogReopened, Actor: "ringd", Detail: map[string]string{"cause": cause.Error()}})
	if err != nil {
		return err
	}
	l.placeLocked(body)
	return l.sealLocked()
}

// rewrite writes what lies behind durable in the segment once more, as it is.
func (l *Log) rewrite(durable int64) error {
	at, end := min(durable, l.written.off), l.written.off
	in, err := os.Open(filepath.Join(l.cfg.Dir, segmentName(l.segment)))
	if err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	defer in.Close()
	buf := make([]byte, min(end-at, reserveChunk))
	for at < end {
		part := buf[:min(end-at, int64(len(buf)))]
		if _, err := in.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read audit log: %w", err)
		}
		if _, err := l.f.WriteAt(part, at); err != nil {
			return fmt.Errorf("write audit log at %s: %w", strconv.FormatInt(at, 10), err)
		}
		at += int64(len(part))
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("sync audit log: %w", err)
	}
	return nil
}
