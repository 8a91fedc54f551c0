package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/run"
)

func agentOf(s *profiles.Set, change func(*profiles.Agent)) *profiles.Set {
	a := s.Agents["default"]
	change(&a)
	s.Agents["default"] = a
	return s
}

// again is a provider whose calls may be repeated with the same key.
type again struct{ *counter }

func (again) Idempotent() bool { return true }

// One open call, settled in every way, under the policy of the pause or another.
func TestSettlements(t *testing.T) {
	const word = `{"type":"string"}`
	ask := question("c1", "ask", `[{"q":1}]`)
	act := question("c1", "act", `[{"q":1}]`)
	gated := bridge("act", external, approval())
	text := "no idea"
	many := func(n int64) func(*profiles.Approval) { return func(a *profiles.Approval) { a.Count = n } }
	from := func(who ...string) func(*profiles.Approval) { return func(a *profiles.Approval) { a.From = who } }
	deny := contract.Settlement{Call: "c1", Denied: true, Reason: "not today", By: "uid:7"}
	result := func(r contract.Recorded) contract.Settlement {
		return contract.Settlement{Call: "c1", Approved: true, Result: &r}
	}
	tests := []struct {
		name   string
		before profiles.Bridge
		call   executors.Question
		after  *profiles.Set // nil for the same
		settle contract.Settlement
		want   string // value, or the name of the error
		text   string // in the message of the error
		acts   int
		code   profiles.Code
	}{
		{name: "value", before: bridge("ask"), call: ask, settle: value("c1", `{"a":1}`), want: `{"a":1}`},
		{name: "error", before: bridge("ask"), call: ask, settle: contract.Settlement{Call: "c1", Error: &text}, want: "BridgeError", text: "no idea"},
		{name: "value of another shape", before: bridge("ask", results(word)), call: ask, settle: value("c1", `1`), want: "BridgeError", text: "schema", code: profiles.CodeBridgeResult},
		{name: "value of another shape now", before: bridge("ask"), call: ask, after: set("b", bridge("ask", results(word))), settle: value("c1", `1`),
			want: "BridgeError", text: "schema", code: profiles.CodeBridgeResult},
		{name: "approved", before: gated, call: act, settle: approve("c1"), want: `{"q":1}`, acts: 1},
		{name: "denied", before: gated, call: act, settle: deny, want: "ApprovalDenied", text: "not today", code: profiles.CodeApprovalDenied},
		{name: "denied and gone", before: gated, call: act, after: set("b"), settle: deny, want: "ApprovalDenied", text: "not today", code: profiles.CodeApprovalDenied},
		{name: "a value is no approval", before: gated, call: act, settle: value("c1", `1`), want: "ApprovalDenied", text: "not approved", code: profiles.CodeApprovalRequired},
		{name: "an answer without its approval", before: bridge("ask", approval()), call: ask, settle: value("c1", `1`), want: "ApprovalDenied", code: profiles.CodeApprovalRequired},
		{name: "an answer with its approval", before: bridge("ask", approval()), call: ask,
			settle: contract.Settlement{Call: "c1", Value: json.RawMessage(`1`), Approved: true}, want: `1`},

		{name: "bridge gone", before: gated, call: act, after: set("b"), settle: approve("c1"), want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "answered bridge gone", before: bridge("ask"), call: ask, after: set("b"), settle: value("c1", `1`), want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "arguments now refused", before: gated, call: act, after: set("b", bridge("act", external, approval(), arguments(word))), settle: approve("c1"),
			want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "arguments now too large", before: gated, call: act, after: set("b", bridge("act", external, approval(), limits(func(l *profiles.BridgeLimits) { l.ArgumentBytes = 3 }))),
			settle: approve("c1"), want: "ArgumentError", code: profiles.CodeBridgeArgumentsBytes},
		{name: "fewer calls", before: gated, call: act, after: set("b", bridge("act", external, approval(), limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 0 }))),
			settle: approve("c1"), want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "external now", before: bridge("act", approval()), call: act, after: set("b", bridge("act", external, approval())), settle: approve("c1"),
			want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "audited in full now", before: gated, call: act, after: set("b", bridge("act", external, approval(), func(b *profiles.Bridge) { b.Audit = "full" })),
			settle: approve("c1"), want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "the approval is no longer asked for", before: gated, call: act, after: set("b", bridge("act", external)), settle: value("c1", `1`),
			want: "ApprovalDenied", code: profiles.CodeApprovalRequired},
		{name: "an approval is asked for now", before: bridge("ask"), call: ask, after: set("b", bridge("ask", approval())), settle: value("c1", `1`),
			want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "an approval is asked for now, and somebody says so", before: bridge("ask"), call: ask, after: set("b", bridge("ask", approval())),
			settle: contract.Settlement{Call: "c1", Value: json.RawMessage(`1`), Approved: true},
			want:   "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "more approvers now", before: gated, call: act, after: set("b", bridge("act", external, approval(many(2)))), settle: approve("c1"),
			want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "fewer approvers now", before: bridge("act", external, approval(many(2))), call: act, after: set("b", gated), settle: approve("c1"), want: `{"q":1}`, acts: 1},
		{name: "other approvers now", before: bridge("act", external, approval(from("user:a"))), call: act,
			after: set("b", bridge("act", external, approval(from("user:b")))), settle: approve("c1"),
			want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "named approvers now", before: gated, call: act, after: set("b", bridge("act", external, approval(from("user:b")))), settle: approve("c1"),
			want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "loosened widens nothing", before: bridge("act", external, approval(), arguments(`{"type":"object"}`)), call: act,
			after: set("b", bridge("act", approval())), settle: approve("c1"), want: `{"q":1}`, acts: 1},

		{name: "recorded", before: gated, call: act, settle: result(contract.Recorded{End: contract.CallDone, Value: json.RawMessage(`"done before"`)}), want: `"done before"`},
		{name: "recorded, and gone since", before: gated, call: act, after: set("b"), settle: result(contract.Recorded{End: contract.CallDone, Value: json.RawMessage(`"done before"`)}), want: `"done before"`},
		{name: "recorded failure", before: gated, call: act, settle: result(contract.Recorded{End: contract.CallFailed, Name: "BridgeError", Text: "failed"}), want: "BridgeError", text: "act: failed (call c1)"},
		{name: "recorded refusal", before: gated, call: act, settle: result(contract.Recorded{End: contract.CallUnrun, Name: "CapabilityRevoked", Text: "gone"}), want: "CapabilityRevoked", code: profiles.CodeBridgeRevoked},
		{name: "recorded as not performed", before: gated, call: act, settle: result(contract.Recorded{End: contract.CallUnrun}), want: "BridgeError", text: "interrupted"},
		{name: "begun before a crash, idempotent", before: bridge("redo", external, approval()), call: question("c1", "redo", `[{"q":1}]`),
			settle: contract.Settlement{Call: "c1", Approved: true, Again: true}, want: `{"q":1}`, acts: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			idempotent(s)
			s.apply(set("a", test.before))
			p := s.pausedRun(waves([]executors.Question{test.call}))
			if test.after != nil {
				s.apply(test.after)
			}
			v := s.resume(p, test.settle)
			got := s.got("r1", "c1")
			name := string(got.Value)
			if got.Error != nil {
				name = got.Error.Name
				if !strings.Contains(got.Error.Message, test.text) {
					t.Errorf("message %q, want %q", got.Error.Message, test.text)
				}
			}
			if name != test.want || s.echo.count() != test.acts || v.State != executors.StateDone {
				t.Errorf("%s, %d acts, %s; want %s, %d", name, s.echo.count(), v.State, test.want, test.acts)
			}
			if test.code != "" && (len(v.Denials) == 0 || v.Denials[0].Code != test.code) {
				t.Errorf("denials %+v, want %s", v.Denials, test.code)
			}
			executes := len(pick(s.log.entries(), "execute"))
			if want := test.acts; test.settle.Again && executes != 0 || !test.settle.Again && executes != want {
				t.Errorf("journal %q", s.log.entries())
			}
			closes := len(pick(s.log.entries(), "close c1"))
			if want := 1; test.settle.Result != nil && closes != 0 || test.settle.Result == nil && closes != want {
				t.Errorf("journal %q", s.log.entries())
			}
		})
	}
}

