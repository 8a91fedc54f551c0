package executors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// fakeGuest is a guest whose other end a test function plays.
type fakeGuest struct {
	conn   conn
	peer   conn
	killed chan struct{}
	once   sync.Once
	cpu    func() time.Duration
	silent func() error // nil: it says its processor time
}

type conn struct {
	*io.PipeReader
	*io.PipeWriter
}

func (c conn) Close() error { return errors.Join(c.PipeReader.Close(), c.PipeWriter.Close()) }

func newFakeGuest() *fakeGuest {
	ar, aw := io.Pipe()
	br, bw := io.Pipe()
	return &fakeGuest{conn: conn{ar, bw}, peer: conn{br, aw}, killed: make(chan struct{})}
}

func (g *fakeGuest) Conn() io.ReadWriteCloser           { return g.conn }
func (g *fakeGuest) Attestation() executors.Attestation { return executors.Attestation{} }
func (g *fakeGuest) Kill() error {
	g.once.Do(func() {
		close(g.killed)
		_ = g.peer.Close()
	})
	return nil
}
func (g *fakeGuest) CPU() (time.Duration, error) {
	if g.silent != nil {
		if err := g.silent(); err != nil {
			return 0, err
		}
	}
	if g.cpu == nil {
		return 0, nil
	}
	return g.cpu(), nil
}

func (g *fakeGuest) isKilled() bool {
	select {
	case <-g.killed:
		return true
	default:
		return false
	}
}

// fakeHost answers with what ask returns.
type fakeHost struct {
	ask     func(context.Context, executors.Question) (executors.Answer, error)
	mu      sync.Mutex
	console []executors.ConsoleEntry
	idle    [][]string
}

func (h *fakeHost) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	if h.ask == nil {
		return executors.Answer{Value: q.Args}, nil
	}
	return h.ask(ctx, q)
}

func (h *fakeHost) Console(e executors.ConsoleEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.console = append(h.console, e)
}

func (h *fakeHost) Idle(open []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(open)
	h.idle = append(h.idle, open)
}

// play links to a guest whose side script plays, after the greeting, and
// returns when script has.
func play(t *testing.T, g *fakeGuest, script func(s *executors.Stream)) *executors.Link {
	t.Helper()
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = g.Kill() })
	wg.Go(func() {
		s := executors.NewStream(g.peer, executors.GuestSide)
		if _, err := s.Read(); err != nil {
			return
		}
		_ = s.Send(executors.Ready{Version: executors.ProtocolVersion, Executor: "js", Digest: "d"})
		script(s)
	})
	l, err := executors.Dial(t.Context(), config(&wg), g, executors.Hello{Version: executors.ProtocolVersion})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func config(wg *sync.WaitGroup) executors.LinkConfig {
	return executors.LinkConfig{Go: func(f func()) { wg.Go(f) }, Now: time.Now}
}

var budget = executors.Budget{CPU: time.Minute, Wall: time.Minute, OutputBytes: 100, ResultBytes: 100}

func done(value string) executors.Result {
	return executors.Result{End: executors.End{State: executors.StateDone, Again: true}, Value: []byte(value)}
}

func ask(n uint64) executors.Ask {
	return executors.Ask{Call: n, Bridge: "b", Args: []byte(`[1]`)}
}

// drain reads what the host sends until the connection ends.
func drain(s *executors.Stream) {
	for {
		if _, err := s.Read(); err != nil {
			return
		}
	}
}

func TestLinkRun(t *testing.T) {
	g, h := newFakeGuest(), &fakeHost{}
	l := play(t, g, func(s *executors.Stream) {
		for range 2 {
			if _, err := s.Read(); err != nil { // Start
				return
			}
			_ = s.Put(ask(1))
			_ = s.Put(executors.Line{Level: "log", Text: "hi"})
			_ = s.Send(executors.Idle{})
			m, err := s.Read()
			if r, ok := m.(executors.Reply); err != nil || !ok || string(r.Value) != "[1]" {
				return
			}
			_ = s.Send(done(`"ok"`))
		}
	})
	for range 2 { // one after the other in the same guest
		out, again, err := l.Run(t.Context(), executors.Work{Budget: budget}, h)
		if err != nil || !again {
			t.Fatalf("again=%v err=%v", again, err)
		}
		want := executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`"ok"`), Engine: "d",
			Console: []executors.ConsoleEntry{{Seq: 1, Level: "log", Text: "hi"}}}
		calls := out.Usage.Calls
		out.Usage = executors.Usage{}
		if d := cmp.Diff(want, out); d != "" || calls["b"] != 1 {
			t.Errorf("calls=%v\n%s", calls, d)
		}
	}
	if len(h.console) != 2 {
		t.Errorf("console was not streamed: %v", h.console)
	}
	if g.isKilled() {
		t.Error("a sound guest was killed")
	}
}

