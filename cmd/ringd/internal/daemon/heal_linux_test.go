package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/schema/wire"
)

// small is a folder on a disk of its own.
func small(t *testing.T, size string) string {
	t.Helper()
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return mount
}

// fill takes all room of a disk until it is called.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "fill")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// until advances the clock second by second until ok.
func until(t *testing.T, s *daemontest.Stack, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		s.Clock.Advance(time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come")
}

// TestFullDiskHeals: a daemon on a full disk refuses every run by name, and goes on by
// itself when there is room: what was recorded is there once, what was live is settled
// as after a crash, and a lockdown that had no room is on record.
func TestFullDiskHeals(t *testing.T) {
	dir := small(t, "24m")
	s := daemontest.New(t, daemontest.Config{Dir: filepath.Join(dir, "state"), Heals: true, Staleness: 240 * time.Hour})
	s.Faults.On(nil) // the log fails for true
	s.Apply(t, "one act ask")
	before, err := run(t, s, "1+1")
	if err != nil || before.State != "done" {
		t.Fatalf("%+v, %v", before, err)
	}
	paused := start(t, s, "steps ask")
	waitPaused(t, s, paused.ID)
	live := start(t, s, "spin")
	empty := fill(t, dir)
	var acked []string
	for err == nil {
		var r wire.Run
		if r, err = run(t, s, "1+1"); err == nil {
			acked = append(acked, r.ID)
		}
	}
	if !errors.Is(err, records.ErrUnavailable) {
		t.Fatalf("after %d runs: %v, want ErrUnavailable", len(acked), err)
	}
	condition := func() (message string) {
		for _, c := range s.Daemon.Status(t.Context()).Conditions {
			if c.Code == wire.ConditionAuditUnavailable {
				message = c.Message
			}
		}
		return message
	}
	until(t, s, func() bool { return s.Daemon.Status(t.Context()).Runs.Live == 0 }) // nothing goes on without records
	if m := condition(); !strings.Contains(m, "continues by itself") {
		t.Errorf("status says %q", m)
	}
	if _, err := run(t, s, "1+1"); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("while it is full: %v", err)
	}
	if s.Lock.Begin(t.Context(), "uid:1", "full"); s.Lock.State() == nil {
		t.Error("no lockdown")
	}
	empty()
	until(t, s, func() bool { return s.Daemon.Writable() == nil })
	if m := condition(); m != "" {
		t.Errorf("status says %q", m)
	}
	if s.Lock.State() == nil || s.Lock.State().Unrecorded != "" || len(s.Records(t, audit.LockdownBegun)) != 1 {
		t.Errorf("the lockdown: %+v", s.Lock.State())
	}
	if err := s.Lock.Lift(t.Context(), "uid:1", "room"); err != nil {
		t.Fatal(err)
	}
	after, err := run(t, s, "1+1")
	if err != nil || after.State != "done" {
		t.Fatalf("with room: %+v, %v", after, err)
	}
	acked = append(acked, before.ID, after.ID)
	for _, id := range acked {
		if r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0); err != nil || r.State != "done" {
			t.Errorf("run %s: %q, %v", id, r.State, err)
		}
		ends := slices.DeleteFunc(s.Records(t, audit.RunEnded), func(r audit.Record) bool { return r.Run != id })
		if len(ends) != 1 {
			t.Errorf("run %s: %d records of its end", id, len(ends))
		}
	}
	if r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), live.ID, 0); err != nil || r.State == "running" ||
		r.State == "done" {
		t.Errorf("the run that was live: %q, %v", r.State, err)
	}
	if r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), paused.ID, 0); err != nil || r.State != "paused" {
		t.Errorf("the run that waited: %q, %v", r.State, err)
	}
	s.Close(t)
	if _, err := audit.Verify(context.WithoutCancel(t.Context()), filepath.Join(dir, "state", "audit"),
		audit.Check{}); err != nil {
		t.Error(err)
	}
}

