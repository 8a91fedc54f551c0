package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// wave asks all questions at once and returns the answers. It does not say that it is idle,
// so that the run is not stopped.
func wave(ctx context.Context, t *testing.T, h executors.Host, qs ...executors.Question) []executors.Answer {
	t.Helper()
	out := make([]executors.Answer, len(qs))
	var wg sync.WaitGroup
	for i, q := range qs {
		wg.Go(func() { out[i], _ = h.Ask(ctx, q) })
	}
	wg.Wait()
	return out
}

func question(call, bridge, args string) executors.Question {
	return executors.Question{Call: call, Bridge: bridge, Args: json.RawMessage(args)}
}

func TestHarnessAnswers(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask", results(`{"type":"integer"}`))))
	var got []executors.Answer
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		got = wave(ctx, t, h, question("c1", "ask", `[{"q":1}]`), question("c2", "ask", `[{"q":2}]`))
		return executors.Outcome{State: executors.StateDone}, nil
	})
	waitsFor(t, run, "c1", "harness")
	waitsFor(t, run, "c2", "harness")
	v := run.View()
	if len(v.Pending) != 2 || v.Pending[0].For != "harness" || v.Pending[0].Bridge != "ask" {
		t.Fatalf("pending %+v", v.Pending)
	}
	byID := map[string]contract.Pending{}
	for _, p := range v.Pending {
		byID[p.ID] = p
	}
	if string(byID["c1"].Args) != `{"q":1}` {
		t.Errorf("args %s", byID["c1"].Args)
	}
	text := "no idea"
	refused := []struct {
		name  string
		reply contract.Reply
		want  error
	}{
		{"unknown", contract.Reply{Call: "c9", Value: json.RawMessage(`1`)}, contract.ErrNoCall},
		{"digest", contract.Reply{Call: "c1", Digest: byID["c2"].Digest, Value: json.RawMessage(`1`)}, contract.ErrDigest},
		{"schema", contract.Reply{Call: "c1", Value: json.RawMessage(`"x"`)}, contract.ErrValue},
		{"no value", contract.Reply{Call: "c1"}, contract.ErrValue},
		{"not JSON", contract.Reply{Call: "c1", Value: json.RawMessage(`{`)}, contract.ErrValue},
		{"large", contract.Reply{Call: "c1", Value: json.RawMessage(strings.Repeat("1", 2000))}, contract.ErrValue},
		{"first", contract.Reply{Call: "c1", Digest: byID["c1"].Digest, By: "uid:7", Value: json.RawMessage(`7`)}, nil},
		{"second", contract.Reply{Call: "c1", Value: json.RawMessage(`8`)}, contract.ErrAnswered},
		{"other", contract.Reply{Call: "c2", Error: &text}, nil},
	}
	for _, r := range refused {
		if err := run.Answer(t.Context(), r.reply); !errors.Is(err, r.want) {
			t.Errorf("%s: %v, want %v", r.name, err, r.want)
		}
	}
	w.end(run)
	if string(got[0].Value) != "7" || got[1].Error == nil || got[1].Error.Message != "ask: no idea (call c2)" ||
		got[1].Error.Name != "BridgeError" {
		t.Errorf("answers %+v", got)
	}
	if err := run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`1`)}); !errors.Is(
		err, contract.ErrEnded) {
		t.Error(err)
	}
	counts := map[string]int{}
	for _, k := range w.audit.kinds("r1") {
		counts[k]++
	}
	want := map[string]int{"run_started:running": 1, "call_opened:open": 2,
		"call_answered:answered+synced": 2, "call_closed:done": 1, "call_closed:failed": 1, "run_ended:done": 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	if log := w.log.entries(); len(log) != 4 || !strings.Contains(log[0], `for="harness" executing=false`) {
		t.Errorf("journal %q", log)
	}
	if rec, _ := w.audit.find(contract.CallAnswered); rec.Actor != "uid:1000" && rec.Actor != "uid:7" &&
		rec.Actor != "" {
		t.Errorf("actor %q", rec.Actor)
	}
}

