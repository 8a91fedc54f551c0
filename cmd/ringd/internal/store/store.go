package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Config configures a store. Dir and Now are required.
type Config struct {
	Dir string // created with mode 0700; a looser mode is refused
	Now func() time.Time
	// Head returns the newest synced head of the audit log. Every commit stores the highest one, and
	// AuditHead returns it at the next start. Head is called without a lock and must not call the store. It
	// may be nil.
	Head func() Head
	// Idempotent reports whether a repeated call of the bridge with the same key acts only once. Recover
	// calls it. Nil means that no bridge does.
	Idempotent func(bridge string) bool
	// Queue limits the calls that wait for approvers.
	Queue Queue
}

// Store is the open database. It is safe for concurrent use, and the caller of Open closes it.
type Store struct {
	cfg   Config
	db    *DB
	files *Keep

	// Used in a transaction. There is only one at a time.
	head    int64 // highest audit sequence in the database
	created int64 // when the newest run was created, in microseconds
	lines   queueCounts
}

// Open opens or creates the database in cfg.Dir, and converts one of an earlier format. Errors: ErrInUse,
// ErrFormat, ErrCorrupt (both with a remedy in the text), faults.
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

// Close waits for the commit in progress and closes. A second Close is no error.
func (s *Store) Close() error { return s.db.Close() }

// Err returns nil if the store takes writes. Otherwise it wraps ErrClosed.
func (s *Store) Err() error { return s.db.Err() }

// Reopen makes a store that a failed commit has closed take writes again, if the database is not damaged; see
// [DB.Reopen]. Runs that were live stay as they were on disk, for Recover. An open store is not changed.
func (s *Store) Reopen(ctx context.Context) error {
	return s.db.Reopen(ctx, func(ctx context.Context) error {
		h, err := s.AuditHead(ctx) // the head of a failed commit is not stored
		if err == nil {
			s.head, s.lines = h.Seq, queueCounts{}
		}
		return err
	})
}

// Tight reports whether the disk has no space for the store beyond the reserve for small commits.
func (s *Store) Tight() bool { return s.db.Tight() }

// tx is the transaction a change is made in.
type tx struct {
	*Tx
	s *Store
}

// write runs do in a transaction. It returns when that is durable, or has done nothing.
func (s *Store) write(ctx context.Context, do func(context.Context, *tx) error) error {
	return s.db.Write(ctx, func(ctx context.Context, t *Tx) error { return do(ctx, &tx{t, s}) })
}

// read runs a query outside of transactions.
func (s *Store) read(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	return s.db.Read(ctx, scan, query, args...)
}
