package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// waiter is a call with n bytes of arguments that waits for an approver.
func waiter(run, id string, n int) store.Call {
	c := pending(run, id, store.ByApprover)
	c.Args = []byte(`"` + strings.Repeat("a", n-2) + `"`)
	return c
}

// refusedFull reports that a call was refused for the queue, which changed nothing.
func refusedFull(t *testing.T, s *store.Store, c store.Call, want string) {
	t.Helper()
	before := len(getCalls(t, s, c.Run))
	_, err := s.OpenCall(t.Context(), c)
	var over *store.QueueError
	if !errors.As(err, &over) || !strings.Contains(err.Error(), want) {
		t.Errorf("call %s of run %s: %v, want %q", c.ID, c.Run, err, want)
	}
	if after := len(getCalls(t, s, c.Run)); after != before {
		t.Errorf("%d calls, %d before", after, before)
	}
}

// TestQueue fills the queue of one agent and actor, and makes room in it in each way.
func TestQueue(t *testing.T) {
	cfg := config(t)
	cfg.Queue = store.Queue{Calls: 3, Bytes: 100}
	s := mustOpen(t, cfg)
	for _, id := range []string{"r1", "r2", "r3"} {
		mustStart(t, s, newRun(id))
	}
	other := newRun("o1")
	other.Actor = "uid:7"
	mustStart(t, s, other)
	another := newRun("o2")
	another.Agent = "other"
	mustStart(t, s, another)
	fill := func() {
		t.Helper()
		refusedFull(t, s, waiter("r3", "more", 2), "3 calls of this agent and actor wait for approvers, and 3 may")
	}
	mustOpenCall(t, s, waiter("r1", "c1", 10))
	mustOpenCall(t, s, waiter("r1", "c2", 10))
	mustOpenCall(t, s, waiter("r2", "c1", 10))
	fill()
	// Nobody else's calls count, nor those that wait for the harness.
	for _, c := range []store.Call{waiter("o1", "c1", 90), waiter("o2", "c1", 90), pending("r3", "h1", store.ByHarness),
		pending("r3", "h2", store.ByHost)} {
		mustOpenCall(t, s, c)
	}
	fill()
	// They wait on over a pause and a restart.
	mustPause(t, s, newPause("r1", 1))
	mustClose(t, s)
	s = mustOpen(t, cfg)
	fill()
	// A word that does not decide frees nothing; one that does frees one place.
	if _, err := s.Approve(t.Context(), "r1", "c1", approval("uid:1", store.Deny)); err != nil {
		t.Fatal(err)
	}
	mustOpenCall(t, s, waiter("r3", "c1", 10))
	fill()
	// So does the end of a run, of all its calls,
	mustAdvance(t, s, "r1", store.Cancelled)
	mustOpenCall(t, s, waiter("r3", "c2", 10))
	fill()
	// and the end of a call in its guest.
	if err := s.CloseCall(t.Context(), "r2", "c1", store.CallClosed, nil, store.Head{}); err != nil {
		t.Fatal(err)
	}
	refusedFull(t, s, waiter("r3", "large", 81), "calls of this agent and actor with 20 bytes of arguments wait for "+
		"approvers, 100 bytes may, and this one has 81")
	mustOpenCall(t, s, waiter("r3", "c3", 80))
	fill()
	mustAdvance(t, s, "r3", store.Failed)
	// One that could not be kept for another reason counts for nothing.
	mustOpenCall(t, s, waiter("r2", "c9", 10))
	for range 5 {
		if _, err := s.OpenCall(t.Context(), waiter("r2", "c9", 10)); !errors.Is(err, store.ErrExists) {
			t.Errorf("the same call again: %v", err)
		}
	}
	mustOpenCall(t, s, waiter("r2", "c10", 10))
	mustOpenCall(t, s, waiter("r2", "c11", 10))
	refusedFull(t, s, waiter("r2", "c12", 10), "3 may")
}

// TestQueueTogether opens calls from many sides at once: never one too many.
func TestQueueTogether(t *testing.T) {
	cfg := config(t)
	cfg.Queue = store.Queue{Calls: 20}
	s := mustOpen(t, cfg)
	const runs = 8
	var let, refused atomic.Int64
	var wg sync.WaitGroup
	for r := range runs {
		id := fmt.Sprintf("r%d", r)
		mustStart(t, s, newRun(id))
		for c := range 16 {
			wg.Go(func() {
				_, err := s.OpenCall(t.Context(), waiter(id, fmt.Sprintf("c%d", c), 10))
				var over *store.QueueError
				switch {
				case err == nil:
					let.Add(1)
				case errors.As(err, &over):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if let.Load() != 20 || refused.Load() != runs*16-20 {
		t.Errorf("%d calls wait and %d are refused, of %d with room for 20", let.Load(), refused.Load(), runs*16)
	}
}
