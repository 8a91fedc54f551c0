package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const headQuery = `select seq, hash from audit_head where id = 1`

// AuditHead is the highest audit head any commit has seen: what to give
// audit.Config.Least. Zero in a new store.
func (s *Store) AuditHead(ctx context.Context) (Head, error) {
	var h Head
	err := s.read(ctx, func(row scanner) error { return row.Scan(&h.Seq, &h.Hash) }, headQuery)
	if err != nil {
		return Head{}, fmt.Errorf("audit head: %w", err)
	}
	return h, nil
}

// ReadAuditHead is AuditHead of the store in dir for a reader beside the daemon:
// it takes no lock and changes nothing. ErrNotFound when no store is there;
// ErrFormat, ErrCorrupt.
func ReadAuditHead(ctx context.Context, dir string) (h Head, err error) {
	path := filepath.Join(dir, dbName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Head{}, fmt.Errorf("audit head in %s: %w", dir, ErrNotFound)
	}
	mode := "mode=ro"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		mode = "mode=ro&immutable=1" // closed in order: no side file is made
	}
	db, err := sql.Open("sqlite", dsn(path, "_pragma=query_only(1)&"+mode))
	if err != nil {
		return Head{}, fmt.Errorf("audit head in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var format, app int64
	err = errors.Join(
		db.QueryRowContext(ctx, "pragma user_version").Scan(&format),
		db.QueryRowContext(ctx, "pragma application_id").Scan(&app),
	)
	if err == nil {
		err = known(app, format)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, headQuery).Scan(&h.Seq, &h.Hash)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, fmt.Errorf("audit head in %s: %w", dir, explain(err))
	}
	return h, nil
}
