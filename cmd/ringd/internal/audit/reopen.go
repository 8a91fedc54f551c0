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

// Reopen reopens a log that a failed write or sync has closed. It verifies the log like Open: every synced
// record must be there, and what a failed write left is cut. Records that were written and not synced are
// written again, because after a failed sync it is unknown whether they are on disk. Then it reserves space
// for more records and writes a LogReopened record. Until all of that is on disk the log stays closed. An
// open log is not changed. Errors: ErrTampered (now, or as the cause that closed it), ErrKey, ErrFormat,
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
	l.syncing = true // no other caller writes, and Close waits
	n := &Log{cfg: l.cfg, open: l.open, cur: &batch{}}
	n.idle = sync.NewCond(&n.mu)
	if l.synced.Seq > n.cfg.Least.Seq {
		n.cfg.Least = l.synced
	}
	written, durable, segment, cause := l.written, l.durable, l.segment, l.err
	l.mu.Unlock()
	err := n.recoverFailed(ctx, written, durable, segment, cause)
	l.mu.Lock()
	l.syncing = false
	l.idle.Broadcast()
	if err != nil {
		if n.f != nil {
			_ = n.f.Close()
		}
		return withDiskFull(fmt.Errorf("reopen audit log: %w", err))
	}
	_ = l.f.Close() // its error is that of the failed write
	l.f, l.reserved, l.segment, l.cur = n.f, n.reserved, n.segment, n.cur
	l.tight.Store(n.tight.Load())
	l.placed, l.written, l.synced, l.durable = n.placed, n.written, n.synced, n.durable
	l.unsigned, l.signedAt = n.unsigned, n.signedAt
	l.err, l.failed = nil, make(chan struct{})
	return nil
}

// recoverFailed is recover for a log that failed while it was written. written and segment are its last position, and
// durable is the number of synced bytes of the segment.
func (l *Log) recoverFailed(ctx context.Context, written mark, durable, segment int64, cause error) error {
	if err := l.recover(ctx); err != nil {
		return err
	}
	// Reserve one more chunk, or the next record would close the log again.
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

// rewrite writes the bytes after durable in the segment again, unchanged.
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
