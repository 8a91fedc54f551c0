package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// holds is what was done to the wall time of a run, by call.
type holds struct {
	mu   sync.Mutex
	said map[string][]bool
}

func (h *holds) of(call string) []bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.said[call])
}

// newHeldStage returns a stage whose executor cannot take snapshots. It never gets a pause
// that it could keep.
func newHeldStage(t *testing.T, change ...func(*interpreter.Config)) (*stage, *holds) {
	t.Helper()
	h := &holds{said: map[string][]bool{}}
	s := newStage(t, append([]func(*interpreter.Config){func(c *interpreter.Config) {
		p := c.Executors["js"].(*pauser)
		p.name = "python"
		p.hold = func(call string) func(bool) {
			return func(on bool) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.said[call] = append(h.said[call], on)
			}
		}
		c.Executors = map[string]executors.Executor{"python": p}
		c.Tier = tier(profiles.TierOS)
	}}, change...)...)
	return s, h
}

// pythonSet returns a set whose agent has the executor python.
func pythonSet(revision string, bridges ...profiles.Bridge) *profiles.Set {
	return agentOf(set(revision, bridges...), func(a *profiles.Agent) { a.Python = &profiles.Python{} })
}

func held(ms int64) func(*profiles.Bridge) {
	return approval(func(a *profiles.Approval) { a.HoldMillis = ms })
}

// A program of which no snapshot can be taken is held while people are asked. It never
// pauses, its wall time does not go on, and the outcome says that it was held.
func TestCallHeld(t *testing.T) {
	s, told := newHeldStage(t)
	s.apply(pythonSet("a", bridge("act", external, held(20_000))))
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "act", `[1]`)},
		[]executors.Question{question("c2", "act", `[2]`)}))
	must(t, err)
	p := waitsFor(t, run, "c1", "approver")
	if !p.Held || p.Expires.Sub(s.now()).Milliseconds() != 20_000 || run.View().State != contract.StateRunning {
		t.Errorf("pending %+v of a run that is %s", p, run.View().State)
	}
	if d := told.of("c1"); !slices.Equal(d, []bool{true}) {
		t.Errorf("while people are asked its wall time was told %v", d)
	}
	must(t, run.Approved(t.Context(), approve("c1")))
	waitsFor(t, run, "c2", "approver")
	if d := told.of("c1"); !slices.Equal(d, []bool{true, false}) {
		t.Errorf("its wall time was told %v", d)
	}
	must(t, run.Approved(t.Context(), contract.Settlement{Call: "c2", Denied: true, Reason: "enough", By: "uid:7"}))
	v := s.end(run)
	if s.keeper.kept != 0 || v.State != executors.StateDone || s.echo.count() != 1 {
		t.Errorf("%d pauses, %s, %d acts", s.keeper.kept, v.State, s.echo.count())
	}
	if got := s.got(run.ID(), "c2"); got.Error == nil || got.Error.Name != "ApprovalDenied" ||
		!strings.Contains(got.Error.Message, "enough") {
		t.Errorf("denied: %+v", got.Error)
	}
	if len(v.Asked) != 2 || v.Asked[0].Name != "bridge:act" || v.Asked[0].When != "held" || v.Asked[1].Call != "c2" {
		t.Errorf("asked %+v", v.Asked)
	}
	kinds := strings.Join(s.audit.kinds(run.ID()), " ")
	if !strings.Contains(kinds, "call_answered:approved+synced call_begun:executing+synced call_closed:done") ||
		strings.Contains(kinds, "run_paused") {
		t.Errorf("records %s", kinds)
	}
}

// The same program pauses if its executor can take a snapshot: then nothing holds it.
func TestCallNotHeld(t *testing.T) {
	s, _ := newHeldStage(t)
	s.pauser.hold = nil
	s.apply(pythonSet("a", bridge("act", external, held(20_000))))
	p := s.pausedRun(waves([]executors.Question{question("c1", "act", `[1]`)}))
	if p.Calls[0].Terms.Millis != 60_000 || len(p.Acts.Asked) != 0 {
		t.Errorf("pause %+v", p)
	}
}