// An approved call whose bridge cannot begin it keeps its run from going on: nothing is
// loaded or recorded, and the same pause goes on once the bridge can. A call that needs no
// bridge any more does not keep it.
func TestUnprovided(t *testing.T) {
	gone := errors.New("its command is missing")
	gated := func() *profiles.Set {
		return set("a", bridge("redo", external, approval()), bridge("act", external, approval()))
	}
	redo, act := question("c1", "redo", `[{"q":1}]`), question("c2", "act", `[{"q":2}]`)
	without := func(c *interpreter.Config) {
		c.Providers["act"], c.Default = c.Default, nil
		delete(c.Providers, "redo")
	}
	harness := func(c *interpreter.Config) { c.Providers["redo"] = contract.Harness{} }
	both := []contract.Settlement{approve("c1"), approve("c2")}
	for _, tt := range []struct {
		name    string
		host    func(*interpreter.Config) // that it goes on on
		unready error
		after   *profiles.Set
		settle  []contract.Settlement
		want    error
	}{
		{name: "not there", host: without, settle: both, want: contract.ErrNoProvider},
		{name: "the harness's now", host: harness, settle: both, want: contract.ErrNoProvider},
		{name: "it cannot begin", unready: gone, settle: both, want: gone},
		{name: "begun before a crash", host: without, settle: []contract.Settlement{{Call: "c1", Approved: true, Again: true}, approve("c2")}, want: contract.ErrNoProvider},
		{name: "all is there", settle: both},
		{name: "denied", host: without, settle: []contract.Settlement{{Call: "c1", Denied: true, By: "uid:7"}, approve("c2")}},
		{name: "no longer granted", host: without, after: set("b", bridge("act", external, approval())), settle: both},
		{name: "it has its result", host: without, settle: []contract.Settlement{
			{Call: "c1", Approved: true, Result: &contract.Recorded{End: contract.CallDone, Value: json.RawMessage(`1`)}}, approve("c2")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(gated())
			p := s.pausedRun(waves([]executors.Question{redo, act}))
			next := newStage(t)
			if tt.host != nil {
				next = newStage(t, tt.host)
			}
			next.unready = tt.unready
			next.apply(gated())
			if tt.after != nil {
				next.apply(tt.after)
			}
			next.pauser.scripts["r1"] = waves([]executors.Question{redo, act})
			run, err := next.ring.Resume(t.Context(), p, tt.settle)
			if tt.want == nil {
				if err != nil || next.end(run).State != executors.StateDone {
					t.Fatalf("%v", err)
				}
				return
			}
			var lacks *contract.UnprovidedError
			if !errors.As(err, &lacks) || !errors.Is(err, tt.want) || lacks.Call != "c1" ||
				!slices.Equal(lacks.Bridges, []string{"redo"}) {
				t.Fatalf("%v, %+v", err, lacks)
			}
			if n := next.echo.count(); n != 0 || len(next.audit.kinds("r1")) != 0 || len(next.log.entries()) != 0 {
				t.Errorf("%d acts, records %v, journal %v", n, next.audit.kinds("r1"), next.log.entries())
			}
			s.resume(p, approve("c1"), approve("c2")) // with the bridge
			if n := s.echo.count(); n != 2 {
				t.Errorf("%d acts on the second try", n)
			}
		})
	}
}

