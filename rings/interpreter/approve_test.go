package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// waitsFor waits until a call of the run waits for a party, and returns the call.
func waitsFor(t *testing.T, run *interpreter.Run, call, who string) contract.Pending {
	t.Helper()
	var seen int64
	for {
		for _, p := range run.View().Pending {
			if p.ID == call && p.For == who {
				return p
			}
		}
		list, err := run.Events(t.Context(), seen)
		if err != nil || len(list) == 0 {
			t.Fatalf("call %s does not wait for the %s: %+v %v", call, who, run.View(), err)
		}
		seen = list[len(list)-1].Seq
	}
}

// busyRun starts a run that does not stop: a call of the host works until the channel is
// closed.
func busyRun(t *testing.T, s *stage, busy chan struct{}, qs ...executors.Question) *interpreter.Run {
	t.Helper()
	s.slow = func(ctx context.Context) {
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
	run, err := s.run(interpreter.StartRequest{}, waves(append(qs, question("c9", "slow", `[]`))))
	must(t, err)
	return run
}

// An approval of a call of a live run performs it once. An approved call of the harness
// waits for the harness.
func TestApprovedWhileLive(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("act", external, approval()), bridge("ask", approval()), bridge("no", external, approval()),
		bridge("slow")))
	busy := make(chan struct{})
	run := busyRun(t, s, busy, question("c1", "act", `[{"n":1}]`), question("c2", "ask", `[]`),
		question("c3", "no", `[]`))
	p := waitsFor(t, run, "c1", "approver")
	waitsFor(t, run, "c2", "approver")
	waitsFor(t, run, "c3", "approver")
	if p.Digest == "" || p.Count != 1 || s.echo.count() != 0 {
		t.Errorf("pending %+v, %d acts", p, s.echo.count())
	}
	if err := run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`1`)}); !errors.Is(
		err, contract.ErrNoCall) {
		t.Errorf("a harness answered for an approver: %v", err)
	}
	for name, bad := range map[string]contract.Settlement{"neither": {Call: "c1"},
		"both": {Call: "c1", Approved: true, Denied: true}} {
		if err := run.Approved(t.Context(), bad); !errors.Is(err, contract.ErrUnsettled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := run.Approved(t.Context(), approve("c8")); !errors.Is(err, contract.ErrNoCall) {
		t.Error(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := run.Approved(t.Context(), approve("c1")); err != nil && !errors.Is(err, contract.ErrAnswered) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must(t, run.Approved(t.Context(), approve("c2")))
	waitsFor(t, run, "c2", "harness")
	if err := run.Approved(t.Context(), approve("c2")); !errors.Is(err, contract.ErrAnswered) {
		t.Errorf("approved twice: %v", err)
	}
	must(t, run.Answer(t.Context(), contract.Reply{Call: "c2", Value: json.RawMessage(`2`)}))
	must(t, run.Approved(t.Context(), contract.Settlement{Call: "c3", Denied: true, Reason: "no\nway", By: "uid:7"}))
	close(busy)
	if v := s.end(run); v.State != executors.StateDone {
		t.Fatalf("%s %+v", v.State, v.Error)
	}
	if string(s.got("r1", "c1").Value) != `{"n":1}` || string(s.got("r1", "c2").Value) != `2` ||
		s.got("r1", "c3").Error.Name != "ApprovalDenied" {
		t.Errorf("answers %+v", s.pauser.ended["r1"].Got)
	}
	if s.echo.count() != 1 || len(pick(s.log.entries(), "execute c1")) != 1 ||
		len(pick(s.log.entries(), "execute")) != 1 {
		t.Errorf("%d acts, journal %q", s.echo.count(), s.log.entries())
	}
	kinds := s.audit.kinds("r1")
	for _, want := range []string{"call_answered:approved+synced", "call_answered:denied+synced",
		"call_begun:executing+synced"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no record %s in %v", want, kinds)
		}
	}
	if log := s.log.entries(); len(pick(log, `open c1 for="approver" executing=false`)) != 1 {
		t.Errorf("journal %q", log)
	}
}

// An approved call of the harness has the timeout of the bridge from then on.
func TestApprovedAndNotAnswered(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", approval(), limits(func(l *profiles.BridgeLimits) { l.TimeoutMillis = 1 })),
		bridge("slow")))
	busy := make(chan struct{})
	run := busyRun(t, s, busy, question("c1", "ask", `[]`))
	waitsFor(t, run, "c1", "approver")
	must(t, run.Approved(t.Context(), approve("c1")))
	for seen := int64(0); len(run.View().Pending) > 0; {
		list, err := run.Events(t.Context(), seen)
		must(t, err)
		seen = list[len(list)-1].Seq
	}
	close(busy)
	s.end(run)
	if got := s.got("r1", "c1"); got.Error == nil || got.Error.Name != "BridgeError" ||
		!strings.Contains(got.Error.Message, "in time") {
		t.Errorf("%+v", got)
	}
}

