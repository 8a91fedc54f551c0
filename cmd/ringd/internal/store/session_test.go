package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

func newSession(was, seq int64) store.Session {
	return store.Session{Actor: "uid:1000", Name: "repl", Agent: "default", Executor: "js", Was: was, Seq: seq,
		Sealed: []byte("state"), Revision: "sha256:bb", KeyID: "k1", Engine: "sha256:ee",
		Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func mustPutSession(t testing.TB, s *store.Store, x store.Session) {
	t.Helper()
	if err := s.PutSession(t.Context(), x); err != nil {
		t.Fatal(err)
	}
}

func TestSession(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	if _, err := s.Session(t.Context(), "uid:1000", "repl"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before the first: %v", err)
	}
	mustPutSession(t, s, newSession(0, 1))
	large := newSession(1, 2)
	large.Sealed = sized("repl", 2, store.MaxInline+1).Sealed
	mustPutSession(t, s, large)
	if n := len(files(t, cfg)); n != 1 || rows(t, s, "sealed") != "0" {
		t.Errorf("%d files, %s rows", n, rows(t, s, "sealed"))
	}
	mustClose(t, s)
	s = mustOpen(t, cfg)
	got, err := s.Session(t.Context(), "uid:1000", "repl")
	if err != nil {
		t.Fatal(err)
	}
	want := large
	want.Was, want.Size, want.Created, want.Updated = 0, int64(len(large.Sealed)), got.Created, got.Updated
	if diff := cmp.Diff(want, got); diff != "" || !got.Updated.After(got.Created) {
		t.Error(diff)
	}
	if err := os.Truncate(filepath.Join(cfg.Dir, store.FilesName, files(t, cfg)[0]), 5); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Session(t.Context(), "uid:1000", "repl"); !errors.Is(err, store.ErrDamaged) || got.Seq != 2 {
		t.Errorf("with a cut file: %+v, %v", got, err)
	}
	mustPutSession(t, s, newSession(2, 3))
	if n := len(files(t, cfg)); n != 0 {
		t.Errorf("%d files are left of the one before", n)
	}
	if err := s.DropSession(t.Context(), "uid:1000", "repl"); err != nil {
		t.Fatal(err)
	}
	if rows(t, s, "session") != "0" || rows(t, s, "sealed") != "0" {
		t.Error("a session that was dropped is still there")
	}
	if err := s.DropSession(t.Context(), "uid:1000", "repl"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
}

func TestSessionRefused(t *testing.T) {
	s := mustOpen(t, config(t))
	mustPutSession(t, s, newSession(0, 4))
	before, err := s.Session(t.Context(), "uid:1000", "repl")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*store.Session)
		want   error
	}{
		"an older one again":             {func(x *store.Session) { x.Was, x.Seq = 3, 4 }, store.ErrState},
		"the same again":                 {func(x *store.Session) { x.Was, x.Seq = 4, 4 }, store.ErrState},
		"a lower sequence":               {func(x *store.Session) { x.Was, x.Seq = 4, 3 }, store.ErrState},
		"as if none was":                 {func(x *store.Session) { x.Was, x.Seq = 0, 5 }, store.ErrState},
		"of another agent":               {func(x *store.Session) { x.Agent = "other" }, store.ErrState},
		"of another executor":            {func(x *store.Session) { x.Executor = "python" }, store.ErrState},
		"no name":                        {func(x *store.Session) { x.Name = "" }, store.ErrState},
		"no actor":                       {func(x *store.Session) { x.Actor = "" }, store.ErrState},
		"no state":                       {func(x *store.Session) { x.Sealed = nil }, store.ErrState},
		"too large":                      {func(x *store.Session) { x.Sealed = make([]byte, store.MaxSealed+1) }, store.ErrTooLarge},
		"of another actor, who has none": {func(x *store.Session) { x.Actor = "uid:2" }, store.ErrState},
	} {
		x := newSession(4, 5)
		tt.change(&x)
		if err := s.PutSession(t.Context(), x); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if after, err := s.Session(t.Context(), "uid:1000", "repl"); err != nil || !cmp.Equal(before, after) {
		t.Errorf("refusals changed it: %s, %v", cmp.Diff(before, after), err)
	}
	mustPutSession(t, s, newSession(4, 5))
}

// TestSessionIsTheActors: one name, two actors, two sessions.
func TestSessionIsTheActors(t *testing.T) {
	s := mustOpen(t, config(t))
	a, b := newSession(0, 1), newSession(0, 1)
	b.Actor, b.Sealed = "uid:2", []byte("other state")
	mustPutSession(t, s, a)
	mustPutSession(t, s, b)
	for _, x := range []store.Session{a, b} {
		if got, err := s.Session(t.Context(), x.Actor, "repl"); err != nil || !bytes.Equal(got.Sealed, x.Sealed) {
			t.Errorf("%s has %q, %v", x.Actor, got.Sealed, err)
		}
		if list, err := s.Sessions(t.Context(), x.Actor, 0); err != nil || len(list) != 1 || list[0].Actor != x.Actor ||
			list[0].Sealed != nil {
			t.Errorf("%s lists %+v, %v", x.Actor, list, err)
		}
	}
	if list, err := s.Sessions(t.Context(), "", 0); err != nil || len(list) != 2 {
		t.Errorf("all: %+v, %v", list, err)
	}
	if err := s.DropSession(t.Context(), "uid:2", "repl"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(t.Context(), "uid:1000", "repl"); err != nil {
		t.Errorf("one actor dropped the session of another: %v", err)
	}
}

// TestOneRunOfASession: while a run goes on with a session, paused or not, no
// other may, and it is neither dropped nor expired.
func TestOneRunOfASession(t *testing.T) {
	s := mustOpen(t, config(t))
	mustPutSession(t, s, newSession(0, 1))
	run := func(id, actor string) store.Run {
		r := newRun(id)
		r.Actor, r.Session = actor, "repl"
		return r
	}
	mustStart(t, s, run("r1", "uid:1000"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByHarness))
	for _, when := range []string{"live", "paused"} {
		if when == "paused" {
			mustPause(t, s, newPause("r1", 1))
		}
		if err := s.Start(t.Context(), run("r2", "uid:1000")); !errors.Is(err, store.ErrBusy) {
			t.Errorf("%s: a second run started: %v", when, err)
		}
		if err := s.DropSession(t.Context(), "uid:1000", "repl"); !errors.Is(err, store.ErrBusy) {
			t.Errorf("%s: dropped: %v", when, err)
		}
		if x, err := s.Session(t.Context(), "uid:1000", "repl"); err != nil || x.Busy != "r1" {
			t.Errorf("%s: busy with %q, %v", when, x.Busy, err)
		}
	}
	mustStart(t, s, run("other", "uid:2"))
	mustStart(t, s, newRun("none"))
	mustStart(t, s, newRun("none either"))
	mustAdvance(t, s, "r1", store.Cancelled)
	mustStart(t, s, run("r2", "uid:1000"))
}

func TestExpireSessions(t *testing.T) {
	clock := &still{now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	cfg := config(t)
	cfg.Now = clock.Now
	s := mustOpen(t, cfg)
	for name, age := range map[string]time.Duration{"short": time.Hour, "shorter": time.Minute, "long": 100 * time.Hour,
		"busy": time.Minute, "ever": 0} {
		x := newSession(0, 1)
		x.Name, x.Expires = name, clock.now.Add(age)
		if age == 0 {
			x.Expires = time.Time{}
		}
		if name == "short" {
			x.Sealed = sized(name, 1, store.MaxInline+1).Sealed
		}
		mustPutSession(t, s, x)
	}
	r := newRun("r1")
	r.Session = "busy"
	mustStart(t, s, r)
	clock.put(clock.now.Add(time.Hour))
	for _, want := range []string{"shorter", "short", ""} {
		list, err := s.ExpireSessions(t.Context(), 1)
		if err != nil || len(list) > 1 || len(list) == 1 && list[0].Name != want || len(list) == 0 && want != "" {
			t.Errorf("%+v, %v; want %s", list, err, want)
		}
	}
	if rows(t, s, "session") != "3" || rows(t, s, "sealed") != "3" || len(files(t, cfg)) != 0 {
		t.Errorf("%s sessions, %s records, files %v", rows(t, s, "session"), rows(t, s, "sealed"), files(t, cfg))
	}
	mustAdvance(t, s, "r1", store.Done)
	if list, err := s.ExpireSessions(t.Context(), 0); err != nil || len(list) != 1 || list[0].Name != "busy" {
		t.Errorf("after the run: %+v, %v", list, err)
	}
}

// TestRecoverTellsOfSessions: the state of a session is committed before the end of
// its run, and a crash between the two is told.
func TestRecoverTellsOfSessions(t *testing.T) {
	const kept, before = "goes on from what it left", "is what it was before the run"
	for _, tt := range []struct {
		name string
		old  bool // the session was there
		keep bool // the run came to its end
		want string
	}{
		{"the first, kept", false, true, kept},
		{"a further, kept", true, true, kept},
		{"the first, not kept", false, false, before},
		{"a further, not kept", true, false, before},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, config(t))
			seq := int64(0)
			if tt.old {
				seq = 1
				mustPutSession(t, s, newSession(0, seq))
			}
			r := newRun("r1")
			r.Session = "repl"
			mustStart(t, s, r)
			other := newSession(0, 1)
			other.Name = "another"
			mustPutSession(t, s, other)
			if tt.keep {
				mustPutSession(t, s, newSession(seq, seq+1))
			}
			if _, err := s.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := getRun(t, s, "r1")
			if got.State != store.Failed || !strings.Contains(string(got.Outcome), tt.want) {
				t.Errorf("%s: %s, want %q", got.State, got.Outcome, tt.want)
			}
		})
	}
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	if _, err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := getRun(t, s, "r1"); strings.Contains(string(got.Outcome), "session") {
		t.Errorf("a run without one: %s", got.Outcome)
	}
}