// A run is paused only if the guest is idle and nothing but the harness can let it go on.
func TestNotPausedWhileTheHostWorks(t *testing.T) {
	working, finish := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(c *interpreter.Config) {
		c.Providers["slow"] = provide(func(context.Context, contract.Call) (json.RawMessage, error) {
			close(working)
			<-finish
			return nil, nil
		})
	})
	w.apply(set("a", bridge("ask"), bridge("slow")))
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = h.Ask(ctx, question("c1", "ask", `[]`)) })
		wg.Go(func() { _, _ = h.Ask(ctx, question("c2", "slow", `[]`)) })
		h.Idle([]string{"c1", "c2"})
		<-working
		h.Idle([]string{"c1", "c2"})
		close(finish)
		wg.Wait()
		return executors.Outcome{State: executors.StateDone}, nil
	})
	<-finish
	for run.View().Pending == nil {
		if _, err := run.Events(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Answer(t.Context(), contract.Reply{Call: "c1"}); err != nil {
		t.Error(err)
	}
	w.end(run)
	for _, k := range w.audit.kinds("r1") {
		if strings.HasPrefix(k, "run_paused") {
			t.Errorf("paused: %v", w.audit.kinds("r1"))
		}
	}
}

func TestAnswerThatCannotBeRecorded(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask")))
	w.audit.onRecord(func(r contract.Record) error {
		if r.Kind == contract.CallAnswered {
			return errors.New("disk full")
		}
		return nil
	})
	var got []executors.Answer
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		got = wave(ctx, t, h, question("c1", "ask", `[]`))
		return executors.Outcome{State: executors.StateDone}, nil
	})
	waitsFor(t, run, "c1", "harness")
	if err := run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`"effect"`)}); err == nil {
		t.Error("an answer without a record took effect")
	}
	v := w.end(run)
	if v.State != executors.StateFailed || v.Error.Name != "Closed" || string(got[0].Value) == `"effect"` {
		t.Errorf("outcome %s %+v, answer %+v", v.State, v.Error, got)
	}
}

// A ring that keeps no pauses ends a run that has to wait.
func TestNobodyKeepsPauses(t *testing.T) {
	for _, name := range []string{"ask", "act"} {
		s := newStage(t, func(c *interpreter.Config) { c.Keeper = nil })
		s.apply(set("a", bridge("ask"), bridge("act", approval())))
		run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", name, `[]`)}))
		must(t, err)
		if v := s.end(run); v.State != executors.StateFailed || v.Error.Name != "PauseUnavailable" ||
			s.echo.count() != 0 {
			t.Errorf("%s %+v, %d acts", v.State, v.Error, s.echo.count())
		}
	}
}

// A call that waits is decided again when its answer comes, and stopped if a push revokes
// it.
func TestRevokedWhileWaiting(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask"), bridge("askOut")))
	var got []executors.Answer
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		got = wave(ctx, t, h, question("c1", "ask", `[]`))
		return executors.Outcome{State: executors.StateDone}, nil
	})
	waitsFor(t, run, "c1", "harness")
	w.apply(set("b", bridge("askOut")))
	err := run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`1`)})
	var d *profiles.Denial
	if !errors.As(err, &d) && !errors.Is(err, contract.ErrAnswered) && !errors.Is(err, contract.ErrEnded) {
		t.Errorf("answer to a revoked call: %v", err)
	}
	w.end(run)
	if got[0].Error == nil || got[0].Error.Name != "CapabilityRevoked" {
		t.Errorf("answer %+v", got[0])
	}
}

