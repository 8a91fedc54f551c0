package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// dbConfig configures a database. Dir is required.
type dbConfig struct {
	Dir string // created with mode 0700; a looser mode is refused
	// Before runs last in each transaction. Its error closes the database. It may be nil.
	Before func(ctx context.Context, t *Tx) error
}

var (
	// ErrCorrupt: the database is damaged.
	ErrCorrupt = errors.New("store is damaged")
	// ErrClosed: the store was closed, or a commit failed, whose cause is wrapped too. Nothing may run.
	ErrClosed = errors.New("store is closed")
)

// DB is the open database. It is safe for concurrent use, and the caller of Open closes it.
//
// There is one writer at a time. A caller that finds no writer becomes the leader: it runs all queued changes
// in one transaction, and commits once for all of them.
type DB struct {
	cfg     dbConfig
	lock    *os.File
	writes  *sql.DB
	reads   *sql.DB
	version string // of SQLite

	mu      sync.Mutex
	idle    *sync.Cond // signals that leading became false
	queue   []*change
	leading bool
	closed  bool
	err     error
	asked   map[string]*sql.Stmt // prepared queries of readers

	// Used by the leader.
	conn *sql.Conn
	prep map[string]*sql.Stmt
	file os.FileInfo

	ahead    os.FileInfo // the write-ahead log when space was last reserved for it
	reserved int64       // number of its bytes with reserved space
	tight    atomic.Bool // the last attempt found no space
}

// change is one queued change.
type change struct {
	do    func(context.Context, *Tx) error
	err   error
	after []func()  // called once it is durable
	wake  chan bool // gets one value: true means lead, false means done
}

const maxBatch = 512 // changes in one transaction

// Close waits for the commit in progress and closes. A second Close is no error.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	for d.leading {
		d.idle.Wait()
	}
	return d.shut()
}

// shut closes what Open has opened.
func (d *DB) shut() error {
	var errs []error
	for _, list := range []map[string]*sql.Stmt{d.prep, d.asked} {
		for _, stmt := range list {
			errs = append(errs, stmt.Close())
		}
	}
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	// Readers first: the last connection checkpoints, and readers may not write.
	for _, db := range []*sql.DB{d.reads, d.writes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// Err returns nil if the store takes writes. Otherwise it wraps ErrClosed.
func (d *DB) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.errLocked()
}

func (d *DB) errLocked() error {
	if d.err == nil && d.closed {
		return ErrClosed
	}
	return d.err
}

// Write runs do in a transaction. It returns when that is durable, or has done nothing. A queued change is
// made even if ctx ends meanwhile.
func (d *DB) Write(ctx context.Context, do func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{do: do}
	if err := d.submit(ctx, c); err != nil {
		return err
	}
	for _, f := range c.after {
		f()
	}
	return nil
}

// submit queues c and waits until it is made. It leads if it has to.
func (d *DB) submit(ctx context.Context, c *change) error {
	d.mu.Lock()
	if err := d.errLocked(); err != nil {
		d.mu.Unlock()
		return err
	}
	d.queue = append(d.queue, c)
	if d.leading {
		c.wake = make(chan bool, 1)
		d.mu.Unlock()
		if lead := <-c.wake; !lead {
			return c.err
		}
		d.mu.Lock()
	}
	d.leading = true
	n := min(len(d.queue), maxBatch)
	batch := d.queue[:n:n]
	d.queue = d.queue[n:]
	dead := d.err
	d.mu.Unlock()

	if dead == nil {
		dead = d.commit(context.WithoutCancel(ctx), batch)
	}
	d.finish(batch, dead, c)
	return c.err
}

// finish wakes the other callers in batch, and passes the lead on.
func (d *DB) finish(batch []*change, dead error, leader *change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dead != nil && d.err == nil {
		d.err = fmt.Errorf("%w: %w", ErrClosed, dead)
	}
	for _, c := range batch {
		if d.err != nil {
			c.err = d.err
		}
		if c != leader {
			c.wake <- false
		}
	}
	if len(d.queue) > 0 {
		d.queue[0].wake <- true
		return
	}
	d.leading = false
	d.idle.Broadcast()
}

// commit makes the changes of batch in one transaction. A change that fails is rolled back alone. After an
// error the store must not be used until Reopen, because the content on disk is unknown.
func (d *DB) commit(ctx context.Context, batch []*change) error {
	t := &Tx{d: d}
	if err := t.Exec(ctx, "begin immediate"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	made := 0
	for _, c := range batch {
		if err := t.runChange(ctx, c, len(batch) > 1); err != nil {
			return errors.Join(err, t.Exec(ctx, "rollback"))
		}
		if c.err == nil {
			made++
		}
	}
	if made == 0 {
		if err := t.Exec(ctx, "rollback"); err != nil {
			return fmt.Errorf("roll back: %w", err)
		}
		return nil
	}
	if d.cfg.Before != nil {
		if err := d.cfg.Before(ctx, t); err != nil {
			return errors.Join(withRemedy(err), t.Exec(ctx, "rollback"))
		}
	}
	if err := t.Exec(ctx, "commit"); err != nil {
		return errors.Join(fmt.Errorf("commit: %w", withRemedy(err)), t.Exec(ctx, "rollback"))
	}
	if err := t.d.checkFile(); err != nil {
		return err
	}
	t.d.reserve()
	return nil
}

// Tx is the transaction of the leader. A change uses it only while it runs.
type Tx struct {
	d     *DB
	after []func()
}

// After adds a function that the caller of Write runs once the change is durable.
func (t *Tx) After(f func()) { t.after = append(t.after, f) }

// runChange makes one change, with a savepoint if others share the transaction. Its error closes the store.
func (t *Tx) runChange(ctx context.Context, c *change, shared bool) error {
	if shared {
		if err := t.Exec(ctx, "savepoint one"); err != nil {
			return err
		}
	}
	t.after = nil
	c.err = c.do(ctx, t)
	c.after = t.after
	if fatal(c.err) {
		return withRemedy(c.err)
	}
	if !shared {
		return nil
	}
	if c.err != nil {
		if err := t.Exec(ctx, "rollback to one"); err != nil {
			return err
		}
	}
	return t.Exec(ctx, "release one")
}

func (t *Tx) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := t.d.prep[query]; ok {
		return st, nil
	}
	st, err := t.d.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	t.d.prep[query] = st
	return st, nil
}

// Exec runs a statement.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.Changed(ctx, query, args...)
	return err
}

// Changed runs a statement and returns the number of changed rows.
func (t *Tx) Changed(ctx context.Context, query string, args ...any) (int64, error) {
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

// Rows calls scan for each row.
func (t *Tx) Rows(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
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

// Scanner is a row.
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

// Read runs a query outside of transactions.
func (d *DB) Read(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return ErrClosed
	}
	rows, err := d.query(ctx, query, args...)
	if err != nil {
		return withRemedy(err)
	}
	return withRemedy(each(rows, scan))
}

// maxPrepared limits the prepared queries of readers. Some queries are built from a caller's filter.
const maxPrepared = 128

func (d *DB) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	d.mu.Lock()
	st, ok := d.asked[query]
	room := len(d.asked) < maxPrepared
	d.mu.Unlock()
	if ok {
		return st.QueryContext(ctx, args...)
	}
	if !room {
		return d.reads.QueryContext(ctx, query, args...)
	}
	st, err := d.reads.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	first, there := d.asked[query]
	if !there {
		d.asked[query] = st
	}
	d.mu.Unlock()
	if there {
		_ = st.Close() // another reader was faster
		st = first
	}
	return st.QueryContext(ctx, args...)
}
