package store

import "context"

// What the tests in store_test need to look behind the interface.

var (
	AtLeast  = atLeast
	ScanRun  = scanRun
	ScanCall = scanCall
	ScanGen  = scanGeneration
)

const (
	DBName      = dbName
	LeastSQLite = leastSQLite
)

// Exec runs SQL on the writer, past every check.
func (s *Store) Exec(ctx context.Context, query string) error {
	_, err := s.conn.ExecContext(ctx, query)
	return err
}

// Ask returns the one value of a query on the writer.
func (s *Store) Ask(ctx context.Context, query string) (v string, err error) {
	err = s.conn.QueryRowContext(ctx, query).Scan(&v)
	return v, err
}

// Version is that of the SQLite in use.
func (s *Store) Version() string { return s.version }

// Change runs query as a change of its own, which then fails with err.
func (s *Store) Change(ctx context.Context, query string, err error) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := t.exec(ctx, query); err != nil {
			return err
		}
		return err
	})
}
