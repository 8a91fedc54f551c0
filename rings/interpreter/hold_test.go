package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// family returns a stage whose bridge "team" lets the harness start subagents.
func family(t *testing.T, perCall, depth, total int64) *stage {
	s := newStage(t, func(c *interpreter.Config) { c.Providers["team"] = contract.Harness{} })
	s.apply(set("a", bridge("ask"), bridge("team", spawner(perCall, depth, total))))
	return s
}

func (s *stage) child(parent, call string, sc script) (*interpreter.Run, error) {
	return s.run(interpreter.StartRequest{Parent: &pause.Parent{Run: parent, Call: call}}, sc)
}

// hang is a script that works until its run ends.
func (s *stage) hang(t *testing.T) script {
	s.slow = func(ctx context.Context) { <-ctx.Done() }
	s.apply(set("a", bridge("ask"), bridge("slow"), bridge("team", spawner(3, 2, 5))))
	return waves([]executors.Question{question("c1", "slow", `[]`)})
}

// Subagents are started for a paused run that is held. They count in its tree, and end with
// it.
func TestHold(t *testing.T) {
	s := family(t, 3, 2, 5)
	hang := s.hang(t)
	p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[[1,2]]`), question("c2", "ask", `[]`)}))
	if _, err := s.child("r1", "c1", hang); !errors.Is(err, contract.ErrParent) {
		t.Errorf("a child of a run that is not held: %v", err)
	}
	held, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	again, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	if again.View().State != executors.StatePaused || len(held.View().Pending) != 2 {
		t.Errorf("view %+v", held.View())
	}
	for _, call := range []string{"c2", "c9"} {
		if _, err := s.child("r1", call, hang); !errors.Is(err, contract.ErrParent) {
			t.Errorf("%s: %v", call, err)
		}
	}
	var children []*interpreter.Run
	for range 2 {
		c, err := s.child("r1", "c1", hang)
		must(t, err)
		children = append(children, c)
	}
	if _, err := s.child("r1", "c1", hang); !errors.Is(err, contract.ErrParent) {
		t.Errorf("a third child of a call for two: %v", err)
	}
	if sp := held.Spawned(); sp.Total != 2 || sp.Calls["c1"] != 2 {
		t.Errorf("spawned %+v", sp)
	}
	for _, err := range []error{held.Answer(t.Context(), contract.Reply{Call: "c2"}),
		held.Approved(t.Context(), approve("c2")),
		held.Revoke(t.Context(), []string{"bridge:ask"})} {
		if !errors.Is(err, contract.ErrPaused) {
			t.Errorf("a held run was settled: %v", err)
		}
	}
	held.Release() // its subagents live: nothing happens
	if _, live := s.ring.Run("r1"); !live {
		t.Error("released with live children")
	}
	children[0].Cancel(t.Context(), "uid:1", "enough")
	s.end(children[0])
	held.Cancel(t.Context(), "uid:1", "enough")
	if v := s.end(children[1]); v.State != executors.StateCancelled {
		t.Errorf("the child of a cancelled parent: %s", v.State)
	}
	s.end(held)
	if _, live := s.ring.Run("r1"); live {
		t.Error("still held")
	}
}

// A hold ends with the last subagent, and what they used stays used: with the number that
// the run returned as spawned, the next hold goes on.
func TestHoldEndsAndCounts(t *testing.T) {
	s := family(t, 3, 2, 5)
	p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[[1,2]]`)}))
	held, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	c, err := s.child("r1", "c1", script{})
	must(t, err)
	s.end(c)
	s.end(held)
	if _, live := s.ring.Run("r1"); live || held.View().State != executors.StatePaused {
		t.Errorf("live %v, %s", live, held.View().State)
	}
	sp := held.Spawned()
	p.Spawned, p.Calls[0].Children = sp.Total, sp.Calls["c1"] // what the daemon committed
	held, err = s.ring.Hold(t.Context(), p)
	must(t, err)
	if c, err = s.child("r1", "c1", script{}); err != nil {
		t.Fatal(err)
	}
	s.end(c)
	s.end(held)
	p.Calls[0].Children = 2
	held, err = s.ring.Hold(t.Context(), p)
	must(t, err)
	if _, err := s.child("r1", "c1", script{}); !errors.Is(err, contract.ErrParent) {
		t.Errorf("a third child over three holds: %v", err)
	}
	held.Release()
	s.end(held)
}