// idempotent makes the calls of the bridge "redo" repeatable.
func idempotent(s *stage) { s.redo = again{s.echo} }

// A call that began before a crash and has no result ends its run, unknown, unless its
// provider is idempotent.
func TestNothingIsRepeated(t *testing.T) {
	for name, settled := range map[string]contract.Settlement{
		"no result":       {Call: "c1", Approved: true, Again: true},
		"recorded so":     {Call: "c1", Approved: true, Result: &contract.Recorded{End: contract.CallUnknown}},
		"recorded badly":  {Call: "c1", Approved: true, Result: &contract.Recorded{}},
		"denied too late": {Call: "c1", Approved: true, Denied: true, Again: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.apply(set("a", bridge("act", external, approval())))
			p := s.pausedRun(waves([]executors.Question{question("c1", "act", `[1]`)}))
			v := s.resume(p, settled)
			if v.State != executors.StateUnknown || s.echo.count() != 0 {
				t.Errorf("%s %+v, %d acts", v.State, v.Error, s.echo.count())
			}
			if end := pick(s.log.entries(), "close c1"); len(end) != 1 || !strings.Contains(end[0], "unknown") {
				t.Errorf("journal %q", s.log.entries())
			}
		})
	}
}

// A run is not resumed unless each open call is settled, once.
func TestUnsettled(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask"), bridge("askOut", approval())))
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`), question("c2", "askOut", `[]`)}))
	ok := contract.Settlement{Call: "c2", Approved: true, Value: json.RawMessage(`2`)}
	for name, list := range map[string][]contract.Settlement{
		"none": nil, "one": {value("c1", `1`)}, "twice": {value("c1", `1`), value("c1", `1`)},
		"unknown": {value("c1", `1`), ok, value("c9", `1`)}, "empty": {{Call: "c1"}, ok},
		"an approval is no answer": {value("c1", `1`), approve("c2")},
	} {
		if _, err := s.ring.Resume(t.Context(), p, list); !errors.Is(err, contract.ErrUnsettled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	run, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`), ok})
	must(t, err)
	if v := s.end(run); v.State != executors.StateDone {
		t.Errorf("%s %+v", v.State, v.Error)
	}
}

