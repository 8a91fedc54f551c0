package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ringd/ringd/cmd/ringd/internal/atomicfile"
)

// DBName is the name of the database file in the folder.
const DBName = "ringd.db"

const (
	lockName    = "ringd.lock"
	leastSQLite = "3.51.3" // earlier ones can corrupt the write-ahead log
	readers     = 4
)

// openDB opens or creates the database in cfg.Dir. Errors: ErrInUse, ErrFormat, ErrCorrupt (both with a
// remedy in the text), faults.
func openDB(ctx context.Context, cfg dbConfig) (*DB, error) {
	if cfg.Dir == "" {
		return nil, errors.New("open store: no folder given")
	}
	d := &DB{cfg: cfg, prep: map[string]*sql.Stmt{}, asked: map[string]*sql.Stmt{}}
	d.idle = sync.NewCond(&d.mu)
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", cfg.Dir, withRemedy(err)), d.shut())
	}
	return d, nil
}

func (d *DB) open(ctx context.Context) error {
	if err := ownDir(d.cfg.Dir); err != nil {
		return err
	}
	var err error
	if d.lock, err = lockDir(filepath.Join(d.cfg.Dir, lockName)); err != nil {
		return err
	}
	path := filepath.Join(d.cfg.Dir, DBName)
	if err := makeFile(path); err != nil {
		return err
	}
	if err := d.openWriter(ctx, path); err != nil {
		return err
	}
	if d.reads, err = sql.Open("sqlite", dsn(path, "_pragma=query_only(1)")); err != nil {
		return err
	}
	d.reads.SetMaxOpenConns(readers)
	d.reads.SetMaxIdleConns(readers)
	d.file, err = os.Lstat(path)
	return err
}

// openWriter opens the connection that writes.
func (d *DB) openWriter(ctx context.Context, path string) (err error) {
	crashed := notEmpty(path + "-wal")
	if d.writes, err = sql.Open("sqlite", dsn(path, "_txlock=immediate")); err != nil {
		return err
	}
	d.writes.SetMaxOpenConns(1)
	if d.conn, err = d.writes.Conn(ctx); err != nil {
		return err
	}
	if err := d.checkVersion(ctx); err != nil {
		return err
	}
	if err := d.prepare(ctx, crashed); err != nil {
		return err
	}
	d.reserve()
	return atomicfile.Sync(d.cfg.Dir)
}

// Reopen makes a database that a failed commit has closed take writes again. It closes the connection with
// the broken transaction, opens another one and checks the database, as after a crash. Committed changes are
// there, and nothing of the failed commit, unless it was on disk by then. Readers continue meanwhile. settled
// runs before the first write and may be nil. An open database is not changed. A damaged one, or one whose
// file was replaced, stays closed.
func (d *DB) Reopen(ctx context.Context, settled func(context.Context) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.leading {
		d.idle.Wait()
	}
	switch {
	case d.closed:
		return ErrClosed
	case d.err == nil:
		return nil
	case errors.Is(d.err, ErrCorrupt):
		return d.err
	}
	d.leading = true // no other caller uses the connection, and Close waits
	d.mu.Unlock()
	err := d.reopenWriter(ctx)
	if err == nil && settled != nil {
		err = settled(ctx)
	}
	d.mu.Lock()
	d.leading = false
	d.idle.Broadcast()
	if err != nil {
		return fmt.Errorf("reopen store in %s: %w", d.cfg.Dir, withRemedy(err))
	}
	d.err = nil
	return nil
}

// reopenWriter opens a new writer. Its caller is the leader.
func (d *DB) reopenWriter(ctx context.Context) error {
	path := filepath.Join(d.cfg.Dir, DBName)
	if err := d.checkSameFile(path); err != nil {
		return err
	}
	// Errors here belong to the broken transaction.
	for _, st := range d.prep {
		_ = st.Close()
	}
	d.prep = map[string]*sql.Stmt{}
	if d.conn != nil {
		_ = d.conn.Close()
		d.conn = nil
	}
	if d.writes != nil {
		_ = d.writes.Close()
	}
	return d.openWriter(ctx, path)
}

// dsn returns the address of the database with the options of every connection.
func dsn(path, more string) string {
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/… on Windows
	}
	u := url.URL{Scheme: "file", Path: path}
	return u.String() + "?_pragma=busy_timeout(10000)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&" + more
}

// checkFile returns an error if the file of the database was removed or replaced: commits to a removed file are
// lost.
func (d *DB) checkFile() error {
	path := filepath.Join(d.cfg.Dir, DBName)
	_, err := os.Lstat(path + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return missingError(path)
	}
	return d.checkSameFile(path)
}

