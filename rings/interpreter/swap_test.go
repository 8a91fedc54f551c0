package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// A push comes between two calls of a live run. The stricter of both generations decides the
// second.
func TestStricterOfBoth(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"type":"integer","maximum":5}}}`
	tight := limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 1 })
	tests := []struct {
		name          string
		before, after *profiles.Set
		ask           executors.Question
		error         string // empty if allowed
		code          profiles.Code
	}{
		{"same", set("a", bridge("b")), set("b", bridge("b")), ask("b", `[]`), "", ""},
		{"bridge gone", set("a", bridge("b")), set("b"), ask("b", `[]`), "CapabilityRevoked", profiles.CodeBridgeRevoked},
		{"agent gone", set("a", bridge("b")), &profiles.Set{Format: profiles.Format, Revision: "b"}, ask("b", `[]`), "CapabilityRevoked", profiles.CodeBridgeRevoked},
		{"executor gone", set("a", bridge("b")), without(set("b", bridge("b"))), ask("b", `[]`), "CapabilityRevoked", profiles.CodeBridgeRevoked},
		{"more isolation than there is", set("a", bridge("b")), agentOf(set("b", bridge("b")), func(a *profiles.Agent) { a.MinTier = profiles.TierContainer }),
			ask("b", `[]`), "CapabilityRevoked", profiles.CodeBridgeRevoked},
		{"more isolation, which there is", set("a", bridge("b")), agentOf(set("b", bridge("b")), func(a *profiles.Agent) { a.MinTier = profiles.TierWasm }),
			ask("b", `[]`), "", ""},
		{"closed", set("a", bridge("b")), nil, ask("b", `[]`), "CapabilityRevoked", profiles.CodeNoPolicy},
		{"fewer calls", set("a", bridge("b")), set("b", bridge("b", tight)), ask("b", `[]`), "BudgetExceeded", profiles.CodeBridgeCalls},
		{"more calls do not widen", set("a", bridge("b", tight)), set("b", bridge("b")), ask("b", `[]`), "BudgetExceeded", profiles.CodeBridgeCalls},
		{"a new bridge does not widen", set("a", bridge("b")), set("b", bridge("b"), bridge("c")), ask("c", `[]`), "CapabilityDenied", profiles.CodeBridgeNotGranted},
		{"smaller arguments", set("a", bridge("b")), set("b", bridge("b", limits(func(l *profiles.BridgeLimits) { l.ArgumentBytes = 3 }))),
			ask("b", `["long"]`), "ArgumentError", profiles.CodeBridgeArgumentsBytes},
		{"new schema", set("a", bridge("b")), set("b", bridge("b", arguments(schema))), ask("b", `[{"n":6}]`), "ArgumentError", profiles.CodeBridgeArguments},
		{"old schema stays", set("a", bridge("b", arguments(schema))), set("b", bridge("b")), ask("b", `[{"n":6}]`), "ArgumentError", profiles.CodeBridgeArguments},
		{"both schemas hold", set("a", bridge("b", arguments(schema))), set("b", bridge("b", arguments(`{"type":"object"}`))), ask("b", `[{"n":5}]`), "", ""},
		{"new result schema", set("a", bridge("b")), set("b", bridge("b", results(`{"type":"string"}`))), ask("b", `[7]`), "BridgeError", profiles.CodeBridgeResult},
		{"fewer subagents", set("a", bridge("b", spawner(9, 9, 9))), set("b", bridge("b", spawner(2, 9, 9))), ask("b", `[[1,2,3]]`), "BudgetExceeded", profiles.CodeBridgeSpawn},
		{"subagents counted from now on", set("a", bridge("b")), set("b", bridge("b", spawner(2, 9, 9))), ask("b", `[[1,2,3]]`), "BudgetExceeded", profiles.CodeBridgeSpawn},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(test.before)
			var got executors.Answer
			v := w.end(w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
				if a, err := h.Ask(ctx, executors.Question{Call: "c1", Bridge: "b",
					Args: json.RawMessage(`[{"n":1}]`)}); err != nil || a.Error != nil {
					t.Errorf("first call: %+v %v", a.Error, err)
				}
				w.apply(test.after)
				var err error
				test.ask.Call = "c2"
				if got, err = h.Ask(ctx, test.ask); err != nil {
					t.Error(err)
				}
				return executors.Outcome{State: executors.StateDone}, nil
			}))
			if v.Generation != 1 || v.Revision != "a" {
				t.Errorf("bound to %d %s", v.Generation, v.Revision)
			}
			switch {
			case test.error == "" && got.Error != nil:
				t.Errorf("refused: %+v", got.Error)
			case test.error != "" && (got.Error == nil || got.Error.Name != test.error):
				t.Errorf("answer %+v, want %s", got, test.error)
			case test.error != "" && v.Denials[0].Code != test.code:
				t.Errorf("denial %+v, want %s", v.Denials[0], test.code)
			}
		})
	}
}

func without(s *profiles.Set) *profiles.Set {
	a := s.Agents["default"]
	a.JS = nil
	s.Agents["default"] = a
	return s
}

// A push or an end that comes while the intent is being recorded still counts: the act does
// not begin.
func TestNothingBeginsAfter(t *testing.T) {
	tests := []struct {
		name  string
		event func(w *world, r *interpreter.Run)
		error string
		state executors.State
	}{
		{"revoked", func(w *world, _ *interpreter.Run) { w.apply(set("b")) }, "CapabilityRevoked", executors.StateDone},
		{"given external power", func(w *world, _ *interpreter.Run) { w.apply(set("b", bridge("b", external))) }, "CapabilityRevoked", executors.StateDone},
		{"audited in full", func(w *world, _ *interpreter.Run) {
			w.apply(set("b", bridge("b", func(b *profiles.Bridge) { b.Audit = "full" })))
		}, "CapabilityRevoked", executors.StateDone},
		{"given a schema", func(w *world, _ *interpreter.Run) { w.apply(set("b", bridge("b", arguments(`{"type":"string"}`)))) }, "CapabilityRevoked", executors.StateDone},
		{"executor closed", func(w *world, _ *interpreter.Run) { w.ring.CloseExecutor("js", "test") }, "CapabilityRevoked", executors.StateDone},
		{"nothing that matters", func(w *world, _ *interpreter.Run) { w.apply(set("b", bridge("b"), bridge("c"))) }, "", executors.StateDone},
		{"cancelled", func(w *world, r *interpreter.Run) { r.Cancel(w.t.Context(), "uid:1", "enough") }, "ended", executors.StateCancelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("a", bridge("b")))
			ready := make(chan *interpreter.Run, 1)
			w.audit.onRecord(func(r contract.Record) error {
				if r.Kind == contract.CallOpened {
					w.audit.onRecord(nil)
					test.event(w, <-ready)
				}
				return nil
			})
			p, got := calls(ask("b", `[{"x":1}]`))
			run := w.start(p)
			ready <- run
			v := w.end(run)
			if v.State != test.state {
				t.Errorf("state %s %+v", v.State, v.Error)
			}
			acts := w.echo.count()
			switch test.error {
			case "":
				if acts != 1 || (*got)[0].Error != nil {
					t.Errorf("%d acts, %+v", acts, *got)
				}
			case "ended":
				if acts != 0 || len(*got) != 0 {
					t.Errorf("%d acts after the end, %+v", acts, *got)
				}
				if !slices.Contains(w.audit.kinds("r1"), "call_closed:unrun") {
					t.Errorf("records %v", w.audit.kinds("r1"))
				}
			default:
				if acts != 0 || (*got)[0].Error.Name != test.error {
					t.Errorf("%d acts, %+v", acts, (*got)[0])
				}
			}
		})
	}
}

// An executor stops its calls when the program is over, by its own end or a limit of the
// guest. What an external call has done is not known.
func TestProgramEndsDuringACall(t *testing.T) {
	for _, test := range []struct {
		name  string
		grant profiles.Bridge
		end   executors.State
		want  executors.State
	}{
		{"thrown", bridge("b", external), executors.StateFailed, executors.StateUnknown},
		{"limit", bridge("b", external), executors.StateLimit, executors.StateUnknown},
		{"no external power", bridge("b"), executors.StateLimit, executors.StateLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			begun := make(chan struct{})
			w := newWorld(t, func(c *interpreter.Config) {
				c.Default = provide(func(ctx context.Context, _ contract.Call) (json.RawMessage, error) {
					close(begun)
					<-ctx.Done()
					return nil, ctx.Err()
				})
			})
			w.apply(set("a", test.grant))
			p, _ := calls(ask("b", `[]`))
			v := w.end(w.start(func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
				asking, cancel := context.WithCancel(ctx)
				over := make(chan struct{})
				go func() {
					defer close(over)
					_, _ = p(asking, r, h)
				}()
				<-begun
				cancel()
				<-over
				return executors.Outcome{State: test.end, Error: &executors.ProgramError{Name: "Timeout"}}, nil
			}))
			if v.State != test.want || v.Error == nil || v.Error.Name != "Timeout" {
				t.Errorf("state %s %+v, want %s", v.State, v.Error, test.want)
			}
		})
	}
}

// A provider that works when a push revokes its grant, or when the run ends, is stopped.
func TestWorkingProviderIsCut(t *testing.T) {
	tests := []struct {
		name  string
		event func(w *world, r *interpreter.Run)
		state executors.State
	}{
		{"revoked", func(w *world, _ *interpreter.Run) { w.apply(set("b")) }, executors.StateDone},
		{"cancelled", func(w *world, r *interpreter.Run) { r.Cancel(w.t.Context(), "uid:1", "enough") }, executors.StateUnknown},
		{"ring closed", func(w *world, _ *interpreter.Run) { go func() { _ = w.ring.Close() }() }, executors.StateUnknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begun, stopped := make(chan struct{}), make(chan struct{})
			w := newWorld(t, func(c *interpreter.Config) {
				c.Default = provide(func(ctx context.Context, _ contract.Call) (json.RawMessage, error) {
					close(begun)
					<-ctx.Done()
					close(stopped)
					return nil, ctx.Err()
				})
			})
			w.apply(set("a", bridge("b", external)))
			p, got := calls(ask("b", `[]`))
			run := w.start(func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
				return p(context.WithoutCancel(ctx), r, h) // the ring alone has to stop its providers
			})
			<-begun
			test.event(w, run)
			<-stopped
			v := w.end(run)
			if v.State != test.state {
				t.Errorf("state %s %+v", v.State, v.Error)
			}
			if test.state == executors.StateDone && (*got)[0].Error.Name != "CapabilityRevoked" {
				t.Errorf("answer %+v", (*got)[0])
			}
			if want := "close c1 unknown "; !slices.Contains(w.log.entries(), want) {
				t.Errorf("journal %q, want %q", w.log.entries(), want)
			}
		})
	}
}

func TestTimeoutOfABridge(t *testing.T) {
	w := newWorld(t, func(c *interpreter.Config) {
		c.Default = provide(func(ctx context.Context, _ contract.Call) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, errors.New("killed by /usr/bin/secret")
		})
	})
	w.apply(set("a", bridge("b", limits(func(l *profiles.BridgeLimits) { l.TimeoutMillis = 1 }))))
	p, got := calls(ask("b", `[]`))
	v := w.end(w.start(p))
	e := (*got)[0].Error
	if e == nil || e.Name != "BridgeError" || strings.Contains(e.Message, "secret") ||
		v.Denials[0].Code != profiles.CodeBridgeTimeout {
		t.Errorf("answer %+v denials %+v", e, v.Denials)
	}
	if v.State != executors.StateDone {
		t.Errorf("a timeout that was caught ended the run: %s", v.State)
	}
}

func TestStartIsRefused(t *testing.T) {
	tiered := func(tier profiles.Tier) *profiles.Set {
		s := set("a")
		a := s.Agents["default"]
		a.MinTier = tier
		s.Agents["default"] = a
		return s
	}
	python := set("a")
	a := python.Agents["default"]
	a.Python = &profiles.Python{}
	python.Agents["default"] = a
	tests := []struct {
		name string
		set  *profiles.Set
		req  interpreter.StartRequest
		code profiles.Code // empty if it starts
	}{
		{"no policy", nil, interpreter.StartRequest{}, profiles.CodeNoPolicy},
		{"unknown agent", set("a"), interpreter.StartRequest{Agent: "other"}, profiles.CodeUnknownAgent},
		{"not granted", set("a"), interpreter.StartRequest{Executor: "shell"}, profiles.CodeExecutorNotGranted},
		{"no such executor", set("a"), interpreter.StartRequest{Executor: "ruby"}, profiles.CodeExecutorNotGranted},
		{"granted, not here", python, interpreter.StartRequest{Executor: "python"}, profiles.CodeExecutorUnavailable},
		{"tier here", tiered(profiles.TierWasm), interpreter.StartRequest{}, ""},
		{"tier weaker", tiered(profiles.TierProcess), interpreter.StartRequest{}, ""},
		{"tier stronger", tiered(profiles.TierMicroVM), interpreter.StartRequest{}, profiles.CodeTierUnavailable},
		{"tier unknown", tiered("bunker"), interpreter.StartRequest{}, profiles.CodeTierUnavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(test.set)
			p, _ := calls()
			run, err := w.tryStart(test.req, p)
			if test.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				w.end(run)
				return
			}
			var d *profiles.Denial
			if !errors.As(err, &d) || d.Decision.Code != test.code || d.Decision.Verdict != profiles.Deny {
				t.Errorf("error %v, want %s", err, test.code)
			}
		})
	}
	t.Run("before any commit", func(t *testing.T) {
		var d *profiles.Denial
		if _, err := newWorld(t).tryStart(interpreter.StartRequest{}, nil); !errors.As(err, &d) ||
			d.Decision.Code != profiles.CodeNoPolicy {
			t.Error(err)
		}
	})
	t.Run("after Close", func(t *testing.T) {
		w := newWorld(t)
		w.apply(set("a"))
		commit, err := w.ring.Prepare(t.Context(), set("b"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.ring.Close(); err != nil {
			t.Fatal(err)
		}
		commit()
		if _, err := w.tryStart(interpreter.StartRequest{}, nil); !errors.Is(err, interpreter.ErrClosed) {
			t.Error(err)
		}
		if _, err := w.ring.Prepare(t.Context(), set("b")); !errors.Is(err, interpreter.ErrClosed) {
			t.Error(err)
		}
	})
	t.Run("same id", func(t *testing.T) {
		w := newWorld(t)
		w.apply(set("a", bridge("ask")))
		p, _ := calls(ask("ask", `[]`))
		w.start(p)
		if _, err := w.tryStart(interpreter.StartRequest{ID: "r1"}, p); !errors.Is(err, interpreter.ErrExists) {
			t.Error(err)
		}
	})
	t.Run("input", func(t *testing.T) {
		w := newWorld(t)
		w.apply(set("a"))
		_, err := w.tryStart(interpreter.StartRequest{Inputs: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
			nil)
		if err == nil {
			t.Error("started with an input that is not JSON")
		}
	})
}

func TestPrepareChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.apply(set("a", bridge("b")))
	bad := map[string]*profiles.Set{
		"format":         {Format: "ringd.set/v9"},
		"schema":         set("x", bridge("b", arguments(`{"type":"nonsense"}`))),
		"schema, text":   set("x", bridge("b", arguments(`{`))),
		"remote":         set("x", bridge("b", arguments(`{"$ref":"http://127.0.0.1:1/s.json"}`))),
		"file":           set("x", bridge("b", results(`{"$ref":"file:///etc/passwd"}`))),
		"regular":        set("x", bridge("b", arguments(`{"pattern":"("}`))),
		"dynamic remote": set("x", bridge("b", arguments(`{"$schema":"https://example.com/meta"}`))),
	}
	for name, s := range bad {
		if commit, err := w.ring.Prepare(t.Context(), s); err == nil || commit != nil {
			t.Errorf("%s: prepared", name)
		}
	}
	if _, err := w.ring.Prepare(t.Context(), set("fine")); err != nil { // and not committed
		t.Error(err)
	}
	p, got := calls(ask("b", `[]`))
	if v := w.end(w.start(p)); v.Revision != "a" || (*got)[0].Error != nil {
		t.Errorf("bound to %s: %+v", v.Revision, (*got)[0].Error)
	}
}

// picky is an executor that rejects a revision.
type picky struct {
	fakeExecutor
	reject string
}

func (p *picky) Prepare(_ context.Context, s *profiles.Set) error {
	if s.Revision == p.reject {
		return errors.New("module does not load")
	}
	return nil
}

func TestExecutorRejectsItsProfile(t *testing.T) {
	e := &picky{fakeExecutor: fakeExecutor{name: "js", list: map[string]program{}}, reject: "bad"}
	w := newWorld(t, func(c *interpreter.Config) { c.Executors["js"] = e })
	w.js = &e.fakeExecutor
	w.apply(set("a"))
	var bad *interpreter.ExecutorError
	if _, err := w.ring.Prepare(t.Context(), set("bad")); !errors.As(err, &bad) || bad.Executor() != "js" {
		t.Fatalf("error %v", err)
	}
	var d *profiles.Denial
	if _, err := w.tryStart(interpreter.StartRequest{}, nil); !errors.As(err, &d) ||
		d.Decision.Code != profiles.CodeClosed {
		t.Errorf("a closed executor started a run: %v", err)
	}
	if st := w.ring.Status(); st[0].State != "closed" || st[0].Reason == "" {
		t.Errorf("status %+v", st)
	}
	w.apply(set("b"))
	p, _ := calls()
	w.end(w.start(p))
	if diff := cmp.Diff([]interpreter.ExecutorStatus{{Name: "js", State: "ready"}}, w.ring.Status()); diff != "" {
		t.Error(diff)
	}
}

func TestGenerationNumbersAreTheDaemons(t *testing.T) {
	n := int64(41)
	w := newWorld(t, func(c *interpreter.Config) { c.Generation = func() int64 { n++; return n } })
	w.apply(set("a"))
	p, _ := calls()
	if v := w.end(w.start(p)); v.Generation != 42 {
		t.Errorf("generation %d", v.Generation)
	}
}