// TestTamperedLogDoesNotHeal: room is no cure for a log that was changed.
func TestTamperedLogDoesNotHeal(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Heals: true})
	s.Faults.On(nil)
	s.Apply(t, "one act")
	if err := os.Remove(filepath.Join(s.Dir, "audit", "audit-00000001.jsonl")); err != nil {
		t.Fatal(err)
	}
	until(t, s, func() bool { _, err := run(t, s, "call act"); return err != nil })
	for range 5 {
		s.Clock.Advance(time.Minute)
		time.Sleep(10 * time.Millisecond)
	}
	if err := s.Daemon.Writable(); !errors.Is(err, audit.ErrTampered) {
		t.Errorf("writable: %v", err)
	}
}

// TestRemovedStoreDoesNotHeal: room is no cure for a database that was removed, and status
// does not say that it is.
func TestRemovedStoreDoesNotHeal(t *testing.T) {
	s := daemontest.New(t, daemontest.Config{Heals: true})
	s.Faults.On(nil)
	s.Apply(t, "one act")
	if err := os.Remove(filepath.Join(s.Dir, "store", "ringd.db")); err != nil {
		t.Fatal(err)
	}
	until(t, s, func() bool { _, err := run(t, s, "call act"); return err != nil })
	for range 5 {
		s.Clock.Advance(time.Minute)
		time.Sleep(10 * time.Millisecond)
	}
	if err := s.Daemon.Writable(); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("writable: %v", err)
	}
	for _, c := range s.Daemon.Status(t.Context()).Conditions {
		if c.Code == wire.ConditionAuditUnavailable && !strings.Contains(
			c.Message, "check them with ringd audit verify") {
			t.Errorf("status: %s", c.Message)
		}
	}
}

// TestDamageFoundWhileHealing: a log or store that does not hold, which shows only as it is
// taken up again, stays closed for good, and status says that room is no cure. Any other
// fault is tried again.
func TestDamageFoundWhileHealing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		found error
		stays bool
	}{
		{"the log is not valid", fmt.Errorf("reopen audit log: %w: record 7", audit.ErrTampered), true},
		{"the store is damaged", fmt.Errorf("reopen store: %w", store.ErrCorrupt), true},
		{"the disk is full yet", fmt.Errorf("reopen audit log: %w", audit.ErrDiskFull), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := daemontest.New(t, daemontest.Config{Heals: true})
			s.Apply(t, "one act")
			var broken, found atomic.Bool
			broken.Store(true)
			s.Faults.On(func(what string) error {
				switch {
				case what == "audit reopen" && !found.Swap(true): // the next time it would succeed
					return tc.found
				case strings.HasPrefix(what, "audit run_asked") && broken.Load():
					return errors.New("input/output error")
				}
				return nil
			})
			if _, err := run(t, s, "call act"); !errors.Is(err, records.ErrUnavailable) {
				t.Fatalf("run on a log that cannot be written: %v", err)
			}
			broken.Store(false)
			until(t, s, found.Load)
			if !tc.stays {
				until(t, s, func() bool { return s.Daemon.Writable() == nil })
				return
			}
			until(t, s, func() bool { return errors.Is(s.Daemon.Writable(), tc.found) })
			for range 5 {
				s.Clock.Advance(time.Minute)
				time.Sleep(10 * time.Millisecond)
			}
			if _, err := run(t, s, "call act"); !errors.Is(err, records.ErrUnavailable) || !errors.Is(err, tc.found) {
				t.Errorf("run: %v", err)
			}
			i := slices.IndexFunc(s.Daemon.Status(t.Context()).Conditions, func(c wire.Condition) bool {
				return c.Code == wire.ConditionAuditUnavailable &&
					strings.Contains(c.Message, "check them with ringd audit verify")
			})
			if i < 0 {
				t.Errorf("conditions: %+v", s.Daemon.Status(t.Context()).Conditions)
			}
		})
	}
}

