package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// clock moves by a second at each look.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

func config(t testing.TB) store.Config {
	t.Helper()
	return store.Config{Dir: filepath.Join(t.TempDir(), "state"), Now: newClock().Now}
}

func mustOpen(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func mustClose(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func newRun(id string) store.Run {
	return store.Run{ID: id, Agent: "default", Actor: "uid:1000", Executor: "js", State: store.Started,
		Program: "sha256:aa", Generation: 4, Revision: "sha256:bb", Audit: store.Head{Seq: 7, Hash: "cc"}}
}

func mustStart(t testing.TB, s *store.Store, r store.Run) {
	t.Helper()
	if err := s.Start(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func mustAdvance(t testing.TB, s *store.Store, id string, to ...store.State) {
	t.Helper()
	for _, st := range to {
		if _, err := s.Advance(t.Context(), id, st, store.Change{}); err != nil {
			t.Fatal(err)
		}
	}
}

func mustOpenCall(t testing.TB, s *store.Store, c store.Call) store.Call {
	t.Helper()
	got, err := s.OpenCall(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func getRun(t testing.TB, s *store.Store, id string) store.Run {
	t.Helper()
	r, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func getCalls(t testing.TB, s *store.Store, id string) []store.Call {
	t.Helper()
	c, err := s.Calls(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRunSurvivesReopen(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	want := newRun("r1")
	mustStart(t, s, want)
	got, err := s.Advance(t.Context(), "r1", store.Done, store.Change{Outcome: []byte(`{"value":1}`),
		Generation: 5, Revision: "sha256:dd", Audit: store.Head{Seq: 9, Hash: "ee"}})
	if err != nil {
		t.Fatal(err)
	}
	want.State, want.Outcome, want.Generation, want.Revision = store.Done, []byte(`{"value":1}`), 5, "sha256:dd"
	want.Audit = store.Head{Seq: 9, Hash: "ee"}
	want.Created, want.Updated = got.Created, got.Created.Add(time.Second)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	mustClose(t, s)
	mustClose(t, s)
	if _, err := s.Run(t.Context(), "r1"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed store: %v", err)
	}
	if err := s.Start(t.Context(), newRun("r2")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed store: %v", err)
	}
	if diff := cmp.Diff(want, getRun(t, mustOpen(t, cfg), "r1")); diff != "" {
		t.Error(diff)
	}
}

func TestStartRefuses(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	edit := func(f func(*store.Run)) store.Run { r := newRun("r2"); f(&r); return r }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		run  store.Run
		want error
	}{
		{"twice", t.Context(), newRun("r1"), store.ErrExists},
		{"no id", t.Context(), edit(func(r *store.Run) { r.ID = "" }), store.ErrState},
		{"a huge id", t.Context(), edit(func(r *store.Run) { r.ID = strings.Repeat("x", store.MaxID+1) }), store.ErrTooLarge},
		{"paused at once", t.Context(), edit(func(r *store.Run) { r.State = store.Paused }), store.ErrState},
		{"an outcome before the end", t.Context(), edit(func(r *store.Run) { r.State, r.Outcome = store.Started, []byte("{}") }), store.ErrState},
		{"a huge outcome", t.Context(), edit(func(r *store.Run) { r.State, r.Outcome = store.Done, make([]byte, store.MaxOutcome+1) }), store.ErrTooLarge},
		{"no such state", t.Context(), edit(func(r *store.Run) { r.State = "asleep" }), store.ErrState},
		{"the caller is gone", gone, edit(func(*store.Run) {}), context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := s.Start(tt.ctx, tt.run); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	if _, err := s.Run(t.Context(), "r2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused run is there: %v", err)
	}
}

// A run that ended before anybody was told of it is kept whole, and stays so.
func TestStartOfAnEndedRun(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	r := newRun("r1")
	r.State, r.Outcome = store.Done, []byte(`{"state":"done"}`)
	mustStart(t, s, r)
	if _, err := s.Advance(t.Context(), "r1", store.Failed, store.Change{}); !errors.Is(err, store.ErrState) {
		t.Errorf("it moves on: %v", err)
	}
	if err := s.Start(t.Context(), newRun("r1")); !errors.Is(err, store.ErrExists) {
		t.Errorf("it starts again: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, cfg)
	if done, err := again.Recover(t.Context()); err != nil || len(done) != 0 {
		t.Errorf("recovered %+v, %v", done, err)
	}
	if got := getRun(t, again, "r1"); got.State != store.Done || string(got.Outcome) != string(r.Outcome) {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestUntrustedTextStaysText(t *testing.T) {
	s := mustOpen(t, config(t))
	evil := newRun(`r'; drop table run; --`)
	evil.Agent = "a\x00b' or 1=1 --"
	mustStart(t, s, evil)
	mustStart(t, s, newRun("r2"))
	if got := getRun(t, s, evil.ID); got.Agent != evil.Agent {
		t.Errorf("agent came back as %q", got.Agent)
	}
	got, err := s.Runs(t.Context(), store.Filter{Agent: `' or 1=1 --`})
	if err != nil || len(got) != 0 {
		t.Errorf("%d runs, error %v", len(got), err)
	}
}

func TestRuns(t *testing.T) {
	s := mustOpen(t, config(t))
	for i := range 6 {
		r := newRun(fmt.Sprintf("r%d", i))
		if i%2 == 1 {
			r.Agent, r.Actor = "other", "uid:2"
		}
		mustStart(t, s, r)
		if i < 2 {
			if _, err := s.Advance(t.Context(), r.ID, store.Done, store.Change{Outcome: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	third := getRun(t, s, "r2")
	tests := []struct {
		name   string
		filter store.Filter
		want   string
	}{
		{"all", store.Filter{}, "r5 r4 r3 r2 r1 r0"},
		{"id", store.Filter{Prefix: "r3"}, "r3"},
		{"ids", store.Filter{Prefix: "r"}, "r5 r4 r3 r2 r1 r0"},
		{"no id", store.Filter{Prefix: "r%"}, ""},
		{"agent", store.Filter{Agent: "other"}, "r5 r3 r1"},
		{"actor", store.Filter{Actor: "uid:1000"}, "r4 r2 r0"},
		{"state", store.Filter{States: []store.State{store.Done, store.Failed}}, "r1 r0"},
		{"limit", store.Filter{Limit: 2}, "r5 r4"},
		{"before", store.Filter{Before: third.Created}, "r1 r0"},
		{"together", store.Filter{Agent: "other", States: []store.State{store.Started}, Limit: 1}, "r5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Runs(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range got {
				ids = append(ids, r.ID)
				if r.Outcome != nil {
					t.Errorf("run %s comes with its outcome", r.ID)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(ids, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	// made returns the folder of a store that was closed in order.
	made := func(t *testing.T, sql string) store.Config {
		t.Helper()
		cfg := config(t)
		s := mustOpen(t, cfg)
		mustStart(t, s, newRun("r1"))
		if sql != "" {
			if err := s.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, s)
		return cfg
	}
	tests := []struct {
		name   string
		make   func(t *testing.T) store.Config
		want   error
		remedy string
	}{
		{"no folder", func(*testing.T) store.Config { return store.Config{Now: time.Now} }, nil, "no folder"},
		{"no clock", func(t *testing.T) store.Config { return store.Config{Dir: t.TempDir()} }, nil, "no clock"},
		{"a later format", func(t *testing.T) store.Config { return made(t, "pragma user_version = 3") }, store.ErrFormat, "start the ringd that wrote it"},
		{"another program's database", func(t *testing.T) store.Config { return made(t, "pragma application_id = 5") }, store.ErrFormat, "move it away"},
		{"not a database", func(t *testing.T) store.Config {
			cfg := made(t, "")
			if err := os.WriteFile(filepath.Join(cfg.Dir, store.DBName), bytes.Repeat([]byte("junk "), 2000),
				0o600); err != nil {
				t.Fatal(err)
			}
			return cfg
		}, store.ErrCorrupt, "move the folder away"},
		{"cut in half", func(t *testing.T) store.Config {
			cfg := made(t, "")
			if err := os.Truncate(filepath.Join(cfg.Dir, store.DBName), 5000); err != nil {
				t.Fatal(err)
			}
			return cfg
		}, store.ErrCorrupt, "move the folder away"},
		{"the folder is open to others", func(t *testing.T) store.Config {
			cfg := made(t, "")
			if err := os.Chmod(cfg.Dir, 0o750); err != nil {
				t.Fatal(err)
			}
			return cfg
		}, nil, "chmod 700"},
		{"the database is a link", func(t *testing.T) store.Config {
			cfg := made(t, "")
			path := filepath.Join(cfg.Dir, store.DBName)
			if err := errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path)); err != nil {
				t.Fatal(err)
			}
			return cfg
		}, syscall.ELOOP, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := store.Open(t.Context(), tt.make(t))
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if (tt.want != nil && !errors.Is(err, tt.want)) || !strings.Contains(err.Error(), tt.remedy) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.remedy)
			}
		})
	}
	t.Run("in use", func(t *testing.T) {
		cfg := config(t)
		s := mustOpen(t, cfg)
		if _, err := store.Open(t.Context(), cfg); !errors.Is(err, store.ErrInUse) {
			t.Errorf("error %v, want ErrInUse", err)
		}
		mustClose(t, s)
		mustClose(t, mustOpen(t, cfg))
	})
}

func TestDamagedRowsRefused(t *testing.T) {
	tests := []struct {
		name, sql string
		ask       func(s *store.Store) error
		want      error
	}{
		{"run of a later format", "update run set v = 2", func(s *store.Store) error { _, err := s.Run(t.Context(), "r1"); return err }, store.ErrFormat},
		{"run in no known state", "update run set state = 'asleep'", func(s *store.Store) error {
			_, err := s.Advance(t.Context(), "r1", store.Done, store.Change{})
			return err
		}, store.ErrFormat},
		{"call of a later format", "update call set v = 2", func(s *store.Store) error { _, err := s.Calls(t.Context(), "r1"); return err }, store.ErrFormat},
		{"call for nobody", "update call set waits_for = 'anyone'", func(s *store.Store) error {
			_, err := s.Answer(t.Context(), "r1", "c1", store.Reply{By: "x"})
			return err
		}, store.ErrFormat},
		{"generation that was changed", "update generation set body = 'other'", func(s *store.Store) error { _, err := s.LastGeneration(t.Context()); return err }, store.ErrCorrupt},
		{"generation of a later format", "update generation set v = 2", func(s *store.Store) error { _, err := s.LastGeneration(t.Context()); return err }, store.ErrFormat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, config(t))
			mustStart(t, s, newRun("r1"))
			mustOpenCall(t, s, store.Call{Run: "r1", ID: "c1", State: store.CallPending, For: store.ByHarness})
			if err := s.PutGeneration(t.Context(), store.Generation{Number: 1, Set: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			if err := tt.ask(s); errors.Is(err, tt.want) {
				t.Fatalf("refused before the damage: %v", err)
			}
			s = mustOpen(t, config(t))
			mustStart(t, s, newRun("r1"))
			mustOpenCall(t, s, store.Call{Run: "r1", ID: "c1", State: store.CallPending, For: store.ByHarness})
			if err := s.PutGeneration(t.Context(), store.Generation{Number: 1, Set: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			if err := s.Exec(t.Context(), tt.sql); err != nil {
				t.Fatal(err)
			}
			if err := tt.ask(s); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestPragmas(t *testing.T) {
	cfg := config(t)
	for range 2 { // in a new database, and in one that is opened again
		s := mustOpen(t, cfg)
		for pragma, want := range map[string]string{
			"synchronous": "2", "journal_mode": "wal", "auto_vacuum": "1", "mmap_size": "0", "trusted_schema": "0", "cell_size_check": "1",
		} {
			if got, err := s.Ask(t.Context(), "pragma "+pragma); err != nil || got != want {
				t.Errorf("%s is %q, want %q (%v)", pragma, got, want, err)
			}
		}
		mustClose(t, s)
	}
	for _, path := range []string{cfg.Dir, filepath.Join(cfg.Dir, store.DBName)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

func TestAuditHeadIsKept(t *testing.T) {
	cfg := config(t)
	var head store.Head
	cfg.Head = func() store.Head { return head }
	s := mustOpen(t, cfg)
	ask := func(s *store.Store) store.Head {
		t.Helper()
		h, err := s.AuditHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := ask(s); h != (store.Head{}) {
		t.Errorf("a new store has head %v", h)
	}
	high := store.Head{Seq: 10, Hash: "aa"}
	for i, h := range []store.Head{{Seq: 3, Hash: "bb"}, high, {Seq: 9, Hash: "cc"}, {}} {
		head = h
		mustStart(t, s, newRun(fmt.Sprint(i)))
	}
	if h := ask(s); h != high {
		t.Errorf("head %v, want %v", h, high)
	}
	mustClose(t, s)
	head = store.Head{Seq: 5, Hash: "dd"}
	s = mustOpen(t, cfg)
	mustStart(t, s, newRun("x"))
	if h := ask(s); h != high {
		t.Errorf("head %v after reopen, want %v", h, high)
	}
}

// TestReadAuditHead reads beside the daemon and after it, and leaves the
// folder as it was.
func TestReadAuditHead(t *testing.T) {
	cfg := config(t)
	want := store.Head{Seq: 10, Hash: "aa"}
	cfg.Head = func() store.Head { return want }
	if _, err := store.ReadAuditHead(t.Context(), cfg.Dir); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no store: %v, want ErrNotFound", err)
	}
	s := mustOpen(t, cfg)
	check := func(when string, want store.Head) {
		t.Helper()
		before := names(t, cfg.Dir)
		got, err := store.ReadAuditHead(t.Context(), cfg.Dir)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", when, got, err, want)
		}
		if diff := cmp.Diff(before, names(t, cfg.Dir)); diff != "" {
			t.Errorf("%s: files changed: %s", when, diff)
		}
	}
	check("empty", store.Head{})
	mustStart(t, s, newRun("r1"))
	check("while it is open", want)
	mustStart(t, s, newRun("r2"))
	mustClose(t, s)
	check("closed", want)

	s = mustOpen(t, cfg)
	if err := s.Exec(t.Context(), "pragma user_version = 9"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ReadAuditHead(t.Context(), cfg.Dir); !errors.Is(err, store.ErrFormat) {
		t.Errorf("a later format: %v, want ErrFormat", err)
	}
	mustClose(t, s)
	if err := os.WriteFile(filepath.Join(cfg.Dir, store.DBName), []byte("not a database, by far"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ReadAuditHead(t.Context(), cfg.Dir); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("junk: %v, want ErrCorrupt", err)
	}
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range list {
		out = append(out, d.Name())
	}
	return out
}

// TestSharedCommit puts changes that fail between ones that do not into one
// transaction: each caller gets its own answer.
func TestSharedCommit(t *testing.T) {
	cfg := config(t)
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	block := false
	cfg.Head = func() store.Head {
		if block {
			once.Do(func() { close(entered); <-release })
		}
		return store.Head{}
	}
	s := mustOpen(t, cfg)
	mustStart(t, s, newRun("there"))
	block = true
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Start(t.Context(), newRun("leader")); err != nil {
			t.Error(err)
		}
	})
	<-entered
	const n = 40
	errs := make([]error, n)
	var queued sync.WaitGroup
	for i := range n {
		queued.Add(1)
		wg.Go(func() {
			queued.Done()
			switch i % 4 {
			case 0: // writes, and then fails
				errs[i] = s.Change(t.Context(), "update run set agent = 'changed' where id = 'there'", store.ErrExists)
			case 1:
				_, errs[i] = s.Advance(t.Context(), "nowhere", store.Done, store.Change{})
			default:
				errs[i] = s.Start(t.Context(), newRun(fmt.Sprintf("new%d", i)))
			}
		})
	}
	queued.Wait()
	close(release)
	wg.Wait()
	for i, err := range errs {
		want := []error{store.ErrExists, store.ErrNotFound, nil, nil}[i%4]
		if !errors.Is(err, want) {
			t.Errorf("change %d: %v, want %v", i, err, want)
		}
		if _, err := s.Run(t.Context(), fmt.Sprintf("new%d", i)); i%4 >= 2 && err != nil {
			t.Errorf("acknowledged run new%d: %v", i, err)
		}
	}
	if s.Err() != nil {
		t.Errorf("store: %v", s.Err())
	}
	if err := s.Change(t.Context(), "update run set agent = 'changed' where id = 'there'", store.ErrExists); !errors.Is(
		err, store.ErrExists) {
		t.Error(err)
	}
	if got := getRun(t, s, "there"); got.Agent != "default" {
		t.Errorf("a change that failed was made: agent %q", got.Agent)
	}
}

// Pages of a list neither repeat nor leave out a run, also when many were made
// at one moment.
func TestPagesOfOneMoment(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := mustOpen(t, store.Config{Dir: filepath.Join(t.TempDir(), "store"), Now: func() time.Time { return at }})
	defer s.Close()
	const all = 25
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			if err := s.Start(t.Context(), newRun(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[string]int{}
	f := store.Filter{Limit: 4}
	for {
		page, err := s.Runs(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			seen[r.ID]++
		}
		if len(page) < f.Limit {
			break
		}
		f.Before = page[len(page)-1].Created
	}
	if len(seen) != all {
		t.Errorf("%d runs, want %d", len(seen), all)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("run %s is on %d pages", id, n)
		}
	}
}
