package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

func (c *Config) publicKey() ed25519.PublicKey {
	key, ok := c.Key.Public().(ed25519.PublicKey)
	if !ok {
		return nil // cannot happen: check has seen the length
	}
	return key
}

// recover verifies the log, cuts a torn tail and makes l ready to append.
func (l *Log) recover(ctx context.Context) error {
	w := walk{check: Check{Key: l.cfg.publicKey(), Least: l.cfg.Least}, key: l.cfg.publicKey()}
	if err := w.run(ctx, l.cfg.Dir); err != nil {
		return err
	}
	if w.tampered != nil {
		return w.refusal()
	}
	l.setPacked(w.base)
	if err := w.base.removeArchived(l.cfg.Dir); err != nil {
		return err
	}
	l.placed, l.written, l.segment = w.mark, w.mark, w.segment
	l.unsigned = w.seq > 0 && !w.sealed
	if w.segment == 0 {
		f, err := l.makeSegment()
		if err != nil {
			return err
		}
		return l.headLocked(f)
	}
	f, err := l.open(filepath.Join(l.cfg.Dir, segmentName(w.segment)), false)
	if err != nil {
		return fmt.Errorf("open audit segment %d: %w", w.segment, err)
	}
	l.f = f
	// Remove the space reserved before the crash, and the torn tail.
	if err := errors.Join(f.Truncate(w.off), f.Sync()); err != nil {
		return fmt.Errorf("cut audit segment %d: %w", w.segment, err)
	}
	if !w.headed {
		l.segment-- // headLocked increments it
		if err := l.headLocked(f); err != nil {
			return err
		}
	}
	l.synced, l.durable = l.placed.head(), l.placed.off
	if w.torn != nil {
		if err := l.noteCutLocked(w.torn); err != nil {
			return err
		}
	}
	return l.sealLocked() // syncs what a crash left only written
}

// noteCutLocked places the record about the cut.
func (l *Log) noteCutLocked(b *Break) error {
	body, err := l.encode(Record{Kind: LogCut, Actor: "ringd", Detail: map[string]string{
		"segment": b.Segment,
		"offset":  strconv.FormatInt(b.Offset, 10),
		"why":     b.Why,
	}})
	if err != nil {
		return err
	}
	l.placeLocked(body)
	return nil
}

// refusal returns the error for an invalid log.
func (w *walk) refusal() error {
	b := w.tampered
	return fmt.Errorf("%w: %s at byte %d, record %d: %s", w.cause, b.Segment, b.Offset, b.Seq, b.Why)
}
