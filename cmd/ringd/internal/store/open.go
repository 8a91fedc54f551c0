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
)

const (
	dbName        = "ringd.db"
	lockName      = "ringd.lock"
	formatVersion = 1
	applicationID = 0x72696e67 // "ring"
	leastSQLite   = "3.51.3"   // earlier ones can corrupt the write-ahead log
	readers       = 4
)

// Open opens or makes the database in cfg.Dir. Errors: ErrInUse, ErrFormat,
// ErrCorrupt (both with a remedy in the text), faults.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Dir == "" || cfg.Now == nil {
		return nil, errors.New("open store: no folder or no clock given")
	}
	s := &Store{cfg: cfg, prep: map[string]*sql.Stmt{}}
	s.idle = sync.NewCond(&s.mu)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", cfg.Dir, explain(err)), s.shut())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := ownDir(s.cfg.Dir); err != nil {
		return err
	}
	var err error
	if s.lock, err = lockDir(filepath.Join(s.cfg.Dir, lockName)); err != nil {
		return err
	}
	path := filepath.Join(s.cfg.Dir, dbName)
	if err := makeFile(path); err != nil {
		return err
	}
	crashed := notEmpty(path + "-wal")
	if s.writes, err = sql.Open("sqlite", dsn(path, "_txlock=immediate")); err != nil {
		return err
	}
	s.writes.SetMaxOpenConns(1)
	if s.conn, err = s.writes.Conn(ctx); err != nil {
		return err
	}
	if err := s.checkVersion(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx, crashed); err != nil {
		return err
	}
	if err := syncDir(s.cfg.Dir); err != nil {
		return err
	}
	if s.reads, err = sql.Open("sqlite", dsn(path, "_pragma=query_only(1)")); err != nil {
		return err
	}
	s.reads.SetMaxOpenConns(readers)
	s.reads.SetMaxIdleConns(readers)
	h, err := s.AuditHead(ctx)
	if err != nil {
		return err
	}
	s.head = h.Seq
	s.file, err = os.Lstat(path)
	return err
}

// dsn names the database with what every connection needs.
func dsn(path, more string) string {
	u := url.URL{Scheme: "file", Path: path}
	return u.String() + "?_pragma=busy_timeout(10000)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&" + more
}

// stands refuses when the database is not under its name any more: what is
// committed to a file that was removed is kept nowhere.
func (s *Store) stands() error {
	path := filepath.Join(s.cfg.Dir, dbName)
	now, err := os.Lstat(path)
	if err == nil {
		_, err = os.Lstat(path + "-wal")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(now, s.file):
		return fmt.Errorf("%s was removed or replaced while it is written", path)
	default:
		return err
	}
}

// pragma sets a pragma on the writer and refuses when it reads back as anything
// but want.
func (s *Store) pragma(ctx context.Context, set, read, want string) error {
	rows, err := s.conn.QueryContext(ctx, "pragma "+set)
	if err != nil {
		return err
	}
	if err := each(rows, func(scanner) error { return nil }); err != nil {
		return err
	}
	var got string
	if err := s.conn.QueryRowContext(ctx, "pragma "+read).Scan(&got); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("pragma %s: reads back as %q, want %q", set, got, want)
	}
	return nil
}

// prepare makes the database safe to write, checks that it is ours and whole,
// and makes the tables in a new one.
func (s *Store) prepare(ctx context.Context, crashed bool) error {
	var format, app, tables int64
	err := errors.Join(
		s.conn.QueryRowContext(ctx, "pragma user_version").Scan(&format),
		s.conn.QueryRowContext(ctx, "pragma application_id").Scan(&app),
		s.conn.QueryRowContext(ctx, "select count(*) from sqlite_schema").Scan(&tables),
	)
	if err != nil {
		return err
	}
	fresh := format == 0 && app == 0 && tables == 0
	if !fresh {
		if err := known(app, format); err != nil {
			return err
		}
	}
	// auto_vacuum only takes before the first table and before WAL.
	for _, p := range [][3]string{
		{"auto_vacuum = full", "auto_vacuum", "1"},
		{"journal_mode = wal", "journal_mode", "wal"},
		{"synchronous = full", "synchronous", "2"},
		{"mmap_size = 0", "mmap_size", "0"},
		{"journal_size_limit = 16777216", "journal_size_limit", "16777216"},
	} {
		if err := s.pragma(ctx, p[0], p[1], p[2]); err != nil {
			return err
		}
	}
	if fresh {
		return s.create(ctx)
	}
	if crashed {
		return s.quickCheck(ctx)
	}
	return nil
}