func TestOneAnswerWins(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask", limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 1000 }))))
	const waves, people = 50, 4
	var values []string
	run := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i := range waves {
			a := wave(ctx, t, h, question(fmt.Sprintf("c%d", i), "ask", `[]`))
			values = append(values, string(a[0].Value))
		}
		return executors.Outcome{State: executors.StateDone}, nil
	})
	var won [waves]string
	for i := range waves {
		waitsFor(t, run, fmt.Sprintf("c%d", i), "harness")
		var wg sync.WaitGroup
		var winners atomic.Int32
		for p := range people {
			wg.Go(func() {
				value := fmt.Sprintf(`"person %d"`, p)
				err := run.Answer(t.Context(), contract.Reply{
					Call: fmt.Sprintf("c%d", i), Value: json.RawMessage(value)})
				switch {
				case err == nil:
					winners.Add(1)
					won[i] = value
				case !errors.Is(err, contract.ErrAnswered) && !errors.Is(err, contract.ErrEnded):
					t.Errorf("loser: %v", err)
				}
			})
		}
		wg.Wait()
		if winners.Load() != 1 {
			t.Fatalf("wave %d: %d winners", i, winners.Load())
		}
	}
	w.end(run)
	if diff := cmp.Diff(won[:], values); diff != "" {
		t.Error(diff)
	}
}

// An answer that comes while another is still being checked wins. The other gets an error,
// and nothing waits.
func TestAnswerWhileAnotherIsChecked(t *testing.T) {
	var run *interpreter.Run
	var w *world
	w = newWorld(t, func(c *interpreter.Config) {
		c.CheckValue = func(json.RawMessage) error {
			return run.Answer(w.t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`"quick"`)})
		}
	})
	w.apply(set("a", bridge("ask"), bridge("askOut", external)))
	var got []executors.Answer
	run = w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		got = wave(ctx, t, h, question("c1", "ask", `[]`), question("c2", "askOut", `[]`))
		return executors.Outcome{State: executors.StateDone}, nil
	})
	waitsFor(t, run, "c1", "harness")
	waitsFor(t, run, "c2", "harness")
	err := run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`{"$ringd":"undefined"}`)})
	if !errors.Is(err, contract.ErrAnswered) {
		t.Errorf("the slower answer: %v", err)
	}
	must(t, run.Answer(t.Context(), contract.Reply{Call: "c2", Value: json.RawMessage(`2`)}))
	w.end(run)
	if string(got[0].Value) != `"quick"` {
		t.Errorf("answer %+v", got[0])
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEventsTellALife(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("ask"), bridge("b")))
	started := w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		h.Console(executors.ConsoleEntry{Level: "warn", Text: "one"})
		h.Console(executors.ConsoleEntry{Level: "shout", Text: "two\xff"})
		_, _ = h.Ask(ctx, question("c1", "b", `[]`))
		_, _ = h.Ask(ctx, question("c2", "nope", `[]`))
		wave(ctx, t, h, question("c3", "ask", `[]`))
		return executors.Outcome{State: executors.StateDone}, nil
	})
	waitsFor(t, started, "c3", "harness")
	if err := started.Answer(t.Context(), contract.Reply{Call: "c3"}); err != nil {
		t.Fatal(err)
	}
	w.end(started)
	list, err := started.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range list {
		if e.Seq != int64(i)+1 {
			t.Errorf("event %d has sequence %d", i, e.Seq)
		}
		switch e.Kind {
		case run.EventState:
			got = append(got, string(e.State))
		case run.EventConsole:
			got = append(got, fmt.Sprintf("%s %d %s", e.Console.Level, e.Console.Seq, e.Console.Text))
		case run.EventCall:
			got = append(got, e.Call.ID+" "+e.Call.State+e.Call.Error)
		case run.EventDecision:
			got = append(got, string(e.Decision.Code))
		case run.EventDropped:
			got = append(got, "dropped")
		}
	}
	want := []string{"running", "warn 1 one", "log 2 two\uFFFD", "c1 opened", "c1 closed", "bridge.not_granted",
		"c3 pending", "c3 closed", "done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rest, err := started.Events(t.Context(), list[len(list)-1].Seq); err != nil || len(rest) != 0 {
		t.Errorf("after the last: %v %v", rest, err)
	}
}

