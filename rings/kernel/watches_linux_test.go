package kernel_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// recordedRing makes a ring that keeps what guests were refused.
func recordedRing(t *testing.T) (*kernel.Ring, func() []kernel.Violation) {
	t.Helper()
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all []kernel.Violation
	)
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader,
		Report: func(v kernel.Violation) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, v)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	needKernel(t, r)
	return r, func() []kernel.Violation {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// lives tells whether a guest does.
func (c *counted) lives(t *testing.T) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.Guest.(executors.Streamer).Wait(ctx)
	return errors.Is(err, context.DeadlineExceeded)
}

// endsOver waits for the end of a guest, which is that of its limit of memory and says
// what was held.
func endsOver(t *testing.T, c *counted, held string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := c.Guest.(executors.Streamer).Wait(ctx)
	if err != nil || e.Limit != "memory" || !strings.Contains(e.Held, held) {
		t.Errorf("it ended with %+v, %v; want the limit of memory, and %q", e, err, held)
	}
	if err := c.Guest.Kill(); err != nil {
		t.Error(err)
	}
	if got := c.Guest.(executors.Fallen).Fell(); !strings.Contains(got, "limit of memory: it held") ||
		!strings.Contains(got, held) {
		t.Errorf("its process ended by %q", got)
	}
}

// TestHoldersOfWatchesEnd: when there are no watches left, the guest with more than
// its share is ended and on record, and those with a few go on. A number of the
// guest's descriptors is no bound: this one has 20,000 watches with 200 of them.
func TestHoldersOfWatchesEnd(t *testing.T) {
	r, refused := recordedRing(t)
	c := newCounting(t)
	few, hog := c.start(t, r, "victim", "watches", "50"), c.start(t, r, "hog", "watches", "20000")
	if few.line != "50 watches" || hog.line != "20000 watches" {
		t.Fatalf("the guests have %s and %s", few.line, hog.line)
	}
	gone := func() bool { return !hog.lives(t) }
	kernel.EndHolders(r, 30_000, func() bool { return true }) // there are some again
	if !few.lives(t) || !hog.lives(t) {
		t.Fatal("a guest with less than its share was ended though there were watches")
	}
	kernel.EndHolders(r, 10_000, gone)
	endsOver(t, hog, "watches or more, of epoll")
	if !few.lives(t) {
		t.Error("a guest with a few watches was ended")
	}
	if got := refused(); !slices.ContainsFunc(got, func(v kernel.Violation) bool {
		return v.Agent == "hog" && v.Layer == "rlimits" && v.Call == "epoll_ctl" && v.End
	}) {
		t.Errorf("on record is %+v", got)
	}
}

// TestShareOfWatches: where the host does not say how many watches there are, no guest
// has too many, so that the largest is ended first, and not all of them.
func TestShareOfWatches(t *testing.T) {
	if got := kernel.ShareOf(100_000, 3); got != 25_000 {
		t.Errorf("one of 3 may have %d of 100,000", got)
	}
	r, _ := recordedRing(t)
	c := newCounting(t)
	few, more := c.start(t, r, "a", "watches", "50"), c.start(t, r, "b", "watches", "900")
	kernel.EndHolders(r, kernel.ShareOf(0, 2), func() bool { return !more.lives(t) })
	if more.lives(t) || !few.lives(t) {
		t.Errorf("the larger one lives: %v, the smaller one: %v", more.lives(t), few.lives(t))
	}
}

// TestHoldersThatHide: when no guest shows more than its share, the largest goes
// first, until there are watches; what lies in a socket is taken for more than what
// can be seen.
func TestHoldersThatHide(t *testing.T) {
	for _, tt := range []struct {
		name string
		more []string
	}{{"the largest", []string{"watches", "1000"}}, {"one that hides", []string{"hidden"}}} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := recordedRing(t)
			c := newCounting(t)
			few, more := c.start(t, r, "a", "watches", "500"), c.start(t, r, "b", tt.more...)
			kernel.EndHolders(r, 1_000_000, func() bool { return !more.lives(t) })
			if more.lives(t) || !few.lives(t) {
				t.Errorf("the larger one lives: %v, the smaller one: %v", more.lives(t), few.lives(t))
			}
		})
	}
}

