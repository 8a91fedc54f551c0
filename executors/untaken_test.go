package executors_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ringd/ringd/executors"
)

// asks plays a guest that makes n calls at once with arguments of size bytes, and says how
// many the host has got, and takes, each time that it is asked for room. end ends the run.
func asks(t *testing.T, n, size int) (got func() int, take func(), end func() executors.State) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	questions := make(chan executors.Question, n)
	h := &fakeHost{ask: func(ctx context.Context, q executors.Question) (executors.Answer, error) {
		questions <- q
		<-ctx.Done() // it stays open, taken or not
		return executors.Answer{}, nil
	}}
	l := play(t, newFakeGuest(), func(s *executors.Stream) {
		if _, err := s.Read(); err != nil { // Start
			return
		}
		args := make([]byte, size)
		for i := range args {
			args[i] = '1'
		}
		for i := range n {
			if s.Send(executors.Ask{Call: uint64(i) + 1, Bridge: "b", Args: args}) != nil {
				return
			}
		}
		drain(s)
	})
	ended := make(chan executors.State, 1)
	go func() {
		out, _, _ := l.Run(ctx, executors.Work{Budget: budget}, h)
		ended <- out.State
	}()
	got = func() int { synctest.Wait(); return len(questions) }
	take = func() {
		if q := <-questions; q.Taken != nil {
			q.Taken()
			q.Taken() // as often as one likes
		}
	}
	return got, take, func() executors.State { cancel(); return <-ended }
}

// A guest whose large calls wait for their turn is not read further, so that what they hold
// is bounded; each that has its turn makes room for the next.
func TestLinkReadsWhatIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, take, end := asks(t, 20, 900<<10)
		for i := range 18 {
			if n := got(); n != 3 {
				t.Fatalf("%d taken: %d calls of 900 KiB wait, want 3", i, n)
			}
			take()
		}
		if n := got(); n != 2 {
			t.Errorf("%d calls are left, want 2", n)
		}
		if s := end(); s != executors.StateCancelled {
			t.Error(s)
		}
	})
}

// The run ends while its guest is not read.
func TestLinkEndsUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _, end := asks(t, 20, 900<<10)
		if n := got(); n != 3 {
			t.Errorf("%d calls of 900 KiB wait, want 3", n)
		}
		if s := end(); s != executors.StateCancelled {
			t.Error(s)
		}
	})
}

// Small calls wait together, as many as may be open.
func TestLinkReadsSmallCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, _, end := asks(t, executors.MaxOpenAsks, 4<<10)
		if n := got(); n != executors.MaxOpenAsks {
			t.Errorf("%d small calls wait, want %d", n, executors.MaxOpenAsks)
		}
		end()
	})
}
