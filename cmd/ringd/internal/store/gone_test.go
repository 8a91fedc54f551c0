package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// A database that somebody removes or replaces under an open store closes the
// store with the next commit.
func TestDatabaseTakenAway(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(db string) error
	}{
		{"removed", os.Remove},
		{"its log removed", func(db string) error { return os.Remove(db + "-wal") }},
		{"moved", func(db string) error { return os.Rename(db, db+".old") }},
		{"replaced", func(db string) error {
			b, err := os.ReadFile(db)
			return errors.Join(err, os.WriteFile(db+".new", b, 0o600), os.Rename(db+".new", db))
		}},
		{"the folder moved", func(db string) error { return os.Rename(filepath.Dir(db), filepath.Dir(db)+".old") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			s := mustOpen(t, store.Config{Dir: dir, Now: newClock().Now})
			defer s.Close()
			mustStart(t, s, newRun("a"))
			if err := test.do(filepath.Join(dir, "ringd.db")); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(t.Context(), newRun("b")); !errors.Is(err, store.ErrClosed) {
				t.Errorf("start: %v, want ErrClosed", err)
			}
			if !errors.Is(s.Err(), store.ErrClosed) {
				t.Errorf("Err: %v", s.Err())
			}
		})
	}
}