// A call that waits for an approver is decided again under the policy in force: if that
// refuses it or asks for more, it does not happen.
func TestApprovalUnderANewPolicy(t *testing.T) {
	two := func(a *profiles.Approval) { a.Count = 2 }
	for name, test := range map[string]struct {
		after *profiles.Set
		acts  int
	}{
		"the same":           {set("b", bridge("act", approval()), bridge("slow")), 1},
		"not asked any more": {set("b", bridge("act"), bridge("slow")), 1}, // it still has to be approved
		"gone":               {set("b", bridge("slow")), 0},
		"more approvers":     {set("b", bridge("act", approval(two)), bridge("slow")), 0},
		"other arguments":    {set("b", bridge("act", approval(), arguments(`{"type":"string"}`)), bridge("slow")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.apply(set("a", bridge("act", approval()), bridge("slow")))
			busy := make(chan struct{})
			run := busyRun(t, s, busy, question("c1", "act", `[{"n":1}]`))
			waitsFor(t, run, "c1", "approver")
			s.apply(test.after)
			if s.echo.count() != 0 {
				t.Error("it was performed without its approval")
			}
			err := run.Approved(t.Context(), approve("c1"))
			close(busy)
			s.end(run)
			if got := s.got("r1", "c1"); s.echo.count() != test.acts || test.acts == 0 &&
				(got.Error == nil || got.Error.Name != "CapabilityRevoked" || err == nil) {
				t.Errorf("%d acts, %+v, %v", s.echo.count(), got, err)
			}
		})
	}
}

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

func TestApprovalExpires(t *testing.T) {
	c := &clock{at: time.Unix(1e9, 0)}
	s := newStage(t, func(cfg *interpreter.Config) { cfg.Now = c.now })
	s.apply(set("a", bridge("act", approval()), bridge("quick",
		approval(func(a *profiles.Approval) { a.ExpiresMillis = 1 })), bridge("slow")))
	busy := make(chan struct{})
	defer close(busy)
	run := busyRun(t, s, busy, question("c1", "act", `[]`))
	waitsFor(t, run, "c1", "approver")
	c.set(c.now().Add(time.Minute))
	if err := run.Approved(t.Context(), approve("c1")); !errors.Is(err, contract.ErrExpired) || s.echo.count() != 0 {
		t.Errorf("%v, %d acts", err, s.echo.count())
	}
	run.Cancel(t.Context(), "uid:1", "enough")
	s.end(run)
	// A live run whose approval expires ends.
	run = busyRun(t, s, busy, question("c1", "quick", `[]`))
	if v := s.end(run); v.State != executors.StateDenied || v.Error.Name != "ApprovalExpired" || s.echo.count() != 0 {
		t.Errorf("%s %+v", v.State, v.Error)
	}
}

// asker says which conditions hold.
type asker map[string]any

func (a asker) Asks(_ context.Context, when string, c profiles.Call) (bool, error) {
	if c.Agent != "default" || !json.Valid(c.Args) {
		return false, errors.New("not the call")
	}
	switch v := a[when].(type) {
	case bool:
		return v, nil
	case string:
		return !strings.Contains(string(c.Args), v), nil
	default:
		return false, errors.New("undefined")
	}
}

