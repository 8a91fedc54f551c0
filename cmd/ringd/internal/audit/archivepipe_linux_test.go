package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// TestArchivePipe: a named pipe where the archive has a segment or a head is told and not
// waited for, by those who read and by the next archive.
func TestArchivePipe(t *testing.T) {
	for _, name := range []string{"audit-00000001.jsonl.gz", "archived.json"} {
		a := newArchived(t)
		l := mustOpen(t, a.cfg)
		a.fill(t, l, 40)
		pipe := filepath.Join(a.to, name)
		check(t, syscall.Mkfifo(pipe, 0o600))
		if done, err := l.Archive(t.Context(), a.order(30)); err == nil ||
			!strings.Contains(err.Error(), "not a regular file") || len(done) != 0 {
			t.Errorf("%s: archived %+v, %v", name, done, err)
		}
		check(t, os.Remove(pipe))
		a.archive(t, l, a.order(30))
		end := l.Head()
		mustClose(t, l)
		a.holds(t, end)
		if name == "archived.json" {
			continue // those who read have the one of the log
		}
		check(t, os.Remove(pipe))
		check(t, syscall.Mkfifo(pipe, 0o600))
		if _, err := audit.Verify(t.Context(), a.cfg.Dir, audit.Check{
			Key: publicKey(), Archive: []string{a.to}}); err == nil ||
			!strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("verified: %v", err)
		}
		failed := false
		for _, err := range audit.Whole(t.Context(), a.cfg.Dir, []string{a.to}, audit.Filter{}) {
			failed = failed || err != nil
		}
		if !failed {
			t.Error("a query read a pipe")
		}
	}
}
