package audit_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

// TestDiskReallyFull fills a small file system.
func TestDiskReallyFull(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	}()
	cfg := config(filepath.Join(mount, "audit"))
	l := mustOpen(t, cfg)
	r := audit.Record{Kind: audit.RunAsked, Agent: strings.Repeat("x", 10_000)}
	var err error
	acked := int64(0)
	for range 1000 {
		var h audit.Head
		if h, err = l.Append(t.Context(), r, audit.Written); err != nil {
			break
		}
		acked = h.Seq
	}
	if !errors.Is(err, audit.ErrDiskFull) {
		t.Fatalf("error %v after %d records, want ErrDiskFull", err, acked)
	}
	if err := l.Close(); !errors.Is(err, audit.ErrDiskFull) {
		t.Errorf("Close: %v", err)
	}
	got := all(t, cfg.Dir, audit.Filter{After: acked})
	if len(got) != 1 || got[0].Record.Kind != audit.LogClosed {
		t.Errorf("after the last acknowledged record: %+v, want log_closed", got)
	}
	if r := mustVerify(t, cfg.Dir, audit.Check{Key: publicKey()}); r.Torn != nil || r.Records != acked+1 {
		t.Errorf("report %+v, acknowledged %d", r, acked)
	}
}
