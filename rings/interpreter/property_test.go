package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// ledger is what a store would keep of one run: who may act on what, and what was performed.
// A provider reports to it.
type ledger struct {
	mu       sync.Mutex
	approved map[string]bool
	acts     map[string]int
	wrong    []string
}

func (l *ledger) Call(_ context.Context, c contract.Call) (json.RawMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := c.Run + "/" + c.ID
	l.acts[key]++
	if l.acts[key] > 1 {
		l.wrong = append(l.wrong, key+" acted twice")
	}
	if strings.HasPrefix(c.Bridge, "act") && !l.approved[key] {
		l.wrong = append(l.wrong, key+" acted without its approval")
	}
	return json.RawMessage(`"` + c.ID + `"`), nil
}

func (l *ledger) approve(run, call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.approved[run+"/"+call] = true
}

// In whatever order people answer, approve, deny, push, cancel and resume, live or paused:
// no call is performed twice or without its approval, each gated call that the program made
// has exactly one answer, and none is lost.
func TestAnyOrder(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for seed := range rounds {
		anyOrder(t, rand.New(rand.NewPCG(uint64(seed), 7)), fmt.Sprintf("seed %d", seed))
		if t.Failed() {
			return
		}
	}
}

func anyOrder(t *testing.T, rnd *rand.Rand, name string) {
	l := &ledger{approved: map[string]bool{}, acts: map[string]int{}}
	s := newStage(t, func(c *interpreter.Config) {
		c.Providers["act"], c.Providers["actOnce"], c.Providers["free"] = l, l, l
		c.Providers["askAll"] = contract.Harness{}
	})
	sets := []*profiles.Set{
		set("all", bridge("act", external, approval()), bridge("actOnce", approval()), bridge("ask"),
			bridge("askAll", approval()), bridge("free")),
		set("none", bridge("free")),
		set("some", bridge("act", external, approval()), bridge("ask"), bridge("free")),
		set("loose", bridge("act"), bridge("actOnce"), bridge("ask"), bridge("askAll"), bridge("free")),
	}
	for _, one := range sets {
		agentOf(one, func(a *profiles.Agent) { a.Limits.RefusedCalls = num(100) })
	}
	s.apply(sets[0])
	var sc script
	n := 0
	for range 1 + rnd.IntN(4) {
		var wave []executors.Question
		for range 1 + rnd.IntN(4) {
			n++
			wave = append(wave, question(fmt.Sprintf("c%d", n),
				[]string{"act", "actOnce", "ask", "askAll", "free"}[rnd.IntN(5)], `[{"n":1}]`))
		}
		sc.Waves = append(sc.Waves, wave)
	}
	run, err := s.run(interpreter.StartRequest{}, sc)
	must(t, err)
	cancelled := rnd.IntN(8) == 0
	for life := 0; ; life++ {
		if life > 20 {
			t.Fatalf("%s: it does not end", name)
		}
		var wg sync.WaitGroup
		talk := make(chan struct{})
		pushes := rnd.Perm(len(sets))
		wg.Go(func() { // pushes at any time
			for _, i := range pushes {
				s.apply(sets[i])
			}
			s.apply(sets[pushes[0]])
		})
		wg.Go(func() { talkTo(t, run, l, talk) })
		if cancelled && rnd.IntN(3) == 0 {
			wg.Go(func() { run.Cancel(t.Context(), "uid:1", "any") })
		}
		v := s.end(run)
		close(talk)
		wg.Wait()
		if v.State != executors.StatePaused {
			check(t, s, l, v, n, name)
			return
		}
		if rnd.IntN(2) == 0 {
			s.apply(sets[rnd.IntN(len(sets))])
		}
		p := s.keeper.pause(t, run.ID())
		settled := settle(p, l, rnd)
		wins := make(chan *interpreter.Run, 3)
		var race sync.WaitGroup
		claim := sync.Mutex{} // the store's compare-and-set
		won := false
		for range 3 {
			race.Go(func() {
				claim.Lock()
				first := !won
				won = true
				claim.Unlock()
				if !first {
					return
				}
				next, err := s.ring.Resume(t.Context(), p, settled)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				wins <- next
			})
		}
		race.Wait()
		if run = <-wins; run == nil {
			return
		}
	}
}

// settle answers every open call of a pause as people would.
func settle(p pause.Record, l *ledger, rnd *rand.Rand) []contract.Settlement {
	var out []contract.Settlement
	for _, c := range p.Calls {
		s := contract.Settlement{Call: c.ID, By: "uid:7"}
		if c.Terms != nil && !c.Approved {
			if s.Denied = rnd.IntN(3) == 0; !s.Denied {
				s.Approved = true
				l.approve(p.Run, c.ID)
			}
		}
		if c.Harness && !s.Denied {
			s.Value = json.RawMessage(`"` + c.ID + `"`)
		}
		out = append(out, s)
	}
	return out
}

// talkTo answers and approves each call that a live run waits for, always twice.
func talkTo(t *testing.T, run *interpreter.Run, l *ledger, done <-chan struct{}) {
	for {
		for _, p := range run.View().Pending {
			for range 2 {
				if p.For == "harness" {
					_ = run.Answer(t.Context(), contract.Reply{Call: p.ID, Value: json.RawMessage(`"` + p.ID + `"`)})
					continue
				}
				l.approve(run.ID(), p.ID) // the store commits first
				if err := run.Approved(t.Context(), approve(p.ID)); errors.Is(err, contract.ErrUnsettled) {
					t.Error(err)
				}
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// check compares the end of a run with its ledger, journal and program.
func check(t *testing.T, s *stage, l *ledger, v contract.View, calls int, name string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wrong {
		t.Errorf("%s: %s", name, w)
	}
	opened, closed := map[string]int{}, map[string]int{}
	for _, line := range s.log.entries() {
		f := strings.Fields(line)
		switch f[0] {
		case "open":
			opened[f[1]]++
		case "close":
			closed[f[1]]++
		}
	}
	for id := range opened {
		if opened[id] != 1 || closed[id] != 1 {
			t.Errorf("%s: call %s was opened %d times and closed %d times", name, id, opened[id], closed[id])
		}
	}
	if v.State == executors.StateCancelled {
		return
	}
	if v.State != executors.StateDone {
		t.Errorf("%s: %s %+v", name, v.State, v.Error)
		return
	}
	s.pauser.mu.Lock()
	defer s.pauser.mu.Unlock()
	end := s.pauser.ended[v.ID]
	if len(end.Got) != calls || len(end.Said) != calls {
		t.Errorf("%s: %d of %d calls were answered, %d times", name, len(end.Got), calls, len(end.Said))
	}
	for id, a := range end.Got {
		acted := l.acts[v.ID+"/"+id] == 1
		if a.Error == nil && string(a.Value) != `"`+id+`"` {
			t.Errorf("%s: call %s got %s", name, id, a.Value)
		}
		if a.Error != nil && acted && a.Error.Name != "BridgeError" && a.Error.Name != "CapabilityRevoked" {
			t.Errorf("%s: call %s acted and got %+v", name, id, a.Error)
		}
	}
}
