package store_test

import (
	"encoding/json"
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

// TestRecover makes one run for each way a process can end and looks at what a
// restart makes of it.
func TestRecover(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	answered := func(run string, who store.Answerer) {
		t.Helper()
		mustOpenCall(t, s, pending(run, "c1", who))
		if _, err := s.Approve(t.Context(), run, "c1", approval("uid:5", store.Allow)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		id   string
		make func(id string)
		want string // state, then the state of each call
	}{
		{"asked", func(string) {}, "failed"},
		{"started", func(id string) { mustAdvance(t, s, id, store.Started) }, "failed"},
		{"waits for the harness", func(id string) {
			mustAdvance(t, s, id, store.Started)
			mustOpenCall(t, s, pending(id, "c1", store.ByHarness))
		}, "failed closed"},
		{"approved, not executed", func(id string) {
			mustAdvance(t, s, id, store.Started)
			answered(id, store.ByApprover)
		}, "failed closed"},
		{"executing", func(id string) {
			mustAdvance(t, s, id, store.Started)
			mustOpenCall(t, s, executing(id, "c1"))
		}, "unknown unknown"},
		{"approved and executing", func(id string) {
			mustAdvance(t, s, id, store.Started)
			answered(id, store.ByApprover)
			if _, err := s.Execute(t.Context(), id, "c1", store.Head{}); err != nil {
				t.Fatal(err)
			}
		}, "unknown unknown"},
		{"one closed, one open, one executing", func(id string) {
			mustAdvance(t, s, id, store.Started)
			mustOpenCall(t, s, executing(id, "c1"))
			if err := s.CloseCall(t.Context(), id, "c1", store.CallClosed, []byte("ok"), store.Head{}); err != nil {
				t.Fatal(err)
			}
			mustOpenCall(t, s, pending(id, "c2", store.ByApprover))
			mustOpenCall(t, s, executing(id, "c3"))
		}, "unknown closed closed unknown"},
		{"done", func(id string) { mustAdvance(t, s, id, store.Started, store.Done) }, "done"},
		{"cancelled while executing", func(id string) {
			mustAdvance(t, s, id, store.Started)
			mustOpenCall(t, s, executing(id, "c1"))
			mustAdvance(t, s, id, store.Cancelled)
		}, "cancelled unknown"},
	}
	for _, tt := range tests {
		r := newRun(tt.id)
		r.State = store.Asked
		mustStart(t, s, r)
		tt.make(tt.id)
	}
	from := map[string]store.State{}
	for _, tt := range tests {
		from[tt.id] = getRun(t, s, tt.id).State
	}
	mustClose(t, s)

	s = mustOpen(t, cfg)
	list, err := s.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	did := map[string]store.Recovered{}
	for _, r := range list {
		did[r.Run.ID] = r
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			r := getRun(t, s, tt.id)
			got := string(r.State)
			for _, c := range getCalls(t, s, tt.id) {
				got += " " + string(c.State)
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			rec, told := did[tt.id]
			if tt.id == "done" {
				if told {
					t.Errorf("a run that was done was recovered: %+v", rec)
				}
				return
			}
			if diff := cmp.Diff(r, rec.Run); diff != "" || rec.From != from[tt.id] {
				t.Errorf("told from %s: %s", rec.From, diff)
			}
			if from[tt.id].Final() {
				return
			}
			var outcome struct {
				ID, State string
				Error     struct{ Name, Message string }
			}
			if err := json.Unmarshal(r.Outcome, &outcome); err != nil {
				t.Fatal(err)
			}
			if outcome.ID != tt.id || outcome.State != string(r.State) || outcome.Error.Name != "Interrupted" ||
				outcome.Error.Message == "" {
				t.Errorf("outcome %s", r.Outcome)
			}
		})
	}
	three := did["one closed, one open, one executing"]
	if len(three.Lost) != 1 || three.Lost[0].ID != "c3" || len(three.Unrun) != 1 || three.Unrun[0].ID != "c2" {
		t.Errorf("told lost %+v, not executed %+v", three.Lost, three.Unrun)
	}
	again, err := s.Recover(t.Context())
	if err != nil || len(again) != 0 {
		t.Errorf("a second time: %+v, %v", again, err)
	}
}

// TestRecoverPauses: what waits is left alone, what was claimed is given back,
// and what had gone on goes on again only when nothing of it can happen twice.
func TestRecoverPauses(t *testing.T) {
	cfg := config(t)
	cfg.Idempotent = func(bridge string) bool { return bridge == "again" }
	s := mustOpen(t, cfg)
	// resumed is a run that went on from a pause with two approved calls.
	resumed := func(id, first, second string) {
		mustStart(t, s, newRun(id))
		for i, bridge := range []string{first, second} {
			c := pending(id, fmt.Sprintf("c%d", i+1), store.ByApprover)
			c.Bridge = bridge
			mustOpenCall(t, s, c)
		}
		mustPause(t, s, newPause(id, 1))
		for _, call := range []string{"c1", "c2"} {
			if _, err := s.Approve(t.Context(), id, call, approval("uid:5", store.Allow)); err != nil {
				t.Fatal(err)
			}
		}
		mustClaim(t, s, id, 1)
		mustBegin(t, s, id, 1)
	}
	act := func(id, call string, done bool) {
		if _, err := s.Execute(t.Context(), id, call, store.Head{}); err != nil {
			t.Fatal(err)
		}
		if !done {
			return
		}
		if err := s.CloseCall(t.Context(), id, call, store.CallClosed, []byte("result"), store.Head{}); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		id   string
		make func(id string)
		want string // state, then c1, c2, … as state:result
		told bool
	}{
		{"paused", func(id string) { reach(t, s, id, store.Paused) }, "paused open:", false},
		{"answered", func(id string) { reach(t, s, id, store.Answered) }, "answered open:", false},
		{"claimed", func(id string) { reach(t, s, id, store.Claimed) }, "answered open:", true},
		{"begun", func(id string) { resumed(id, "once", "once") }, "answered open: open:", true},
		{"one acted", func(id string) { resumed(id, "once", "once"); act(id, "c1", true) }, "answered closed:result open:", true},
		{"both acted", func(id string) {
			resumed(id, "once", "once")
			act(id, "c1", true)
			act(id, "c2", true)
		}, "answered closed:result closed:result", true},
		{"acting", func(id string) { resumed(id, "once", "once"); act(id, "c1", false) }, "unknown unknown: closed:", true},
		{"acting, idempotent", func(id string) { resumed(id, "again", "once"); act(id, "c1", false) }, "answered open: open:", true},
		{"the last acting, idempotent", func(id string) { resumed(id, "once", "again"); act(id, "c2", false) }, "answered open: open:", true},
		{"both acting, one idempotent", func(id string) {
			resumed(id, "again", "once")
			act(id, "c1", false)
			act(id, "c2", false)
		}, "unknown unknown: unknown:", true},
		{"a call since", func(id string) {
			resumed(id, "once", "once")
			act(id, "c1", true)
			act(id, "c2", true)
			mustOpenCall(t, s, pending(id, "c3", store.ByHarness))
		}, "failed closed:result closed:result closed:", true},
		{"a call since, and a state that does not say so", func(id string) {
			resumed(id, "once", "once")
			mustOpenCall(t, s, pending(id, "c3", store.ByHarness))
			if err := s.Exec(t.Context(), "update run set state = 'executing' where id = '"+id+"'"); err != nil {
				t.Fatal(err)
			}
		}, "failed closed: closed: closed:", true},
		{"acting in the first part, idempotent", func(id string) {
			mustStart(t, s, newRun(id))
			c := executing(id, "c1")
			c.Bridge = "again"
			mustOpenCall(t, s, c)
		}, "unknown unknown:", true},
	}
	for _, tt := range tests {
		tt.make(tt.id)
	}
	// What an earlier ringd called paused has nothing to go on from.
	mustStart(t, s, newRun("no record"))
	if err := s.Exec(t.Context(), "update run set state = 'paused' where id = 'no record'"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	s = mustOpen(t, cfg)
	list, err := s.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]store.Recovered{}
	for _, r := range list {
		told[r.Run.ID] = r
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			r := getRun(t, s, tt.id)
			got := string(r.State)
			for _, c := range getCalls(t, s, tt.id) {
				got += fmt.Sprintf(" %s:%s", c.State, c.Result)
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			rec, ok := told[tt.id]
			if ok != tt.told || ok && !cmp.Equal(rec.Run, r) {
				t.Errorf("told %t: %+v", ok, rec)
			}
			if _, _, err := s.Pause(t.Context(), tt.id); (err == nil) != !r.State.Final() {
				t.Errorf("the run is %s, its pause %v", r.State, err)
			}
			if r.State != store.Answered {
				return
			}
			// It can be claimed as if nobody had, with what has happened since.
			_, calls := mustClaim(t, s, tt.id, 1)
			mustBegin(t, s, tt.id, 1)
			for _, c := range calls {
				if _, err := s.Execute(t.Context(), tt.id, c.ID, store.Head{}); (err == nil) != (c.State == store.CallPending && c.For == store.ByApprover) {
					t.Errorf("call %s is %s: execute: %v", c.ID, c.State, err)
				}
			}
		})
	}
	if got := told["acting, idempotent"].Again; len(got) != 1 || got[0].ID != "c1" ||
		got[0].Key != store.Key("acting, idempotent", "c1", "sha256:aa") {
		t.Errorf("asked for again: %+v", got)
	}
	if r := getRun(t, s, "no record"); r.State != store.Failed {
		t.Errorf("a pause without a record is %s", r.State)
	}
}