// checkSameFile returns an error unless path is the database's file.
func (d *DB) checkSameFile(path string) error {
	now, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(now, d.file):
		return missingError(path)
	default:
		return err
	}
}

// missingError returns the error for a missing database. Free disk space does not help.
func missingError(path string) error {
	return fmt.Errorf("%w: %s was removed or replaced while it is written", ErrCorrupt, path)
}

// pragma sets a pragma on the writer and returns an error if it reads back as anything but want.
func (d *DB) pragma(ctx context.Context, set, read, want string) error {
	rows, err := d.conn.QueryContext(ctx, "pragma "+set)
	if err != nil {
		return err
	}
	if err := each(rows, func(scanner) error { return nil }); err != nil {
		return err
	}
	var got string
	if err := d.conn.QueryRowContext(ctx, "pragma "+read).Scan(&got); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("pragma %s: reads back as %q, want %q", set, got, want)
	}
	return nil
}

// prepare makes the database safe to write, and checks that it is ringd's and not damaged. It creates the
// tables of a new database, and converts those of an earlier format.
func (d *DB) prepare(ctx context.Context, crashed bool) error {
	var version, app, tables int64
	err := errors.Join(
		d.conn.QueryRowContext(ctx, "pragma user_version").Scan(&version),
		d.conn.QueryRowContext(ctx, "pragma application_id").Scan(&app),
		d.conn.QueryRowContext(ctx, "select count(*) from sqlite_schema").Scan(&tables),
	)
	if err != nil {
		return err
	}
	fresh := version == 0 && app == 0 && tables == 0
	if !fresh {
		if err := Known(app, version); err != nil {
			return err
		}
	}
	// auto_vacuum must be set before the first table and before WAL.
	for _, p := range [][3]string{
		{"auto_vacuum = full", "auto_vacuum", "1"},
		{"journal_mode = wal", "journal_mode", "wal"},
		{"synchronous = full", "synchronous", "2"},
		{"mmap_size = 0", "mmap_size", "0"},
		{"journal_size_limit = 16777216", "journal_size_limit", "16777216"},
	} {
		if err := d.pragma(ctx, p[0], p[1], p[2]); err != nil {
			return err
		}
	}
	if fresh {
		return Create(ctx, d.conn)
	}
	if crashed || version != Version {
		if err := d.quickCheck(ctx); err != nil {
			return err
		}
	}
	return migrate(ctx, d.conn, version)
}

func (d *DB) quickCheck(ctx context.Context) error {
	var got string
	if err := d.conn.QueryRowContext(ctx, "pragma quick_check(1)").Scan(&got); err != nil {
		return err
	}
	if got != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, got)
	}
	return nil
}

func (d *DB) checkVersion(ctx context.Context) error {
	if err := d.conn.QueryRowContext(ctx, "select sqlite_version()").Scan(&d.version); err != nil {
		return err
	}
	return atLeast(d.version, leastSQLite)
}

// atLeast returns an error for an SQLite version below least.
func atLeast(version, least string) error {
	v, w := strings.Split(version, "."), strings.Split(least, ".")
	if len(v) != 3 {
		return fmt.Errorf("SQLite has version %q, which is not understood", version)
	}
	for i := range w {
		have, err := strconv.Atoi(v[i])
		if err != nil {
			return fmt.Errorf("SQLite has version %q, which is not understood", version)
		}
		want, err := strconv.Atoi(w[i])
		if err != nil {
			return fmt.Errorf("least version %q: %w", least, err)
		}
		if have != want {
			if have < want {
				return fmt.Errorf("SQLite %s can corrupt its log; build with %s or later", version, least)
			}
			return nil
		}
	}
	return nil
}

// fatal reports whether err leaves the database in an unknown state, or says that it cannot be written.
func fatal(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return errors.Is(err, ErrCorrupt) || errors.Is(err, fs.ErrClosed) || errors.Is(err, sql.ErrConnDone)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return false
	default:
		return true
	}
}

// withRemedy adds ErrCorrupt and a remedy to an error about damage.
func withRemedy(err error) error {
	var e *sqlite.Error
	corrupt := errors.Is(err, ErrCorrupt)
	if errors.As(err, &e) {
		code := e.Code() & 0xff
		corrupt = corrupt || code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
	}
	if !corrupt {
		return err
	}
	return fmt.Errorf("%w: move the folder away and start anew; the audit log has every run: %w", ErrCorrupt, err)
}

// Conn returns the writer's connection, for a caller that knows that there is no other writer.
func (d *DB) Conn() *sql.Conn { return d.conn }