// The result of a held call that is not approved.
func TestCallHeldEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hold  int64
		do    func(t *testing.T, s *stage, run *interpreter.Run)
		error string // name that the program gets; empty if it gets nothing
		text  string
		code  profiles.Code
		state executors.State
	}{
		{"nobody", 5, func(*testing.T, *stage, *interpreter.Run) {}, "ApprovalDenied",
			"it was not approved within 5ms, the time for which its program was held", profiles.CodeApprovalExpired, executors.StateDone},
		{"the default", 0, func(t *testing.T, s *stage, run *interpreter.Run) {
			// the time of the approval is shorter than 5m
			if p := waitsFor(t, run, "c1", "approver"); p.Expires.Sub(s.now()).Milliseconds() != 60_000 {
				t.Errorf("pending %+v", p)
			}
			must(t, run.Approved(t.Context(), approve("c1")))
		}, "", "", "", executors.StateDone},
		{"a push takes it away", 0, func(t *testing.T, s *stage, run *interpreter.Run) {
			waitsFor(t, run, "c1", "approver")
			s.apply(pythonSet("b"))
		}, "CapabilityRevoked", "no longer grants", profiles.CodeBridgeRevoked, executors.StateDone},
		{"a push wants more people", 0, func(t *testing.T, s *stage, run *interpreter.Run) {
			waitsFor(t, run, "c1", "approver")
			s.apply(pythonSet("b", bridge("act", external, approval(func(a *profiles.Approval) { a.Count = 2 }))))
			if err := run.Approved(t.Context(), approve("c1")); err == nil {
				t.Error("one approval was enough")
			}
		}, "CapabilityRevoked", "no longer grants", profiles.CodeBridgeRevoked, executors.StateDone},
		{"it is taken from the run", 0, func(t *testing.T, s *stage, run *interpreter.Run) {
			waitsFor(t, run, "c1", "approver")
			must(t, run.Revoke(t.Context(), []string{"bridge:act"}))
		}, "CapabilityRevoked", "no longer grants", profiles.CodeBridgeRevoked, executors.StateDone},
		{"the run is cancelled", 0, func(t *testing.T, s *stage, run *interpreter.Run) {
			waitsFor(t, run, "c1", "approver")
			run.Cancel(t.Context(), "uid:1", "enough")
			if err := run.Approved(t.Context(), approve("c1")); !errors.Is(err, contract.ErrEnded) {
				t.Errorf("an approval behind a cancel: %v", err)
			}
		}, "BridgeError", "was interrupted", "", executors.StateCancelled},
		{"the executor is closed", 0, func(t *testing.T, s *stage, run *interpreter.Run) {
			waitsFor(t, run, "c1", "approver")
			s.ring.CloseExecutor("python", "it rejects its profile")
		}, "CapabilityRevoked", "", profiles.CodeBridgeRevoked, executors.StateDone},
		{"the host ends", 0, func(t *testing.T, s *stage, run *interpreter.Run) { // a daemon stops: nothing of it is kept
			waitsFor(t, run, "c1", "approver")
			must(t, s.ring.Close())
		}, "BridgeError", "was interrupted", "", executors.StateCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, told := newHeldStage(t)
			s.apply(pythonSet("a", bridge("act", external, held(tt.hold))))
			run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "act", `[1]`)}))
			must(t, err)
			tt.do(t, s, run)
			v := s.end(run)
			if v.State != tt.state || s.keeper.kept != 0 {
				t.Errorf("%s %+v, %d pauses", v.State, v.Error, s.keeper.kept)
			}
			got := s.got(run.ID(), "c1")
			if name := nameOf(got); name != tt.error || tt.text != "" && !strings.Contains(got.Error.Message, tt.text) {
				t.Errorf("the program got %+v", got.Error)
			}
			if tt.code != "" && (len(v.Denials) != 1 || v.Denials[0].Code != tt.code) {
				t.Errorf("denials %+v", v.Denials)
			}
			if acts := s.echo.count(); acts != 0 && tt.name != "the default" {
				t.Errorf("%d acts", acts)
			}
			if d := told.of("c1"); !slices.Equal(d, []bool{true, false}) {
				t.Errorf("its wall time was told %v", d)
			}
			if len(v.Asked) != 1 || v.Asked[0].When != "held" {
				t.Errorf("asked %+v", v.Asked)
			}
		})
	}
}

