package store

import (
	"context"
)

// What the tests in store_test need to look behind the interface.

var (
	ScanRun      = scanRun
	ScanCall     = scanCall
	ScanGen      = scanGeneration
	ScanApproval = scanApproval
)

const (
	FilesName = filesName
	MaxInline = maxInline
)

// Exec runs SQL on the writer, past every check.
func (s *Store) Exec(ctx context.Context, query string) error {
	_, err := s.db.Conn().ExecContext(ctx, query)
	return err
}

// Ask returns the one value of a query on the writer.
func (s *Store) Ask(ctx context.Context, query string) (v string, err error) {
	err = s.db.Conn().QueryRowContext(ctx, query).Scan(&v)
	return v, err
}

// Change runs query as a change of its own, which then fails with err.
func (s *Store) Change(ctx context.Context, query string, err error) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := t.Exec(ctx, query); err != nil {
			return err
		}
		return err
	})
}

// ScanPause is scanPause without where its record lies.
func ScanPause(row scanner) (Pause, error) {
	p, _, err := scanPause(row)
	return p, err
}

// ScanSession is scanSession without where its record lies.
func ScanSession(row scanner) (Session, error) {
	x, _, err := scanSession(row)
	return x, err
}
