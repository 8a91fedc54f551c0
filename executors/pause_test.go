package executors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
)

// paused is the result of a program that was stopped.
func paused() executors.Result {
	return executors.Result{End: executors.End{State: executors.StatePaused, Again: true}}
}

// now is a wish to pause that is there from the beginning.
func now() <-chan struct{} {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	return c
}

// blocked is a host that answers nothing before it is cut off.
func blocked() *fakeHost {
	return &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
		<-ctx.Done()
		return executors.Answer{}, context.Cause(ctx)
	}}
}

// until reads what the host sends until it is a T.
func until[T executors.Message](s *executors.Stream) (T, bool) {
	for {
		m, err := s.Read()
		if err != nil {
			var none T
			return none, false
		}
		if v, ok := m.(T); ok {
			return v, true
		}
	}
}

// waits plays a guest that calls twice and waits, with the pause it then gets.
func waits(s *executors.Stream) (executors.Pause, bool) {
	if _, ok := until[executors.Start](s); !ok {
		return executors.Pause{}, false
	}
	_ = s.Put(executors.Line{Level: "log", Text: "before"})
	_ = s.Put(ask(1))
	_ = s.Put(ask(2))
	_ = s.Send(executors.Idle{})
	return until[executors.Pause](s)
}

// A program stops where it waits, and goes on in another guest with the numbers
// it had.
func TestLinkPauseAndResume(t *testing.T) {
	big := bytes.Repeat([]byte("snapshot"), executors.PartBytes/4)
	g := newFakeGuest()
	got := make(chan executors.Pause, 1)
	l := play(t, g, func(s *executors.Stream) {
		p, _ := waits(s)
		got <- p
		_ = s.Put(executors.Part{Bytes: big[:executors.PartBytes]})
		_ = s.Put(executors.Part{Bytes: big[executors.PartBytes:]})
		_ = s.Send(paused())
	})
	h := blocked()
	first, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Pause: now()}, h)
	if err != nil || !again || g.isKilled() || first.State != executors.StatePaused || first.Error != nil {
		t.Fatalf("%s %+v again %v killed %v err %v", first.State, first.Error, again, g.isKilled(), err)
	}
	if p := <-got; p != (executors.Pause{Asked: 2}) {
		t.Errorf("the guest was told %+v", p)
	}

	var restored executors.Restore
	var sent []byte
	g2 := newFakeGuest()
	l = play(t, g2, func(s *executors.Stream) {
		restored, _ = until[executors.Restore](s)
		for uint64(len(sent)) < restored.Bytes {
			p, ok := until[executors.Load](s)
			if !ok {
				return
			}
			sent = append(sent, p.Bytes...)
		}
		_ = s.Put(executors.Restored{})
		_ = s.Send(executors.Idle{})
		for range 2 {
			if _, ok := until[executors.Reply](s); !ok {
				return
			}
		}
		_ = s.Put(ask(3))
		_ = s.Put(executors.Line{Level: "log", Text: "after"})
		_ = s.Send(executors.Idle{Seen: 2})
		if r, ok := until[executors.Reply](s); !ok || r.Call != 3 {
			return
		}
		_ = s.Send(done(`"ok"`))
	})
	asked := make(chan string, 3)
	h = &fakeHost{ask: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		asked <- q.Call + string(q.Args)
		return executors.Answer{Value: q.Args}, nil
	}}
	open := []executors.Question{{Call: "c1", Bridge: "b", Args: []byte("[1]")},
		{Call: "c2", Bridge: "b", Args: []byte("[1]")}}
	w := executors.Work{Budget: budget, Options: []byte("{}"), Source: []byte("text"),
		Resume: &executors.Resume{Engine: "d", Snapshot: first.Snapshot, Open: open}}
	out, _, err := l.Run(t.Context(), w, h)
	if err != nil || out.State != executors.StateDone {
		t.Fatalf("%s %+v err %v", out.State, out.Error, err)
	}
	if !bytes.Equal(sent, big) || restored.Asked != 2 || string(restored.Source) != "text" {
		t.Errorf("the guest got %d bytes and %+v", len(sent), restored)
	}
	close(asked)
	seen := map[string]bool{}
	for q := range asked {
		seen[q] = true
	}
	if d := cmp.Diff(map[string]bool{"c1[1]": true, "c2[1]": true, "c3[1]": true}, seen); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]executors.ConsoleEntry{{Seq: 2, Level: "log", Text: "after"}}, out.Console); d != "" ||
		out.Usage.Calls["b"] != 1 {
		t.Errorf("console and calls %v do not go on\n%s", out.Usage.Calls, d)
	}
}

