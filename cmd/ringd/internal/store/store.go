package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Config is what a store needs; Dir and Now are required.
type Config struct {
	Dir string // made with mode 0700; a looser one is refused
	Now func() time.Time
	// Head, when set, gives the audit log's newest synced head. Every commit
	// keeps the highest one it has seen; AuditHead returns it at the next start.
	// It is called with no lock held, and must not call the store.
	Head func() Head
	// Idempotent reports whether a provider of the host, asked for the bridge again
	// with the same key, acts once. Recover asks; nil: none does.
	Idempotent func(bridge string) bool
	// Queue bounds the calls that wait for approvers.
	Queue Queue
}

// Store is the open database. It is safe for concurrent use; the caller of Open
// closes it.
type Store struct {
	cfg   Config
	db    *DB
	files *Keep

	// Used in a transaction, of which there is one at a time.
	head    int64 // highest audit sequence in the database
	created int64 // when the newest run was made, in microseconds
	lines   lines
}

// Open opens or makes the database in cfg.Dir, and brings one of an earlier
// format up to date. Errors: ErrInUse, ErrFormat, ErrCorrupt (both with a remedy
// in the text), faults.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Dir == "" || cfg.Now == nil {
		return nil, errors.New("open store: no folder or no clock given")
	}
	s := &Store{cfg: cfg}
	var err error
	if s.db, err = openDB(ctx, dbConfig{Dir: cfg.Dir, Before: s.keepHead}); err != nil {
		return nil, err
	}
	h, err := s.AuditHead(ctx)
	s.head = h.Seq
	if err == nil {
		err = s.openFiles(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", cfg.Dir, err), s.db.Close())
	}
	return s, nil
}

// Close waits for the commit under way and closes. Twice is no error.
func (s *Store) Close() error { return s.db.Close() }

// Err is nil while the store takes writes; else it wraps ErrClosed.
func (s *Store) Err() error { return s.db.Err() }

// Reopen makes a store that a failed commit has closed take writes again, once the
// database is whole: see DB.Reopen. Runs that were live stay as they were on
// disk, for Recover. A store that is open is left as it is.
func (s *Store) Reopen(ctx context.Context) error {
	return s.db.Reopen(ctx, func(ctx context.Context) error {
		h, err := s.AuditHead(ctx) // what a failed commit had set is not there
		if err == nil {
			s.head, s.lines = h.Seq, lines{}
		}
		return err
	})
}

// Tight reports whether the disk has no more room for the store than what is kept for
// small changes.
func (s *Store) Tight() bool { return s.db.Tight() }

// tx is the transaction a change is made in.
type tx struct {
	*Tx
	s *Store
}

// write runs do in a transaction and returns when that is durable, or has done
// nothing.
func (s *Store) write(ctx context.Context, do func(context.Context, *tx) error) error {
	return s.db.Write(ctx, func(ctx context.Context, t *Tx) error { return do(ctx, &tx{t, s}) })
}

// read runs a query outside of any transaction.
func (s *Store) read(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	return s.db.Read(ctx, scan, query, args...)
}
