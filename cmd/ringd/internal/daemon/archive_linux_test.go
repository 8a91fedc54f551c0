package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/wire"
)

// TestLogIsArchived: what is older than what is kept goes to the archive by itself. While
// the archive is gone nothing is removed, runs are taken, and the status says why; once it
// is back it goes on.
func TestLogIsArchived(t *testing.T) {
	to := t.TempDir()
	s := daemontest.New(t, daemontest.Config{Staleness: 1000 * time.Hour,
		Archive: daemon.Archive{To: to, Age: time.Hour}})
	s.Apply(t, "one act")
	log := filepath.Join(s.Dir, "audit")
	archived := func() []string {
		names, err := filepath.Glob(filepath.Join(to, "*.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	refused := func() bool {
		return slices.ContainsFunc(s.Daemon.Status(t.Context()).Conditions,
			func(c wire.Condition) bool { return c.Code == wire.ConditionNotArchived })
	}
	if len(archived()) != 0 || refused() {
		t.Fatalf("archived at the start: %v", archived())
	}
	until(t, s, func() bool {
		s.Clock.Advance(time.Hour)
		head, err := audit.ReadArchived(log, nil)
		return err == nil && head.Seq > 0
	})
	if len(archived()) == 0 || len(s.Records(t, audit.AuditArchived)) == 0 {
		t.Errorf("the archive has %v", archived())
	}
	// Another archive may be on its way, and the figures follow each one.
	until(t, s, func() bool {
		size, names := int64(0), archived()
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		told := figures(t, s)
		return size > 0 && strings.Contains(told, fmt.Sprintf("\nringd_audit_archives %d\n", len(names))) &&
			strings.Contains(told, fmt.Sprintf("\nringd_audit_archived_bytes %d\n", size))
	})
	check := audit.Check{Archive: []string{to}}
	if r, err := audit.Verify(t.Context(), log, check); err != nil || r.Archived == nil || r.Records != r.Head.Seq {
		t.Errorf("verified %+v: %v", r, err)
	}

	gone := to + ".gone"
	if err := os.Rename(to, gone); err != nil {
		t.Fatal(err)
	}
	until(t, s, func() bool { s.Clock.Advance(10 * time.Second); return refused() })
	before := s.Daemon.Status(t.Context()).AuditSeq
	s.Clock.Advance(3 * time.Hour)
	if r, err := run(t, s, "1+1"); err != nil || r.State != "done" {
		t.Errorf("a run while the archive is gone: %+v, %v", r, err)
	}
	if r, err := audit.Verify(t.Context(), log, audit.Check{Archive: []string{gone}}); err != nil ||
		r.Head.Seq < before {
		t.Errorf("verified %+v: %v", r, err)
	}
	if err := os.Rename(gone, to); err != nil {
		t.Fatal(err)
	}
	until(t, s, func() bool { s.Clock.Advance(10 * time.Second); return !refused() })
}
