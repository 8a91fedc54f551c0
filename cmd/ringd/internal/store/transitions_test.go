package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// arrows is the whole table: state -> where it may go.
func arrows() map[store.State]string {
	return map[store.State]string{
		store.Asked:     "started denied failed limit cancelled",
		store.Started:   "call_open done denied failed limit cancelled unknown",
		store.CallOpen:  "started paused done denied failed limit cancelled unknown",
		store.Paused:    "answered denied failed limit cancelled",
		store.Answered:  "claimed denied failed limit cancelled",
		store.Claimed:   "executing answered denied failed limit cancelled unknown",
		store.Executing: "call_open paused done denied failed limit cancelled unknown",
		store.Done:      "", store.Denied: "", store.Failed: "", store.Limit: "", store.Cancelled: "",
		store.Unknown: "",
	}
}

// reach makes a run that is in a state. A run that has paused waits or waited on
// c1, which the harness answers.
func reach(t testing.TB, s *store.Store, id string, to store.State) {
	t.Helper()
	r := newRun(id)
	r.State = store.Asked
	mustStart(t, s, r)
	if to == store.Asked {
		return
	}
	mustAdvance(t, s, id, store.Started)
	if to.Final() {
		mustAdvance(t, s, id, to)
	}
	if to.Final() || to == store.Started {
		return
	}
	mustOpenCall(t, s, pending(id, "c1", store.ByHarness))
	for _, step := range []struct {
		state store.State
		take  func() error
	}{
		{store.CallOpen, nil},
		{store.Paused, func() error { _, err := s.PutPause(t.Context(), newPause(id, 1), store.Change{}); return err }},
		{store.Answered, func() error {
			_, err := s.Answer(t.Context(), id, "c1", store.Reply{By: "uid:5", Body: []byte("yes")})
			return err
		}},
		{store.Claimed, func() error { _, _, err := s.Claim(t.Context(), id, 1, "host"); return err }},
		{store.Executing, func() error { _, err := s.Begin(t.Context(), id, 1, "host", store.Change{}); return err }},
	} {
		if step.take != nil {
			if err := step.take(); err != nil {
				t.Fatal(err)
			}
		}
		if step.state == to {
			break
		}
	}
	if got := getRun(t, s, id).State; got != to {
		t.Fatalf("the run is %s, want %s", got, to)
	}
}