// The one call that the reader asks itself must not keep it from reading.
func TestLinkPauseWhileTheReaderAsks(t *testing.T) {
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Put(ask(1))
		_ = s.Send(executors.Idle{})
		_, _ = until[executors.Pause](s)
		for range 64 {
			_ = s.Send(executors.Part{Bytes: make([]byte, executors.PartBytes)})
		}
		_ = s.Send(paused())
	})
	pause := make(chan struct{}, 1)
	h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
		pause <- struct{}{}
		<-ctx.Done()
		return executors.Answer{}, ctx.Err()
	}}
	out, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Pause: pause}, h)
	if err != nil || out.State != executors.StatePaused || len(out.Snapshot) < 64*executors.PartBytes {
		t.Errorf("%s %+v %v", out.State, out.Error, err)
	}
}

// A wish to pause is no order: a program that never waits comes to its end.
func TestLinkPauseOfAProgramThatDoesNotWait(t *testing.T) {
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Send(done("1"))
	})
	out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Pause: now()}, &fakeHost{})
	if err != nil || !again || out.State != executors.StateDone || out.Snapshot != nil {
		t.Errorf("%s again %v err %v", out.State, again, err)
	}
}

// What a host does to a run that it has asked to pause.
func TestLinkHostWhilePausing(t *testing.T) {
	boom := errors.New("the audit log is closed")
	for _, tt := range []struct {
		name  string
		ask   func(ctx context.Context) (executors.Answer, error)
		state executors.State
		want  string // of the error
	}{
		{"keeps the call open", func(ctx context.Context) (executors.Answer, error) { return executors.Answer{}, context.Cause(ctx) }, executors.StatePaused, ""},
		{"answers nevertheless", func(context.Context) (executors.Answer, error) { return executors.Answer{Value: []byte("1")}, nil }, executors.StateFailed, "was answered meanwhile"},
		{"refuses nevertheless", func(context.Context) (executors.Answer, error) {
			return executors.Answer{Error: &executors.GuestError{Name: "CapabilityDenied"}}, nil
		}, executors.StateFailed, "was answered meanwhile"},
		{"fails", func(context.Context) (executors.Answer, error) { return executors.Answer{}, boom }, executors.StateFailed, boom.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			l := play(t, g, func(s *executors.Stream) {
				if _, ok := waits(s); !ok {
					return
				}
				_ = s.Put(executors.Part{Bytes: []byte("x")})
				_ = s.Send(paused())
				drain(s)
			})
			h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
				<-ctx.Done()
				return tt.ask(ctx)
			}}
			out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Pause: now()}, h)
			if out.State != tt.state || again != (tt.want == "") || (tt.want == "") != (err == nil) {
				t.Fatalf("%s again %v err %v", out.State, again, err)
			}
			if tt.want != "" && (!strings.Contains(err.Error(), tt.want) || !g.isKilled() || out.Snapshot != nil) {
				t.Errorf("killed %v err %v, want %q", g.isKilled(), err, tt.want)
			}
		})
	}
}

// A guest that does not say its processor time when it is to pause is lost, and has
// reached no limit; one that is late is paused.
func TestLinkSilentWhilePausing(t *testing.T) {
	for name, late := range map[string]bool{"late": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGuest()
			var asked atomic.Int64
			g.silent = func() error {
				if n := asked.Add(1); n == 1 || late && n%3 == 0 {
					return nil // the first is asked when the run begins
				}
				return errors.New("no answer")
			}
			l := play(t, g, func(s *executors.Stream) {
				if _, ok := waits(s); !ok {
					return
				}
				_ = s.Put(executors.Part{Bytes: []byte("x")})
				_ = s.Send(paused())
				drain(s)
			})
			long := executors.Budget{CPU: time.Hour, Wall: time.Hour, OutputBytes: 1 << 10, ResultBytes: 1 << 10}
			out, _, err := l.Run(t.Context(), executors.Work{Budget: long, Pause: now()}, blocked())
			if late && (out.State != executors.StatePaused || err != nil) {
				t.Errorf("%s %+v %v, want paused", out.State, out.Error, err)
			}
			if !late && (out.State == executors.StateLimit || err == nil ||
				!strings.Contains(err.Error(), "processor time")) {
				t.Errorf("%s %+v %v, want an error of the guest", out.State, out.Error, err)
			}
		})
	}
}

