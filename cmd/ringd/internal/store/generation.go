package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

const keepGenerations = 16

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// PutGeneration stores an activation. Its number must be higher than all before (ErrState). The last 16 are
// kept. Other errors: ErrTooLarge, ErrClosed.
func (s *Store) PutGeneration(ctx context.Context, g Generation) error {
	if err := checkSize("set", len(g.Set), MaxSet); err != nil {
		return fmt.Errorf("keep generation %d: %w", g.Number, err)
	}
	if g.Number <= 0 || len(g.Set) == 0 {
		return fmt.Errorf("keep generation %d with a set of %d bytes: %w", g.Number, len(g.Set), ErrState)
	}
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.Changed(ctx, `insert into generation (number, v, revision, digest, body, activated, fresh)
			select $1, $2, $3, $4, $5, $6, $7 where not exists (select 1 from generation where number >= $1)`,
			g.Number, recordVersion, g.Revision, digest(g.Set), g.Set, g.Activated.UnixMicro(), g.Fresh.UnixMicro())
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("a later one is kept: %w", ErrState)
		}
		return t.Exec(ctx, `delete from generation where number not in
			(select number from generation order by number desc limit $1)`, keepGenerations)
	})
	if err != nil {
		return fmt.Errorf("keep generation %d: %w", g.Number, err)
	}
	return nil
}

// Freshen stores when the push of the generation was last seen as good. An earlier time than the stored one
// changes nothing. Errors: ErrNotFound, ErrClosed.
func (s *Store) Freshen(ctx context.Context, number int64, at time.Time) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.Changed(ctx, `update generation set fresh = case when fresh < $2 then $2 else fresh end
			where number = $1`, number, at.UnixMicro())
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("freshen generation %d: %w", number, err)
	}
	return nil
}

// LastGeneration returns the newest generation. ErrNotFound: there is none yet. ErrCorrupt: its set does not
// match its digest.
func (s *Store) LastGeneration(ctx context.Context) (Generation, error) {
	var g Generation
	err := s.read(ctx, func(row scanner) (err error) {
		g, err = scanGeneration(row)
		return err
	}, `select v, number, revision, digest, body, activated, fresh from generation order by number desc limit 1`)
	if err == nil && g.Number == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Generation{}, fmt.Errorf("last generation: %w", err)
	}
	return g, nil
}

func scanGeneration(row scanner) (Generation, error) {
	var g Generation
	var v, activated, fresh int64
	var sum string
	if err := row.Scan(&v, &g.Number, &g.Revision, &sum, &g.Set, &activated, &fresh); err != nil {
		return Generation{}, fmt.Errorf("read generation: %w", err)
	}
	if v != recordVersion {
		return Generation{}, fmt.Errorf("generation %d: %w %d: start the ringd that wrote it", g.Number, ErrFormat, v)
	}
	if sum != digest(g.Set) {
		return Generation{}, fmt.Errorf("generation %d: %w: its set does not match its digest", g.Number, ErrCorrupt)
	}
	g.Activated, g.Fresh = fromMicros(activated), fromMicros(fresh)
	return g, nil
}
