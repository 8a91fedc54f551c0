package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

// writeLocked returns when all placed records are written. It releases mu while it waits.
func (l *Log) writeLocked() error {
	b := l.cur
	if l.leading {
		if b.done == nil {
			b.done, b.turn = make(chan struct{}), make(chan struct{}, 1)
		}
		l.mu.Unlock()
		select {
		case <-b.done:
			l.mu.Lock()
			return b.err
		case <-b.turn:
			l.mu.Lock()
			if l.err != nil { // failed before this caller got the turn
				l.handOnLocked()
				return l.err
			}
		}
	}
	l.leading = true
	l.cur = &batch{}
	b.off, b.end = l.written.off, l.placed
	l.mu.Unlock()
	err := l.write(b)
	l.mu.Lock()
	switch {
	case l.err != nil: // a sync failed meanwhile
	case err != nil:
		l.failLocked(err)
		l.recordClosedLocked(err)
	default:
		l.written = b.end
	}
	b.err = l.err
	if b.done != nil {
		close(b.done)
	}
	l.cur.buf = reuseBuffer(l.cur.buf, b.buf)
	l.handOnLocked()
	return b.err
}

// reuseBuffer gives the buffer of the last batch to the next one if it has none.
func reuseBuffer(next, last []byte) []byte {
	const keep = 256 << 10
	if next == nil && cap(last) <= keep {
		return last[:0]
	}
	return next
}

// handOnLocked ends the lead of this caller and gives the turn to a waiting one.
func (l *Log) handOnLocked() {
	if l.err == nil && l.cur.done != nil {
		l.cur.turn <- struct{}{} // never blocks: a batch gets one token
		return
	}
	l.leading = false
	l.idle.Broadcast()
}

// write writes b to the file, with reserved space after it for the last record.
func (l *Log) write(b *batch) error {
	if err := l.reserve(b.off + int64(len(b.buf))); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(b.buf, b.off); err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

// reserve allocates disk space ahead of the writes. A full disk is an error only if not more is left than the
// last record needs. Before that the log is tight, and the rest is for records of ends and of closing.
func (l *Log) reserve(end int64) error {
	want := max(end+reserveBytes, min(end+reserveAhead, l.cfg.SegmentBytes+reserveBytes))
	if want <= l.reserved {
		l.tight.Store(false)
		return nil
	}
	to := max(want, min(l.reserved+reserveChunk, l.cfg.SegmentBytes+reserveBytes))
	err := l.f.Reserve(l.reserved, to-l.reserved)
	switch {
	case err == nil:
		l.reserved = to
		l.tight.Store(false)
		return nil
	case noRoom(err) && end+reserveBytes <= l.reserved:
		l.tight.Store(true)
		return nil
	default:
		return fmt.Errorf("reserve room for the audit log: %w", err)
	}
}

// Tight reports whether the disk has no space for the log beyond the reserve. Records are still accepted, but
// soon will not be. If there was no space, it tries to reserve again.
func (l *Log) Tight() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tight.Load() && l.err == nil && !l.closed && !l.leading && !l.syncing {
		_ = l.reserve(l.placed.off) // sets tight
	}
	return l.tight.Load()
}

// syncLocked returns when record seq is synced. It releases mu while it waits.
func (l *Log) syncLocked(seq int64) error {
	for {
		switch {
		case l.err != nil:
			return l.err
		case l.synced.Seq >= seq:
			return nil
		case !l.syncing:
			return l.syncNowLocked(false)
		}
		// The record stays in the batch. The next caller that syncs writes it.
		round := l.round
		l.mu.Unlock()
		<-round
		l.mu.Lock()
	}
}

// syncNowLocked commits and syncs all placed records. No sync may be in progress.
func (l *Log) syncNowLocked(sign bool) error {
	l.syncing = true
	l.placeCommitLocked(sign)
	head, end := l.placed.head(), l.placed.off
	err := l.writeLocked()
	if err == nil {
		f := l.f
		l.mu.Unlock()
		err = f.Sync()
		l.mu.Lock()
		if err != nil {
			l.failLocked(fmt.Errorf("sync audit log: %w", err))
		}
	}
	if l.err == nil {
		l.synced, l.durable = head, end
	}
	l.syncing = false
	close(l.round)
	l.round = make(chan struct{})
	l.idle.Broadcast()
	return l.err
}

// tick syncs records that are only written, and signs what is only synced.
func (l *Log) tick() {
	defer l.ticker.Done()
	ticks := l.cfg.Ticks
	for {
		select {
		case <-l.stop:
			return
		case _, ok := <-ticks:
			if !ok {
				ticks = nil
				continue
			}
			l.mu.Lock()
			l.tickLocked()
			l.mu.Unlock()
		}
	}
}

// tickLocked leaves errors to Err and Failed: no caller waits for them.
func (l *Log) tickLocked() {
	if l.closed || l.err != nil || l.syncing {
		return
	}
	stale := l.unsigned && l.cfg.Now().Sub(l.signedAt) >= signEvery
	if l.placed.seq > l.synced.Seq || stale {
		_ = l.syncNowLocked(stale)
	}
}