// Denies says which guardrails refuse.
func (a asker) Denies(_ context.Context, rego string, c profiles.Call) ([]string, error) {
	if c.Agent != "default" || c.Executor != profiles.ExecutorJS || !json.Valid(c.Args) {
		return nil, errors.New("not the call")
	}
	switch v := a[rego].(type) {
	case string:
		if strings.Contains(string(c.Args), v) {
			return []string{"no " + v}, nil
		}
		return nil, nil
	case bool:
		if v == c.Powers.External {
			return []string{"external"}, nil
		}
		return nil, nil
	default:
		return nil, errors.New("undefined")
	}
}

// guarded adds guardrails to the agent of a set.
func guarded(s *profiles.Set, on string, texts ...string) *profiles.Set {
	a := s.Agents["default"]
	for _, text := range texts {
		a.Guardrails = append(a.Guardrails, profiles.Guardrail{
			Name: text, On: on, Rego: text, Rule: profiles.Rule{File: "p.yaml", Line: 20}})
	}
	s.Agents["default"] = a
	return s
}

// A guardrail on calls is asked before a call is admitted, with the value that a provider
// gets. A guardrail that refuses, fails or is not asked refuses the call.
func TestGuardrailsOnCalls(t *testing.T) {
	asks := asker{"no bad": "bad", "no worse": "worse", "no external": true}
	for name, tt := range map[string]struct {
		set  *profiles.Set
		by   contract.Conditions
		args string
		code profiles.Code
	}{
		"passes":              {guarded(set("a", bridge("act")), "call", "no bad", "no worse"), asks, `["good"]`, ""},
		"refused":             {guarded(set("a", bridge("act")), "call", "no bad"), asks, `["bad"]`, profiles.CodeGuardrailDenied},
		"by the second":       {guarded(set("a", bridge("act")), "call", "no bad", "no worse"), asks, `["worse"]`, profiles.CodeGuardrailDenied},
		"by its powers":       {guarded(set("a", bridge("act", external)), "call", "no external"), asks, `[1]`, profiles.CodeGuardrailDenied},
		"cannot be evaluated": {guarded(set("a", bridge("act")), "call", "undefined"), asks, `[1]`, profiles.CodeGuardrailFailed},
		"nobody asks":         {guarded(set("a", bridge("act")), "call", "no bad"), nil, `[1]`, profiles.CodeGuardrailFailed},
		"on the policy":       {guarded(set("a", bridge("act")), "policy", "undefined"), asks, `[1]`, ""},
		"before approval":     {guarded(set("a", bridge("act", approval())), "call", "no bad"), asks, `["bad"]`, profiles.CodeGuardrailDenied},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(c *interpreter.Config) { c.Conditions = tt.by })
			s.apply(tt.set)
			run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "act", tt.args)}))
			must(t, err)
			v := s.end(run)
			if acts := s.echo.count(); (acts == 1) != (tt.code == "") {
				t.Errorf("%d acts", acts)
			}
			switch {
			case tt.code == "" && len(v.Denials) > 0, tt.code != "" &&
				(len(v.Denials) != 1 || v.Denials[0].Code != tt.code || v.Denials[0].Rule == nil ||
					v.Denials[0].Rule.Line != 20):
				t.Errorf("got %+v, want %s", v.Denials, tt.code)
			}
		})
	}
	// A guardrail that a push adds is asked about a call that waits, before its answer is
	// accepted.
	for text, want := range map[string]string{"no bad": "CapabilityDenied", "no worse": ""} {
		s := newStage(t, func(c *interpreter.Config) { c.Conditions = asks })
		s.apply(set("a", bridge("ask")))
		p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `["bad"]`)}))
		s.apply(guarded(set("b", bridge("ask")), "call", text))
		s.resume(p, value("c1", `1`))
		if got := s.got("r1", "c1"); (want == "") != (got.Error == nil) || want != "" && got.Error.Name != want {
			t.Errorf("%s: %+v", text, got.Error)
		}
	}
}