func TestLinkCancelWhilePausing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = waits(s)
		_ = s.Send(executors.Part{Bytes: []byte("x")})
		cancel()
		drain(s)
	})
	out, again, err := l.Run(ctx, executors.Work{Budget: budget, Pause: now()}, blocked())
	if err != nil || out.State != executors.StateCancelled || again || !g.isKilled() || out.Snapshot != nil {
		t.Errorf("%s again %v err %v", out.State, again, err)
	}
}

// Each script is a guest that an attacker owns, told to stop.
func TestLinkHostilePause(t *testing.T) {
	part := executors.Part{Bytes: []byte("x")}
	for _, tt := range []struct {
		name   string
		script func(s *executors.Stream)
		want   string
	}{
		{"paused without parts", func(s *executors.Stream) { _ = s.Send(paused()) }, "paused without a snapshot"},
		{"paused with a value", func(s *executors.Stream) {
			_ = s.Put(part)
			_ = s.Send(executors.Result{End: executors.End{State: executors.StatePaused}, Value: []byte("1")})
		}, "with state paused"},
		{"done instead", func(s *executors.Stream) { _ = s.Put(part); _ = s.Send(done("1")) }, "done with open calls"},
		{"failed with parts", func(s *executors.Stream) {
			_ = s.Put(part)
			_ = s.Send(executors.Result{
				End: executors.End{State: executors.StateFailed, Error: &executors.ProgramError{Name: "E"}}})
		}, "a snapshot with state failed"},
		{"a call between the parts", func(s *executors.Stream) { _ = s.Put(part); _ = s.Send(ask(3)) }, "Ask from a program that was stopped"},
		{"a line instead", func(s *executors.Stream) { _ = s.Send(executors.Line{Level: "log", Text: "x"}) }, "Line from a program that was stopped"},
		{"an idle instead", func(s *executors.Stream) { _ = s.Send(executors.Idle{}) }, "Idle from a program that was stopped"},
		{"endless parts", func(s *executors.Stream) {
			for s.Send(executors.Part{Bytes: make([]byte, executors.PartBytes)}) == nil {
			}
		}, fmt.Sprintf("a snapshot over %d bytes", executors.MaxSnapshotBytes)},
		{"dies", func(s *executors.Stream) { _ = s.Send(part) }, "it exited"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			l := play(t, g, func(s *executors.Stream) {
				if _, ok := waits(s); !ok {
					return
				}
				tt.script(s)
				if tt.name == "dies" {
					_ = g.peer.Close()
				}
				drain(s)
			})
			out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Pause: now()}, blocked())
			if !errors.Is(err, executors.ErrGuest) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want an ErrGuest with %q", err, tt.want)
			}
			if out.State != executors.StateFailed || out.Error.Name != "PauseFailed" || out.Snapshot != nil || again ||
				!g.isKilled() {
				t.Errorf("%s %+v again %v killed %v", out.State, out.Error, again, g.isKilled())
			}
		})
	}
}

// Nobody was told to stop.
func TestLinkPartsUnasked(t *testing.T) {
	for _, tt := range []struct {
		name    string
		session bool
		script  func(s *executors.Stream)
		want    string
	}{
		{"a part", false, func(s *executors.Stream) { _ = s.Send(executors.Part{Bytes: []byte("x")}) }, "nobody asked for"},
		{"paused", false, func(s *executors.Stream) { _ = s.Send(paused()) }, "nobody asked for"},
		{"restored", false, func(s *executors.Stream) { _ = s.Send(executors.Restored{}) }, "Restored while a program runs"},
		{"paused, of a session", true, func(s *executors.Stream) {
			_ = s.Put(executors.Part{Bytes: []byte("x")})
			_ = s.Send(paused())
		}, "nobody asked for"},
		{"limit, of a session", true, func(s *executors.Stream) {
			_ = s.Put(executors.Part{Bytes: []byte("x")})
			_ = s.Send(executors.Result{
				End: executors.End{State: executors.StateLimit, Error: &executors.ProgramError{Name: "Timeout"}}})
		}, "a snapshot with state limit"},
		{"open calls, of a session", true, func(s *executors.Stream) {
			_ = s.Put(ask(1))
			_ = s.Put(executors.Part{Bytes: []byte("x")})
			_ = s.Send(executors.Result{
				End: executors.End{State: executors.StateFailed, Error: &executors.ProgramError{Name: "E"}}})
		}, "a snapshot with state failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			l := play(t, g, func(s *executors.Stream) {
				_, _ = s.Read()
				tt.script(s)
				drain(s)
			})
			out, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Session: tt.session}, blocked())
			if !errors.Is(err, executors.ErrGuest) || !strings.Contains(err.Error(), tt.want) ||
				out.State != executors.StateFailed || out.Snapshot != nil || !g.isKilled() {
				t.Errorf("%s, killed %v, error %v, want %q", out.State, g.isKilled(), err, tt.want)
			}
		})
	}
}

