package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
)

const filesName = "snapshots"

// maxInline is the largest sealed record that is stored in a row. A larger one would block the one writer for
// too long.
const maxInline = 1 << 20

// sealedOf returns the row name of the sealed record of a pause.
func sealedOf(run string) string { return "run/" + run }

// openFiles opens the folder of large records and removes those that no row names.
func (s *Store) openFiles(ctx context.Context) error {
	names := map[string]bool{}
	err := s.read(ctx, func(row scanner) error {
		var name string
		err := row.Scan(&name)
		names[name] = true
		return err
	}, `select file from pause where file <> '' union all select file from session where file <> ''`)
	if err != nil {
		return err
	}
	s.files, err = openKeepDir(filepath.Join(s.cfg.Dir, filesName), func(name string) bool { return names[name] })
	if err != nil {
		return fmt.Errorf("open the folder of snapshots: %w", err)
	}
	return nil
}

// dropFiles removes files that no row names. A file that cannot be removed now is removed by the next Open.
func (s *Store) dropFiles(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	_ = s.files.Drop(names, func(name string) bool {
		named := false
		err := s.read(
			ctx,
			func(scanner) error { named = true; return nil },
			`select 1 from pause where file = $1 and file <> ''
				union all select 1 from session where file = $1 and file <> ''`,
			name,
		)
		return named || err != nil
	})
}

// withSealed calls put with the name of a file that holds body, or with "" if body is small enough for a row.
// It removes the file if put fails.
func (s *Store) withSealed(ctx context.Context, body []byte, put func(file string) error) error {
	if len(body) == 0 {
		return fmt.Errorf("%w: an empty record", ErrState)
	}
	if err := checkSize("sealed record", len(body), MaxSealed); err != nil {
		return err
	}
	if len(body) <= maxInline {
		return put("")
	}
	if err := s.Err(); err != nil {
		return err
	}
	file, done, err := s.files.Put(body)
	if err != nil {
		return err
	}
	err = put(file)
	done()
	if err != nil {
		s.dropFiles(ctx, []string{file})
	}
	return err
}

// putSealed stores body in a row, or deletes the row if body is in a file.
func (t *tx) putSealed(ctx context.Context, name, file string, body []byte) error {
	if file != "" {
		return t.Exec(ctx, `delete from sealed where name = $1`, name)
	}
	return t.Exec(
		ctx,
		`insert into sealed (name, body) values ($1, $2) on conflict (name) do update set body = excluded.body`,
		name,
		body,
	)
}

// removeFile removes the file once the change is durable.
func (t *tx) removeFile(ctx context.Context, file string) {
	if file != "" {
		t.After(func() { t.s.dropFiles(ctx, []string{file}) })
	}
}

// sealedRow is the location of a record in a row.
type sealedRow struct {
	file string
	size int64
	body []byte
}

// load returns the record. Error: ErrDamaged.
func (s *Store) load(x sealedRow) ([]byte, error) {
	if x.file != "" {
		return s.files.Get(x.file, x.size)
	}
	if int64(len(x.body)) != x.size {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrDamaged, len(x.body), x.size)
	}
	return x.body, nil
}

// queryOne returns the number or text of a query in a transaction, or zero without a row.
func queryOne[T int64 | string](ctx context.Context, t *tx, query string, args ...any) (T, error) {
	var v T
	err := t.Rows(ctx, func(row scanner) error {
		var n sql.Null[T]
		err := row.Scan(&n)
		v = n.V
		return err
	}, query, args...)
	return v, err
}