func TestSlowReaderGetsANote(t *testing.T) {
	w := newWorld(t)
	s := set("a")
	a := s.Agents["default"]
	a.Limits.OutputBytes = num(1 << 20)
	s.Agents["default"] = a
	w.apply(s)
	const lines = 5000
	started := w.start(func(_ context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for range lines {
			h.Console(executors.ConsoleEntry{Level: "log", Text: "x"})
		}
		return executors.Outcome{State: executors.StateDone}, nil
	})
	w.end(started)
	list, err := started.Events(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if first := list[0]; first.Kind != run.EventDropped || first.Dropped == 0 || first.Seq != 3+first.Dropped ||
		list[1].Seq != first.Seq+1 {
		t.Errorf("first event %+v, then %+v", list[0], list[1])
	}
	if last := list[len(list)-1]; last.Seq != lines+2 || last.State != executors.StateDone {
		t.Errorf("last event %+v", last)
	}
	if len(list) > 2000 {
		t.Errorf("%d events are kept", len(list))
	}
}

// The count that a guest makes of its output is not trusted.
func TestConsoleLimit(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a"))
	v := w.end(w.start(func(_ context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for range 500 {
			h.Console(executors.ConsoleEntry{Level: "log", Text: "1234567890"})
		}
		for range 5000 {
			h.Console(executors.ConsoleEntry{Level: "log"})
		}
		return executors.Outcome{State: executors.StateDone, Dropped: 7}, nil
	}))
	size := 0
	for _, e := range v.Console {
		size += len(e.Text) + 1
	}
	if size > 1000 || v.Dropped != 7+10*(500-90) {
		t.Errorf("%d bytes kept in %d entries, %d dropped", size, len(v.Console), v.Dropped)
	}
}

func TestOutcomeIsTheRingsWord(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)
	denied := &profiles.Denial{Capability: "guest", Decision: profiles.Decision{
		Code: profiles.CodeTierUnavailable, Reason: "no tier"}}
	tests := []struct {
		name  string
		p     program
		state executors.State
		error string
	}{
		{"done", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`1`)}, nil
		}, executors.StateDone, ""},
		{"large value", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: executors.StateDone, Value: big}, nil
		}, executors.StateFailed, "ResultTooLarge"},
		{"garbage value", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`{`)}, nil
		}, executors.StateFailed, "Closed"},
		{"no state", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{}, nil
		}, executors.StateFailed, "Closed"},
		{"guest lost", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: executors.StateDone}, errors.New("broken pipe /run/x")
		}, executors.StateFailed, "GuestLost"},
		{"launcher refused", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{}, denied
		}, executors.StateDenied, "CapabilityDenied"},
		{"denial let through", func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
			a, _ := h.Ask(ctx, question("c1", "nope", `[]`))
			return executors.Outcome{State: executors.StateFailed, Error: &executors.ProgramError{Name: a.Error.Name}},
				nil
		}, executors.StateDenied, "CapabilityDenied"},
		{"denial forged", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
			return executors.Outcome{State: executors.StateFailed,
				Error: &executors.ProgramError{Name: "CapabilityDenied"}}, nil
		}, executors.StateFailed, "CapabilityDenied"},
		{"panic", func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) { panic("boom") },
			executors.StateFailed, "Closed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("a"))
			v := w.end(w.start(test.p))
			name := ""
			if v.Error != nil {
				name = v.Error.Name
				if strings.Contains(v.Error.Message, "/run/") {
					t.Errorf("host text in %q", v.Error.Message)
				}
			}
			if v.State != test.state || name != test.error {
				t.Errorf("%s %s, want %s %s", v.State, name, test.state, test.error)
			}
			if v.State != executors.StateDone && v.Value != nil {
				t.Errorf("value %s", v.Value)
			}
			if len(w.ring.Status()) != 1 {
				t.Error("status")
			}
			if _, live := w.ring.Run("r1"); live {
				t.Error("still live")
			}
		})
	}
}
