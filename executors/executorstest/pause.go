package executorstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
)

// Pauses are programs for an executor that can pause, in its language.
type Pauses struct {
	Hops string // calls echo with 0 to 99, one after the other; the value is the sum
	// returns the results of two calls of echo, one after the other, and a random number before each: [n, r, n,
	// r]
	Later    string
	Remember string // a program of a session that keeps 41
	Recall   string // one that adds 1 to it; the value is 42
	Forget   string // one that throws an error named Oops and keeps 1 instead
}

// Gate is a host whose calls wait, so that the run is asked to pause as soon as it cannot continue. Its zero
// value answers nothing.
type Gate struct {
	// Answer settles a call. If it returns false, the call stays open.
	Answer func(executors.Question) (executors.Answer, bool)
	// Stop is called instead of requesting a pause. If nil, a pause is requested.
	Stop func()

	mu      sync.Mutex
	wish    chan struct{}
	waits   map[string]executors.Question
	idle    []string
	console []executors.ConsoleEntry
}

// Pause is the channel for executors.Run.
func (g *Gate) Pause() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.channelLocked()
}

func (g *Gate) channelLocked() chan struct{} {
	if g.wish == nil {
		g.wish = make(chan struct{}, 1)
	}
	return g.wish
}

// Ask answers q, or waits until it is cancelled.
func (g *Gate) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	if g.Answer != nil {
		if a, ok := g.Answer(q); ok {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.idle = nil // the program continues
			return a, nil
		}
	}
	g.mu.Lock()
	if g.waits == nil {
		g.waits = map[string]executors.Question{}
	}
	g.waits[q.Call] = q
	g.lookLocked()
	g.mu.Unlock()
	<-ctx.Done()
	return executors.Answer{}, context.Cause(ctx)
}

// Idle requests a pause if all calls that the program waits for stay open.
func (g *Gate) Idle(open []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = open
	g.lookLocked()
}

func (g *Gate) lookLocked() {
	for _, id := range g.idle {
		if _, ok := g.waits[id]; !ok {
			return
		}
	}
	if len(g.idle) == 0 {
		return
	}
	if g.Stop != nil {
		g.Stop()
		return
	}
	select {
	case g.channelLocked() <- struct{}{}:
	default:
	}
}

// Console records e.
func (g *Gate) Console(e executors.ConsoleEntry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.console = append(g.console, e)
}

// Open returns the waiting calls, in their order.
func (g *Gate) Open() []executors.Question {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := slices.Collect(maps.Values(g.waits))
	slices.SortFunc(list, func(a, b executors.Question) int {
		if len(a.Call) != len(b.Call) {
			return len(a.Call) - len(b.Call)
		}
		return strings.Compare(a.Call, b.Call)
	})
	return list
}

// Stopped runs r until it pauses, and returns the point where it continues. It returns nil if the program ended
// instead.
func Stopped(
	ctx context.Context, e executors.Executor, r executors.Run, g *Gate,
) (executors.Outcome, *executors.Resume, error) {
	r.Pause = g.Pause()
	out, err := e.Run(ctx, r, g)
	if err != nil || out.State != executors.StatePaused {
		return out, nil, err
	}
	used := out.Usage
	if r.Resume != nil {
		used.CPU += r.Resume.Used.CPU
		used.Wall += r.Resume.Used.Wall
	}
	return out, &executors.Resume{Engine: out.Engine, Snapshot: out.Snapshot, Open: g.Open(), Used: used}, nil
}

// Hop runs r and pauses it whenever it waits. After each pause it answers one more call, the newest first, and
// continues the run in any guest that the executor chooses. It returns the outcome with the console of all parts,
// and the number of pauses.
func Hop(
	ctx context.Context, e executors.Executor, r executors.Run, answer func(executors.Question) executors.Answer,
) (executors.Outcome, int, error) {
	var console []executors.ConsoleEntry
	for hops := 0; ; hops++ {
		g := &Gate{}
		if r.Resume != nil {
			newest := r.Resume.Open[len(r.Resume.Open)-1].Call
			g.Answer = func(q executors.Question) (executors.Answer, bool) {
				if q.Call != newest {
					return executors.Answer{}, false
				}
				return answer(q), true
			}
		}
		out, from, err := Stopped(ctx, e, r, g)
		console = append(console, out.Console...)
		if from == nil {
			out.Console = console
			return out, hops, err
		}
		r.Resume = from
		r.Seed[0]++
	}
}