func newPause(run string, seq int64) store.Pause {
	return store.Pause{Run: run, Seq: seq, Sealed: fmt.Appendf(nil, "record %d of %s", seq, run), Revision: "sha256:bb",
		KeyID: "k1", Engine: "sha256:ee", Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// TestArrows tries each way to each state from each state. Advance takes what
// needs nothing more than the arrow.
func TestArrows(t *testing.T) {
	s := mustOpen(t, config(t))
	table := arrows()
	ways := []struct {
		name string
		to   store.State
		from string // where it is legal
		take func(id string, seq int64) error
	}{
		{"pause", store.Paused, "call_open", func(id string, seq int64) error {
			_, err := s.PutPause(t.Context(), newPause(id, seq+1), store.Change{Generation: 9})
			return err
		}},
		{"pause, all answered", store.Answered, "executing", func(id string, seq int64) error {
			_, err := s.PutPause(t.Context(), newPause(id, seq+1), store.Change{Generation: 9})
			return err
		}},
		{"claim", store.Claimed, "answered", func(id string, seq int64) error {
			_, _, err := s.Claim(t.Context(), id, seq, "second")
			return err
		}},
		{"begin", store.Executing, "claimed", func(id string, seq int64) error {
			_, err := s.Begin(t.Context(), id, seq, "host", store.Change{Generation: 9})
			return err
		}},
		{"unclaim", store.Answered, "claimed", func(id string, seq int64) error {
			return s.Unclaim(t.Context(), id, seq, "host", store.Fault{Code: "integrity", Text: "torn"})
		}},
	}
	for to := range table {
		way := ways[0]
		way.name, way.to, way.from = "advance", to, ""
		for from, allowed := range table {
			if slices.Contains(strings.Fields(allowed), string(to)) &&
				!slices.Contains(strings.Fields("paused answered claimed executing"), string(to)) {
				way.from += " " + string(from)
			}
		}
		way.take = func(id string, _ int64) error {
			_, err := s.Advance(t.Context(), id, to, store.Change{Outcome: []byte("{}"), Generation: 9})
			return err
		}
		ways = append(ways, way)
	}
	for from := range table {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%s from %s to %s", way.name, from, way.to), func(t *testing.T) {
				id := t.Name()
				reach(t, s, id, from)
				before := getRun(t, s, id)
				err := way.take(id, before.Seq)
				after := getRun(t, s, id)
				if strings.HasPrefix(way.name, "pause") && (from == store.Executing) != (way.to == store.Answered) &&
					err == nil {
					t.Skip("the other pause")
				}
				if slices.Contains(strings.Fields(way.from), string(from)) {
					if err != nil || after.State != way.to {
						t.Errorf("%v; the run is %+v", err, after)
					}
					return
				}
				var claimed *store.ClaimedError
				if !errors.Is(err, store.ErrState) && !errors.As(err, &claimed) {
					t.Errorf("error %v, want ErrState", err)
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("a refused arrow changed the run: %s", diff)
				}
			})
		}
		for to := range table {
			if got := from.May(to); got != slices.Contains(strings.Fields(table[from]), string(to)) {
				t.Errorf("%s may become %s: %t", from, to, got)
			}
		}
	}
	mustStart(t, s, newRun("r1"))
	for _, bad := range []store.State{"", "asleep"} {
		if _, err := s.Advance(t.Context(), "r1", bad, store.Change{}); !errors.Is(err, store.ErrState) {
			t.Errorf("state %q: %v", bad, err)
		}
	}
	if _, err := s.Advance(t.Context(), "nowhere", store.Done, store.Change{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	big := store.Change{Outcome: make([]byte, store.MaxOutcome+1)}
	if _, err := s.Advance(t.Context(), "nowhere", store.Done, big); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func pending(run, id string, who store.Answerer) store.Call {
	return store.Call{Run: run, ID: id, Bridge: "sendEmail", For: who, State: store.CallPending,
		ArgsDigest: "sha256:aa", Args: []byte(`{"to":"x"}`), Audit: store.Head{Seq: 8, Hash: "bb"}}
}

func approval(by string, v store.Verdict) store.Approval {
	return store.Approval{By: by, Verdict: v, Digest: "sha256:aa", Reason: "because"}
}

func executing(run, id string) store.Call {
	c := pending(run, id, store.ByHost)
	c.State = store.CallExecuting
	return c
}

func TestCallLife(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	c1 := mustOpenCall(t, s, pending("r1", "c1", store.ByApprover))
	c2 := mustOpenCall(t, s, executing("r1", "c2"))
	if c1.N != 1 || c2.N != 2 || c1.Key != store.Key("r1", "c1", "sha256:aa") || c1.Key == c2.Key {
		t.Errorf("calls %+v, %+v", c1, c2)
	}
	if st := getRun(t, s, "r1").State; st != store.CallOpen {
		t.Errorf("the run is %s with calls open", st)
	}
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("executed without an answer: %v", err)
	}
	waiting, err := s.Waiting(t.Context(), store.ByApprover, store.WaitingPage{Args: store.MaxArgs})
	if err != nil || len(waiting) != 1 || waiting[0].ID != "c1" {
		t.Errorf("waiting %+v, %v", waiting, err)
	}
	if _, err := s.Answer(t.Context(), "r1", "c1", store.Reply{By: "uid:5"}); !errors.Is(err, store.ErrState) {
		t.Errorf("the harness answered a call for an approver: %v", err)
	}
	first, err := s.Approve(t.Context(), "r1", "c1", approval("uid:5", store.Allow))
	if err != nil || !first.First || first.Verdict != store.Allow {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := s.Approve(t.Context(), "r1", "c1", approval("uid:6", store.Deny))
	if err != nil || second.First || second.By != "uid:5" || !second.At.Equal(first.At) {
		t.Errorf("the second answer: %+v, %v", second, err)
	}
	if waiting, err := s.Waiting(t.Context(), store.ByApprover, store.WaitingPage{Args: store.MaxArgs}); err != nil ||
		len(waiting) != 0 {
		t.Errorf("waiting %+v, %v", waiting, err)
	}
	got, err := s.Execute(t.Context(), "r1", "c1", store.Head{Seq: 11, Hash: "cc"})
	if err != nil || string(got.Reply) != "because" || got.State != store.CallExecuting || got.Audit.Seq != 11 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.Execute(t.Context(), "r1", "c1", store.Head{}); !errors.Is(err, store.ErrState) {
		t.Errorf("executed twice: %v", err)
	}
	for _, id := range []string{"c1", "c2"} {
		if err := s.CloseCall(t.Context(), "r1", id, store.CallClosed, []byte("ok"), store.Head{}); err != nil {
			t.Fatal(err)
		}
	}
	if st := getRun(t, s, "r1").State; st != store.Started {
		t.Errorf("the run is %s with no call left", st)
	}
	if err := s.CloseCall(t.Context(), "r1", "c1", store.CallUnknown, nil, store.Head{}); !errors.Is(
		err, store.ErrState) {
		t.Errorf("closed twice: %v", err)
	}
	for _, c := range getCalls(t, s, "r1") {
		if c.State != store.CallClosed || string(c.Result) != "ok" || string(c.Args) != `{"to":"x"}` {
			t.Errorf("call %+v", c)
		}
	}
}

func TestCallRefused(t *testing.T) {
	s := mustOpen(t, config(t))
	mustStart(t, s, newRun("r1"))
	mustOpenCall(t, s, pending("r1", "c1", store.ByHarness))
	mustOpenCall(t, s, executing("r1", "c2"))
	mustStart(t, s, newRun("ended"))
	mustOpenCall(t, s, pending("ended", "c1", store.ByApprover))
	mustOpenCall(t, s, executing("ended", "c2"))
	mustAdvance(t, s, "ended", store.Cancelled)
	asked := newRun("asked")
	asked.State = store.Asked
	mustStart(t, s, asked)

	open := func(c store.Call, f func(*store.Call)) func() error {
		return func() error {
			if f != nil {
				f(&c)
			}
			_, err := s.OpenCall(t.Context(), c)
			return err
		}
	}
	answer := func(run, id string, body []byte) func() error {
		return func() error {
			_, err := s.Answer(t.Context(), run, id, store.Reply{By: "x", Body: body})
			return err
		}
	}
	execute := func(run, id string) func() error {
		return func() error { _, err := s.Execute(t.Context(), run, id, store.Head{}); return err }
	}
	end := func(run, id string, to store.CallState, n int) func() error {
		return func() error { return s.CloseCall(t.Context(), run, id, to, make([]byte, n), store.Head{}) }
	}
	tests := []struct {
		name string
		do   func() error
		want error
	}{
		{"open: no such run", open(pending("nowhere", "c1", store.ByHost), nil), store.ErrNotFound},
		{"open: twice", open(pending("r1", "c1", store.ByHarness), nil), store.ErrExists},
		{"open: the run has ended", open(pending("ended", "c9", store.ByHarness), nil), store.ErrState},
		{"open: the run has not started", open(pending("asked", "c1", store.ByHarness), nil), store.ErrState},
		{"open: closed at once", open(pending("r1", "c9", store.ByHarness), func(c *store.Call) { c.State = store.CallClosed }), store.ErrState},
		{"open: executing before the approval", open(executing("r1", "c9"), func(c *store.Call) { c.For = store.ByApprover }), store.ErrState},
		{"open: for nobody", open(pending("r1", "c9", "anyone"), nil), store.ErrState},
		{"open: no id", open(pending("r1", "", store.ByHost), nil), store.ErrState},
		{"open: huge arguments", open(pending("r1", "c9", store.ByHost), func(c *store.Call) { c.Args = make([]byte, store.MaxArgs+1) }), store.ErrTooLarge},
		{"answer: no such call", answer("r1", "c9", nil), store.ErrNotFound},
		{"answer: of another run", answer("r2", "c1", nil), store.ErrNotFound},
		{"answer: nobody is asked", answer("r1", "c2", nil), store.ErrState},
		{"answer: the run has ended", answer("ended", "c1", nil), store.ErrState},
		{"answer: huge", answer("r1", "c1", make([]byte, store.MaxResult+1)), store.ErrTooLarge},
		{"execute: no such call", execute("r1", "c9"), store.ErrNotFound},
		{"execute: the harness does", execute("r1", "c1"), store.ErrState},
		{"execute: the run has ended", execute("ended", "c1"), store.ErrState},
		{"close: no such call", end("r1", "c9", store.CallClosed, 0), store.ErrNotFound},
		{"close: as open", end("r1", "c2", store.CallPending, 0), store.ErrState},
		{"close: as executing", end("r1", "c1", store.CallExecuting, 0), store.ErrState},
		{"close: unknown though nothing was done", end("r1", "c1", store.CallUnknown, 0), store.ErrState},
		{"close: huge result", end("r1", "c2", store.CallClosed, store.MaxResult+1), store.ErrTooLarge},
	}
	before := append(getCalls(t, s, "r1"), getCalls(t, s, "ended")...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.do(); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	if diff := cmp.Diff(before, append(getCalls(t, s, "r1"), getCalls(t, s, "ended")...)); diff != "" {
		t.Errorf("refusals changed calls: %s", diff)
	}
	// A result that comes after the end is kept, and does not wake the run.
	if err := end("ended", "c2", store.CallClosed, 1)(); err != nil {
		t.Error(err)
	}
	if st := getRun(t, s, "ended").State; st != store.Cancelled {
		t.Errorf("a late result made the run %s", st)
	}
}

func TestKeyIsUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, k := range [][3]string{{"r1", "c1", "d"}, {"r1c", "1", "d"}, {"r1", "c1d", ""}, {"", "r1c1d", ""},
		{"r1", "c1", "e"}} {
		key := store.Key(k[0], k[1], k[2])
		if other, ok := seen[key]; ok {
			t.Errorf("%v has the key of %s", k, other)
		}
		seen[key] = fmt.Sprint(k)
	}
}
