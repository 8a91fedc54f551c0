package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// reaching returns a set whose one agent may reach the hosts, and the gateway.
func reaching(revision string, hosts ...string) *profiles.Set {
	s := set(revision, bridge("fetch"))
	a := s.Agents["default"]
	a.Egress = profiles.Egress{Mode: profiles.EgressAllowlist, Gateways: []profiles.Gateway{{Name: "gateway"}}}
	for _, h := range hosts {
		a.Egress.Allow = append(a.Egress.Allow, profiles.EgressRule{Host: h, Ports: []int{443}})
	}
	s.Agents["default"] = a
	return s
}

// told writes deciders as text: the revision with what is allowed, less what is denied.
func told(all []*profiles.Decider) []string {
	var out []string
	for _, d := range all {
		if d == nil {
			out = append(out, "closed")
			continue
		}
		e := d.Profile().Egress
		text := d.Import("js", "none").Revision + ":"
		for _, r := range e.Allow {
			text += " " + r.Host
		}
		for _, r := range e.Deny {
			text += fmt.Sprintf(" -%s:%t", r.Host, r.AnyPort)
		}
		for _, g := range e.Gateways {
			text += " @" + g.Name
		}
		out = append(out, text)
	}
	return out
}

// A call of a provider may reach what binds the run and what is in force, at the moment when
// it is asked for.
func TestReach(t *testing.T) {
	asked, goOn := make(chan func() []*profiles.Decider, 1), make(chan struct{})
	var narrowed atomic.Int32
	over := &ends{Provider: provide(func(_ context.Context, call contract.Call) (json.RawMessage, error) {
		asked <- call.Deciders
		<-goOn
		return nil, nil
	})}
	w := newWorld(t, func(c *interpreter.Config) {
		c.Narrowed = func() { narrowed.Add(1) }
		c.Providers["fetch"] = over
	})
	w.apply(reaching("one", "a.example", "b.example"))
	p, _ := calls(ask("fetch", `[]`))
	grants := profiles.Grants{Bridges: map[string]profiles.GrantOfBridge{"fetch": {}},
		Hosts: []string{"a.example", "gateway.ringd.internal"}}
	run, err := w.tryStart(interpreter.StartRequest{Grants: &grants}, p)
	must(t, err)
	live := <-asked
	is := func(what string, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, told(live())); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if d := cmp.Diff(want, told(w.ring.Deciders("r1"))); d != "" {
			t.Errorf("%s, by the run's id: %s", what, d)
		}
	}
	is("at the start: what was granted, and what is in force", "one: a.example @gateway",
		"one: a.example b.example @gateway")
	w.apply(reaching("two", "a.example", "c.example"))
	is("after a push", "one: a.example @gateway", "two: a.example c.example @gateway")
	must(t, run.Revoke(t.Context(), []string{"host:a.example"}))
	is("a host was taken", "one: a.example -a.example:true @gateway", "one: a.example @gateway",
		"two: a.example c.example @gateway")
	must(t, run.Revoke(t.Context(), []string{"host:gateway.ringd.internal", "bridge:fetch"}))
	if got := told(live()); len(got) != 3 || strings.Contains(got[0], "@") {
		t.Errorf("the gateway was taken: %v", got)
	}
	if n := narrowed.Load(); n != 2 {
		t.Errorf("told %d times that runs reach less, want 2", n)
	}
	w.ring.CloseExecutor("js", "broken")
	if got := told(live()); len(got) != 2 || got[1] != "closed" || narrowed.Load() != 3 {
		t.Errorf("the executor is closed: %v, told %d times", got, narrowed.Load())
	}
	w.apply(&profiles.Set{Format: profiles.Format, Revision: "three"})
	if all := live(); len(all) != 2 || all[1].Egress(egress.Action{}).Code != profiles.CodeUnknownAgent {
		t.Errorf("the agent is gone: %v", told(all))
	}
	w.apply(nil)
	if all := live(); len(all) != 2 || all[1].Egress(egress.Action{}).Code != profiles.CodeNoPolicy {
		t.Errorf("nothing is in force: %v", told(all))
	}
	if got := over.told(); got != nil {
		t.Errorf("over before its end: %v", got)
	}
	close(goOn)
	w.end(run)
	if got := over.told(); !slices.Equal(got, []string{"r1"}) {
		t.Errorf("at the end %v is over", got)
	}
	is("at the end")
	if got := w.ring.Deciders("none"); got != nil {
		t.Errorf("a run that is not: %v", told(got))
	}
}

// ends is a provider with a callback for the end of runs.
type ends struct {
	contract.Provider
	mu   sync.Mutex
	runs []string
}

func (e *ends) RunEnded(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs = append(e.runs, run)
}

func (e *ends) told() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs
}