// A policy that no longer has the agent, or no longer grants it the executor, ends the run.
// If that cannot be decided now, the pause stays as it is.
func TestMayNotGoOn(t *testing.T) {
	tests := []struct {
		name  string
		after func(s *stage)
		code  profiles.Code // of the denial; empty if the run ends
	}{
		{"agent gone", func(s *stage) { s.apply(&profiles.Set{Format: profiles.Format, Revision: "b"}) }, ""},
		{"executor gone", func(s *stage) { s.apply(without(set("b", bridge("ask")))) }, ""},
		{"no policy", func(s *stage) { s.apply(nil) }, profiles.CodeNoPolicy},
		{"closed", func(s *stage) { s.ring.CloseExecutor("js", "test") }, profiles.CodeClosed},
		{"tier", func(s *stage) {
			s.apply(agentOf(set("b", bridge("ask")), func(a *profiles.Agent) { a.MinTier = profiles.TierMicroVM }))
		}, profiles.CodeTierUnavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(set("a", bridge("ask")))
			p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
			test.after(s)
			run, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`)})
			if test.code != "" {
				var d *profiles.Denial
				if !errors.As(err, &d) || d.Decision.Code != test.code {
					t.Errorf("%v", err)
				}
				return
			}
			must(t, err)
			v := s.end(run)
			if v.State != executors.StateDenied || v.Error.Name != "CapabilityRevoked" || len(v.Denials) == 0 {
				t.Errorf("%s %+v", v.State, v.Error)
			}
			if s.pauser.runs != 1 {
				t.Errorf("the executor ran %d times", s.pauser.runs)
			}
			if len(pick(s.log.entries(), "close c1 unrun")) != 1 {
				t.Errorf("journal %q", s.log.entries())
			}
		})
	}
}

// A run does not go on on a host with less isolation than its own policy asks for.
func TestResumeOnAWeakerHost(t *testing.T) {
	strong := agentOf(set("a", bridge("ask")), func(a *profiles.Agent) { a.MinTier = profiles.TierWasm })
	s := newStage(t)
	s.apply(strong)
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
	weak := newStage(t, func(c *interpreter.Config) { c.Tier = tier(profiles.TierProcess) })
	weak.apply(set("b", bridge("ask")))
	var d *profiles.Denial
	if _, err := weak.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`)}); !errors.As(err, &d) ||
		d.Decision.Code != profiles.CodeTierUnavailable {
		t.Errorf("%v", err)
	}
}