// failLocked closes the log until Reopen, and wakes all waiting callers.
func (l *Log) failLocked(cause error) {
	if l.err != nil {
		return
	}
	l.err = fmt.Errorf("%w: %w", ErrClosed, withDiskFull(cause))
	close(l.failed)
	l.cur.err = l.err
	if l.cur.done != nil {
		close(l.cur.done)
	}
	l.cur = &batch{}
}

// withDiskFull adds ErrDiskFull to a cause that means a full disk.
func withDiskFull(cause error) error {
	if noRoom(cause) {
		return fmt.Errorf("%w: %w", ErrDiskFull, cause)
	}
	return cause
}

// recordClosedLocked tries to write a record of why the log closed into the reserved space. There must be no
// other leader. Records that were placed and not written are dropped; their callers get an error.
func (l *Log) recordClosedLocked(cause error) {
	why := "write failed"
	if noRoom(cause) {
		why = "disk full"
	}
	body, err := l.encode(Record{Kind: LogClosed, Actor: "ringd", Detail: map[string]string{"cause": why}})
	if err != nil {
		return
	}
	l.placed = l.written
	l.placeLocked(body)
	l.placeCommitLocked(true)
	b := l.cur
	l.cur = &batch{}
	// First write into the reserved blocks, then cut what a failed write left.
	if _, err := l.f.WriteAt(b.buf, l.written.off); err != nil {
		_ = l.f.Truncate(l.written.off)
		return
	}
	if errors.Join(l.f.Truncate(l.placed.off), l.f.Sync()) == nil {
		l.durableLocked()
	}
}

// sealLocked ends the placed records with a signed commit line and syncs it. There must be no leader and no
// sync.
func (l *Log) sealLocked() error {
	if l.placed.open > 0 || l.unsigned {
		l.placeCommitLocked(true)
	}
	b := l.cur
	if len(b.buf) == 0 {
		return nil
	}
	b.off, b.end = l.written.off, l.placed
	l.cur = &batch{}
	if err := l.write(b); err != nil {
		return err
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("sync audit log: %w", err)
	}
	l.durableLocked()
	return nil
}

// durableLocked marks all placed records as synced.
func (l *Log) durableLocked() {
	l.written, l.synced, l.durable = l.placed, l.placed.head(), l.placed.off
}

// trimLocked releases the reserved space of the segment.
func (l *Log) trimLocked() error {
	l.reserved = l.placed.off
	if err := errors.Join(l.f.Truncate(l.placed.off), l.f.Sync()); err != nil {
		return fmt.Errorf("trim audit segment %d: %w", l.segment, err)
	}
	return nil
}

// rotateLocked seals the segment and starts the next. There must be no leader and no sync. The old segment
// keeps its reserve until the new one has its own.
func (l *Log) rotateLocked() {
	if err := l.sealLocked(); err != nil {
		l.failLocked(err)
		return
	}
	next, err := l.makeSegment()
	if err != nil {
		l.failLocked(err)
		l.recordClosedLocked(err)
		return
	}
	if err := errors.Join(l.trimLocked(), l.f.Close()); err != nil {
		l.failLocked(err)
		_ = next.Close()
		return
	}
	if err := l.headLocked(next); err != nil {
		l.failLocked(err)
	}
}

// makeSegment creates the file after l.segment, with space for its first records. After an error it leaves no
// file.
func (l *Log) makeSegment() (file, error) {
	path := filepath.Join(l.cfg.Dir, segmentName(l.segment+1))
	f, err := l.open(path, true)
	if err != nil {
		return nil, fmt.Errorf("make audit segment %d: %w", l.segment+1, err)
	}
	if err := f.Reserve(0, reserveBytes); err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, fmt.Errorf("reserve room for audit segment %d: %w", l.segment+1, err)
	}
	return f, nil
}

// headLocked makes f, an empty segment, the current one and writes its header.
func (l *Log) headLocked(f file) error {
	l.f, l.reserved, l.durable = f, 0, 0
	l.segment++
	l.turning = false
	h := header{version: formatVersion, segment: l.segment, first: l.placed.seq + 1, prev: l.placed.last}
	copy(h.key[:], l.cfg.publicKey())
	line := h.append(nil)
	if err := l.reserve(int64(len(line)) + 1); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(append(line, '\n'), 0); err != nil {
		return fmt.Errorf("write header of audit segment %d: %w", l.segment, err)
	}
	if err := errors.Join(l.f.Sync(), atomicfile.Sync(l.cfg.Dir)); err != nil {
		return fmt.Errorf("sync audit segment %d: %w", l.segment, err)
	}
	l.placed.last, l.placed.open, l.placed.off = hashLine(line), 0, int64(len(line))+1
	l.durableLocked()
	return nil
}