// Each script is what a guest does that an attacker owns. The run ends closed,
// the guest is dead, and the host goes on.
func TestLinkHostileGuest(t *testing.T) {
	huge := strings.Repeat("a", 101)
	for _, tt := range []struct {
		name   string
		script func(s *executors.Stream)
		want   string
	}{
		{"ready again", func(s *executors.Stream) { _ = s.Send(executors.Ready{Version: 2, Executor: "js", Digest: "d"}) }, "Ready while a program runs"},
		{"call numbers skip", func(s *executors.Stream) { _ = s.Send(ask(2)) }, "call 2, want 1"},
		{"call number again", func(s *executors.Stream) { _ = s.Put(ask(1)); _ = s.Send(ask(1)) }, "call 1, want 2"},
		{"arguments are no JSON", func(s *executors.Stream) { _ = s.Send(executors.Ask{Call: 1, Bridge: "b", Args: []byte(`[1`)}) }, "not JSON"},
		{"console level", func(s *executors.Stream) { _ = s.Send(executors.Line{Level: "root", Text: "x"}) }, "console level"},
		{"console flood", func(s *executors.Stream) { _ = s.Send(executors.Line{Level: "log", Text: huge}) }, "console output over 100 bytes"},
		{"console flood of empty lines", func(s *executors.Stream) {
			for range 101 {
				_ = s.Put(executors.Line{Level: "log"})
			}
			_ = s.Flush()
		}, "console output over 100 bytes"},
		{"idle with nothing open", func(s *executors.Stream) { _ = s.Send(executors.Idle{}) }, "idle with no open call"},
		{"idle that has seen the future", func(s *executors.Stream) { _ = s.Put(ask(1)); _ = s.Send(executors.Idle{Seen: 5}) }, "idle with no open call"},
		{"value over the limit", func(s *executors.Stream) { _ = s.Send(done(`"` + huge + `"`)) }, "over its limit"},
		{"value is no JSON", func(s *executors.Stream) { _ = s.Send(done(`{`)) }, "not JSON"},
		{"no value", func(s *executors.Stream) { _ = s.Send(done(``)) }, "not JSON"},
		{"a state that only the host gives", func(s *executors.Stream) {
			_ = s.Send(executors.Result{End: executors.End{State: executors.StateCancelled}})
		}, "state cancelled"},
		{"an unknown state", func(s *executors.Stream) { _ = s.Send(executors.Result{End: executors.End{State: "root"}}) }, `state "root"`},
		{"failed without an error", func(s *executors.Stream) {
			_ = s.Send(executors.Result{End: executors.End{State: executors.StateFailed}})
		}, "no error"},
		{"an allow among the denials", func(s *executors.Stream) {
			_ = s.Send(executors.Result{
				End: executors.End{State: executors.StateDenied, Error: &executors.ProgramError{},
					Denials: []profiles.Decision{{Verdict: profiles.Allow}}}})
		}, "a denial whose decision does not deny"},
		{"text that is none", func(s *executors.Stream) {
			_ = s.Send(executors.Result{End: executors.End{State: executors.StateDone, Repr: true}, Value: []byte("1")})
		}, "not text"},
		{"text of what failed", func(s *executors.Stream) {
			_ = s.Send(executors.Result{
				End: executors.End{State: executors.StateFailed, Repr: true, Error: &executors.ProgramError{}}})
		}, "not text"},
		{"negative figures", func(s *executors.Stream) {
			_ = s.Send(executors.Result{End: executors.End{State: executors.StateDone, PeakBytes: -1},
				Value: []byte("1")})
		}, "negative"},
		{"too many open calls", func(s *executors.Stream) {
			for n := range uint64(executors.MaxOpenAsks + 1) {
				_ = s.Put(ask(n + 1))
			}
			_ = s.Flush()
		}, "too many open calls"},
		{"dies", func(s *executors.Stream) { _ = s.Send(executors.Line{Level: "log"}) }, "it exited"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
				<-ctx.Done() // nothing is answered, so that calls stay open
				return executors.Answer{}, nil
			}}
			l := play(t, g, func(s *executors.Stream) {
				if _, err := s.Read(); err != nil {
					return
				}
				tt.script(s)
				if tt.name == "dies" {
					_ = g.peer.Close()
				}
				drain(s)
			})
			out, again, err := l.Run(t.Context(), executors.Work{Budget: budget}, h)
			if !errors.Is(err, executors.ErrGuest) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want an ErrGuest with %q", err, tt.want)
			}
			if out.State != executors.StateFailed || again || !g.isKilled() {
				t.Errorf("state %s, again %v, killed %v", out.State, again, g.isKilled())
			}
		})
	}
}

