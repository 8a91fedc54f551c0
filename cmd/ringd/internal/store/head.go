package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

const headQuery = `select seq, hash from audit_head where id = 1`

// AuditHead returns the highest audit head of any commit, for audit.Config.Least. It is zero in a new store.
func (s *Store) AuditHead(ctx context.Context) (Head, error) {
	var h Head
	err := s.read(ctx, func(row scanner) error { return row.Scan(&h.Seq, &h.Hash) }, headQuery)
	if err != nil {
		return Head{}, fmt.Errorf("audit head: %w", err)
	}
	return h, nil
}

// ReadAuditHead is AuditHead of the store in dir, for a reader beside the daemon. It takes no lock and
// changes nothing. ErrNotFound: there is no store. Other errors: ErrFormat, ErrCorrupt.
func ReadAuditHead(ctx context.Context, dir string) (Head, error) {
	var h Head
	err := peek(ctx, dir, func(row scanner) error { return row.Scan(&h.Seq, &h.Hash) }, headQuery)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		return Head{}, fmt.Errorf("audit head in %s: %w", dir, err)
	}
	return h, nil
}

// keepHead stores the newest synced head of the audit log if it is higher than the stored one.
func (s *Store) keepHead(ctx context.Context, t *Tx) error {
	if s.cfg.Head == nil {
		return nil
	}
	h := s.cfg.Head()
	if h.Seq <= s.head {
		return nil
	}
	err := t.Exec(ctx, `insert into audit_head (id, seq, hash) values (1, $1, $2)
		on conflict (id) do update set seq = excluded.seq, hash = excluded.hash where excluded.seq > audit_head.seq`,
		h.Seq, h.Hash)
	if err != nil {
		return fmt.Errorf("keep audit head: %w", err)
	}
	s.head = h.Seq
	return nil
}
