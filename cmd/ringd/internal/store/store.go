package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Config is what a store needs; all fields but Head are required.
type Config struct {
	Dir string // made with mode 0700; a looser one is refused
	Now func() time.Time
	// Head, when set, gives the audit log's newest synced head. Every commit
	// keeps the highest one it has seen; AuditHead returns it at the next start.
	// It is called with no lock held, and must not call the store.
	Head func() Head
}

// Store is the open database. It is safe for concurrent use; the caller of Open
// closes it.
//
// There is one writer. Whoever finds it idle leads: it runs the changes of all
// who have queued by then in one transaction, and commits once for all.
type Store struct {
	cfg     Config
	lock    *os.File
	writes  *sql.DB
	reads   *sql.DB
	version string // of SQLite

	mu      sync.Mutex
	idle    *sync.Cond // leading became false
	queue   []*change
	leading bool
	closed  bool
	err     error

	// Used by whoever leads.
	conn    *sql.Conn
	prep    map[string]*sql.Stmt
	head    int64 // highest audit sequence in the database
	created int64 // when the newest run was made, in microseconds
	file    os.FileInfo
}

// change is what one caller wants done.
type change struct {
	do   func(context.Context, *tx) error
	err  error
	wake chan bool // takes one value: true, lead; false, done
}

const maxBatch = 512 // changes in one transaction

// Close waits for the commit under way and closes. Twice is no error.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for s.leading {
		s.idle.Wait()
	}
	return s.shut()
}

// shut closes what Open has opened so far.
func (s *Store) shut() error {
	var errs []error
	for _, stmt := range s.prep {
		errs = append(errs, stmt.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	// The readers first: the last connection checkpoints, and they may not write.
	for _, db := range []*sql.DB{s.reads, s.writes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// Err is nil while the store takes writes; else it wraps ErrClosed.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errLocked()
}

func (s *Store) errLocked() error {
	if s.err == nil && s.closed {
		return ErrClosed
	}
	return s.err
}

// write runs do in a transaction and returns when that is durable, or has done
// nothing. ctx is looked at before, not after: a change that was queued is made.
func (s *Store) write(ctx context.Context, do func(context.Context, *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{do: do}
	s.mu.Lock()
	if err := s.errLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.queue = append(s.queue, c)
	if s.leading {
		c.wake = make(chan bool, 1)
		s.mu.Unlock()
		if lead := <-c.wake; !lead {
			return c.err
		}
		s.mu.Lock()
	}
	s.leading = true
	n := min(len(s.queue), maxBatch)
	batch := s.queue[:n:n]
	s.queue = s.queue[n:]
	dead := s.err
	s.mu.Unlock()

	if dead == nil {
		dead = s.commit(context.WithoutCancel(ctx), batch)
	}
	s.finish(batch, dead, c)
	return c.err
}

// finish tells everyone in batch but the leader, and hands the lead on.
func (s *Store) finish(batch []*change, dead error, leader *change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if dead != nil && s.err == nil {
		s.err = fmt.Errorf("%w: %w", ErrClosed, dead)
	}
	for _, c := range batch {
		if s.err != nil {
			c.err = s.err
		}
		if c != leader {
			c.wake <- false
		}
	}
	if len(s.queue) > 0 {
		s.queue[0].wake <- true
		return
	}
	s.leading = false
	s.idle.Broadcast()
}

// commit makes the changes of batch in one transaction. A change that fails is
// undone alone. An error means that the store must not be used again: what is
// on disk is not known.
func (s *Store) commit(ctx context.Context, batch []*change) error {
	t := &tx{s: s}
	if err := t.exec(ctx, "begin immediate"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	made := 0
	for _, c := range batch {
		if err := t.one(ctx, c, len(batch) > 1); err != nil {
			return errors.Join(err, t.exec(ctx, "rollback"))
		}
		if c.err == nil {
			made++
		}
	}
	if made == 0 {
		if err := t.exec(ctx, "rollback"); err != nil {
			return fmt.Errorf("roll back: %w", err)
		}
		return nil
	}
	if err := t.keepHead(ctx); err != nil {
		return errors.Join(err, t.exec(ctx, "rollback"))
	}
	if err := t.exec(ctx, "commit"); err != nil {
		return errors.Join(fmt.Errorf("commit: %w", explain(err)), t.exec(ctx, "rollback"))
	}
	return t.s.stands()
}

// tx is the transaction of whoever leads.
type tx struct{ s *Store }

// one makes one change, so that it can be undone alone when others share the
// transaction. Its error is one that ends the store.
func (t *tx) one(ctx context.Context, c *change, shared bool) error {
	if shared {
		if err := t.exec(ctx, "savepoint one"); err != nil {
			return err
		}
	}
	c.err = c.do(ctx, t)
	if fatal(c.err) {
		return explain(c.err)
	}
	if !shared {
		return nil
	}
	if c.err != nil {
		if err := t.exec(ctx, "rollback to one"); err != nil {
			return err
		}
	}
	return t.exec(ctx, "release one")
}

// keepHead writes the audit log's newest synced head when it is higher than the
// one that is there.
func (t *tx) keepHead(ctx context.Context) error {
	if t.s.cfg.Head == nil {
		return nil
	}
	h := t.s.cfg.Head()
	if h.Seq <= t.s.head {
		return nil
	}
	err := t.exec(ctx, `insert into audit_head (id, seq, hash) values (1, $1, $2)
		on conflict (id) do update set seq = excluded.seq, hash = excluded.hash where excluded.seq > audit_head.seq`,
		h.Seq, h.Hash)
	if err != nil {
		return fmt.Errorf("keep audit head: %w", explain(err))
	}
	t.s.head = h.Seq
	return nil
}

func (t *tx) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := t.s.prep[query]; ok {
		return st, nil
	}
	st, err := t.s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	t.s.prep[query] = st
	return st, nil
}

func (t *tx) exec(ctx context.Context, query string, args ...any) error {
	_, err := t.changed(ctx, query, args...)
	return err
}

// changed is exec and says how many rows changed.
func (t *tx) changed(ctx context.Context, query string, args ...any) (int64, error) {
	st, err := t.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	r, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// rows calls scan for each row.
func (t *tx) rows(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	st, err := t.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return each(rows, scan)
}

// scanner is a row.
type scanner interface{ Scan(dst ...any) error }

func each(rows *sql.Rows, scan func(scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// read runs a query outside of any transaction.
func (s *Store) read(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return explain(err)
	}
	return explain(each(rows, scan))
}
