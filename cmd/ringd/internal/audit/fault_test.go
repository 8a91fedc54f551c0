package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

var errDisk = errors.New("the disk is on fire")

// disk makes segments whose operations can be made to fail or to wait.
type disk struct {
	mu      sync.Mutex
	write   func(p []byte) (int, error) // nil: the real one
	sync    func() error
	reserve func() error
}

func (d *disk) set(f func(d *disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

func (d *disk) open(path string, create bool) (audit.File, error) {
	f, err := audit.OpenSegment(path, create)
	if err != nil {
		return nil, err
	}
	return faultyFile{f, d}, nil
}

type faultyFile struct {
	audit.File
	d *disk
}

func (f faultyFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	fault := f.d.write
	f.d.mu.Unlock()
	if fault == nil {
		return f.File.WriteAt(p, off)
	}
	n, err := fault(p)
	if n > 0 {
		if _, err := f.File.WriteAt(p[:n], off); err != nil {
			return 0, err
		}
	}
	return n, err
}

func (f faultyFile) Sync() error {
	f.d.mu.Lock()
	fault := f.d.sync
	f.d.mu.Unlock()
	if fault != nil {
		if err := fault(); err != nil {
			return err
		}
	}
	return f.File.Sync()
}

func (f faultyFile) Reserve(off, n int64) error {
	f.d.mu.Lock()
	fault := f.d.reserve
	f.d.mu.Unlock()
	if fault != nil {
		if err := fault(); err != nil {
			return err
		}
	}
	return f.File.Reserve(off, n)
}

func openOn(t testing.TB, d *disk, cfg audit.Config) *audit.Log {
	t.Helper()
	l, err := audit.OpenWith(t.Context(), cfg, d.open)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFailureClosesForGood: after one failed write or sync nothing is accepted,
// also when the disk is well again, until the log is opened anew.
func TestFailureClosesForGood(t *testing.T) {
	tests := []struct {
		name  string
		d     audit.Durability
		fault func(d *disk)
		cause error
	}{
		{"write", audit.Written, func(d *disk) { d.write = func([]byte) (int, error) { return 0, errDisk } }, errDisk},
		{"half a write", audit.Written, func(d *disk) { d.write = func(p []byte) (int, error) { return len(p) / 2, errDisk } }, errDisk},
		{"sync", audit.Synced, func(d *disk) { d.sync = func() error { return errDisk } }, errDisk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(logDir(t))
			var d disk
			l := openOn(t, &d, cfg)
			kept := mustAppend(t, l, callRecord(1), audit.Synced)
			d.set(tt.fault)
			if _, err := l.Append(t.Context(), callRecord(2), tt.d); !errors.Is(err, audit.ErrClosed) ||
				!errors.Is(err, tt.cause) {
				t.Fatalf("error %v, want ErrClosed with its cause", err)
			}
			<-l.Failed()
			d.set(func(d *disk) { d.write, d.sync = nil, nil })
			for _, durability := range []audit.Durability{audit.Written, audit.Synced} {
				if _, err := l.Append(t.Context(), callRecord(3), durability); !errors.Is(err, audit.ErrClosed) ||
					!errors.Is(err, tt.cause) {
					t.Errorf("later append: %v, want ErrClosed with its cause", err)
				}
			}
			if !errors.Is(l.Err(), tt.cause) {
				t.Errorf("Err is %v", l.Err())
			}
			if err := l.Close(); !errors.Is(err, tt.cause) {
				t.Errorf("Close: %v", err)
			}

			cfg.Least = kept
			l = mustOpen(t, cfg)
			mustAppend(t, l, callRecord(4), audit.Synced)
			mustClose(t, l)
			mustVerify(t, cfg.Dir, audit.Check{Key: publicKey(), Least: kept})
		})
	}
}

// TestFailureReachesEveryCaller: nobody who shares a failed write or sync is
// told that it worked.
func TestFailureReachesEveryCaller(t *testing.T) {
	for _, durability := range []audit.Durability{audit.Written, audit.Synced} {
		cfg := config(logDir(t))
		entered, release := make(chan struct{}), make(chan struct{})
		var d disk
		l := openOn(t, &d, cfg)
		var once sync.Once
		fail := func() error {
			once.Do(func() { close(entered) })
			<-release
			return errDisk
		}
		d.set(func(d *disk) {
			if durability == audit.Written {
				d.write = func([]byte) (int, error) { return 0, fail() }
			} else {
				d.sync = fail
			}
		})
		const callers = 8
		errs := make(chan error, callers)
		for i := range callers {
			go func() {
				_, err := l.Append(t.Context(), callRecord(i), durability)
				errs <- err
			}()
		}
		<-entered
		close(release)
		for range callers {
			if err := <-errs; !errors.Is(err, audit.ErrClosed) {
				t.Errorf("durability %d: a caller was told %v", durability, err)
			}
		}
		if err := l.Close(); !errors.Is(err, errDisk) {
			t.Errorf("Close: %v", err)
		}
	}
}

// TestTickFailureIsSeen: a sync that no Append waited for closes the log too.
func TestTickFailureIsSeen(t *testing.T) {
	cfg := config(logDir(t))
	ticks := make(chan time.Time)
	cfg.Ticks = ticks
	var d disk
	l := openOn(t, &d, cfg)
	mustAppend(t, l, callRecord(1), audit.Written)
	d.set(func(d *disk) { d.sync = func() error { return errDisk } })
	ticks <- time.Time{}
	<-l.Failed()
	if _, err := l.Append(t.Context(), callRecord(2), audit.Written); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if err := l.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: %v", err)
	}
}

// TestWrittenDoesNotWaitForSync: while a sync is under way a record that is only
// to be written gets through.
func TestWrittenDoesNotWaitForSync(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var d disk
	l := openOn(t, &d, config(logDir(t)))
	var once sync.Once
	d.set(func(d *disk) {
		d.sync = func() error {
			once.Do(func() { close(entered); <-release })
			return nil
		}
	})
	synced := make(chan error)
	go func() {
		_, err := l.Append(t.Context(), callRecord(1), audit.Synced)
		synced <- err
	}()
	<-entered
	h := mustAppend(t, l, callRecord(2), audit.Written)
	if h.Seq != 2 || l.Head() != h || l.SyncedHead().Seq != 0 {
		t.Errorf("head %v, synced %v while the sync is under way", l.Head(), l.SyncedHead())
	}
	close(release)
	if err := <-synced; err != nil {
		t.Fatal(err)
	}
	if l.SyncedHead().Seq != 1 {
		t.Errorf("synced up to %d: the second record was written after the sync began", l.SyncedHead().Seq)
	}
	mustClose(t, l)
}

// TestTickSyncs: what is only written is synced by the next tick, and strict
// mode waits for the disk in every Append.
func TestTickSyncs(t *testing.T) {
	cfg := config(logDir(t))
	ticks := make(chan time.Time)
	cfg.Ticks = ticks
	l := mustOpen(t, cfg)
	h := mustAppend(t, l, callRecord(1), audit.Written)
	if l.SyncedHead() == h {
		t.Error("synced without a tick")
	}
	ticks <- time.Time{}
	ticks <- time.Time{} // the first one is done when the second is taken
	if l.SyncedHead() != h {
		t.Error("not synced by the tick")
	}
	mustClose(t, l)

	cfg = config(logDir(t))
	cfg.Ticks, cfg.Strict = nil, true
	l = mustOpen(t, cfg)
	if h := mustAppend(t, l, callRecord(1), audit.Written); l.SyncedHead() != h {
		t.Error("strict mode did not sync")
	}
	mustClose(t, l)
}

func TestDiskFullLeavesLastRecord(t *testing.T) {
	tests := []struct {
		name  string
		fault func(d *disk)
	}{
		{"the reserve cannot grow", func(d *disk) { d.reserve = func() error { return syscall.ENOSPC } }},
		{"a write finds no room", func(d *disk) {
			first := true
			d.write = func(p []byte) (int, error) {
				if first {
					first = false
					return len(p) / 3, syscall.ENOSPC
				}
				return len(p), nil
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(logDir(t))
			var d disk
			l := openOn(t, &d, cfg)
			mustAppend(t, l, callRecord(1), audit.Synced)
			d.set(tt.fault)
			big := audit.Record{Kind: audit.RunAsked, Agent: strings.Repeat("x", audit.MaxRecord/2)}
			var err error
			for range 4 {
				if _, err = l.Append(t.Context(), big, audit.Written); err != nil {
					break
				}
			}
			if !errors.Is(err, audit.ErrDiskFull) || !errors.Is(err, audit.ErrClosed) {
				t.Fatalf("error %v, want ErrClosed and ErrDiskFull", err)
			}
			if err := l.Close(); !errors.Is(err, audit.ErrDiskFull) {
				t.Errorf("Close: %v", err)
			}
			r := mustVerify(t, cfg.Dir, audit.Check{Key: publicKey()})
			got := all(t, cfg.Dir, audit.Filter{Kinds: []audit.Kind{audit.LogClosed}})
			if len(got) != 1 || got[0].Record.Detail["cause"] != "disk full" || r.Signed != r.Head.Seq ||
				r.Torn != nil {
				t.Errorf("last record %+v, report %+v", got, r)
			}
			mustClose(t, mustOpen(t, cfg)) // restart needs no hand
		})
	}
}

// TestRotationFailureCloses: when the next segment cannot be made, the old one
// ends with a record of it and nothing is accepted.
func TestRotationFailureCloses(t *testing.T) {
	cfg := config(logDir(t))
	cfg.SegmentBytes = 4 << 10
	l := mustOpen(t, cfg)
	if err := os.Mkdir(filepath.Join(cfg.Dir, audit.SegmentName(2)), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := range 100 {
		if _, err = l.Append(t.Context(), callRecord(i), audit.Written); err != nil {
			break
		}
	}
	if !errors.Is(err, audit.ErrClosed) {
		t.Fatalf("error %v, want ErrClosed", err)
	}
	_ = l.Close()
	if err := os.Remove(filepath.Join(cfg.Dir, audit.SegmentName(2))); err != nil {
		t.Fatal(err)
	}
	if got := all(t, cfg.Dir, audit.Filter{Kinds: []audit.Kind{audit.LogClosed}}); len(got) != 1 {
		t.Errorf("%d log_closed records, want 1", len(got))
	}
	l = mustOpen(t, cfg)
	mustAppend(t, l, callRecord(1), audit.Synced)
	mustClose(t, l)
	if r := mustVerify(t, cfg.Dir, audit.Check{Key: publicKey()}); r.Segments != 2 {
		t.Errorf("report %+v", r)
	}
}

// TestReopen: once the disk is well a closed log goes on by Reopen, with everything
// that was acknowledged, once; while it is not, the log stays closed.
func TestReopen(t *testing.T) {
	noRoom := func() error { return syscall.ENOSPC }
	tests := []struct {
		name  string
		d     audit.Durability
		fault func(d *disk)
	}{
		{"write", audit.Written, func(d *disk) { d.write = func([]byte) (int, error) { return 0, errDisk } }},
		{"half a write", audit.Written, func(d *disk) { d.write = func(p []byte) (int, error) { return len(p) / 2, errDisk } }},
		{"sync", audit.Synced, func(d *disk) { d.sync = func() error { return errDisk } }},
		{"no room", audit.Written, func(d *disk) { d.reserve = noRoom }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(logDir(t))
			cfg.SegmentBytes = 2 << 20
			var d disk
			l := openOn(t, &d, cfg)
			if err := l.Reopen(t.Context()); err != nil {
				t.Fatalf("an open log: %v", err)
			}
			acked := []audit.Head{mustAppend(t, l, callRecord(1), audit.Synced),
				mustAppend(t, l, callRecord(2), audit.Written)}
			d.set(tt.fault)
			big := audit.Record{Kind: audit.RunAsked, Agent: strings.Repeat("x", audit.MaxRecord/2)}
			var err error
			for err == nil {
				var h audit.Head
				if h, err = l.Append(t.Context(), big, tt.d); err == nil {
					acked = append(acked, h)
				}
			}
			if err := l.Reopen(t.Context()); err == nil {
				t.Fatal("it was reopened on a disk that is not well")
			}
			if _, err := l.Append(t.Context(), callRecord(3), audit.Written); !errors.Is(err, audit.ErrClosed) {
				t.Fatalf("after a reopen that failed: %v", err)
			}
			d.set(func(d *disk) { d.write, d.sync, d.reserve = nil, nil, nil })
			if err := l.Reopen(t.Context()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-l.Failed():
				t.Error("a log that is well again has failed")
			default:
			}
			acked = append(acked, mustAppend(t, l, callRecord(4), audit.Synced))
			mustClose(t, l)
			if err := l.Reopen(t.Context()); !errors.Is(err, audit.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			for _, h := range acked {
				mustVerify(t, cfg.Dir, audit.Check{Key: publicKey(), Least: h})
			}
			if got := all(t, cfg.Dir, audit.Filter{Kinds: []audit.Kind{audit.LogReopened}}); len(got) != 1 ||
				got[0].Record.Detail["cause"] == "" {
				t.Errorf("%+v, want one log_reopened", got)
			}
		})
	}
}

// TestReopenNeedsWhatWasSynced: a log that lost what it had synced, or was changed
// while it was closed, stays closed.
func TestReopenNeedsWhatWasSynced(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string){
		"cut": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()/2)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err == nil {
				b[len(b)/2] ^= 1
				err = os.WriteFile(path, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(logDir(t))
			var d disk
			l := openOn(t, &d, cfg)
			for i := range 8 {
				mustAppend(t, l, callRecord(i), audit.Synced)
			}
			d.set(func(d *disk) { d.write = func([]byte) (int, error) { return 0, errDisk } })
			if _, err := l.Append(t.Context(), callRecord(9), audit.Written); !errors.Is(err, errDisk) {
				t.Fatal(err)
			}
			d.set(func(d *disk) { d.write = nil })
			harm(t, filepath.Join(cfg.Dir, audit.SegmentName(1)))
			if err := l.Reopen(t.Context()); !errors.Is(err, audit.ErrTampered) {
				t.Errorf("reopened: %v, want ErrTampered", err)
			}
			if _, err := l.Append(t.Context(), callRecord(9), audit.Written); !errors.Is(err, audit.ErrClosed) {
				t.Errorf("appended: %v", err)
			}
			_ = l.Close()
		})
	}
}