func nameOf(a executors.Answer) string {
	if a.Error == nil {
		return ""
	}
	return a.Error.Name
}

// A call that waits for the harness holds the program too. Its time is that of the bridge,
// and its wall time goes on.
func TestHarnessHeld(t *testing.T) {
	s, told := newHeldStage(t)
	quick := limits(func(l *profiles.BridgeLimits) { l.TimeoutMillis = 5 })
	s.apply(pythonSet("a", bridge("ask"), bridge("askOut", quick)))
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "ask", `[1]`)},
		[]executors.Question{question("c2", "askOut", `[2]`)}))
	must(t, err)
	v, err := run.Settled(t.Context()) // its harness gets the call, although the run goes on
	must(t, err)
	if v.State != contract.StateRunning || len(v.Pending) != 1 || !v.Pending[0].Held || v.Pending[0].For != "harness" {
		t.Errorf("%s, pending %+v", v.State, v.Pending)
	}
	must(t, run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`7`), By: "uid:1"}))
	v = s.end(run)
	if got := s.got(run.ID(), "c1"); string(got.Value) != "7" {
		t.Errorf("answer %+v", got)
	}
	if got := s.got(run.ID(), "c2"); nameOf(got) != "BridgeError" || !strings.Contains(got.Error.Message, "in time") {
		t.Errorf("a harness that says nothing: %+v", got.Error)
	}
	if d := append(told.of("c1"), told.of("c2")...); len(d) != 0 || len(v.Asked) != 0 || s.keeper.kept != 0 {
		t.Errorf("wall time %v, asked %+v, %d pauses", d, v.Asked, s.keeper.kept)
	}
}

// A call of the harness that people have to approve first holds the wall time until they
// have.
func TestHarnessHeldBehindAnApproval(t *testing.T) {
	s, told := newHeldStage(t)
	s.apply(pythonSet("a", bridge("ask", held(0))))
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "ask", `[1]`)}))
	must(t, err)
	waitsFor(t, run, "c1", "approver")
	must(t, run.Approved(t.Context(), approve("c1")))
	if d := told.of("c1"); !slices.Equal(d, []bool{true, false}) {
		t.Errorf("its wall time was told %v", d)
	}
	v, err := run.Settled(t.Context())
	must(t, err)
	if len(v.Pending) != 1 || v.Pending[0].For != "harness" {
		t.Fatalf("pending %+v", v.Pending)
	}
	must(t, run.Answer(t.Context(), contract.Reply{Call: "c1", Value: json.RawMessage(`7`), By: "uid:1"}))
	if s.end(run); string(s.got(run.ID(), "c1").Value) != "7" {
		t.Errorf("answer %+v", s.got(run.ID(), "c1"))
	}
}

// Several threads of a held program wait at once: each call is decided by itself, and the
// wall time of each does not go on.
func TestCallsHeldAtOnce(t *testing.T) {
	s, told := newHeldStage(t)
	s.apply(pythonSet("a", bridge("act", held(0)), bridge("free")))
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{
		question("c1", "act", `[1]`), question("c2", "act", `[2]`), question("c3", "free", `[3]`)}))
	must(t, err)
	waitsFor(t, run, "c1", "approver")
	waitsFor(t, run, "c2", "approver")
	must(t, run.Approved(t.Context(), approve("c2")))
	must(t, run.Approved(t.Context(), contract.Settlement{Call: "c1", Denied: true, Reason: "no", By: "uid:7"}))
	v := s.end(run)
	if nameOf(s.got(run.ID(), "c1")) != "ApprovalDenied" || string(s.got(run.ID(), "c2").Value) != "2" ||
		string(s.got(run.ID(), "c3").Value) != "3" {
		t.Errorf("%+v", s.pauser.ended[run.ID()].Got)
	}
	if len(told.of("c3")) != 0 || v.Usage.Calls["act"] != 2 || v.Usage.Calls["free"] != 1 {
		t.Errorf("wall time of c3 %v, calls %v", told.of("c3"), v.Usage.Calls)
	}
}

