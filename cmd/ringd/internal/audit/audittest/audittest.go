// Package audittest makes state folders that have an audit log, for tests of code that
// reads such a log.
package audittest

import (
	"crypto/ed25519"
	"os"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
)

// State returns a state folder whose log has these records. A record without a time gets the time now.
func State(t testing.TB, now time.Time, records ...audit.Record) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(cli.Layout(dir).Store, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), audit.Config{Dir: cli.Layout(dir).Audit,
		Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)),
		Now: func() time.Time { return now }, Ticks: make(chan time.Time)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := log.Append(t.Context(), r, audit.Written); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