// A run pauses although its subagents live. They go on, and it is resumed with them.
func TestParentPausesWhileChildrenLive(t *testing.T) {
	s := family(t, 3, 2, 5)
	busy := make(chan struct{})
	s.apply(set("a", bridge("ask"), bridge("slow"), bridge("team", spawner(3, 2, 5))))
	s.slow = func(ctx context.Context) {
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
	stop := make(chan struct{})
	s.pauser.stopped = func(r executors.Run) *executors.Outcome {
		if r.ID == "r1" {
			<-stop
		}
		return nil
	}
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{
		question("c1", "team", `[[1,2,3]]`), question("c2", "team", `[1]`)},
		[]executors.Question{question("c3", "team", `[1]`)}, []executors.Question{question("c4", "team", `[1]`)}))
	must(t, err)
	waitsFor(t, run, "c1", "harness")
	waitsFor(t, run, "c2", "harness")
	type started struct {
		run *interpreter.Run
		err error
	}
	back := make(chan started, 1)
	go func() {
		c, err := s.child("r1", "c1", waves([]executors.Question{question("c1", "slow", `[]`)}))
		back <- started{c, err}
	}()
	close(stop)
	got := <-back
	if errors.Is(got.err, contract.ErrParent) { // it paused first, so it is held as a daemon does
		s.end(run)
		_, err := s.ring.Hold(t.Context(), s.keeper.pause(t, "r1"))
		must(t, err)
		got.run, got.err = s.child("r1", "c1", waves([]executors.Question{question("c1", "slow", `[]`)}))
	}
	must(t, got.err)
	s.end(run)
	held, live := s.ring.Run("r1")
	if !live || held.View().State != executors.StatePaused {
		t.Fatal("a paused run with live subagents is not held")
	}
	p := s.keeper.pause(t, "r1")
	if p.Spawned != 4 {
		t.Errorf("%d agents", p.Spawned)
	}
	s.pauser.mu.Lock()
	s.pauser.stopped = nil
	s.pauser.mu.Unlock()
	next, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`), value("c2", `1`)})
	must(t, err)
	s.end(held) // that life is over
	if v := s.end(got.run); v.State != executors.StateCancelled {
		t.Errorf("the child of an answered call: %s", v.State)
	}
	if v := s.end(next); v.State != executors.StatePaused {
		t.Fatalf("%s %+v", v.State, v.Error)
	}
	close(busy)
	v := s.resume(s.keeper.pause(t, "r1"), value("c3", `1`))
	if got := s.got("r1", "c4"); v.State != executors.StateDone || got.Error == nil ||
		got.Error.Name != "BudgetExceeded" {
		t.Errorf("the tree has six agents: %s %+v", v.State, got)
	}
}

// A subagent pauses and goes on in the tree of its parent.
func TestChildPauses(t *testing.T) {
	s := family(t, 3, 2, 4)
	parent := s.pausedRun(waves([]executors.Question{question("c1", "team", `[[1]]`)}))
	held, err := s.ring.Hold(t.Context(), parent)
	must(t, err)
	c, err := s.child("r1", "c1", waves([]executors.Question{question("c1", "ask", `[]`)},
		[]executors.Question{question("c2", "team", `[[1,2]]`)},
		[]executors.Question{question("c3", "team", `[[1,2]]`)}))
	must(t, err)
	s.end(c)
	s.end(held)
	p := s.keeper.pause(t, "r2")
	if p.Depth != 1 || p.Root != "r1" || p.Parent == nil || p.Parent.Call != "c1" {
		t.Fatalf("pause %+v", p)
	}
	if _, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`)}); !errors.Is(
		err, contract.ErrParent) {
		t.Errorf("resumed without its parent: %v", err)
	}
	parent.Calls[0].Children = 1
	held, err = s.ring.Hold(t.Context(), parent)
	must(t, err)
	next, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`)})
	must(t, err)
	if v := s.end(next); v.State != executors.StatePaused {
		t.Fatalf("%s %+v", v.State, v.Error)
	}
	s.end(held)
	if sp := held.Spawned(); sp.Total != 3 || sp.Calls["c1"] != 1 {
		t.Errorf("spawned %+v", sp)
	}
	// The call that may start subagents was committed with the size of the tree.
	if e := s.log.last("r2", "c2"); e.Tree != "r1" || e.Spawned != 3 {
		t.Errorf("entry %+v", e)
	}
	parent.Spawned = 3
	held, err = s.ring.Hold(t.Context(), parent)
	must(t, err)
	v := s.resume(s.keeper.pause(t, "r2"), value("c2", `1`))
	if got := s.got("r2", "c3"); v.State != executors.StateDone || got.Error == nil ||
		got.Error.Name != "BudgetExceeded" {
		t.Errorf("%s %+v", v.State, got)
	}
	s.end(held)
}

// The depth of a tree is limited over pauses.
func TestDepthOverPauses(t *testing.T) {
	s := family(t, 3, 1, 10)
	parent := s.pausedRun(waves([]executors.Question{question("c1", "team", `[1]`)}))
	_, err := s.ring.Hold(t.Context(), parent)
	must(t, err)
	c, err := s.child("r1", "c1", waves([]executors.Question{question("c1", "team", `[1]`)}))
	must(t, err)
	if s.end(c); s.got("r2", "c1").Error == nil || s.got("r2", "c1").Error.Name != "BudgetExceeded" {
		t.Errorf("%+v", s.got("r2", "c1"))
	}
}

// The state of a session goes from run to run of one agent and actor, within the limits of
// the policy.
func TestSessions(t *testing.T) {
	granted := func(rev string, bytes int64) *profiles.Set {
		return agentOf(set(rev, bridge("free"), bridge("ask")), func(a *profiles.Agent) {
			a.Sessions = &profiles.Sessions{AgeMillis: 60_000, Bytes: bytes}
		})
	}
	s := newStage(t)
	s.apply(granted("a", 10_000))
	session := func(state *contract.SessionState, change func(*interpreter.StartRequest)) interpreter.StartRequest {
		req := interpreter.StartRequest{Session: "repl", SessionState: state}
		if change != nil {
			change(&req)
		}
		return req
	}
	run, err := s.run(session(nil, nil), waves([]executors.Question{question("c1", "free", `[1]`)}))
	must(t, err)
	if v := s.end(run); v.SessionError != "" || v.Session != "repl" || s.pauser.started[0].Resume != nil ||
		!s.pauser.started[0].Session {
		t.Fatalf("%+v", v)
	}
	state := s.keeper.sessions["repl"]
	if state.Agent != "default" || state.Actor != "uid:1000" || state.Engine != engine || state.Run != "r1" ||
		!state.At.Equal(s.now()) {
		t.Errorf("state %+v", state)
	}
	run, err = s.run(session(&state, nil), script{Fail: "TypeError"})
	must(t, err)
	if v := s.end(run); v.State != executors.StateFailed || v.SessionError != "" {
		t.Errorf("%s %q", v.State, v.SessionError)
	}
	if last := s.pauser.started[1].Resume; last == nil || !last.Session || string(s.got("r2", "c1").Value) != "1" {
		t.Errorf("the state of the first run is gone: %+v", s.got("r2", "c1"))
	}
	for name, change := range map[string]func(*interpreter.StartRequest){
		"actor":    func(r *interpreter.StartRequest) { r.Actor = "uid:2" },
		"name":     func(r *interpreter.StartRequest) { r.Session = "other" },
		"no name":  func(r *interpreter.StartRequest) { r.Session = "" },
		"agent":    func(r *interpreter.StartRequest) { c := state; c.Agent = "x"; r.SessionState = &c },
		"executor": func(r *interpreter.StartRequest) { c := state; c.Executor = "python"; r.SessionState = &c },
		"empty":    func(r *interpreter.StartRequest) { c := state; c.Snapshot = nil; r.SessionState = &c },
		"age":      func(r *interpreter.StartRequest) { c := state; c.At = c.At.Add(-61e9); r.SessionState = &c },
	} {
		if _, err := s.run(session(&state, change), script{}); !errors.Is(err, contract.ErrSession) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// If a run cannot go on from a state, its error says so, and the state stays as it is.
	for _, change := range []func(*contract.SessionState){
		func(s *contract.SessionState) { s.Engine = "sha256:older" },
		func(s *contract.SessionState) { s.Snapshot = []byte("{") },
	} {
		bad := state
		change(&bad)
		before := fmt.Sprint(s.keeper.sessions["repl"])
		run, err = s.run(session(&bad, nil), script{})
		must(t, err)
		v := s.end(run)
		if v.State != executors.StateFailed || v.Error.Name != "SessionUnusable" || bad.Engine != engine &&
			!strings.Contains(v.Error.Message, bad.Engine) ||
			before != fmt.Sprint(s.keeper.sessions["repl"]) {
			t.Errorf("%s %+v", v.State, v.Error)
		}
	}
	// A run that pauses keeps its session for its end.
	run, err = s.run(session(&state, nil), waves([]executors.Question{question("c1", "ask", `[]`)}))
	must(t, err)
	s.end(run)
	p := s.keeper.pause(t, run.ID())
	if v := s.resume(p, value("c1", `1`)); v.SessionError != "" || s.keeper.sessions["repl"].Run != run.ID() {
		t.Errorf("%q, of %s", v.SessionError, s.keeper.sessions["repl"].Run)
	}
	kept := s.keeper.sessions["repl"]
	for name, test := range map[string]struct {
		set *profiles.Set
		run func(*interpreter.Run)
	}{
		"too large": {granted("b", 3), func(*interpreter.Run) {}},
		"cancelled": {granted("c", 10_000), func(r *interpreter.Run) { r.Cancel(t.Context(), "uid:1", "x") }},
	} {
		s.apply(test.set)
		block := make(chan struct{})
		s.pauser.mu.Lock()
		s.pauser.hook = func(executors.Run) error { <-block; return nil }
		s.pauser.mu.Unlock()
		run, err = s.run(session(&state, nil), script{})
		must(t, err)
		test.run(run)
		close(block)
		if v := s.end(run); v.SessionError == "" || fmt.Sprint(s.keeper.sessions["repl"]) != fmt.Sprint(kept) {
			t.Errorf("%s: %q", name, v.SessionError)
		}
	}
	s.apply(granted("d", 10_000))
	s.keeper.sessions = nil
	before := len(s.pauser.gone)
	run, err = s.run(session(&state, nil), script{})
	must(t, err)
	if v := s.end(run); v.State != executors.StateDone || v.SessionError == "" {
		t.Errorf("%s %q", v.State, v.SessionError)
	}
	if len(s.pauser.gone) != before+1 || s.pauser.gone[before] == "" { // it would live, and no caller could reach it
		t.Errorf("a state that could not be kept: forgotten %q", s.pauser.gone)
	}
	if st := s.ring.Status(); st[0].Sessions != 2 || st[0].SessionBytes != 3 {
		t.Errorf("status %+v", st)
	}
	s.apply(set("e"))
	var d *profiles.Denial
	if _, err := s.run(session(nil, nil), script{}); !errors.As(err, &d) ||
		d.Decision.Code != profiles.CodeSessionNotGranted {
		t.Errorf("a session that is not granted: %v", err)
	}
}

// The subagents that a subagent starts while its parent is paused count for the parent when
// it goes on.
func TestTreeGrowsWhileTheParentIsPaused(t *testing.T) {
	s := family(t, 3, 2, 4)
	s.apply(set("a", bridge("slow"), bridge("team", spawner(3, 2, 4)), bridge("spawn", spawner(3, 2, 4))))
	busy := make(chan struct{})
	s.slow = func(ctx context.Context) {
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
	p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[1]`)},
		[]executors.Question{question("c2", "team", `[1]`)}))
	held, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	c, err := s.child("r1", "c1", waves([]executors.Question{question("c1", "spawn", `[[1,2,3]]`)},
		[]executors.Question{question("c2", "slow", `[]`)}))
	must(t, err)
	// a host's call of a subagent is committed, for its count
	for seen := int64(0); s.log.last("r2", "c1").Spawned != 4; {
		list, err := c.Events(t.Context(), seen)
		if err != nil || len(list) == 0 {
			t.Fatalf("entry %+v %v", s.log.last("r2", "c1"), err)
		}
		seen = list[len(list)-1].Seq
	}
	v := s.resume(p, value("c1", `1`))
	close(busy)
	s.end(c)
	s.end(held)
	if got := s.got("r1", "c2"); v.State != executors.StateDone || got.Error == nil ||
		got.Error.Name != "BudgetExceeded" {
		t.Errorf("a tree of five: %s %+v", v.State, got)
	}
}