func TestLinkDoneWithOpenCalls(t *testing.T) {
	g := newFakeGuest()
	started := make(chan struct{})
	ended := make(chan struct{})
	h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return executors.Answer{}, nil
	}}
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Send(ask(1))
		<-started
		_ = s.Send(done(`1`))
		drain(s)
	})
	_, _, err := l.Run(t.Context(), executors.Work{Budget: budget}, h)
	if err == nil || !strings.Contains(err.Error(), "done with open calls") {
		t.Errorf("got %v", err)
	}
	select {
	case <-ended:
	default:
		t.Error("Run returned while a call was under way")
	}
}

func TestLinkGoneBeforeTheProgram(t *testing.T) {
	g := newFakeGuest()
	l := play(t, g, func(*executors.Stream) {})
	_ = g.peer.Close()
	_, _, err := l.Run(t.Context(), executors.Work{Budget: budget}, &fakeHost{})
	if !errors.Is(err, executors.ErrGone) || !errors.Is(err, executors.ErrGuest) {
		t.Errorf("got %v", err)
	}
}

// A guest that the launcher ended is not one that nobody knows anything of: its
// program is not given to another.
func TestLinkEndedByTheLauncher(t *testing.T) {
	for _, why := range []error{executors.ErrViolation, executors.ErrRevoked} {
		g := newFakeGuest()
		l := play(t, g, func(s *executors.Stream) {
			_, _ = s.Read()
			_ = g.peer.PipeWriter.CloseWithError(fmt.Errorf("%w: it tried socket", why))
		})
		_, again, err := l.Run(t.Context(), executors.Work{Budget: budget}, &fakeHost{})
		if again || !errors.Is(err, why) || !errors.Is(err, executors.ErrGuest) || errors.Is(err, executors.ErrGone) {
			t.Errorf("%v: %v", why, err)
		}
	}
}

// late is a context whose end is told to nobody: they have to look.
type late struct {
	context.Context
	done chan struct{} // never closed
}

func (l late) Done() <-chan struct{} { return l.done }

func (late) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

// A run that was told to end has ended for that, also when its guest was taken before
// the host came to it, as by a lockdown. What the guest did wrong is told.
func TestLinkEndedWithItsGuest(t *testing.T) {
	for _, tt := range []struct {
		why  error
		want executors.State // "": the error
	}{
		{executors.ErrRevoked, executors.StateCancelled}, {io.EOF, executors.StateCancelled},
		{executors.ErrViolation, ""}, {executors.ErrProtocol, ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		g := newFakeGuest()
		l := play(t, g, func(s *executors.Stream) {
			_, _ = s.Read()
			cancel()
			_ = g.peer.PipeWriter.CloseWithError(tt.why)
		})
		out, again, err := l.Run(late{ctx, make(chan struct{})}, executors.Work{Budget: budget}, &fakeHost{})
		if again || tt.want != "" && (err != nil || out.State != tt.want) || tt.want == "" && !errors.Is(err, tt.why) {
			t.Errorf("%v: %s, %v", tt.why, out.State, err)
		}
	}
}

func TestLinkStrayBytesEndReuse(t *testing.T) {
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Put(done(`1`))
		_ = s.Put(executors.Line{Level: "log", Text: "for the next run"})
		_ = s.Flush()
		drain(s)
	})
	out, again, err := l.Run(t.Context(), executors.Work{Budget: budget}, &fakeHost{})
	if err != nil || out.State != executors.StateDone || again || !g.isKilled() {
		t.Errorf("state %s again %v err %v", out.State, again, err)
	}
}

func TestLinkCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		cancel() // the program never ends by itself
		drain(s)
	})
	out, again, err := l.Run(ctx, executors.Work{Budget: budget}, &fakeHost{})
	if err != nil || out.State != executors.StateCancelled || again || !g.isKilled() {
		t.Errorf("state %s again %v err %v", out.State, again, err)
	}
}