// TestOneAnswerWins: of many answers at once one is first, all others are told
// whose it was, and the call carries that one.
func TestOneAnswerWins(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	for round := range 10 {
		id := fmt.Sprintf("c%d", round)
		mustOpenCall(t, s, pending("r1", id, store.ByHarness))
		const answers = 16
		got := make([]store.Settled, answers)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				by := fmt.Sprintf("uid:%d", i)
				var err error
				if got[i], err = s.Answer(t.Context(), "r1", id, store.Reply{By: by, Body: []byte(by)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		winner := ""
		for i, g := range got {
			if g.First {
				if winner != "" {
					t.Errorf("%s and uid:%d both won", winner, i)
				}
				winner = fmt.Sprintf("uid:%d", i)
			}
		}
		for i, g := range got {
			if g.By != winner {
				t.Errorf("uid:%d was told %q won, it was %q", i, g.By, winner)
			}
		}
		calls := getCalls(t, s, "r1")
		if c := calls[round]; string(c.Reply) != winner || c.RepliedBy != winner {
			t.Errorf("the call carries the answer of %s, %s won", c.RepliedBy, winner)
		}
	}
}

// TestOneExecuteWins: an act is begun once however many ask to.
func TestOneExecuteWins(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByHost))
	const callers = 16
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { _, errs[i] = s.Execute(t.Context(), "r1", "c1", store.Head{}) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, store.ErrState) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d callers may act, want 1", won)
	}
}