// A snapshot whose engine is missing, or that cannot be restored, settles nothing: the pause
// is still valid and can be resumed once that is repaired.
func TestSnapshotThatCannotBeRestored(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("act", external, approval())))
	p := s.pausedRun(waves([]executors.Question{question("c1", "act", `[1]`)}))
	other, torn := p, p
	other.Engine = "sha256:older"
	torn.Snapshot = []byte("{")
	for _, bad := range []struct {
		p    pause.Record
		want error
	}{{other, executors.ErrEngine}, {torn, executors.ErrSnapshot}} {
		run, err := s.ring.Resume(t.Context(), bad.p, []contract.Settlement{approve("c1")})
		must(t, err)
		v := s.end(run)
		if v.State != executors.StatePaused || !errors.Is(run.Err(), bad.want) || s.echo.count() != 0 {
			t.Errorf("%s %v, %d acts", v.State, run.Err(), s.echo.count())
		}
		if bad.want == executors.ErrEngine && !strings.Contains(run.Err().Error(), "sha256:older") {
			t.Errorf("the digest is not named: %v", run.Err())
		}
	}
	if log := pick(s.log.entries(), "close", "execute"); len(log) != 0 {
		t.Errorf("journal %q", log)
	}
	if v := s.resume(p, approve("c1")); v.State != executors.StateDone || s.echo.count() != 1 {
		t.Errorf("%s, %d acts", v.State, s.echo.count())
	}
}

// The policies of every pause bind a run for good. After too many it ends.
func TestPoliciesAddUp(t *testing.T) {
	s := newStage(t)
	narrow := limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 2 })
	wave := func(i int) []executors.Question {
		return []executors.Question{question(fmt.Sprintf("c%d", i), "ask", `[]`)}
	}
	s.apply(set("a", bridge("ask"), bridge("free")))
	run, err := s.run(interpreter.StartRequest{}, waves(wave(1), wave(2),
		[]executors.Question{question("c3", "ask", `[]`)}))
	must(t, err)
	s.end(run)
	s.apply(set("b", bridge("ask", narrow), bridge("free")))
	s.resume(s.keeper.pause(t, "r1"), value("c1", `1`)) // pauses under b, which binds it from now on
	p := s.keeper.pause(t, "r1")
	if len(p.Profiles) != 2 || p.Profiles[1].Revision != "b" || p.Seq != 2 {
		t.Fatalf("%d policies, pause %d", len(p.Profiles), p.Seq)
	}
	s.apply(set("c", bridge("ask"), bridge("free")))
	v := s.resume(p, value("c2", `2`))
	if v.State != executors.StateDone || s.got("r1", "c3").Error == nil ||
		s.got("r1", "c3").Error.Name != "BudgetExceeded" {
		t.Errorf("a loosened policy widened a run: %s %+v", v.State, s.got("r1", "c3"))
	}

	var many script
	for i := range 12 {
		many.Waves = append(many.Waves, wave(i+1))
	}
	p = s.pausedRun(many)
	for i := range 12 {
		s.apply(set(fmt.Sprintf("r%d", i), bridge("ask")))
		v = s.resume(p, value(fmt.Sprintf("c%d", i+1), `1`))
		if v.State != executors.StatePaused {
			break
		}
		p = s.keeper.pause(t, "r2")
	}
	if v.State != executors.StateDenied || v.Error.Name != "CapabilityRevoked" || len(p.Profiles) != 8 {
		t.Errorf("%s %+v after %d policies", v.State, v.Error, len(p.Profiles))
	}
}

// What was used before a pause counts after it.
func TestBudgetsTravel(t *testing.T) {
	s := newStage(t)
	s.apply(agentOf(set("a", bridge("ask", limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 2 }))),
		func(a *profiles.Agent) {
			a.Limits.RefusedCalls = num(2)
			a.Limits.OutputBytes = num(12)
		}))
	p := s.pausedRun(waves(
		[]executors.Question{question("c1", "nope", `[]`), {Bridge: "print", Args: []byte(`"12345"`)}},
		[]executors.Question{question("c2", "ask", `[]`)},
		[]executors.Question{question("c3", "ask", `[]`), {Bridge: "print", Args: []byte(`"67890"`)}},
		[]executors.Question{question("c4", "ask", `[]`)},
		[]executors.Question{question("c5", "nope", `[]`)},
	))
	if p.Refused != 1 || p.Spent["ask"] != 1 || p.LastCall != 2 || p.Usage.CPU != 1000 {
		t.Errorf("pause %+v", p)
	}
	if v := s.resume(p, value("c2", `1`)); v.State != executors.StatePaused {
		t.Fatalf("%s %+v", v.State, v.Error)
	}
	p = s.keeper.pause(t, "r1")
	if last := s.pauser.started[len(s.pauser.started)-1]; last.Resume.Used.CPU != 1000 ||
		last.Resume.Used.Wall != 2000 {
		t.Errorf("used %+v", last.Resume.Used)
	}
	v := s.resume(p, value("c3", `1`))
	if v.State != executors.StateDenied || v.Error.Name != "BudgetExceeded" || len(v.Denials) != 3 ||
		v.Denials[0].Count != 2 {
		t.Errorf("%s %+v, %d denials", v.State, v.Error, len(v.Denials))
	}
	if len(v.Console) != 1 || v.Dropped != 7 {
		t.Errorf("console %+v, %d dropped", v.Console, v.Dropped)
	}
}