// Providers are called once for a life that paused or ended, and not for one that never
// began because its id is taken.
func TestEnder(t *testing.T) {
	over, other := &ends{Provider: interpreter.Log{}}, &ends{Provider: interpreter.Log{}}
	s := newStage(t, func(c *interpreter.Config) { c.Providers["told"], c.Default = over, other })
	s.apply(set("a", bridge("ask")))
	at := func(what string, want ...string) {
		t.Helper()
		if a, b := over.told(), other.told(); !slices.Equal(a, want) || !slices.Equal(b, want) {
			t.Errorf("%s: %v and %v, want %v", what, a, b, want)
		}
	}
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
	at("paused", "r1")
	_, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	if _, err := s.run(interpreter.StartRequest{ID: "r1"}, script{}); !errors.Is(err, interpreter.ErrExists) {
		t.Fatal(err)
	}
	at("its id is taken", "r1")
	s.resume(p, value("c1", `1`))
	at("resumed, and ended", "r1", "r1")
}

// A paused run that is held has no guest any more. Its providers are called before it can be
// resumed.
func TestEnderOfHeld(t *testing.T) {
	over := &ends{Provider: interpreter.Log{}}
	s := newStage(t, func(c *interpreter.Config) { c.Providers["team"], c.Default = contract.Harness{}, over })
	hang := s.hang(t)
	p := s.pausedRun(waves([]executors.Question{question("c1", "team", `[[1]]`)}))
	_, err := s.ring.Hold(t.Context(), p)
	must(t, err)
	child, err := s.child("r1", "c1", hang)
	must(t, err)
	torn := p
	torn.Snapshot = []byte("{")
	run, err := s.ring.Resume(t.Context(), torn, []contract.Settlement{value("c1", `1`)})
	must(t, err)
	s.end(run)
	if held, ok := s.ring.Run("r1"); !ok || held.View().State != executors.StatePaused {
		t.Fatal("a run that cannot go on is not held for its subagent")
	}
	if got := over.told(); !slices.Equal(got, []string{"r1", "r1"}) {
		t.Errorf("told of %v", got)
	}
	child.Cancel(t.Context(), "uid:1", "enough")
	s.end(child)
}

// startLive starts a run that is live when startLive returns, until end.
func (w *world) startLive() (run *interpreter.Run, end func()) {
	live, goOn := make(chan struct{}), make(chan struct{})
	run = w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		close(live)
		<-goOn
		return executors.Outcome{State: executors.StateDone}, nil
	})
	<-live
	return run, func() {
		close(goOn)
		w.end(run)
	}
}

// The same deciders come back while nothing changes: a walk over live connections decides
// each destination once.
func TestReachIsKept(t *testing.T) {
	w := newWorld(t)
	w.apply(reaching("one", "a.example"))
	run, end := w.startLive()
	must(t, run.Revoke(t.Context(), []string{"host:b.example"}))
	first, again := w.ring.Deciders("r1"), w.ring.Deciders("r1")
	if len(first) != 2 || &first[0] != &again[0] {
		t.Errorf("made again: %v %v", told(first), told(again))
	}
	end()
}

// Past its deadline a run reaches nothing, also if its timer is late.
func TestReachEndsAtTheDeadline(t *testing.T) {
	live, goOn := make(chan struct{}), make(chan struct{})
	var late atomic.Bool
	w := newWorld(t, func(c *interpreter.Config) {
		now := time.Now()
		c.Now = func() time.Time {
			if late.Load() {
				return now.Add(2 * time.Hour)
			}
			return now
		}
	})
	w.apply(reaching("one", "a.example"))
	at := time.Now().Add(time.Hour)
	run, err := w.tryStart(interpreter.StartRequest{Grants: &profiles.Grants{Deadline: &at}},
		func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			close(live)
			<-goOn
			return executors.Outcome{State: executors.StateDone}, nil
		})
	must(t, err)
	<-live
	if got := told(w.ring.Deciders("r1")); len(got) != 2 {
		t.Errorf("before: %v", got)
	}
	late.Store(true)
	if got := told(w.ring.Deciders("r1")); len(got) != 0 {
		t.Errorf("after: %v", got)
	}
	close(goOn)
	w.end(run)
}

// A text that is not the name of a host is refused: otherwise the run would keep the host
// that was meant.
func TestRevokeOfAHostThatIsNone(t *testing.T) {
	w := newWorld(t)
	w.apply(reaching("one", "a.example"))
	run, end := w.startLive()
	for _, bad := range []string{"host:A.example", "host:https://a.example", "host:a.example:443", "host:*",
		"host: a.example"} {
		if err := run.Revoke(t.Context(), []string{bad}); !errors.Is(err, binding.ErrGrant) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if got := w.ring.Deciders("r1"); len(got) != 1 {
		t.Errorf("%v", told(got))
	}
	end()
}