// first answers with the first argument.
func first(q executors.Question) executors.Answer {
	var args []json.RawMessage
	if err := json.Unmarshal(q.Args, &args); err != nil || len(args) == 0 {
		return executors.Answer{Error: &executors.GuestError{Name: "BridgeError", Message: "no argument"}}
	}
	return executors.Answer{Value: args[0]}
}

// pauses is the part of the suite for executors that can pause.
func (x suite) pauses(t *testing.T) {
	t.Run("hops", x.hops)
	t.Run("twice", x.twice)
	t.Run("denied", x.deniedLater)
	t.Run("nothing waits", x.nothingWaits)
	t.Run("cancel", x.cancelPausing)
	t.Run("limits", x.limitsGoOn)
	t.Run("refuses", x.refusesSnapshots)
	t.Run("session", x.session)
}

func (x suite) hops(t *testing.T) {
	for _, tt := range []struct {
		name, source, want string
		hops               int
		answer             func(executors.Question) executors.Answer
	}{
		{"one call", x.Programs.Echo, "42", 1, first},
		{"ten at once", x.Programs.Order, "[0,1,2,3,4,5,6,7,8,9]", 10, first},
		{"a hundred", x.Pauses.Hops, "4950", 100, first},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, hops, err := Hop(t.Context(), x.e, x.program(tt.source), tt.answer)
			if err != nil {
				t.Fatal(err)
			}
			want(t, out, executors.StateDone, tt.want)
			if hops != tt.hops {
				t.Errorf("%d pauses, want %d", hops, tt.hops)
			}
		})
	}
}

// stop runs source to its pause.
func (x suite) stop(t *testing.T, source string) (executors.Run, *executors.Resume) {
	t.Helper()
	r := x.program(source)
	out, from, err := Stopped(t.Context(), x.e, r, &Gate{})
	if err != nil || from == nil {
		t.Fatalf("%s %+v %v", out.State, out.Error, err)
	}
	return r, from
}

// twice continues from one snapshot two times: each run is complete, and each has its own random numbers.
// Performing an effect only once is the task of the store.
func (x suite) twice(t *testing.T) {
	r, from := x.stop(t, x.Pauses.Later)
	r.Resume = from
	var values [2][]any
	for i := range values {
		r.Seed = [32]byte{byte(i + 1)}
		h := &Host{
			Answer: func(_ context.Context, q executors.Question) (executors.Answer, error) { return first(q), nil },
		}
		out, err := x.e.Run(t.Context(), r, h)
		if err != nil || out.State != executors.StateDone {
			t.Fatalf("%s %+v %v", out.State, out.Error, err)
		}
		if err := json.Unmarshal(out.Value, &values[i]); err != nil || len(values[i]) != 4 {
			t.Fatalf("%s %v", out.Value, err)
		}
		var calls []string
		for _, q := range h.Asked() {
			calls = append(calls, q.Call)
		}
		if d := cmp.Diff([]string{"c1", "c2"}, calls); d != "" {
			t.Error(d)
		}
	}
	a, b := values[0], values[1]
	if a[1] != b[1] || a[3] == b[3] {
		t.Errorf("random numbers before the pause %v %v, after it %v %v", a[1], b[1], a[3], b[3])
	}
}