// A session's state comes before its result, and can be started in again.
func TestLinkSession(t *testing.T) {
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Put(ask(1))
		_ = s.Send(executors.Idle{})
		_, _ = s.Read()
		_ = s.Put(executors.Part{Bytes: []byte("state")})
		_ = s.Send(done("1"))
		r, _ := until[executors.Restore](s)
		p, _ := until[executors.Load](s)
		_ = s.Put(executors.Restored{})
		if r.Asked != 0 || string(p.Bytes) != "state" {
			return
		}
		_ = s.Put(ask(1)) // a run of its own, so its numbers begin
		_ = s.Send(executors.Idle{})
		_, _ = s.Read()
		_ = s.Send(done("2"))
	})
	out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Session: true}, &fakeHost{})
	if err != nil || !again || out.State != executors.StateDone || out.Snapshot == nil {
		t.Fatalf("%s %v again %v err %v", out.State, out.Snapshot, again, err)
	}
	r := &executors.Resume{Snapshot: out.Snapshot, Session: true}
	out, _, err = l.Run(t.Context(), executors.Work{Budget: budget, Resume: r}, &fakeHost{})
	if err != nil || out.State != executors.StateDone || string(out.Value) != "2" || out.Snapshot != nil {
		t.Fatalf("%s %s err %v", out.State, out.Value, err)
	}
}

// snapshot is one with the call c1 open.
func snapshot(t *testing.T) *executors.Resume {
	t.Helper()
	l := play(t, newFakeGuest(), func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Put(ask(1))
		_ = s.Send(executors.Idle{})
		_, _ = until[executors.Pause](s)
		_ = s.Put(executors.Part{Bytes: []byte("x")})
		_ = s.Send(paused())
	})
	out, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Pause: now()}, blocked())
	if err != nil || out.State != executors.StatePaused {
		t.Fatalf("%s %v", out.State, err)
	}
	return &executors.Resume{Snapshot: out.Snapshot, Open: []executors.Question{
		{Call: "c1", Bridge: "b", Args: []byte("[1]")}}}
}

// Where a program does not go on, nothing of it has run: the error says so.
func TestLinkNotRestored(t *testing.T) {
	from := snapshot(t)
	for _, tt := range []struct {
		name   string
		script func(s *executors.Stream)
		gone   bool
		want   string
	}{
		{"refused", func(s *executors.Stream) { _ = s.Send(executors.Restored{Failure: "of another engine"}) }, false, "of another engine"},
		{"died", func(s *executors.Stream) {}, true, "gone before the program began"},
		{"said something else", func(s *executors.Stream) { _ = s.Send(ask(2)) }, false, "Ask before restored"},
		{"result at once", func(s *executors.Stream) { _ = s.Send(done("1")) }, false, "Result before restored"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			l := play(t, g, func(s *executors.Stream) {
				_, _ = until[executors.Load](s)
				tt.script(s)
				if tt.gone {
					_ = g.peer.Close()
				}
				drain(s)
			})
			h := &fakeHost{ask: func(context.Context, executors.Question) (executors.Answer, error) {
				t.Error("a call was asked")
				return executors.Answer{}, nil
			}}
			_, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Resume: from}, h)
			if !errors.Is(err, executors.ErrSnapshot) || errors.Is(err, executors.ErrGone) != tt.gone ||
				!strings.Contains(err.Error(), tt.want) || again || !g.isKilled() {
				t.Errorf("again %v killed %v error %v", again, g.isKilled(), err)
			}
		})
	}
	t.Run("another format", func(t *testing.T) {
		g := newFakeGuest()
		l := play(t, g, drain)
		_, again, err := l.Run(t.Context(), executors.Work{Budget: budget,
			Resume: &executors.Resume{Snapshot: []byte{0}}}, &fakeHost{})
		if !errors.Is(err, executors.ErrSnapshot) || !again || g.isKilled() {
			t.Errorf("again %v killed %v error %v", again, g.isKilled(), err)
		}
	})
}