// An act that waits in the guest of a provider holds the program that called the provider.
func TestActOfAProviderHoldsItsCaller(t *testing.T) {
	shell := provide(func(ctx context.Context, c contract.Call) (json.RawMessage, error) {
		a, err := c.Act(ctx, exec("/usr/bin/git", "push"))
		return a.Value, err
	})
	s, told := newHeldStage(t, func(c *interpreter.Config) { c.Providers["shell"] = shell })
	policy := shellSet("a", asking(), "git")
	s.apply(agentOf(policy, func(a *profiles.Agent) {
		a.Python, a.Bridges["shell"] = &profiles.Python{}, bridge("shell")
	}))
	run, err := s.run(interpreter.StartRequest{}, waves([]executors.Question{question("c1", "shell", `[]`)}))
	must(t, err)
	waitsFor(t, run, "c1-1", "approver")
	if d := told.of("c1"); !slices.Equal(d, []bool{true}) {
		t.Errorf("its wall time was told %v", d)
	}
	must(t, run.Approved(t.Context(), approve("c1-1")))
	if v := s.end(run); v.State != executors.StateDone || !slices.Equal(told.of("c1"), []bool{true, false}) {
		t.Errorf("%s %+v, wall time %v", v.State, v.Error, told.of("c1"))
	}
}

// The view and the records have the modules that a program imported and was refused, and
// nothing that its guest says that is not a name.
func TestImportsOfARun(t *testing.T) {
	no := profiles.Decision{Code: profiles.CodeImportDenied, Reason: `import of "requests" is denied`,
		Evidence: &profiles.Evidence{Argv: []string{"requests"}}, Rule: &profiles.Rule{File: "p.yaml", Line: 4}}
	w := newWorld(t)
	w.apply(set("a"))
	run := w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`"<object>"`), Repr: true,
			ExitCode: 0,
			Imports:  []string{"json", "os.path", "json", "a,b", "new\nline", strings.Repeat("x", 256), ""},
			Denials:  []profiles.Decision{no, {Code: profiles.CodeFileNotGranted, Reason: "open"}}}, nil
	})
	v := w.end(run)
	if want := []string{"json", "os.path"}; !slices.Equal(v.Imports, want) || !v.Repr || len(v.Denials) != 2 {
		t.Errorf("imports %q, repr %v, denials %+v", v.Imports, v.Repr, v.Denials)
	}
	rec, ok := w.audit.find(contract.ImportDecided)
	if !ok || rec.Capability != "import:requests" || rec.State != "refused" || rec.Decision.Code != no.Code ||
		rec.Decision.Rule.Line != 4 {
		t.Errorf("record %+v", rec)
	}
	rec, _ = w.audit.find(contract.RunEnded)
	if rec.Detail["imports"] != "json,os.path" {
		t.Errorf("record %+v", rec)
	}
	if kinds := w.audit.kinds(run.ID()); !slices.Equal(kinds,
		[]string{"run_started:running", "import_decided:refused", "file_decided:refused", "run_ended:done"}) {
		t.Errorf("records %q", kinds)
	}
}

// A guest that names more modules than are kept cannot make a record too large.
func TestImportsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a"))
	var many []string
	for i := range 5000 {
		many = append(many, strings.Repeat("m", 200)+string(rune('a'+i%26))+strings.Repeat("n", i/26))
	}
	v := w.end(w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		return executors.Outcome{State: executors.StateFailed, Error: &executors.ProgramError{Name: "E"}, Imports: many,
			Repr: true}, nil
	}))
	rec, _ := w.audit.find(contract.RunEnded)
	if len(v.Imports) != contract.MaxImports || v.Repr || len(rec.Detail["imports"]) > 512*256 {
		t.Errorf("%d imports, repr %v, a record of %d bytes", len(v.Imports), v.Repr, len(rec.Detail["imports"]))
	}
}