// No subagent is started for a call that is not approved.
func TestNoSubagentsBeforeTheApproval(t *testing.T) {
	s := newStage(t, func(c *interpreter.Config) { c.Providers["team"] = contract.Harness{} })
	s.apply(set("a", bridge("team", spawner(3, 2, 4), approval())))
	p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[1]`)}))
	held, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	if _, err := s.child("r1", "c1", script{}); !errors.Is(err, contract.ErrParent) {
		t.Error(err)
	}
	held.Release()
	s.end(held)
}

// A run without a guest is on this host all the same. Its calls can have subagents under a
// policy that asks for isolation that the host has, as after every reload, and none under
// one that asks for more.
func TestHeldUnderATier(t *testing.T) {
	of := func(rev string, least profiles.Tier) *profiles.Set {
		return agentOf(set(rev, bridge("ask"), bridge("team", spawner(3, 2, 5))),
			func(a *profiles.Agent) { a.MinTier = least })
	}
	for least, want := range map[profiles.Tier]profiles.Code{
		profiles.TierProcess: "", profiles.TierWasm: "", profiles.TierMicroVM: profiles.CodeTierUnavailable} {
		s := newStage(t, func(c *interpreter.Config) { c.Providers["team"] = contract.Harness{} })
		s.apply(of("a", profiles.TierProcess))
		p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[[1,2]]`)}))
		s.apply(of("b", least))
		_, err := s.ring.Hold(t.Context(), p)
		must(t, err)
		_, err = s.child("r1", "c1", waves())
		var d *profiles.Denial
		switch errors.As(err, &d); {
		case want == "":
			must(t, err)
		case d == nil || d.Decision.Code != want && d.Decision.Code != profiles.CodeBridgeRevoked:
			t.Errorf("%s: %v", least, err)
		}
	}
}
