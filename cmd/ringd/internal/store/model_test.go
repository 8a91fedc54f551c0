package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// model is what one run must be, written down a second time and plainly.
type model struct {
	state   store.State
	seq     int64
	last    int // number of calls at the last pause
	claimed string
	calls   []*modelCall
}

type modelCall struct {
	id       string
	state    store.CallState
	waits    store.Answerer
	acts     store.Answerer
	needs    int
	idem     bool
	verdict  store.Verdict
	allowed  map[string]bool // by whom
	replied  bool
	result   bool
	wave     int64
	begun    int // acts begun
	restarts int // acts that a restart allowed to be begun again
}

func (m *model) inGuest() bool {
	return m.state == store.Started || m.state == store.CallOpen || m.state == store.Executing
}

func (m *model) count(st store.CallState) (n int) {
	for _, c := range m.calls {
		if c.state == st {
			n++
		}
	}
	return n
}

// settle makes a paused run answered when no call waits.
func (m *model) settle() {
	if m.state != store.Paused {
		return
	}
	for _, c := range m.calls {
		if c.state == store.CallPending && !c.replied {
			return
		}
	}
	m.state = store.Answered
}

func (m *model) end(to store.State) {
	m.state = to
	for _, c := range m.calls {
		if c.state == store.CallPending {
			c.state = store.CallClosed
		}
	}
}

// restart is what Recover must make of the run.
func (m *model) restart() {
	acting := m.count(store.CallExecuting)
	lose := func() {
		if m.state.Final() {
			return
		}
		if acting > 0 {
			m.end(store.Unknown)
		} else {
			m.end(store.Failed)
		}
	}
	switch m.state {
	case store.Paused, store.Answered:
	case store.Claimed:
		m.state, m.claimed = store.Answered, ""
	case store.Executing:
		again := len(m.calls) == m.last
		for _, c := range m.calls {
			again = again && (c.state != store.CallExecuting || c.idem)
		}
		if !again {
			lose()
			break
		}
		m.state, m.claimed = store.Answered, ""
		for _, c := range m.calls {
			if c.state == store.CallExecuting {
				c.state = store.CallPending
				c.restarts++
			}
		}
	default:
		lose()
	}
	for _, c := range m.calls {
		if c.state == store.CallExecuting {
			c.state = store.CallUnknown
		}
	}
}