// TestHoldersOfLocksEnd: a guest that holds more locks of files than one may is ended
// and on record, and one with some goes on.
func TestHoldersOfLocksEnd(t *testing.T) {
	r, refused := recordedRing(t)
	c := newCounting(t)
	few := c.start(t, r, "victim", "locks", "2000")
	hog := c.start(t, r, "hog", "locking", "12000")
	if few.line != "2000 locks" {
		t.Fatalf("the guest has %s", few.line)
	}
	endsOver(t, hog, "10000 locks of files or more")
	if !few.lives(t) {
		t.Error("a guest with some locks was ended")
	}
	if got := refused(); !slices.ContainsFunc(got, func(v kernel.Violation) bool {
		return v.Agent == "hog" && v.Layer == "rlimits" && v.Call == "fcntl" && v.End
	}) {
		t.Errorf("on record is %+v", got)
	}
}

// TestNoStartWithoutWatches: a guest is refused by name while there are none, and
// starts when there are again.
func TestNoStartWithoutWatches(t *testing.T) {
	r, c := ring(t), newCounting(t)
	needKernel(t, r)
	kernel.SetExhausted(r, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Launch(ctx, countedSpec(c.program, "a", "id")); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that is given up: %v", err)
	}
	_, err := r.Launch(t.Context(), countedSpec(c.program, "a", "id"))
	var denial *profiles.Denial
	if !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeHostFull ||
		!strings.Contains(denial.Decision.Reason, "epoll watches") {
		t.Errorf("a start without watches: %v", err)
	}
	kernel.SetExhausted(r, false)
	c.start(t, r, "a", "id")
}

// TestGuestsFitByTheirTasks: no more guests start than their tasks fit into what the
// user may have, and one that ended makes room.
func TestGuestsFitByTheirTasks(t *testing.T) {
	r, c := ring(t), newCounting(t)
	needKernel(t, r)
	kernel.SetRoom(r, 2*(32+8+16))
	one := c.start(t, r, "a", "id")
	c.start(t, r, "b", "id")
	_, err := r.Launch(t.Context(), countedSpec(c.program, "c", "id"))
	var denial *profiles.Denial
	if !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeHostFull ||
		!strings.Contains(denial.Decision.Reason, "its 56 tasks and the 112 of other guests") {
		t.Fatalf("a third guest: %v", err)
	}
	one.end()
	c.start(t, r, "c", "id")
}

// TestOneAgentLeavesRoom: one agent's guests take no more than three quarters of the
// tasks, and another one's start beside them.
func TestOneAgentLeavesRoom(t *testing.T) {
	r, c := ring(t), newCounting(t)
	needKernel(t, r)
	kernel.SetRoom(r, 4*(32+8+16))
	for range 3 {
		c.start(t, r, "hog", "id")
	}
	_, err := r.Launch(t.Context(), countedSpec(c.program, "hog", "id"))
	var denial *profiles.Denial
	if !errors.As(err, &denial) || denial.Decision.Code != profiles.CodeHostFull ||
		!strings.Contains(denial.Decision.Reason, "of agent hog") {
		t.Errorf("a fourth guest of one agent: %v", err)
	}
	c.start(t, r, "victim", "id")
}

// TestGuardsItsOwnUser: guests of an ordinary user share its watches.
func TestGuardsItsOwnUser(t *testing.T) {
	if got, want := kernel.Guards(ring(t)), os.Getuid() != 0; got != want {
		t.Errorf("user %d looks after its watches: %v", os.Getuid(), got)
	}
}
