package guestinit

// In the package: what is read of /proc comes from a kernel that tests have not.

import (
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const line = "12 (bash) R 1 12 12 0 -1 4194304 500 0 0 0 7 3 20 5 20 0 2 0 100 7000000 900 18446744073709551615 1 1 " +
	"0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n"

func TestParseStat(t *testing.T) {
	want := stat{running: true, own: 10, children: 25, threads: 2, resident: 900}
	for _, text := range []string{
		line,
		"12 (a) R 1 (b) S 1 1) R 1 12 12 0 -1 4194304 500 0 0 0 7 3 20 5 20 0 2 0 100 7000000 900 1\n",
		"12 (\n) R 1 12 12 0 -1 4194304 500 0 0 0 7 3 20 5 20 0 2 0 100 7000000 900 1\n",
	} {
		if got, ok := parseStat(text); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "12 (bash", "12 (bash) R 1 2 3"} {
		if got, ok := parseStat(text); ok {
			t.Errorf("%q: %+v, want none", text, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(line)
	f.Add("1 ()) R -1 -1 -1")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := parseStat(text)
		if ok && (s.own < 0 || s.children < 0 || s.threads < 0 || s.resident < 0 || s.all() < 0) {
			t.Errorf("%q: %+v", text, s)
		}
	})
}

// Several busy threads have the weight of one, as the kernel counts it: a quarter
// for each step.
func TestNiceOf(t *testing.T) {
	for busy := range 65 {
		n := niceOf(busy)
		if busy < 2 && n != 0 || n < 0 || n > 19 {
			t.Errorf("%d busy threads have the value %d", busy, n)
		}
		if weight := float64(busy) * math.Pow(1.25, -float64(n)); weight > 1.0001 {
			t.Errorf("%d busy threads weigh as %.2f", busy, weight)
		}
	}
}

// A process counts once, whether it lives, was waited for, or is gone.
func TestReaped(t *testing.T) {
	u := newUsage()
	u.seen[7] = stat{own: 10, children: 5}
	u.lived = u.seen[7].all()
	if u.total() != 150*time.Millisecond {
		t.Fatalf("total %v", u.total())
	}
	u.reaped(7, unix.Rusage{Utime: unix.Timeval{Usec: 155000}, Maxrss: 4})
	if u.total() != 155*time.Millisecond || u.peak != 4096 {
		t.Errorf("total %v, peak %d after its end", u.total(), u.peak)
	}
	u.reaped(8, unix.Rusage{Stime: unix.Timeval{Usec: 1000}})
	if u.total() != 156*time.Millisecond {
		t.Errorf("total %v after one that was never seen", u.total())
	}
}

// What was seen and is gone without a trace still counts.
func TestLost(t *testing.T) {
	u := newUsage()
	u.seen[1<<22] = stat{own: 40}
	u.lived = u.seen[1<<22].all()
	before := u.total()
	if err := u.scan(); err != nil {
		t.Fatal(err)
	}
	if u.total() < before {
		t.Errorf("total %v, and %v before", u.total(), before)
	}
}

func TestNext(t *testing.T) {
	u := newUsage()
	if got := u.next(0); got != latest {
		t.Errorf("without a limit in %v", got)
	}
	if got := u.next(1); got != soonest {
		t.Errorf("near the limit in %v", got)
	}
	if got := u.next(1e9); got != latest {
		t.Errorf("far from the limit in %v", got)
	}
}

// However long the ring has weighed a guest, it is asked again in a second, and sooner
// when the guest has grown. One that shows no more than its limit is asked less often.
func TestWeighedAgain(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name         string
		took         time.Duration
		used, unseen int64
		soonest      time.Duration
		latest       time.Duration
	}{
		{"a long weighing", 20 * time.Second, 200 * mib, 0, longest, longest},
		{"a short weighing", 100 * time.Millisecond, 200 * mib, 0, 100 * time.Millisecond, 400 * time.Millisecond},
		{"much is mapped and little touched", time.Millisecond, 10 * mib, 1000 * mib, time.Millisecond, latest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := memory{limit: 128 * mib, used: tt.used, unseen: tt.unseen}
			if !m.heavy() {
				t.Fatal("the ring is not asked")
			}
			m.ask()
			m.asked -= tt.took
			if m.heavy() {
				t.Error("the ring is asked twice")
			}
			m.weighed()
			const slack = 50 * time.Millisecond
			if d := m.soon - now(); d > tt.soonest+slack || d < tt.soonest-slack {
				t.Errorf("asked again in %v when it has grown, want %v", d, tt.soonest)
			}
			if d := m.again - now(); d > tt.latest+slack || d < tt.latest-slack {
				t.Errorf("asked again in %v, want %v", d, tt.latest)
			}
			m.soon = now()
			if m.heavy() {
				t.Error("asked again, and it has not grown")
			}
			if m.used += m.limit / 4; !m.heavy() {
				t.Error("not asked again when it has grown")
			}
		})
	}
}