// step does one thing at random to the store and to the model, and reports
// whether each took it.
func (m *model) step(t *testing.T, s *store.Store, rnd *rand.Rand, run string) (what string, did, want bool) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) bool {
		var claimed *store.ClaimedError
		if err != nil && !errors.Is(err, store.ErrState) && !errors.As(err, &claimed) {
			t.Fatalf("%s: %v", what, err)
		}
		return err == nil
	}
	var c *modelCall
	if len(m.calls) > 0 {
		c = m.calls[rnd.IntN(len(m.calls))]
	}
	op := rnd.IntN(14)
	if c == nil && op > 1 && op < 8 {
		op = 0
	}
	switch op {
	case 0, 1:
		return m.open(t, s, rnd, run)
	case 2:
		what = "answer " + c.id
		got, err := s.Answer(ctx, run, c.id, store.Reply{By: "uid:5", Body: []byte("yes")})
		did = ok(err) && got.First
		want = c.state == store.CallPending && c.waits == store.ByHarness && !c.replied &&
			(m.inGuest() || m.state == store.Paused)
		if want {
			c.replied = true
			m.settle()
		}
	case 3, 4:
		return m.approve(t, s, rnd, run, c, ok)
	case 5:
		what = "execute " + c.id
		_, err := s.Execute(ctx, run, c.id, store.Head{})
		did = ok(err)
		want = m.inGuest() && c.state == store.CallPending && c.waits != store.ByHarness &&
			(c.waits != store.ByApprover || c.verdict == store.Allow)
		if want {
			c.state = store.CallExecuting
			c.begun++
		}
	case 6, 7:
		what = "close " + c.id
		did = ok(s.CloseCall(ctx, run, c.id, store.CallClosed, []byte("ok"), store.Head{}))
		want = c.state == store.CallExecuting || c.state == store.CallPending && m.inGuest()
		if want {
			c.state, c.result = store.CallClosed, true
			if m.state == store.CallOpen && m.count(store.CallPending)+m.count(store.CallExecuting) == 0 {
				m.state = store.Started
			}
		}
	case 8, 9:
		what = "pause"
		_, err := s.PutPause(ctx, newPause(run, m.seq+1), store.Change{})
		did = ok(err)
		want = (m.state == store.CallOpen || m.state == store.Executing) && m.count(store.CallPending) > 0 &&
			m.count(store.CallExecuting) == 0
		if want {
			m.state, m.seq, m.claimed, m.last = store.Paused, m.seq+1, "", len(m.calls)
			for _, c := range m.calls {
				if c.state == store.CallPending {
					c.wave = m.seq
				}
			}
			m.settle()
		}
	case 10:
		what = "claim"
		by := fmt.Sprint("host ", rnd.IntN(2))
		p, calls, err := s.Claim(ctx, run, m.seq, by)
		did, want = ok(err), m.state == store.Answered
		if did {
			m.checkWave(t, p, calls)
		}
		if want {
			m.state, m.claimed = store.Claimed, by
		}
	case 11:
		what = "begin"
		by := fmt.Sprint("host ", rnd.IntN(2))
		_, err := s.Begin(ctx, run, m.seq, by, store.Change{})
		did, want = ok(err), m.state == store.Claimed && m.claimed == by
		if want {
			m.state = store.Executing
		}
	case 12:
		what = "give back"
		by := fmt.Sprint("host ", rnd.IntN(2))
		did, want = ok(s.Unclaim(ctx, run, m.seq, by, store.Fault{Code: "x"})), m.state == store.Claimed &&
			m.claimed == by
		if want {
			m.state, m.claimed = store.Answered, ""
		}
	default:
		if rnd.IntN(4) > 0 {
			return "nothing", true, true
		}
		to := []store.State{store.Done, store.Failed, store.Cancelled, store.Unknown}[rnd.IntN(4)]
		what = "end as " + string(to)
		_, err := s.Advance(ctx, run, to, store.Change{})
		did, want = ok(err), m.state.May(to)
		if want {
			m.end(to)
		}
	}
	return what, did, want
}

func (m *model) open(t *testing.T, s *store.Store, rnd *rand.Rand, run string) (what string, did, want bool) {
	c := &modelCall{id: fmt.Sprintf("c%d", len(m.calls)+1), state: store.CallPending, allowed: map[string]bool{}}
	row := pending(run, c.id, store.ByHost)
	switch rnd.IntN(5) {
	case 0:
		row.For = store.ByHarness
	case 1, 2:
		row.For, row.Acts, row.Needs = store.ByApprover, store.ByHost, int64(1+rnd.IntN(2))
	case 3:
		row.For, row.Acts, row.Needs = store.ByApprover, store.ByHarness, 1
	default:
		row.State, c.state, c.begun = store.CallExecuting, store.CallExecuting, 1
	}
	if rnd.IntN(2) == 0 {
		row.Bridge, c.idem = "again", true
	}
	c.waits, c.acts, c.needs = row.For, row.Acts, int(row.Needs)
	_, err := s.OpenCall(t.Context(), row)
	if err != nil && !errors.Is(err, store.ErrState) {
		t.Fatal(err)
	}
	if m.inGuest() {
		m.calls = append(m.calls, c)
		m.state = store.CallOpen
		return "open " + c.id + " for the " + string(row.For), err == nil, true
	}
	return "open " + c.id, err == nil, false
}

func (m *model) approve(t *testing.T, s *store.Store, rnd *rand.Rand, run string, c *modelCall, ok func(error) bool) (
	what string, did, want bool) {
	by := fmt.Sprint("uid:", rnd.IntN(3))
	v := store.Allow
	if rnd.IntN(5) == 0 {
		v = store.Deny
	}
	got, err := s.Approve(t.Context(), run, c.id, approval(by, v))
	did = ok(err) && got.First
	want = c.state == store.CallPending && c.waits == store.ByApprover && c.verdict == "" &&
		(m.inGuest() || m.state == store.Paused) &&
		(v == store.Deny || !c.allowed[by])
	if want {
		if v == store.Deny {
			c.verdict = store.Deny
		} else if c.allowed[by] = true; len(c.allowed) >= c.needs {
			c.verdict = store.Allow
		}
		switch {
		case c.verdict == store.Allow && c.acts == store.ByHarness:
			c.waits = store.ByHarness
		case c.verdict != "":
			c.replied = true
		}
		m.settle()
	}
	return fmt.Sprintf("%s %s by %s", v, c.id, by), did, want
}