// Two lives of one run draw different random numbers.
func TestSeedIsFresh(t *testing.T) {
	n := byte(0)
	s := newStage(t, func(c *interpreter.Config) {
		c.Random = reader(func(p []byte) (int, error) { n++; p[0] = n; return len(p), nil })
	})
	s.apply(set("a", bridge("ask")))
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
	s.resume(p, value("c1", `1`))
	s.resume(p, value("c1", `1`))
	if a := s.pauser.started; a[0].Seed == a[1].Seed || a[1].Seed == a[2].Seed {
		t.Error("a seed was used twice")
	}
}

type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

// Events go on where the pause left them.
func TestEventsGoOn(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask")))
	started, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "ask", `[]`)}))
	must(t, err)
	v := s.end(started)
	first, err := started.Events(t.Context(), 0)
	must(t, err)
	last := first[len(first)-1]
	p := s.keeper.pause(t, "r1")
	if last.State != executors.StatePaused || last.Seq != p.LastEvent || v.LastEvent != last.Seq ||
		s.keeper.views["r1"].LastEvent != last.Seq {
		t.Errorf("last event %+v, pause %d, view %d", last, p.LastEvent, v.LastEvent)
	}
	next, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`)})
	must(t, err)
	s.end(next)
	list, err := next.Events(t.Context(), last.Seq)
	must(t, err)
	var got []string
	for i, e := range list {
		if e.Seq != last.Seq+int64(i)+1 {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
		got = append(got, string(e.Kind)+":"+string(e.State))
	}
	if diff := cmp.Diff([]string{"state:running", "call:", "state:done"}, got); diff != "" {
		t.Error(diff)
	}
	if lost, err := next.Events(t.Context(), 1); err != nil || lost[0].Kind != run.EventDropped ||
		lost[0].Seq != last.Seq {
		t.Errorf("events from before: %+v %v", lost, err)
	}
}

// After a resume a guest cannot make a call under a number that was used.
func TestCallNumbersGoOn(t *testing.T) {
	for _, id := range []string{"c1", "c2", "x9", "c02", "c3x"} {
		s := newStage(t)
		s.apply(set("a", bridge("ask"), bridge("free")))
		p := s.pausedRun(waves([]executors.Question{question("c1", "free", `[]`)},
			[]executors.Question{question("c2", "ask", `[]`)},
			[]executors.Question{question(id, "free", `[]`)}))
		if v := s.resume(p, value("c2", `1`)); v.State != executors.StateFailed || v.Error.Name != "Closed" ||
			s.echo.count() != 1 {
			t.Errorf("%s: %s %+v, %d acts", id, v.State, v.Error, s.echo.count())
		}
	}
}

// After a resume a module can be imported only as it was, and only if every policy allows
// it.
func TestModulesAfterAResume(t *testing.T) {
	with := func(rev string, allow []string, modules map[string]string) *profiles.Set {
		s := agentOf(set(rev, bridge("ask")), func(a *profiles.Agent) {
			for _, name := range allow {
				a.JS.Imports.Allow = append(a.JS.Imports.Allow, profiles.ImportRule{Name: name})
			}
		})
		s.Modules = map[string]profiles.Module{}
		for name, d := range modules {
			s.Modules[name] = profiles.Module{Digest: d, Source: d}
		}
		return s
	}
	all := map[string]string{"same": "1", "changed": "1", "gone": "1", "denied": "1", "taken": "1"}
	s := newStage(t)
	s.apply(with("a", []string{"same", "changed", "gone", "denied", "taken"}, all))
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
	p.Revoked = []string{"import:taken"} // as a daemon does for a paused run
	s.apply(with("b", []string{"same", "changed", "gone", "new", "taken"},
		map[string]string{"same": "1", "changed": "2", "denied": "1", "new": "1", "taken": "1"}))
	s.resume(p, value("c1", `1`))
	var got []string
	for name := range s.pauser.started[1].Modules {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"same"}, got); diff != "" {
		t.Error(diff)
	}
}

// A pause ends at the first of the ends of its approvals, the limit on pauses and the
// deadline of the run.
func TestExpiry(t *testing.T) {
	start := time.Unix(1e9, 0)
	quick := approval(func(a *profiles.Approval) { a.ExpiresMillis = 10_000 })
	tests := []struct {
		name string
		set  *profiles.Set
		ask  []executors.Question
		want time.Duration
		err  string
	}{
		{"default", set("a", bridge("ask")), []executors.Question{question("c1", "ask", `[]`)}, 7 * 24 * time.Hour, "PauseExpired"},
		{"limit", agentOf(set("a", bridge("ask")), func(a *profiles.Agent) { a.Limits.PauseMillis = num(5000) }), []executors.Question{question("c1", "ask", `[]`)}, 5 * time.Second, "PauseExpired"},
		{"approval", set("a", bridge("ask"), bridge("act", quick)), []executors.Question{question("c1", "ask", `[]`), question("c2", "act", `[]`)}, 10 * time.Second, "ApprovalExpired"},
		{"limit before approval", agentOf(set("a", bridge("act", quick)), func(a *profiles.Agent) { a.Limits.PauseMillis = num(5000) }),
			[]executors.Question{question("c1", "act", `[]`)}, 5 * time.Second, "PauseExpired"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.apply(test.set)
			p := s.pausedRun(waves(test.ask))
			if p.Expires.Sub(start) != test.want || p.Expiry().Name != test.err || p.Expiry().Message == "" {
				t.Errorf("expires after %v, %+v", p.Expires.Sub(start), p.Expiry())
			}
		})
	}
}

// An answer to a paused call is checked like one to a live call.
func TestCheckReply(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask", results(`{"type":"integer"}`))))
	must(t, s.ring.CheckReply("default", "js", "ask", json.RawMessage(`7`)))
	for _, bad := range []string{`"x"`, `{`, ``, strings.Repeat("1", 2000), `{"$ringd":"bogus"}`} {
		if err := s.ring.CheckReply("default", "js", "ask", json.RawMessage(bad)); !errors.Is(err, contract.ErrValue) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	var d *profiles.Denial
	for _, who := range [][3]string{{"default", "js", "nope"}, {"nobody", "js", "ask"}, {"default", "python", "ask"}} {
		if err := s.ring.CheckReply(who[0], who[1], who[2], json.RawMessage(`7`)); !errors.As(err, &d) {
			t.Errorf("%v: %v", who, err)
		}
	}
}

func TestResumeRefusesWhatIsLive(t *testing.T) {
	s := newStage(t)
	s.apply(set("a", bridge("ask")))
	hold := make(chan struct{})
	p := s.pausedRun(waves([]executors.Question{question("c1", "ask", `[]`)}))
	s.pauser.hook = func(r executors.Run) error {
		if r.Resume != nil {
			<-hold
		}
		return nil
	}
	run, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `1`)})
	must(t, err)
	if _, err := s.ring.Resume(t.Context(), p, []contract.Settlement{value("c1", `2`)}); !errors.Is(
		err, interpreter.ErrExists) {
		t.Error(err)
	}
	if _, err := s.ring.Hold(t.Context(), p); !errors.Is(err, interpreter.ErrExists) {
		t.Error(err)
	}
	if err := run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`3`)}); !errors.Is(
		err, contract.ErrAnswered) {
		t.Errorf("a settled call was answered again: %v", err)
	}
	close(hold)
	s.end(run)
	must(t, s.ring.Close())
	if _, err := s.ring.Resume(context.WithoutCancel(t.Context()), p,
		[]contract.Settlement{value("c1", `2`)}); !errors.Is(err, interpreter.ErrClosed) {
		t.Error(err)
	}
}
