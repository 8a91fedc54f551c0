package budget_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/rings/interpreter/budget"
)

func TestTurns(t *testing.T) {
	turns := budget.NewTurns(2)
	var got []string
	take := func(who string) { turns.Take(who, func() { got = append(got, who) }) }
	want := func(names ...string) {
		t.Helper()
		if d := cmp.Diff(names, got); d != "" {
			t.Error(d)
		}
	}
	for _, who := range []string{"a", "b", "c", "d", "e"} {
		take(who)
	}
	want("a", "b")
	turns.End("d") // it is off the queue
	turns.End("nobody")
	want("a", "b")
	turns.End("b")
	turns.End("b")
	want("a", "b", "c")
	turns.End("a")
	want("a", "b", "c", "e")
	take("b")
	turns.End("c")
	turns.End("e")
	want("a", "b", "c", "e", "b")
	for range 3 {
		turns.End("b")
	}
	if take("x"); len(got) != 6 {
		t.Errorf("got %v", got)
	}
}

// However many come at once, no more have a turn than there is room for, and all get one.
func TestTurnsAtOnce(t *testing.T) {
	turns := budget.NewTurns(3)
	var in, most, all atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			who, began := fmt.Sprint(i), make(chan struct{})
			turns.Take(who, func() { close(began) })
			<-began
			n := in.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			all.Add(1)
			in.Add(-1)
			turns.End(who)
		})
	}
	wg.Wait()
	if most.Load() > 3 || all.Load() != 200 {
		t.Errorf("%d at once, %d in all", most.Load(), all.Load())
	}
}