func TestLinkBackstops(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    executors.Budget
		cpu  func() time.Duration
		want string
	}{
		{"wall", executors.Budget{CPU: time.Minute, Wall: time.Millisecond, OutputBytes: 1, ResultBytes: 1}, nil, "wall time"},
		{"processor", executors.Budget{CPU: time.Millisecond, Wall: time.Minute, OutputBytes: 1, ResultBytes: 1}, rising(), "processor time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			g.cpu = tt.cpu
			l := play(t, g, drain) // says nothing, for ever
			out, again, err := l.Run(t.Context(), executors.Work{Budget: tt.b}, &fakeHost{})
			if err != nil || out.State != executors.StateLimit || out.Error.Name != "Timeout" ||
				!strings.Contains(out.Error.Message, tt.want) || again || !g.isKilled() {
				t.Errorf("%+v again %v err %v", out, again, err)
			}
		})
	}
}

// A guest that does not say how much processor time it had is asked again. One that
// never does is lost, and has not reached a limit.
func TestLinkSilentGuest(t *testing.T) {
	budget := executors.Budget{CPU: 10 * time.Millisecond, Wall: time.Minute, OutputBytes: 1, ResultBytes: 1}
	for _, tt := range []struct {
		name    string
		answers func(look int64) bool
		want    string // "": the limit of processor time, which it reached
	}{
		{"is late", func(look int64) bool { return look%3 == 0 }, ""},
		{"never answers", func(int64) bool { return false }, "its first process did not say"},
		{"answers once", func(look int64) bool { return look == 0 }, "its first process did not say"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			var looks atomic.Int64
			g.cpu = rising()
			g.silent = func() error {
				if tt.answers(looks.Add(1) - 1) {
					return nil
				}
				return errors.New("its init does not answer")
			}
			l := play(t, g, drain)
			out, again, err := l.Run(t.Context(), executors.Work{Budget: budget}, &fakeHost{})
			if again || tt.want != "" && !g.isKilled() {
				t.Errorf("again %v, killed %v", again, g.isKilled())
			}
			if tt.want == "" && (err != nil || out.State != executors.StateLimit ||
				!strings.Contains(out.Error.Message, "processor time")) {
				t.Errorf("%+v, %v", out, err)
			}
			if tt.want != "" && (!errors.Is(err, executors.ErrGuest) || out.State == executors.StateLimit ||
				!strings.Contains(executors.Why(err), tt.want)) {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

// rising is a processor clock that advances a second a look.
func rising() func() time.Duration {
	var mu sync.Mutex
	var t time.Duration
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		t += time.Second
		return t
	}
}

// A guest that does not read must not keep the host: the wall limit ends it
// while an answer is stuck in the connection.
func TestLinkGuestThatDoesNotRead(t *testing.T) {
	g := newFakeGuest()
	stuck := make(chan struct{})
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Send(ask(1))
		<-g.killed
		close(stuck)
	})
	b := budget
	b.Wall = time.Millisecond
	out, _, err := l.Run(t.Context(), executors.Work{Budget: b}, &fakeHost{})
	if err != nil || out.State != executors.StateLimit {
		t.Errorf("state %s err %v", out.State, err)
	}
	<-stuck
}

func TestLinkHostError(t *testing.T) {
	g := newFakeGuest()
	boom := errors.New("the audit log is closed")
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Send(ask(1))
		drain(s)
	})
	h := &fakeHost{ask: func(context.Context, executors.Question) (executors.Answer, error) {
		return executors.Answer{}, boom
	}}
	out, again, err := l.Run(t.Context(), executors.Work{Budget: budget}, h)
	if !errors.Is(err, boom) || again || out.State == executors.StateDone || !g.isKilled() {
		t.Errorf("state %s again %v err %v", out.State, again, err)
	}
}

// What a host hands back is checked before it is sent.
func TestLinkHostileAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer executors.Answer
		want   string // error name the guest sees
	}{
		{"not JSON", executors.Answer{Value: []byte(`{"a":`)}, "BridgeError"},
		{"larger than a frame", executors.Answer{Value: json.RawMessage(`"` + strings.Repeat("a", executors.MaxFrameBytes) + `"`)}, "ResultTooLarge"},
		{"error without a name", executors.Answer{Error: &executors.GuestError{}}, "BridgeError"},
		{"error with an endless name", executors.Answer{Error: &executors.GuestError{Name: strings.Repeat("x", 5000)}}, "BridgeError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			got := make(chan executors.Message, 1)
			l := play(t, g, func(s *executors.Stream) {
				_, _ = s.Read()
				_ = s.Send(ask(1))
				m, _ := s.Read()
				got <- m
				_ = s.Send(done("1"))
			})
			h := &fakeHost{ask: func(context.Context, executors.Question) (executors.Answer, error) {
				return tt.answer, nil
			}}
			out, _, err := l.Run(t.Context(), executors.Work{Budget: budget}, h)
			if err != nil || out.State != executors.StateDone {
				t.Fatalf("state %s err %v", out.State, err)
			}
			if r, ok := (<-got).(executors.Reply); !ok || r.Name != tt.want {
				t.Errorf("the guest got %+v, want %s", r, tt.want)
			}
		})
	}
}