// A guest that takes its time is ended: a pause then fails, a restore can be
// tried again.
func TestLinkSlow(t *testing.T) {
	from := snapshot(t)
	b := budget
	b.Move = time.Millisecond
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) { _, _ = waits(s); drain(s) })
	out, _, err := l.Run(t.Context(), executors.Work{Budget: b, Pause: now()}, blocked())
	if err != nil || out.State != executors.StateFailed || out.Error.Name != "PauseFailed" || !g.isKilled() {
		t.Errorf("pause: %s %+v %v", out.State, out.Error, err)
	}
	for name, script := range map[string]func(*executors.Stream){
		"says nothing":  drain,
		"reads nothing": func(*executors.Stream) {},
	} {
		g = newFakeGuest()
		l = play(t, g, script)
		_, _, err = l.Run(t.Context(), executors.Work{Budget: b, Resume: from}, &fakeHost{})
		if !errors.Is(err, executors.ErrSlow) || errors.Is(err, executors.ErrSnapshot) ||
			!strings.Contains(err.Error(), "longer than") || !g.isKilled() {
			t.Errorf("restore, %s: %v", name, err)
		}
	}
}

// What was used before counts: the figures in the texts are the whole run's.
func TestLinkLimitsGoOn(t *testing.T) {
	for _, tt := range []struct {
		name string
		used executors.Usage
		cpu  func() time.Duration
		want string
	}{
		{"wall", executors.Usage{Wall: time.Hour}, nil, "wall time limit of 1m0s reached"},
		{"processor", executors.Usage{CPU: time.Hour}, rising(), "processor time limit of 1m0s reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from := *snapshot(t)
			from.Used = tt.used
			g := newFakeGuest()
			g.cpu = tt.cpu
			l := play(t, g, func(s *executors.Stream) {
				_, _ = until[executors.Load](s)
				_ = s.Put(executors.Restored{})
				_ = s.Send(executors.Idle{})
				drain(s)
			})
			out, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Resume: &from}, blocked())
			if err != nil || out.State != executors.StateLimit || out.Error.Name != "Timeout" ||
				out.Error.Message != tt.want || !g.isKilled() {
				t.Errorf("%s %+v %v", out.State, out.Error, err)
			}
		})
	}
}

// What it takes to restore a program and to write it down is not the program's
// processor time: a limit that is used up by it ends nothing.
func TestLinkMovesAreFree(t *testing.T) {
	var used atomic.Int64
	for _, tt := range []struct {
		name   string
		script func(*executors.Stream)
		state  executors.State
	}{
		{"pause", func(s *executors.Stream) {
			_, _ = until[executors.Load](s)
			used.Add(int64(time.Hour))
			_ = s.Put(executors.Restored{})
			_ = s.Send(executors.Idle{})
			_, _ = until[executors.Pause](s)
			used.Add(int64(time.Hour))
			_ = s.Put(executors.Part{Bytes: []byte("x")})
			_ = s.Send(paused())
		}, executors.StatePaused},
		{"end", func(s *executors.Stream) {
			_, _ = until[executors.Load](s)
			used.Add(int64(time.Hour))
			_ = s.Put(executors.Restored{})
			_ = s.Send(executors.Result{
				End: executors.End{State: executors.StateFailed, Error: &executors.ProgramError{Name: "Error"}}})
		}, executors.StateFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			g.cpu = func() time.Duration { return time.Duration(used.Load()) }
			l := play(t, g, tt.script)
			out, _, err := l.Run(t.Context(), executors.Work{Budget: budget, Resume: snapshot(t), Pause: now()},
				blocked())
			if err != nil || out.State != tt.state || out.Usage.CPU != 0 {
				t.Errorf("%s %+v after %v: %v", out.State, out.Error, out.Usage.CPU, err)
			}
		})
	}
}

