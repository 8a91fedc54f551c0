package proxy

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
)

func tally(l profiles.EgressLimits) *usageTally {
	t := &usageTally{}
	t.Limit(l, 1)
	return t
}

// The strictest gives what there is, and nothing is lost of the others.
func TestTake(t *testing.T) {
	a, b := tally(profiles.EgressLimits{UpBytes: 10}), tally(profiles.EgressLimits{UpBytes: 4, DownBytes: 3})
	both := tallies{a, b}
	for _, tt := range []struct {
		d       direction
		n, want int
	}{{Up, 3, 3}, {Up, 3, 1}, {Up, 1, 0}, {Down, 5, 3}, {Down, 5, 0}} {
		if got := both.Take(tt.d, tt.n); got != tt.want {
			t.Errorf("took %d of %d, want %d", got, tt.n, tt.want)
		}
	}
	if got := (tallies{a}).Take(Up, 100); got != 6 {
		t.Errorf("%d are left of the first, want 6", got)
	}
	both.Back(Up, 2)
	if got := both.Take(Up, 100); got != 2 {
		t.Errorf("took %d of what was given back, want 2", got)
	}
	if got := (tallies)(nil).Take(Up, 7); got != 7 {
		t.Errorf("nothing gives %d of 7", got)
	}
	b.Limit(profiles.EgressLimits{UpBytes: 1}, 2)
	if got := both.Take(Up, 1); got != 0 {
		t.Errorf("below what was used already: %d", got)
	}
}

// However many take at once, what they got together is the limit.
func TestTakeAtOnce(t *testing.T) {
	list := tallies{tally(profiles.EgressLimits{UpBytes: 10_000}), tally(profiles.EgressLimits{UpBytes: 7_777})}
	var got atomic.Int64
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for {
				n := list.Take(Up, 13)
				if n == 0 {
					return
				}
				if n > 5 {
					list.Back(Up, 5)
					n -= 5
				}
				got.Add(int64(n))
			}
		})
	}
	work.Wait()
	got.Add(int64(list.Take(Up, 10_000)))
	if got.Load() != 7_777 {
		t.Errorf("%d were taken, want 7777", got.Load())
	}
}

// A connection that one rule refuses does not count with another.
func TestAdmit(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	a, b := tally(profiles.EgressLimits{Connections: 2}), tally(profiles.EgressLimits{Connections: 1})
	both := tallies{a, b}
	if why := both.Admit(now, true, true).Why; why != "" {
		t.Fatal(why)
	}
	if why := both.Admit(now, true, true).Why; why == "" {
		t.Error("a second is admitted")
	}
	if why := (tallies{a}).Admit(now, true, true).Why; why != "" {
		t.Errorf("the one that was refused counts: %s", why)
	}
	if why := (tallies{a}).Admit(now, true, true).Why; why == "" {
		t.Error("a third is admitted")
	}
	if why := (tallies{a}).Admit(now, false, true).Why; why != "" {
		t.Errorf("a request on an open connection: %s", why)
	}
	both.Moved(-1)
	if why := both.Admit(now, true, true).Why; why != "" {
		t.Errorf("after one has ended: %s", why)
	}
	for name, l := range map[string]profiles.EgressLimits{"up": {UpBytes: 1}, "down": {DownBytes: 1}} {
		list := tallies{tally(l)}
		list.Take(Up, 1)
		list.Take(Down, 1)
		if why := list.Admit(now, false, true).Why; why == "" {
			t.Errorf("%s is used up, and one more is admitted", name)
		}
	}
}

// In any 60 seconds no more than about PerMinute begin, and never more than that
// in a minute by itself.
func TestPerMinute(t *testing.T) {
	const most = 60
	list := tallies{tally(profiles.EgressLimits{PerMinute: most})}
	start := time.Unix(1_000_000, 0)
	var began []time.Time
	for i := range 4 * 600 { // ten times a second, for four minutes
		now := start.Add(time.Duration(i) * 100 * time.Millisecond)
		if list.Admit(now, false, true).Why == "" {
			began = append(began, now)
		}
	}
	if len(began) < 3*most {
		t.Errorf("%d began in four minutes, which is too few", len(began))
	}
	for i := range began {
		n := 0
		for _, b := range began[i:] {
			if b.Sub(began[i]) < time.Minute {
				n++
			}
		}
		if n > most*3/2 {
			t.Errorf("%d began within a minute", n)
		}
	}
	back := tallies{tally(profiles.EgressLimits{PerMinute: 1})}
	if back.Admit(start, false, true).Why != "" {
		t.Error("the first is refused")
	}
	if back.Admit(start, false, true).Why == "" {
		t.Error("the second is admitted")
	}
}

func TestStrictest(t *testing.T) {
	a := profiles.EgressLimits{UpBytes: 1, DownBytes: 0, Connections: 5, PerMinute: 0}
	b := profiles.EgressLimits{UpBytes: 2, DownBytes: 3, Connections: 4, PerMinute: 0}
	want := profiles.EgressLimits{UpBytes: 1, DownBytes: 3, Connections: 4}
	if got := strictestLimits(a, b); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := strictestLimits(b, a); got != want {
		t.Errorf("the other way round %+v, want %+v", got, want)
	}
}