func TestPrune(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	for i := range 4 {
		id := fmt.Sprintf("old%d", i)
		mustStart(t, s, newRun(id))
		mustOpenCall(t, s, pending(id, "c1", store.ByHost))
	}
	// What names old0 goes with it.
	mustOpenCall(t, s, pending("old0", "c2", store.ByApprover))
	mustPause(t, s, newPause("old0", 1))
	if err := s.Revoke(t.Context(), "old0", "uid:5", []string{"bridge:a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Approve(t.Context(), "old0", "c2", approval("uid:5", store.Allow)); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), "update run set state = 'answered' where id = 'old0'"); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, s, "old0", 1)
	mustAdvance(t, s, "old0", store.Failed)
	mustAdvance(t, s, "old1", store.Failed)
	if err := s.Revoke(t.Context(), "old2", "uid:5", []string{"bridge:a"}); err != nil {
		t.Fatal(err)
	}
	// old2 stays live; old3 has ended, but an act of it is under way.
	if _, err := s.Execute(t.Context(), "old3", "c1", store.Head{}); err != nil {
		t.Fatal(err)
	}
	mustAdvance(t, s, "old3", store.Cancelled)
	line := getRun(t, s, "old3").Updated.Add(time.Second)
	mustStart(t, s, newRun("new"))
	mustAdvance(t, s, "new", store.Done)

	for _, want := range []int{1, 1, 0} {
		if n, err := s.Prune(t.Context(), line, 1); err != nil || n != want {
			t.Errorf("pruned %d, %v; want %d", n, err, want)
		}
	}
	runs, err := s.Runs(t.Context(), store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, r := range runs {
		left = append(left, r.ID)
	}
	if diff := cmp.Diff([]string{"new", "old3", "old2"}, left); diff != "" {
		t.Error(diff)
	}
	for table, want := range map[string]string{"call": "0", "approval": "0", "claim": "0", "revoked": "0", "pause": "0",
		"sealed": "0"} {
		n, err := s.Ask(t.Context(), "select count(*) from "+table+" where "+map[bool]string{
			true: "name", false: "run"}[table == "sealed"]+" like '%old0'")
		if err != nil || n != want {
			t.Errorf("a pruned run left %s rows of %s, %v", n, table, err)
		}
	}
	if n := rows(t, s, "revoked"); n != "1" {
		t.Errorf("%s revoked rows, the live run has one", n)
	}
}

// TestDiskIsGivenBack: what was forgotten does not stay in the file.
func TestDiskIsGivenBack(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	for i := range 20 {
		id := fmt.Sprint(i)
		mustStart(t, s, newRun(id))
		if _, err := s.Advance(t.Context(), id, store.Done, store.Change{Outcome: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Prune(t.Context(), newClock().Now().Add(time.Hour), 0); err != nil || n != 20 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	mustClose(t, s)
	info, err := os.Stat(filepath.Join(cfg.Dir, store.DBName))
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("%d bytes are left of 20 MiB, %v", info.Size(), err)
	}
}

func TestGenerations(t *testing.T) {
	cfg := config(t)
	s := mustOpen(t, cfg)
	if _, err := s.LastGeneration(t.Context()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before the first: %v, want ErrNotFound", err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	gen := func(n int64) store.Generation {
		return store.Generation{Number: n, Revision: fmt.Sprintf("sha256:%d", n), Set: fmt.Appendf(nil, `{"n":%d}`, n),
			Activated: at, Fresh: at}
	}
	for n := int64(1); n <= 20; n++ {
		if err := s.PutGeneration(t.Context(), gen(n)); err != nil {
			t.Fatal(err)
		}
	}
	for name, g := range map[string]store.Generation{
		"the same again": gen(20), "an earlier one": gen(3), "number zero": gen(0), "no set": {Number: 30},
	} {
		if err := s.PutGeneration(t.Context(), g); !errors.Is(err, store.ErrState) {
			t.Errorf("%s: %v, want ErrState", name, err)
		}
	}
	if err := s.PutGeneration(t.Context(), store.Generation{Number: 30, Set: make([]byte, store.MaxSet+1)}); !errors.Is(
		err, store.ErrTooLarge) {
		t.Errorf("a huge set: %v, want ErrTooLarge", err)
	}
	later := at.Add(time.Minute)
	for _, fresh := range []time.Time{later, at} { // the earlier one changes nothing
		if err := s.Freshen(t.Context(), 20, fresh); err != nil {
			t.Fatal(err)
		}
	}
	for _, gone := range []int64{1, 4, 99} {
		if err := s.Freshen(t.Context(), gone, later); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("freshen %d: %v, want ErrNotFound", gone, err)
		}
	}
	if err := s.Freshen(t.Context(), 5, later); err != nil {
		t.Errorf("the sixteenth last: %v", err)
	}
	mustClose(t, s)
	want := gen(20)
	want.Fresh = later
	got, err := mustOpen(t, cfg).LastGeneration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