// The same for the state of a session, which follows the end of the program. One
// that cannot be written down after all is none, and the outcome stands.
func TestLinkSessionsAreFree(t *testing.T) {
	for _, unkept := range []string{"", "too large"} {
		var used atomic.Int64
		g := newFakeGuest()
		g.cpu = func() time.Duration { return time.Duration(used.Load()) }
		l := play(t, g, func(s *executors.Stream) {
			_, _ = s.Read()
			_ = s.Send(executors.Part{Bytes: []byte("the ")})
			_ = s.Send(executors.Part{Bytes: []byte("state")}) // so the host has seen the first
			used.Store(int64(time.Hour))
			end := done("1")
			end.Unkept = unkept
			_ = s.Send(end)
		})
		out, again, err := l.Run(t.Context(), executors.Work{Budget: budget, Session: true}, blocked())
		if err != nil || out.State != executors.StateDone || out.Usage.CPU != 0 ||
			(out.Snapshot == nil) != (unkept != "") || out.Unkept != unkept || !again {
			t.Errorf("%s %+v %v, %d bytes, %q: %v", out.State, out.Error, out.Usage.CPU, len(out.Snapshot), out.Unkept,
				err)
		}
	}
}

// frames is what a guest says, as bytes.
func frames(t testing.TB, list ...executors.Message) []byte {
	t.Helper()
	var out bytes.Buffer
	s := executors.NewStream(struct {
		io.Reader
		io.Writer
	}{nil, &out}, executors.GuestSide)
	for _, m := range list {
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Whatever a guest says, and whenever: the run ends, no call is under way then,
// and nothing but a pause that was asked for, or a session's clean end, leaves a
// snapshot.
func FuzzLinkGuest(f *testing.F) {
	part := executors.Part{Bytes: []byte("state")}
	fail := executors.Result{
		End: executors.End{State: executors.StateFailed, Error: &executors.ProgramError{Name: "E"}}}
	for _, list := range [][]executors.Message{
		{ask(1), executors.Idle{}, part, paused()},
		{executors.Restored{}, executors.Idle{}, part, paused()},
		{ask(1), ask(2), executors.Idle{}, part, ask(3), paused()},
		{executors.Line{Level: "log", Text: "x"}, part, done("1")},
		{part, fail}, {paused()}, {executors.Restored{Failure: "no"}},
	} {
		for how := range byte(8) {
			f.Add(frames(f, list...), how)
		}
	}
	// A snapshot with the call c1 open, whatever a guest made of it.
	l := []byte{1, 1, 0, 0, 1, 1, 'x'}
	f.Fuzz(func(t *testing.T, in []byte, how byte) {
		if len(in) > 64<<10 {
			return
		}
		g := newFakeGuest()
		var under atomic.Int64
		h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
			under.Add(1)
			defer under.Add(-1)
			<-ctx.Done()
			return executors.Answer{}, context.Cause(ctx)
		}}
		link := play(t, g, func(s *executors.Stream) {
			if _, err := s.Read(); err != nil {
				return
			}
			var reading sync.WaitGroup
			reading.Go(func() { drain(s) })
			_, _ = g.peer.Write(in)
			_ = g.peer.Close()
			reading.Wait()
		})
		w := executors.Work{Budget: budget, Session: how&2 != 0}
		w.Wall = time.Millisecond // a reader that asks itself does not see its guest die
		if how&1 != 0 {
			w.Pause = now()
		}
		if how&4 != 0 {
			w.Resume = &executors.Resume{Snapshot: l, Open: []executors.Question{
				{Call: "c1", Bridge: "b", Args: []byte("[1]")}}}
		}
		out, _, err := link.Run(t.Context(), w, h)
		if n := under.Load(); n != 0 {
			t.Fatalf("%d calls under way", n)
		}
		kept := out.State == executors.StatePaused && w.Pause != nil || w.Session &&
			(out.State == executors.StateDone || out.State == executors.StateFailed)
		if out.Snapshot != nil && (!kept || err != nil) {
			t.Fatalf("%s with a snapshot, %v", out.State, err)
		}
		if out.State == executors.StatePaused && out.Snapshot == nil {
			t.Fatal("paused without a snapshot")
		}
	})
}