// The condition of an approval is asked about the value that a provider gets. Every answer
// but a clear no asks people.
func TestConditions(t *testing.T) {
	when := func(text string) func(*profiles.Approval) { return func(a *profiles.Approval) { a.When = text } }
	for name, test := range map[string]struct {
		when  string
		args  string
		asked bool
	}{
		"no": {"no", `[1]`, false}, "yes": {"yes", `[1]`, true}, "error": {"undefined", `[1]`, true},
		"by its argument": {"small", `[{"small":1}]`, false}, "by another argument": {"small", `[{"n":1}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(c *interpreter.Config) {
				c.Conditions = asker{
					"no": false, "yes": true, "small": `{"small":`}
			})
			s.apply(set("a", bridge("act", approval(when(test.when)))))
			run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "act", test.args)}))
			must(t, err)
			v := s.end(run)
			if paused := v.State == executors.StatePaused; paused != test.asked || s.echo.count() == 1 == test.asked {
				t.Errorf("%s, %d acts", v.State, s.echo.count())
			}
		})
	}
	none := newStage(t)
	none.apply(set("a", bridge("act", approval(when("no")))))
	none.pausedRun(waves([]executors.Question{question("c1", "act", `[]`)}))
	// A condition that a push adds is asked about a call that waits for the harness.
	for text, want := range map[string]string{"no": "", "yes": "CapabilityRevoked"} {
		s := newStage(t, func(c *interpreter.Config) { c.Conditions = asker{"no": false, "yes": true} })
		s.apply(set("a", bridge("ask")))
		p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
		s.apply(set("b", bridge("ask", approval(when(text)))))
		s.resume(p, value("c1", `1`))
		if got := s.got("r1", "c1"); (want == "") != (got.Error == nil) || want != "" && got.Error.Name != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Two policies that name no common approver refuse the call.
func TestNobodyCanApprove(t *testing.T) {
	from := func(who string) func(*profiles.Bridge) {
		return approval(func(a *profiles.Approval) { a.From = []string{who} })
	}
	s := newStage(t)
	s.apply(set("a", bridge("act", from("user:a")), bridge("ask")))
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)},
		[]executors.Question{question("c2", "act", `[]`)}))
	s.apply(set("b", bridge("act", from("user:b")), bridge("ask")))
	v := s.resume(p, value("c1", `1`))
	if v.State != executors.StateDone || s.got("r1", "c2").Error == nil ||
		s.got("r1", "c2").Error.Name != "CapabilityDenied" || s.echo.count() != 0 {
		t.Errorf("%s %+v, %d acts", v.State, s.got("r1", "c2"), s.echo.count())
	}
	none := newStage(t)
	none.apply(set("a", bridge("act", approval(func(a *profiles.Approval) { a.ExpiresMillis = 0 }))))
	run, err := none.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "act", `[]`)}))
	must(t, err)
	if none.end(run); none.got("r1", "c1").Error == nil || none.echo.count() != 0 {
		t.Errorf("an approval without a time: %+v", none.got("r1", "c1"))
	}
}

// A call that cannot be recorded or committed does not happen.
func TestApprovalThatCannotBeRecorded(t *testing.T) {
	for _, test := range []struct{ name, journal, record string }{
		{"asked", "open", ""}, {"begun", "execute", ""}, {"begun, audit", "", "call_begun"}, {"approved, audit", "", "call_answered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(set("a", bridge("act", external, approval()), bridge("slow")))
			s.audit.onRecord(func(r contract.Record) error {
				if string(r.Kind) == test.record {
					return errors.New("disk full")
				}
				return nil
			})
			s.log.mu.Lock()
			s.log.fail = test.journal
			s.log.mu.Unlock()
			busy := make(chan struct{})
			run := busyRun(t, s, busy, question("c1", "act", `[]`))
			if test.journal != "open" {
				waitsFor(t, run, "c1", "approver")
				err := run.Approved(t.Context(), approve("c1"))
				if test.record == "call_answered" && err == nil {
					t.Error("an approval without a record counted")
				}
			}
			v := s.end(run)
			close(busy)
			if v.Error == nil || v.Error.Name != "Closed" || s.echo.count() != 0 {
				t.Errorf("%s %+v, %d acts", v.State, v.Error, s.echo.count())
			}
		})
	}
}