func TestLinkIdle(t *testing.T) {
	g := newFakeGuest()
	release := make(chan struct{})
	h := &fakeHost{ask: func(_ context.Context, q executors.Question) (executors.Answer, error) {
		if q.Call == "c2" {
			<-release
		}
		return executors.Answer{Value: []byte("1")}, nil
	}}
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Put(ask(1))
		_ = s.Put(ask(2))
		_ = s.Flush()
		_, _ = s.Read()                           // c1 is answered
		_ = s.Send(executors.Idle{Seen: 0})       // overtaken by that answer: says nothing
		_ = s.Send(executors.Idle{Seen: 1})       // c2 is what it waits for
		_ = s.Send(executors.Line{Level: "info"}) // read in order: the idle has been handled
		close(release)
		_, _ = s.Read()
		_ = s.Send(done("1"))
	})
	if _, _, err := l.Run(t.Context(), executors.Work{Budget: budget}, h); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"c2"}}, h.idle); d != "" {
		t.Error(d)
	}
}

func TestDialRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		say  executors.Message // nil: closes
		want string
	}{
		{"another version", executors.Ready{Version: 9, Executor: "js"}, "version 9"},
		{"not ready first", executors.Idle{}, "before ready"},
		{"gone", nil, "wait for ready"},
		{"unavailable", executors.Ready{Version: executors.ProtocolVersion, Unavailable: "run make engine"}, "run make engine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newFakeGuest()
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				s := executors.NewStream(g.peer, executors.GuestSide)
				_, _ = s.Read()
				if tt.say == nil {
					_ = g.peer.Close()
					return
				}
				_ = s.Send(tt.say)
			})
			_, err := executors.Dial(t.Context(), config(&wg), g, executors.Hello{Version: executors.ProtocolVersion})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !g.isKilled() {
				t.Errorf("got %v, killed %v", err, g.isKilled())
			}
		})
	}
}

func TestSatisfies(t *testing.T) {
	order := []profiles.Tier{profiles.TierProcess, profiles.TierWasm, profiles.TierOS, profiles.TierContainer,
		profiles.TierMicroVM, profiles.TierRemote}
	for i, have := range order {
		for j, want := range order {
			if got := executors.Satisfies(have, want); got != (i >= j) {
				t.Errorf("Satisfies(%s, %s) = %v", have, want, got)
			}
		}
		if executors.Satisfies(have, "") || executors.Satisfies("", have) || executors.Satisfies(have, "moon") {
			t.Errorf("an unknown tier satisfies %s", have)
		}
	}
}

// A host that panics takes its guest with it.
func TestLinkHostPanics(t *testing.T) {
	g := newFakeGuest()
	l := play(t, g, func(s *executors.Stream) {
		_, _ = s.Read()
		_ = s.Put(ask(1))
		_ = s.Send(executors.Idle{}) // so that the reader asks
		drain(s)
	})
	h := &fakeHost{ask: func(context.Context, executors.Question) (executors.Answer, error) { panic("host") }}
	defer func() {
		if recover() == nil || !g.isKilled() {
			t.Errorf("guest killed: %v", g.isKilled())
		}
	}()
	_, _, _ = l.Run(t.Context(), executors.Work{Budget: budget}, h)
}

// A program that fails while a call is open has failed; what the call returns
// when it is cut off is not the host's failure. The same for a cancel.
func TestLinkCutOffCalls(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		g := newFakeGuest()
		began := make(chan struct{})
		l := play(t, g, func(s *executors.Stream) {
			_, _ = s.Read()
			_ = s.Send(ask(1))
			<-began
			if cancelled {
				cancel()
			} else {
				_ = s.Send(executors.Result{End: executors.End{
					State: executors.StateFailed, Again: true, Error: &executors.ProgramError{Name: "E"}}})
			}
			drain(s)
		})
		h := &fakeHost{ask: func(ctx context.Context, _ executors.Question) (executors.Answer, error) {
			close(began)
			<-ctx.Done()
			return executors.Answer{}, ctx.Err()
		}}
		out, again, err := l.Run(ctx, executors.Work{Budget: budget}, h)
		want := executors.StateFailed
		if cancelled {
			want = executors.StateCancelled
		}
		if err != nil || out.State != want || again || !g.isKilled() {
			t.Errorf("cancelled %v: state %s again %v err %v", cancelled, out.State, again, err)
		}
		cancel()
	}
}