// checkWave: what is claimed is the pause that was kept, with the calls it
// waited on and what has become of them.
func (m *model) checkWave(t *testing.T, p store.Pause, calls []store.Call) {
	t.Helper()
	if want := fmt.Sprintf("record %d of %s", m.seq, p.Run); string(p.Sealed) != want || p.Seq != m.seq {
		t.Errorf("claimed %q, want %q", p.Sealed, want)
	}
	var got, want []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s %s %q %t", c.ID, c.State, c.Verdict, c.Result != nil))
	}
	for _, c := range m.calls {
		if c.wave == m.seq {
			want = append(want, fmt.Sprintf("%s %s %q %t", c.id, c.state, c.verdict, c.result))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("claimed calls %q, want %q", got, want)
	}
}

// same compares the run and its calls with the model, and looks for what may
// never be.
func (m *model) same(t *testing.T, s *store.Store, run string) bool {
	t.Helper()
	good := true
	bad := func(format string, args ...any) {
		t.Helper()
		good = false
		t.Errorf(format, args...)
	}
	r := getRun(t, s, run)
	if r.State != m.state || r.Seq != m.seq {
		bad("the run is %s at %d, the model %s at %d", r.State, r.Seq, m.state, m.seq)
	}
	_, _, err := s.Pause(t.Context(), run)
	if kept := m.seq > 0 && !m.state.Final(); (err == nil) != kept || err != nil && !errors.Is(err, store.ErrNotFound) {
		bad("the run is %s at %d, its pause %v", m.state, m.seq, err)
	}
	for i, c := range getCalls(t, s, run) {
		w := m.calls[i]
		if c.State != w.state || c.For != w.waits || c.Verdict != w.verdict || (c.Reply != nil) != w.replied ||
			c.Wave != w.wave {
			bad("call %+v, the model %+v", c, w)
		}
		if w.begun > 1+w.restarts || w.restarts > 0 && !w.idem {
			bad("call %s was begun %d times, a restart allowed %d", c.ID, w.begun, w.restarts)
		}
		if w.begun > 0 && w.acts != "" && (w.verdict != store.Allow || w.acts != store.ByHost) {
			bad("call %s was begun and is %q", c.ID, w.verdict)
		}
	}
	return good
}

// TestModel takes random arrows, with restarts in between: the store does what
// the model does, and nothing else.
func TestModel(t *testing.T) {
	rounds, steps := 150, 80
	if testing.Short() {
		rounds = 25
	}
	cfg := config(t)
	cfg.Idempotent = func(bridge string) bool { return bridge == "again" }
	s := mustOpen(t, cfg)
	seen := map[store.State]int{}
	for round := range rounds {
		run := fmt.Sprintf("r%d", round)
		rnd := rand.New(rand.NewPCG(11, uint64(round)))
		mustStart(t, s, newRun(run))
		m := &model{state: store.Started}
		var trail []string
		for range steps {
			if rnd.IntN(25) == 0 {
				trail = append(trail, "restart")
				mustClose(t, s)
				s = mustOpen(t, cfg)
				if _, err := s.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				m.restart()
			} else {
				what, did, want := m.step(t, s, rnd, run)
				trail = append(trail, what)
				if did != want {
					t.Fatalf("round %d: the store took it: %t, the model: %t; %q", round, did, want, trail)
				}
			}
			seen[m.state]++
			if !m.same(t, s, run) {
				t.Fatalf("round %d: %q", round, trail)
			}
			if m.state.Final() && rnd.IntN(3) == 0 {
				break
			}
		}
	}
	for _, st := range []store.State{store.Paused, store.Answered, store.Claimed, store.Executing, store.Unknown} {
		if seen[st] == 0 {
			t.Errorf("no run was ever %s", st)
		}
	}
	t.Logf("%v", seen)
}
