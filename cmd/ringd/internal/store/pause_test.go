package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

func mustPause(t testing.TB, s *store.Store, p store.Pause) store.Run {
	t.Helper()
	r, err := s.PutPause(t.Context(), p, store.Change{Outcome: []byte(`{"state":"paused"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustAnswer(t testing.TB, s *store.Store, run string, calls ...string) {
	t.Helper()
	for _, call := range calls {
		if _, err := s.Answer(t.Context(), run, call, store.Reply{By: "uid:5", Body: []byte("yes")}); err != nil {
			t.Fatal(err)
		}
	}
}

func mustClaim(t testing.TB, s *store.Store, run string, seq int64) (store.Pause, []store.Call) {
	t.Helper()
	p, calls, err := s.Claim(t.Context(), run, seq, "host")
	if err != nil {
		t.Fatal(err)
	}
	return p, calls
}

func mustBegin(t testing.TB, s *store.Store, run string, seq int64) {
	t.Helper()
	if _, err := s.Begin(t.Context(), run, seq, "host", store.Change{}); err != nil {
		t.Fatal(err)
	}
}

func files(t testing.TB, cfg store.Config) []string {
	t.Helper()
	return names(t, filepath.Join(cfg.Dir, store.FilesName))
}

// rows counts the rows of a table.
func rows(t testing.TB, s *store.Store, table string) string {
	t.Helper()
	n, err := s.Ask(t.Context(), "select count(*) from "+table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPauseLife takes a run through two pauses in two processes: the first in a
// row, the second in a file.
func TestPauseLife(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, executing("r1", "c0"))
	if err := s.CloseCall(t.Context(), "r1", "c0", store.CallClosed, []byte("early"), store.Head{}); err != nil {
		t.Fatal(err)
	}
	mustOpenCall(t, s, pending("r1", "c1", store.ByApprover))
	mustOpenCall(t, s, pending("r1", "c2", store.ByHarness))
	p := newPause("r1", 1)
	p.Spawned = 3
	r, err := s.PutPause(t.Context(), p, store.Change{Outcome: []byte("{}"), Audit: store.Head{Seq: 30, Hash: "ff"}})
	if err != nil || r.State != store.Paused || r.Seq != 1 || string(r.Outcome) != "{}" || r.Audit.Seq != 30 {
		t.Fatalf("%+v, %v", r, err)
	}
	mustClose(t, s)

	s = mustOpen(t, cfg)
	got, calls, err := s.Pause(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	want := p
	want.Agent, want.Actor, want.Executor, want.State, want.Size = "default", "uid:1000", "js", store.Paused,
		int64(len(p.Sealed))
	want.Created = got.Created
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(calls) != 2 || calls[0].ID != "c1" || calls[1].ID != "c2" || calls[0].Wave != 1 {
		t.Fatalf("the wave is %+v", calls)
	}
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("executed without approval, paused: %v", err)
	}
	if a, err := s.Approve(t.Context(), "r1", "c1", approval("uid:7", store.Allow)); err != nil ||
		a.Run != store.Paused {
		t.Fatalf("%+v, %v", a, err)
	}
	if a, err := s.Answer(t.Context(), "r1", "c2", store.Reply{By: "uid:5", Body: []byte("7")}); err != nil ||
		a.Run != store.Answered {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("executed before it was claimed: %v", err)
	}
	got, calls = mustClaim(t, s, "r1", 1)
	if !bytes.Equal(got.Sealed, p.Sealed) || got.Spawned != 3 || got.State != store.Claimed {
		t.Errorf("claimed %+v", got)
	}
	if len(calls) != 2 || calls[0].Verdict != store.Allow || calls[0].DecidedBy != "uid:7" ||
		string(calls[1].Reply) != "7" {
		t.Errorf("answers %+v", calls)
	}
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("executed before it was begun: %v", err)
	}
	mustBegin(t, s, "r1", 1)
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutPause(t.Context(), newPause("r1", 2), store.Change{}); !errors.Is(err, store.ErrState) {
		t.Errorf("paused while a call is executing: %v", err)
	}
	for _, id := range []string{"c1", "c2"} {
		if err := s.CloseCall(t.Context(), "r1", id, store.CallClosed, []byte("ok"), store.Head{}); err != nil {
			t.Fatal(err)
		}
	}
	if st := getRun(t, s, "r1").State; st != store.Executing {
		t.Errorf("the run is %s with its wave done", st)
	}
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("an approval was used twice: %v", err)
	}

	mustOpenCall(t, s, pending("r1", "c3", store.ByHarness))
	big := sized("r1", 2, store.MaxInline+1)
	mustPause(t, s, big)
	if n := len(files(t, cfg)); n != 1 || rows(t, s, "sealed") != "0" {
		t.Errorf("%d files, %s rows", n, rows(t, s, "sealed"))
	}
	mustAnswer(t, s, "r1", "c3")
	mustClose(t, s)
	s = mustOpen(t, cfg)
	got, calls = mustClaim(t, s, "r1", 2)
	if !bytes.Equal(got.Sealed, big.Sealed) || len(calls) != 1 || calls[0].ID != "c3" {
		t.Errorf("%d bytes, calls %+v", len(got.Sealed), calls)
	}
	mustBegin(t, s, "r1", 2)
	mustAdvance(t, s, "r1", store.Done)
	if left := files(t, cfg); len(left) != 0 || rows(t, s, "pause") != "0" || rows(t, s, "sealed") != "0" {
		t.Errorf("the end left files %v, %s pauses, %s records", left, rows(t, s, "pause"), rows(t, s, "sealed"))
	}
	if _, _, err := s.Pause(t.Context(), "r1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a pause of a run that is done: %v", err)
	}
}

// TestEveryEndDeletesThePause: whichever way a run ends, from whichever state,
// nothing to go on from is left.
func TestEveryEndDeletesThePause(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	for _, from := range []store.State{store.Paused, store.Answered, store.Claimed, store.Executing} {
		for _, to := range []store.State{store.Denied, store.Failed, store.Limit, store.Cancelled, store.Unknown,
			store.Done} {
			for _, size := range []int{100, store.MaxInline + 1} {
				if !from.May(to) {
					continue
				}
				id := fmt.Sprintf("%s to %s, %d", from, to, size)
				mustStart(t, s, newRun(id))
				mustOpenCall(t, s, pending(id, "c1", store.ByHarness))
				mustPause(t, s, sized(id, 1, size))
				if err := s.Revoke(t.Context(), id, "uid:5", []string{"bridge:a"}); err != nil {
					t.Fatal(err)
				}
				if from != store.Paused {
					mustAnswer(t, s, id, "c1")
				}
				if from == store.Claimed || from == store.Executing {
					mustClaim(t, s, id, 1)
				}
				if from == store.Executing {
					mustBegin(t, s, id, 1)
				}
				mustAdvance(t, s, id, to)
				if st := getCalls(t, s, id)[0].State; st != store.CallClosed {
					t.Errorf("%s: the call is %s", id, st)
				}
			}
		}
	}
	for _, table := range []string{"pause", "sealed", "revoked"} {
		if n := rows(t, s, table); n != "0" {
			t.Errorf("%s rows of %s are left", n, table)
		}
	}
	if left := files(t, cfg); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestPauseRefused: what would make a pause that cannot be gone on from is not
// kept, and leaves no file.
func TestPauseRefused(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	mustStart(t, s, newRun("none open"))
	mustStart(t, s, newRun("executing"))
	mustOpenCall(t, s, pending("executing", "c1", store.ByHarness))
	mustOpenCall(t, s, executing("executing", "c2"))
	mustStart(t, s, newRun("open"))
	mustOpenCall(t, s, pending("open", "c1", store.ByHarness))
	reach(t, s, "paused", store.Paused)
	reach(t, s, "done", store.Done)
	tests := []struct {
		name  string
		pause store.Pause
		want  error
	}{
		{"no such run", newPause("nowhere", 1), store.ErrNotFound},
		{"no call is open", newPause("none open", 1), store.ErrState},
		{"a call is executing", newPause("executing", 1), store.ErrState},
		{"the run is paused", newPause("paused", 2), store.ErrState},
		{"an older pause again", newPause("paused", 1), store.ErrState},
		{"the run has ended", newPause("done", 1), store.ErrState},
		{"sequence zero", newPause("open", 0), store.ErrState},
		{"a sequence left out", newPause("open", 2), store.ErrState},
		{"no record", store.Pause{Run: "open", Seq: 1}, store.ErrState},
		{"a record that is too large", store.Pause{Run: "open", Seq: 1, Sealed: make([]byte, store.MaxSealed+1)}, store.ErrTooLarge},
		{"spawned below zero", store.Pause{Run: "open", Seq: 1, Sealed: []byte("x"), Spawned: -1}, store.ErrState},
		{"in a file", sized("paused", 2, store.MaxInline+1), store.ErrState},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.PutPause(t.Context(), tt.pause, store.Change{}); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	big := store.Change{Outcome: make([]byte, store.MaxOutcome+1)}
	if _, err := s.PutPause(t.Context(), newPause("open", 1), big); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a huge outcome: %v", err)
	}
	if left := files(t, cfg); len(left) != 0 {
		t.Errorf("refused pauses left %v", left)
	}
	// The proof that the table does not refuse everything.
	mustPause(t, s, newPause("open", 1))
}

// TestRecordNotWritten: a pause whose record cannot be put on disk is none, and
// the store goes on.
func TestRecordNotWritten(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByHarness))
	folder := filepath.Join(cfg.Dir, store.FilesName)
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	before := getRun(t, s, "r1")
	if _, err := s.PutPause(t.Context(), sized("r1", 1, store.MaxInline+1), store.Change{}); err == nil {
		t.Error("kept without its record")
	}
	if diff := cmp.Diff(before, getRun(t, s, "r1")); diff != "" || s.Err() != nil || rows(t, s, "pause") != "0" {
		t.Error(diff, s.Err())
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	mustPause(t, s, sized("r1", 1, store.MaxInline+1))
}

// TestAnsweredWhilePausing: answers that come before the pause is kept make it
// Answered in the same commit.
func TestAnsweredWhilePausing(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByApprover))
	mustOpenCall(t, s, pending("r1", "c2", store.ByHarness))
	if a, err := s.Approve(t.Context(), "r1", "c1", approval("uid:7", store.Deny)); err != nil ||
		a.Run != store.CallOpen {
		t.Fatalf("%+v, %v", a, err)
	}
	mustAnswer(t, s, "r1", "c2")
	if r := mustPause(t, s, newPause("r1", 1)); r.State != store.Answered {
		t.Errorf("the run is %s", r.State)
	}
	if _, calls := mustClaim(t, s, "r1", 1); len(calls) != 2 || calls[0].Verdict != store.Deny {
		t.Errorf("calls %+v", calls)
	}
}

// TestClaims: who has won is told to those who have not, whatever the run does
// since.
func TestClaims(t *testing.T) {
	s := mustOpen(t, config(t))
	reach(t, s, "r1", store.Answered)
	for _, seq := range []int64{0, -1, 2} {
		if _, _, err := s.Claim(t.Context(), "r1", seq, "host"); !errors.Is(err, store.ErrState) {
			t.Errorf("claimed pause %d: %v", seq, err)
		}
	}
	for _, by := range []string{"", string(make([]byte, store.MaxID+1))} {
		if _, _, err := s.Claim(t.Context(), "r1", 1, by); err == nil {
			t.Errorf("claimed by %d bytes", len(by))
		}
	}
	if _, _, err := s.Claim(t.Context(), "nowhere", 1, "host"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("claimed nothing: %v", err)
	}
	mustClaim(t, s, "r1", 1)
	lost := func(when string, err error) {
		t.Helper()
		var claimed *store.ClaimedError
		if !errors.As(err, &claimed) || claimed.By != "host" || claimed.Seq != 1 || claimed.Run != "r1" ||
			claimed.At.IsZero() {
			t.Errorf("%s: %v", when, err)
		}
	}
	claim := func(seq int64) error { _, _, err := s.Claim(t.Context(), "r1", seq, "other"); return err }
	lost("claimed", claim(1))
	_, err := s.Begin(t.Context(), "r1", 1, "other", store.Change{})
	lost("begun by another", err)
	lost("given back by another", s.Unclaim(t.Context(), "r1", 1, "other", store.Fault{}))
	if _, _, err := s.Claim(t.Context(), "r1", 1, "host"); err == nil {
		t.Error("claimed twice by the same")
	}
	mustBegin(t, s, "r1", 1)
	lost("executing", claim(1))
	if _, err := s.Begin(t.Context(), "r1", 1, "host", store.Change{}); !errors.Is(err, store.ErrState) {
		t.Errorf("begun twice: %v", err)
	}
	if err := s.Unclaim(t.Context(), "r1", 1, "host", store.Fault{}); !errors.Is(err, store.ErrState) {
		t.Errorf("given back after it was begun: %v", err)
	}
	mustOpenCall(t, s, pending("r1", "c2", store.ByHarness))
	if err := s.CloseCall(t.Context(), "r1", "c1", store.CallClosed, nil, store.Head{}); err != nil {
		t.Fatal(err)
	}
	mustPause(t, s, newPause("r1", 2))
	lost("paused again", claim(1))
	if err := claim(2); !errors.Is(err, store.ErrState) {
		t.Errorf("claimed what is not answered: %v", err)
	}
	mustAdvance(t, s, "r1", store.Cancelled)
	lost("ended", claim(1))
	if err := claim(2); !errors.Is(err, store.ErrState) {
		t.Errorf("claimed what was cancelled: %v", err)
	}
}

// TestOneClaimWins lets claimers race for a thousand pauses.
func TestOneClaimWins(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	s := mustOpen(t, config(t))
	for i := range rounds {
		id := fmt.Sprint(i)
		reach(t, s, id, store.Answered)
		var errs [2]error
		var wg sync.WaitGroup
		ready := make(chan struct{})
		for who := range errs {
			wg.Go(func() {
				<-ready
				_, _, errs[who] = s.Claim(t.Context(), id, 1, fmt.Sprintf("host %d", who))
			})
		}
		close(ready)
		wg.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		var claimed *store.ClaimedError
		if errs[winner] != nil || !errors.As(errs[1-winner], &claimed) || claimed.By != fmt.Sprintf("host %d", winner) {
			t.Fatalf("round %d: %v, %v", i, errs[0], errs[1])
		}
	}
}

func TestUnclaim(t *testing.T) {
	s := mustOpen(t, config(t))
	reach(t, s, "r1", store.Claimed)
	if err := s.Unclaim(t.Context(), "r1", 1, "host", store.Fault{
		Code: "integrity", Text: "its body does not hold"}); err != nil {
		t.Fatal(err)
	}
	list := func(skip int) []store.Pause {
		t.Helper()
		out, err := s.Answered(t.Context(), skip, 0)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := list(1); len(got) != 0 {
		t.Errorf("behind the last one: %+v", got)
	}
	got := list(0)
	if len(got) != 1 || got[0].Fault.Code != "integrity" || got[0].Fault.At.IsZero() ||
		got[0].State != store.Answered || got[0].Sealed != nil {
		t.Fatalf("%+v", got)
	}
	huge := store.Fault{Code: "x", Text: string(make([]byte, store.MaxReason))}
	if err := s.Unclaim(t.Context(), "r1", 1, "host", huge); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a huge fault: %v", err)
	}
	// On request it is claimed again, and the fault goes once that works.
	mustClaim(t, s, "r1", 1)
	mustBegin(t, s, "r1", 1)
	if p, _, err := s.Pause(t.Context(), "r1"); err != nil || p.Fault != (store.Fault{}) {
		t.Errorf("fault %+v, %v", p.Fault, err)
	}
	reach(t, s, "r2", store.Claimed)
	if err := s.Unclaim(t.Context(), "r2", 1, "host", store.Fault{}); err != nil {
		t.Fatal(err)
	}
	if got := list(0); len(got) != 1 || got[0].Run != "r2" {
		t.Errorf("%+v", got)
	}
}

// TestDamagedRecord: a record whose file is gone, cut or longer is refused; the
// claim stands until it is given back, and nothing else is touched.
func TestDamagedRecord(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, store.MaxInline) },
		"longer": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(b, 0), 0o600))
		},
		"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			s := mustOpen(t, cfg)
			mustStart(t, s, newRun("r1"))
			mustOpenCall(t, s, pending("r1", "c1", store.ByHarness))
			p := sized("r1", 1, store.MaxInline+1)
			mustPause(t, s, p)
			mustAnswer(t, s, "r1", "c1")
			path := filepath.Join(cfg.Dir, store.FilesName, files(t, cfg)[0])
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			got, calls, err := s.Claim(t.Context(), "r1", 1, "host")
			if !errors.Is(err, store.ErrDamaged) || got.Sealed != nil || got.Seq != 1 || len(calls) != 1 {
				t.Fatalf("%+v, %+v, %v", got, calls, err)
			}
			if err := s.Unclaim(t.Context(), "r1", 1, "host",
				store.Fault{Code: "integrity", Text: err.Error()}); err != nil {
				t.Fatal(err)
			}
			if r := getRun(t, s, "r1"); r.State != store.Answered || s.Err() != nil {
				t.Errorf("the run is %s, the store %v", r.State, s.Err())
			}
			// Put back as it was, it is good again.
			if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, p.Sealed, 0o600)); err != nil {
				t.Fatal(err)
			}
			if got, _ := mustClaim(t, s, "r1", 1); !bytes.Equal(got.Sealed, p.Sealed) {
				t.Error("another record")
			}
		})
	}
}

// TestSweep: files that no row names go at Open; those that a row names, and
// what is not the store's, stay.
func TestSweep(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByHarness))
	p := sized("r1", 1, store.MaxInline+1)
	mustPause(t, s, p)
	mustClose(t, s)
	kept := files(t, cfg)
	for name, mine := range map[string]bool{
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff": true, "new-7": true, "README": false,
	} {
		if err := os.WriteFile(filepath.Join(cfg.Dir, store.FilesName, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if !mine {
			kept = append([]string{name}, kept...)
		}
	}
	s = mustOpen(t, cfg)
	if diff := cmp.Diff(map[string]bool{kept[0]: true, kept[1]: true}, set(files(t, cfg))); diff != "" {
		t.Error(diff)
	}
	if got, _, err := s.Pause(t.Context(), "r1"); err != nil || !bytes.Equal(got.Sealed, p.Sealed) {
		t.Error(err)
	}
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

// TestOneRecordInTwoRuns: a file that two rows name stays until both are gone.
func TestOneRecordInTwoRuns(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	p := sized("", 1, store.MaxInline+1)
	for _, id := range []string{"a", "b"} {
		mustStart(t, s, newRun(id))
		mustOpenCall(t, s, pending(id, "c1", store.ByHarness))
		p.Run = id
		mustPause(t, s, p)
	}
	mustAdvance(t, s, "a", store.Cancelled)
	if got, _, err := s.Pause(t.Context(), "b"); err != nil || !bytes.Equal(got.Sealed, p.Sealed) {
		t.Errorf("the end of one run took the record of the other: %v", err)
	}
	mustAdvance(t, s, "b", store.Cancelled)
	if left := files(t, cfg); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestExpired(t *testing.T) {
	s := mustOpen(t, config(t))
	base := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, id := range []string{"third", "first", "second", "never", "answered", "stuck", "cancelled"} {
		mustStart(t, s, newRun(id))
		mustOpenCall(t, s, pending(id, "c1", store.ByHarness))
		p := newPause(id, 1)
		p.Expires = base.Add(time.Duration([]int{30, 10, 20, 0, 5, 15, 1}[i]) * time.Minute)
		if id == "never" {
			p.Expires = time.Time{}
		}
		mustPause(t, s, p)
	}
	mustAnswer(t, s, "answered", "c1")
	mustAnswer(t, s, "stuck", "c1")
	mustClaim(t, s, "stuck", 1)
	if err := s.Unclaim(t.Context(), "stuck", 1, "host", store.Fault{Code: "key_unknown"}); err != nil {
		t.Fatal(err)
	}
	mustAdvance(t, s, "cancelled", store.Cancelled)
	for _, tt := range []struct {
		now  time.Time
		n    int
		want []string
	}{
		{base, 0, nil},
		{base.Add(10*time.Minute - time.Microsecond), 0, nil},
		{base.Add(10 * time.Minute), 0, []string{"first"}},
		{base.Add(time.Hour), 0, []string{"first", "stuck", "second", "third"}},
		{base.Add(time.Hour), 2, []string{"first", "stuck"}},
	} {
		list, err := s.Expired(t.Context(), tt.now, tt.n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			got = append(got, p.Run)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("at %s: %s", tt.now, diff)
		}
	}
}

func TestSpend(t *testing.T) {
	s := mustOpen(t, config(t))
	reach(t, s, "r1", store.Paused)
	reach(t, s, "live", store.Started)
	for _, n := range []int64{4, 2} { // fewer gives nothing back
		if err := s.Spend(t.Context(), "r1", 1, "c1", n-1, n); err != nil {
			t.Fatal(err)
		}
		p, calls, err := s.Pause(t.Context(), "r1")
		if err != nil || p.Spawned != 4 {
			t.Errorf("spawned %d, %v", p.Spawned, err)
		}
		for _, c := range calls {
			if want := map[bool]int64{true: 3}[c.ID == "c1"]; c.Started != want {
				t.Errorf("%d were started for %s, want %d", c.Started, c.ID, want)
			}
		}
	}
	// A call of a subagent counts for the first run of its tree.
	c, err := s.OpenCall(t.Context(), store.Call{Run: "live", ID: "c77", Bridge: "b", State: store.CallExecuting,
		Tree: "r1", Spawned: 9})
	if p, _, perr := s.Pause(t.Context(), "r1"); err != nil || perr != nil || p.Spawned != 9 {
		t.Errorf("%+v: spawned %d, %v %v", c, p.Spawned, err, perr)
	}
	if err := s.Spend(t.Context(), "r1", 2, "c1", 5, 5); !errors.Is(err, store.ErrState) {
		t.Errorf("of another pause: %v", err)
	}
	if err := s.Spend(t.Context(), "live", 1, "c1", 5, 5); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of a run that has not paused: %v", err)
	}
}

// TestReseal changes the record of the last pause, in a row and in a file, and of
// nothing else. The file before goes.
func TestReseal(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	reach(t, s, "r1", store.Answered)
	for _, body := range [][]byte{[]byte("again"), bytes.Repeat([]byte("big "), 1<<19),
		bytes.Repeat([]byte("more"), 1<<19), []byte("small")} {
		if err := s.Reseal(t.Context(), store.Pause{Run: "r1", Seq: 1, Sealed: body, KeyID: "new"}); err != nil {
			t.Fatal(err)
		}
		want := 0
		if len(body) > 1<<20 {
			want = 1
		}
		p, _, err := s.Pause(t.Context(), "r1")
		if err != nil || !bytes.Equal(p.Sealed, body) || p.Size != int64(len(body)) || p.KeyID != "new" ||
			len(files(t, cfg)) != want {
			t.Errorf("%d bytes under %s in %v, %v", p.Size, p.KeyID, files(t, cfg), err)
		}
	}
	for _, p := range []store.Pause{{Run: "r1", Seq: 2}, {Run: "r2", Seq: 1}} {
		p.Sealed = []byte("x")
		if err := s.Reseal(t.Context(), p); !errors.Is(err, store.ErrState) && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("pause %d of %s: %v", p.Seq, p.Run, err)
		}
	}
	mustClaim(t, s, "r1", 1)
	if _, err := s.Advance(t.Context(), "r1", store.Cancelled, store.Change{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reseal(t.Context(), store.Pause{Run: "r1", Seq: 1, Sealed: []byte("x")}); !errors.Is(
		err, store.ErrState) {
		t.Errorf("of a run that has ended: %v", err)
	}
	if n := rows(t, s, "sealed"); n != "0" {
		t.Errorf("%s records are left", n)
	}
}

func TestCountPaused(t *testing.T) {
	s := mustOpen(t, config(t))
	for i, state := range []store.State{store.Paused, store.Answered, store.Claimed, store.Executing, store.Started,
		store.Paused} {
		reach(t, s, fmt.Sprint(i), state)
	}
	other := newRun("other")
	other.Actor = "uid:2"
	mustStart(t, s, other)
	mustOpenCall(t, s, pending("other", "c1", store.ByHarness))
	mustPause(t, s, newPause("other", 1))
	for actor, want := range map[string]int64{"uid:1000": 3, "uid:2": 1, "uid:3": 0} {
		own, all, err := s.CountPaused(t.Context(), actor)
		if err != nil || own != want || all != 4 {
			t.Errorf("%s: %d of %d, %v", actor, own, all, err)
		}
		size := map[string]int64{"uid:1000": 39, "uid:2": int64(len(newPause("other", 1).Sealed)), "uid:3": 0}[actor]
		if n, err := s.PausedBytes(t.Context(), actor); err != nil || n != size {
			t.Errorf("%s: %d bytes, want %d, %v", actor, n, size, err)
		}
	}
}

func TestRevoke(t *testing.T) {
	s := mustOpen(t, config(t))
	reach(t, s, "r1", store.Paused)
	reach(t, s, "done", store.Done)
	for _, list := range [][]string{{"bridge:b", "bridge:a"}, {"host:x", "bridge:a"}} {
		if err := s.Revoke(t.Context(), "r1", "uid:5", list); err != nil {
			t.Fatal(err)
		}
	}
	p, _, err := s.Pause(t.Context(), "r1")
	if diff := cmp.Diff([]string{"bridge:a", "bridge:b", "host:x"}, p.Revoked); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for name, tt := range map[string]struct {
		run  string
		caps []string
		want error
	}{
		"a run that has ended": {"done", []string{"bridge:a"}, store.ErrState},
		"no such run":          {"nowhere", []string{"bridge:a"}, store.ErrNotFound},
		"nothing named":        {"r1", []string{"bridge:c", ""}, store.ErrState},
		"a huge name":          {"r1", []string{string(make([]byte, store.MaxID+1))}, store.ErrTooLarge},
	} {
		if err := s.Revoke(t.Context(), tt.run, "uid:5", tt.caps); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if p, _, err := s.Pause(t.Context(), "r1"); err != nil || len(p.Revoked) != 3 {
		t.Errorf("a refused list was kept in part: %v, %v", p.Revoked, err)
	}
}

// TestDiskAfterPauses: a thousand pauses that came and went leave little behind.
func TestDiskAfterPauses(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	cfg := config(t)
	s := mustOpen(t, cfg)
	one := sized("", 1, 100<<10)
	large := sized("", 1, store.MaxInline+1)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				id := fmt.Sprint(i)
				mustStart(t, s, newRun(id))
				mustOpenCall(t, s, pending(id, "c1", store.ByHarness))
				p := one
				if i%50 == 0 {
					p = large
				}
				p.Run = id
				mustPause(t, s, p)
			}
		})
	}
	wg.Wait()
	if own, all, err := s.CountPaused(t.Context(), "uid:1000"); err != nil || own != int64(n) || all != int64(n) {
		t.Fatalf("%d, %d, %v", own, all, err)
	}
	for i := range n {
		mustAdvance(t, s, fmt.Sprint(i), store.Cancelled)
	}
	mustClose(t, s)
	var left int64
	err := filepath.Walk(cfg.Dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			left += info.Size()
		}
		return err
	})
	if err != nil || left > 2<<20 {
		t.Errorf("%d bytes are left of %d pauses, %v", left, n, err)
	}
}