// TestFloorOfRoom: below the floor no new run starts and what may fill the disk ends;
// everything that ends, closes and answers goes on with the disk full to its last block,
// from room that was kept for it.
func TestFloorOfRoom(t *testing.T) {
	dir := small(t, "32m")
	free := func() (uint64, bool) {
		var at syscall.Statfs_t
		err := syscall.Statfs(dir, &at)
		return at.Bavail * uint64(at.Bsize), err == nil
	}
	s := daemontest.New(t, daemontest.Config{Dir: filepath.Join(dir, "state"), Heals: true, Staleness: 240 * time.Hour,
		Room: &daemon.Room{Free: free, Floor: 4 << 20, Shares: func(path string) bool { return path == "/here" }}})
	s.Apply(t, "one act ask pay! $git +/here")
	waits := start(t, s, "steps pay")
	pending := waitPaused(t, s, waits.ID).Pending[0]
	answered := start(t, s, "steps ask")
	waitPaused(t, s, answered.ID)
	reader := start(t, s, "spin")
	writer := script(t, s, "spin")
	low := func() bool {
		_, err := run(t, s, "1+1")
		return errors.Is(err, daemon.ErrDiskLow)
	}
	state := func(id string) string {
		r, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r.State
	}
	if low() {
		t.Fatal("there is room")
	}
	empty := fill(t, dir)
	until(t, s, low)
	until(t, s, func() bool { return state(writer.ID) == "cancelled" })
	ended := slices.DeleteFunc(s.Records(t, audit.RunCancelled),
		func(r audit.Record) bool { return r.Run != writer.ID })
	if len(ended) != 1 || !strings.Contains(ended[0].Detail["reason"], "disk_low") {
		t.Errorf("the record of its end: %+v", ended)
	}
	if got := state(reader.ID); got != "running" {
		t.Errorf("a run that writes no files is %q", got)
	}
	st := s.Daemon.Status(t.Context())
	if !slices.ContainsFunc(st.Conditions, func(c wire.Condition) bool { return c.Code == wire.ConditionDiskLow }) ||
		st.Ready {
		t.Errorf("status: %+v", st.Conditions)
	}
	if n, _ := free(); n != 0 {
		t.Fatalf("%d bytes are free", n)
	}
	// The orders of people.
	if _, err := s.Daemon.RevokeGrants(t.Context(), daemontest.Me(), waits.ID, []string{"bridge:act"}); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if _, err := allow(t, s, person("uid:1"), waits.ID, pending); err != nil {
		t.Errorf("approve: %v", err)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), answered.ID); err != nil {
		t.Errorf("cancel of a run that waits: %v", err)
	}
	if _, err := s.Daemon.CancelRun(t.Context(), daemontest.Me(), reader.ID); err != nil {
		t.Errorf("cancel: %v", err)
	}
	for range 10 {
		if s.Lock.Begin(t.Context(), "uid:1", "full"); s.Lock.State().Unrecorded != "" {
			t.Fatalf("lockdown: %s", s.Lock.State().Unrecorded)
		}
		if err := s.Lock.Lift(t.Context(), "uid:1", "full"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Daemon.Writable(); err != nil {
		t.Errorf("it was closed: %v", err)
	}
	if got := state(waits.ID); got == "done" {
		t.Error("the approved run went on")
	}
	empty()
	until(t, s, func() bool { r, err := run(t, s, "1+1"); return err == nil && r.State == "done" })
	until(t, s, func() bool { return state(waits.ID) == "done" })
}

// TestFloorHasAGap: what has closed at the floor opens a quarter above it.
func TestFloorHasAGap(t *testing.T) {
	var free atomic.Uint64
	free.Store(100)
	s := daemontest.New(t, daemontest.Config{Room: &daemon.Room{
		Free:  func() (uint64, bool) { return free.Load(), true },
		Floor: 100, Tight: func() bool { return false }, Shares: func(string) bool { return true }}})
	s.Apply(t, "one act")
	for _, step := range []struct {
		free uint64
		low  bool
	}{{100, false}, {99, true}, {110, true}, {124, true}, {125, false}, {101, false}, {99, true}} {
		free.Store(step.free)
		until(t, s, func() bool {
			_, err := run(t, s, "1+1")
			return errors.Is(err, daemon.ErrDiskLow) == step.low
		})
		for range 3 {
			s.Clock.Advance(time.Second)
			time.Sleep(5 * time.Millisecond)
		}
		if _, err := run(t, s, "1+1"); errors.Is(err, daemon.ErrDiskLow) != step.low {
			t.Errorf("with %d free: %v", step.free, err)
		}
	}
}
