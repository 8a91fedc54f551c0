package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// TestDiskFullClosesUntilReopened: after a commit that failed nothing is accepted,
// also when there is room again, until the store is reopened; then everything is there
// that was acknowledged, once.
func TestDiskFullClosesUntilReopened(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	}()
	cfg := store.Config{Dir: filepath.Join(mount, "state"), Now: newClock().Now}
	s := mustOpen(t, cfg)
	filler := filepath.Join(mount, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var acked []string
	var err error
	for i := range 200 {
		r := newRun(fmt.Sprint(i))
		r.Agent = strings.Repeat("x", 20_000)
		if err = s.Start(t.Context(), r); err != nil {
			break
		}
		acked = append(acked, r.ID)
	}
	if !errors.Is(err, store.ErrClosed) {
		t.Fatalf("error %v after %d runs, want ErrClosed", err, len(acked))
	}
	if err := s.Reopen(t.Context()); err == nil { // the disk is as full as it was
		r := newRun("full")
		r.Agent = strings.Repeat("x", 20_000)
		if err := s.Start(t.Context(), r); !errors.Is(err, store.ErrClosed) {
			t.Errorf("reopened on a full disk: %v, want ErrClosed", err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context(), newRun("late")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("with room again: %v, want ErrClosed", err)
	}
	if !errors.Is(s.Err(), store.ErrClosed) {
		t.Errorf("Err is %v", s.Err())
	}
	for range 2 { // the second finds an open store
		if err := errors.Join(s.Reopen(t.Context()), s.Err()); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range acked {
		getRun(t, s, id)
		if err := s.Start(t.Context(), newRun(id)); !errors.Is(err, store.ErrExists) {
			t.Errorf("run %s again: %v", id, err)
		}
	}
	mustStart(t, s, newRun("late"))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Reopen(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("reopened after Close: %v", err)
	}
	s = mustOpen(t, cfg)
	for _, id := range append(acked, "late") {
		getRun(t, s, id)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
