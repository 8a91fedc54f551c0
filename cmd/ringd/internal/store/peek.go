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

// peek runs a query on the database in dir while another process may have it open. It takes no lock and
// changes nothing. fs.ErrNotExist: there is no database. Other errors: ErrCorrupt, ErrFormat.
func peek(ctx context.Context, dir string, scan func(scanner) error, query string, args ...any) (err error) {
	path := filepath.Join(dir, DBName)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	mode := "mode=ro"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		mode = "mode=ro&immutable=1" // closed properly, so no side file is created
	}
	db, err := sql.Open("sqlite", dsn(path, "_pragma=query_only(1)&"+mode))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var version, app int64
	err = errors.Join(
		db.QueryRowContext(ctx, "pragma user_version").Scan(&version),
		db.QueryRowContext(ctx, "pragma application_id").Scan(&app),
	)
	if err == nil {
		err = Known(app, version)
	}
	if err != nil {
		return withRemedy(err)
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return withRemedy(err)
	}
	return withRemedy(each(rows, scan))
}