func (x suite) deniedLater(t *testing.T) {
	r, from := x.stop(t, x.Programs.Catch)
	r.Resume = from
	h := &Host{Answer: func(context.Context, executors.Question) (executors.Answer, error) {
		return executors.Answer{Error: &executors.GuestError{Name: "ApprovalDenied", Message: "not today"}}, nil
	}}
	out, err := x.e.Run(t.Context(), r, h)
	if err != nil {
		t.Fatal(err)
	}
	want(t, out, executors.StateDone, `"ApprovalDenied"`)
}

func (x suite) nothingWaits(t *testing.T) {
	r := x.program(x.Programs.Two)
	wish := make(chan struct{}, 1)
	wish <- struct{}{}
	r.Pause = wish
	out, err := x.e.Run(t.Context(), r, &Host{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, out, executors.StateDone, "2")
}

func (x suite) cancelPausing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := x.program(x.Programs.Wait)
	wish := make(chan struct{}, 1)
	r.Pause = wish
	out, err := x.e.Run(ctx, r, &Gate{Stop: func() { wish <- struct{}{}; cancel() }})
	if err != nil || out.State != executors.StateCancelled && out.State != executors.StatePaused {
		t.Errorf("%s %+v %v", out.State, out.Error, err)
	}
	if (out.Snapshot != nil) != (out.State == executors.StatePaused) {
		t.Errorf("%s with a snapshot of %d bytes", out.State, len(out.Snapshot))
	}
	want(t, x.do(t, x.Programs.Two, &Host{}), executors.StateDone, "2")
}

func (x suite) limitsGoOn(t *testing.T) {
	r, from := x.stop(t, x.Programs.Wait)
	for name, change := range map[string]func(u *executors.Usage, r *executors.Run){
		"processor time": func(u *executors.Usage, _ *executors.Run) { u.CPU = 1 << 40 },
		"wall time":      func(u *executors.Usage, _ *executors.Run) { u.Wall = 1 << 50 },
		"lower than used": func(u *executors.Usage, r *executors.Run) {
			n := u.CPU.Milliseconds()
			r.Limits.CPUMillis = &n
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, from := r, *from
			r.Resume = &from
			change(&from.Used, &r)
			if *r.Limits.CPUMillis == 0 {
				t.Skip("it used less than a millisecond")
			}
			h := &Host{}
			out, err := x.e.Run(t.Context(), r, h)
			if err != nil {
				t.Fatal(err)
			}
			want(t, out, executors.StateLimit, "Timeout")
			if len(h.Asked()) > 0 {
				t.Error("a call was made")
			}
		})
	}
	t.Run("left", func(t *testing.T) {
		r, from := x.stop(t, x.Programs.Catch)
		r.Resume = from
		h := &Host{Answer: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
			<-ctx.Done()
			return executors.Answer{}, ctx.Err()
		}}
		n := from.Used.Wall.Milliseconds() + 100
		r.Limits.WallMillis = &n
		out, err := x.e.Run(t.Context(), r, h)
		if err != nil {
			t.Fatal(err)
		}
		want(t, out, executors.StateLimit, "Timeout")
		if !strings.Contains(out.Error.Message, fmt.Sprintf("%gs", float64(n)/1000)) &&
			!strings.Contains(out.Error.Message, fmt.Sprintf("%dms", n)) {
			t.Errorf("%q does not name the whole limit, %d ms", out.Error.Message, n)
		}
	})
}

