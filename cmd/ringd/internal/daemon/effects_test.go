package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// effects counts what providers did, by idempotency key, over several daemons.
type effects struct {
	mu  sync.Mutex
	did map[string]int
	run map[string][]string // keys by run
}

func (e *effects) act(c contract.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.did == nil {
		e.did, e.run = map[string]int{}, map[string][]string{}
	}
	e.did[c.Key]++
	e.run[c.Run] = append(e.run[c.Run], c.Bridge)
}

// expected are errors that a caller gets who comes too late, or at a bad moment.
func expected(err error) bool {
	for _, known := range []error{daemon.ErrEnded, daemon.ErrAnswered, policy.ErrNotFound, daemon.ErrRole,
		daemon.ErrNotAnswered,
		daemon.ErrQuota, daemon.ErrDraining, waiting.ErrDecided, waiting.ErrEnded, waiting.ErrNotWaiting,
		waiting.ErrExpired} {
		if errors.Is(err, known) {
			return true
		}
	}
	return err == nil || daemon.Late(err)
}

// nudge does one thing at random to a run: answers, approves, denies, resumes,
// cancels (seldom), looks.
func nudge(t *testing.T, s *daemontest.Stack, rng *rand.Rand, id string) (ended bool) {
	got, err := s.Daemon.GetRun(t.Context(), everyone(), id, time.Duration(rng.IntN(3))*time.Millisecond)
	if err != nil {
		t.Errorf("run %s is lost: %v", id, err)
		return true
	}
	if got.State != "running" && got.State != "paused" {
		return true
	}
	for _, p := range got.Pending {
		switch p.For {
		case "harness":
			_, err = s.Daemon.AnswerRun(t.Context(), daemontest.Me(), id, wire.Answers{Answers: []wire.Answer{
				{Call: p.ID, Digest: p.Digest, Value: json.RawMessage(`"` + p.ID + `"`)}}})
		default:
			a := wire.ApprovalAnswer{Verdict: "allow", Digest: p.Digest}
			if rng.IntN(20) == 0 {
				a.Verdict, a.Reason = "deny", "no"
			}
			_, err = s.Daemon.Approve(t.Context(), person(fmt.Sprintf("uid:%d", 1+rng.IntN(3))), id, p.ID, a)
		}
		if !expected(err) {
			t.Errorf("run %s, call %s: %v", id, p.ID, err)
		}
	}
	switch rng.IntN(300) {
	case 0:
		_, err = s.Daemon.CancelRun(t.Context(), daemontest.Me(), id)
	case 1, 2, 3, 4, 5:
		_, err = s.Daemon.ResumeRun(t.Context(), everyone(), id)
	default:
		err = nil
	}
	if !expected(err) {
		t.Errorf("run %s: %v", id, err)
	}
	return false
}

// TestExactlyOnce drives many runs through waves of approved, answered and
// performed calls, with several hands at each of them, pushes in between, and a
// daemon that is replaced every round. No effect happens twice, and a run that
// is done has had each of its effects.
func TestExactlyOnce(t *testing.T) {
	rounds, each := 4, 12
	if testing.Short() {
		rounds, each = 3, 8
	}
	seen := &effects{}
	cfg := daemontest.Config{Acted: seen.act, Quota: daemon.Quota{PerActor: 1000, Total: 1000}}
	s := daemontest.New(t, cfg)
	s.Apply(t, "one ask pay!2 act sign!")
	var ids []string
	for range rounds {
		for range each {
			r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request("steps ask,pay act sign,pay ask", 0))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		hands(t, s, ids, len(ids))
		if t.Failed() {
			return
		}
		s = again(t, s, cfg)
	}
	for round := 0; ; round++ { // until all have ended
		if left := hands(t, s, ids, 4*len(ids)); left == 0 || t.Failed() {
			break
		}
		if round == 500 {
			t.Fatal("some runs do not end")
		}
	}
	done := 0
	for _, id := range ids {
		got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.State == "done" {
			done++
			// A denied payment is an error in the result, and no effect.
			var values []any
			if err := json.Unmarshal(got.Value, &values); err != nil {
				t.Fatal(err)
			}
			denied := 0
			for _, i := range []int{1, 4} {
				if values[i] == "ApprovalDenied" {
					denied++
				}
			}
			if n := len(seen.run[id]); n+denied != 3 {
				t.Errorf("run %s is done with %v after %d effects", id, values, n)
			}
		}
	}
	for key, n := range seen.did {
		if n != 1 {
			t.Errorf("effect %s happened %d times", key, n)
		}
	}
	t.Logf("%d runs, %d done, %d effects", len(ids), done, len(seen.did))
	if done < len(ids)/4 {
		t.Errorf("only %d of %d runs are done", done, len(ids))
	}
}

// hands nudges runs from several goroutines, and returns how many have not
// ended.
func hands(t *testing.T, s *daemontest.Stack, ids []string, nudges int) (left int) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), uint64(nudges)))
			for n := range nudges {
				if w == 0 && n%50 == 49 {
					err := s.Daemon.ApplyPush(t.Context(), daemontest.Push(
						fmt.Sprintf("p%d ask pay!2 act sign!", rng.IntN(100))))
					if err != nil && !errors.Is(err, policy.ErrSuperseded) {
						t.Error(err)
					}
				}
				nudge(t, s, rng, ids[rng.IntN(len(ids))])
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0); err != nil || got.State == "running" ||
			got.State == "paused" {
			left++
		}
	}
	return left
}