// known refuses a database that is not ringd's, or of another format.
func known(app, format int64) error {
	switch {
	case app != applicationID:
		return fmt.Errorf("%w: %s is not a database of ringd: move it away", ErrFormat, dbName)
	case format != formatVersion:
		return fmt.Errorf("%w %d: this ringd reads %d: start the ringd that wrote it, or move the folder away", ErrFormat, format, formatVersion)
	default:
		return nil
	}
}

func (s *Store) create(ctx context.Context) error {
	script := fmt.Sprintf("begin immediate;\n%s\npragma application_id = %d;\npragma user_version = %d;\ncommit;",
		schema(), applicationID, formatVersion)
	if _, err := s.conn.ExecContext(ctx, script); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	return nil
}

func (s *Store) quickCheck(ctx context.Context) error {
	var got string
	if err := s.conn.QueryRowContext(ctx, "pragma quick_check(1)").Scan(&got); err != nil {
		return err
	}
	if got != "ok" {
		return fmt.Errorf("%w: %s", ErrCorrupt, got)
	}
	return nil
}

func (s *Store) checkVersion(ctx context.Context) error {
	if err := s.conn.QueryRowContext(ctx, "select sqlite_version()").Scan(&s.version); err != nil {
		return err
	}
	return atLeast(s.version, leastSQLite)
}

// atLeast refuses an SQLite version below least.
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

// schema is the SQL that makes the tables. It is also valid for PostgreSQL, but
// for blob, which is bytea there. snap, snap_digest, fence, owner, lease and
// next are for durable pauses.
func schema() string {
	return `
create table run (
	id text primary key, v integer not null, state text not null,
	agent text not null, actor text not null, executor text not null, program text not null,
	generation bigint not null, revision text not null, outcome blob,
	audit_seq bigint not null, audit_hash text not null,
	fence bigint not null default 0, owner text not null default '', lease bigint not null default 0,
	next bigint not null default 0, snap blob, snap_digest text,
	created bigint not null, updated bigint not null
);
create index run_created on run (created);
create index run_live on run (state, lease)
	where state in ('asked', 'started', 'call_open', 'paused', 'answered', 'claimed', 'executing');
create table call (
	run text not null, n bigint not null, id text not null, v integer not null, state text not null,
	bridge text not null, waits_for text not null, idem text not null,
	args_digest text not null, args blob, result blob,
	reply blob, replied_by text, replied_at bigint,
	fence bigint not null default 0,
	audit_seq bigint not null, audit_hash text not null,
	created bigint not null, updated bigint not null,
	primary key (run, n), unique (run, id)
);
create index call_live on call (state, waits_for, created) where state in ('open', 'executing');
create table generation (
	number bigint primary key, v integer not null, revision text not null, digest text not null,
	body blob not null, activated bigint not null, fresh bigint not null
);
create table audit_head (id integer primary key, seq bigint not null, hash text not null);`
}

// makeFile makes the database file before SQLite does, closed to others.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func notEmpty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// ownDir makes dir when it is not there and refuses one that others can enter.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("mode %04o: others can enter it; run chmod 700 on it", mode)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// fatal reports whether err leaves the database in a state that is not known,
// or says that it cannot be written.
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

// explain adds ErrCorrupt and what to do to an error that says so.
func explain(err error) error {
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