// refusesSnapshots continues from bytes that are no snapshot of the program.
func (x suite) refusesSnapshots(t *testing.T) {
	r, from := x.stop(t, x.Programs.Echo)
	n := len(from.Snapshot)
	type change = func(*executors.Resume)
	cases := map[string]change{
		"empty":        func(p *executors.Resume) { p.Snapshot = nil },
		"twice":        func(p *executors.Resume) { p.Snapshot = slices.Concat(p.Snapshot, p.Snapshot) },
		"as a session": func(p *executors.Resume) { p.Session = true },
		"no open call": func(p *executors.Resume) { p.Open = nil },
		"another call": func(p *executors.Resume) { p.Open = []executors.Question{{Call: "c2", Bridge: "echo"}} },
		"one call too many": func(p *executors.Resume) {
			p.Open = append(
				slices.Clone(p.Open), executors.Question{Call: "c2"},
			)
		},
		"another engine": func(p *executors.Resume) { p.Engine = "sha256:older" },
		"no engine":      func(p *executors.Resume) { p.Engine = "" },
	}
	for i := 1; i < 8; i++ {
		cases[fmt.Sprintf("cut at %d/8", i)] = func(p *executors.Resume) { p.Snapshot = p.Snapshot[:n*i/8] }
		cases[fmt.Sprintf("flipped at %d/8", i)] = func(p *executors.Resume) {
			p.Snapshot = slices.Clone(p.Snapshot)
			p.Snapshot[n*i/8] ^= 0x10
		}
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r, from := r, *from
			r.Resume = &from
			change(&from)
			h := &Host{}
			out, err := x.e.Run(t.Context(), r, h)
			engine := strings.HasSuffix(name, " engine")
			if engine && (!errors.Is(err, executors.ErrEngine) || !strings.Contains(err.Error(), from.Engine)) {
				t.Errorf("%s %v, want an ErrEngine that names it", out.State, err)
			}
			if !engine && !errors.Is(err, executors.ErrSnapshot) {
				t.Errorf("%s %v, want an ErrSnapshot", out.State, err)
			}
			if len(h.Asked()) > 0 || out.State == executors.StateDone {
				t.Error("something of it ran")
			}
		})
	}
	r.Resume = from // the rejected attempts have done no harm
	out, err := x.e.Run(
		t.Context(), r,
		&Host{Answer: func(_ context.Context, q executors.Question) (executors.Answer, error) { return first(q), nil }},
	)
	if err != nil {
		t.Fatal(err)
	}
	want(t, out, executors.StateDone, "42")
}

// session starts programs one after the other in one state.
func (x suite) session(t *testing.T) {
	start := func(source string, in *executors.Resume) executors.Outcome {
		t.Helper()
		r := x.program(source)
		r.Session, r.Resume = true, in
		out, err := x.e.Run(t.Context(), r, &Host{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	kept := func(out executors.Outcome) *executors.Resume {
		t.Helper()
		if out.Snapshot == nil {
			t.Fatalf("%s %+v: nothing was kept: %s", out.State, out.Error, out.Unkept)
		}
		return &executors.Resume{Engine: out.Engine, Snapshot: out.Snapshot, Session: true}
	}
	one := kept(start(x.Pauses.Remember, nil))
	for range 2 { // several times from one state
		want(t, start(x.Pauses.Recall, one), executors.StateDone, "42")
	}
	two := kept(start(x.Pauses.Recall, one))
	want(t, start(x.Pauses.Recall, two), executors.StateDone, "42")
	out := start(x.Pauses.Forget, two)
	want(t, out, executors.StateFailed, "Oops")
	want(t, start(x.Pauses.Recall, kept(out)), executors.StateDone, "2")

	r := x.program(x.Programs.Loop)
	r.Session, r.Resume = true, one
	*r.Limits.CPUMillis = 100
	out, err := x.e.Run(t.Context(), r, &Host{})
	if err != nil || out.State != executors.StateLimit || out.Snapshot != nil || out.Unkept == "" {
		t.Errorf("%s %+v %v: a state of %d bytes was kept", out.State, out.Error, err, len(out.Snapshot))
	}
	r = x.program(x.Pauses.Recall) // without Session nothing is kept
	r.Resume = one
	out, err = x.e.Run(t.Context(), r, &Host{})
	if err != nil || out.State != executors.StateDone || out.Snapshot != nil {
		t.Errorf("%s %v: a state of %d bytes was kept", out.State, err, len(out.Snapshot))
	}
	r.Resume = &executors.Resume{Engine: one.Engine, Snapshot: one.Snapshot}
	if _, err = x.e.Run(t.Context(), r, &Host{}); !errors.Is(err, executors.ErrSnapshot) {
		t.Errorf("a session as a pause: %v", err)
	}
}
