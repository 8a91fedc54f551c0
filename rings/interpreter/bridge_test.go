package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

func TestAllowedCall(t *testing.T) {
	w := newWorld(t)
	w.apply(set("rev1", bridge("search")))
	p, got := calls(ask("search", `[{"q":"x"}]`), ask("search", `[1,2]`), ask("search", `[]`))
	v := w.end(w.start(p))
	if v.State != executors.StateDone || string(v.Value) != `"ok"` {
		t.Fatalf("outcome %s %s %+v", v.State, v.Value, v.Error)
	}
	var values []string
	for _, a := range *got {
		values = append(values, string(a.Value))
	}
	if diff := cmp.Diff([]string{`{"q":"x"}`, `[1,2]`, `[]`}, values); diff != "" {
		t.Error(diff)
	}
	want := []string{"run_started:running",
		"call_opened:open", "call_closed:done", "call_opened:open", "call_closed:done", "call_opened:open", "call_closed:done",
		"run_ended:done"}
	if diff := cmp.Diff(want, w.audit.kinds("r1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int64{"search": 3}, v.Usage.Calls); diff != "" {
		t.Error(diff)
	}
	rec, _ := w.audit.find(contract.CallOpened)
	if rec.Revision != "rev1" || rec.Generation != 1 || rec.Capability != "bridge:search" ||
		rec.Decision.Verdict != profiles.Allow ||
		rec.Decision.Rule.Line != 7 || rec.Full != nil || !strings.HasPrefix(rec.Digest, "sha256:") {
		t.Errorf("record %+v", rec)
	}
	if len(w.log.entries()) != 0 {
		t.Error("a call without external power was journaled")
	}
}

// Every refusal: its name in the program, its code in the outcome and in the record, and
// that no provider was called.
func TestRefusals(t *testing.T) {
	tests := []struct {
		name    string
		grant   profiles.Bridge
		before  []executors.Question // admitted first
		ask     executors.Question
		error   string
		code    profiles.Code
		message string
	}{
		{"not granted", bridge("search"), nil, ask("post", `[]`), "CapabilityDenied", profiles.CodeBridgeNotGranted, "post"},
		{"prototype name", bridge("search"), nil, ask("__proto__", `[]`), "CapabilityDenied", profiles.CodeBridgeNotGranted, ""},
		{"another executor only", bridge("search", func(b *profiles.Bridge) { b.Executors = []string{"python"} }), nil,
			ask("search", `[]`), "CapabilityDenied", profiles.CodeBridgeNotGranted, ""},
		{"argument bytes", bridge("search", limits(func(l *profiles.BridgeLimits) { l.ArgumentBytes = 9 })), nil,
			ask("search", `["123456"]`), "ArgumentError", profiles.CodeBridgeArgumentsBytes, "limit"},
		{"not JSON", bridge("search"), nil, ask("search", `[1`), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"not a list", bridge("search"), nil, ask("search", `{"a":1}`), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"two lists", bridge("search"), nil, ask("search", `[1][2]`), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"deep", bridge("search"), nil, ask("search", strings.Repeat("[", 150)+strings.Repeat("]", 150)), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"exponent bomb", bridge("search", arguments(`{"type":"number","minimum":1}`)), nil, ask("search", `[1e999999]`), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"tagged garbage", bridge("search"), nil, ask("search", `[{"$ringd":"bogus"}]`), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"a name twice", bridge("search"), nil, ask("search", `[{"amount":500,"amount":5}]`), "ArgumentError", profiles.CodeBridgeArguments, `"amount" is there twice`},
		{"schema", bridge("search", arguments(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)), nil,
			ask("search", `[{"n":"x"}]`), "ArgumentError", profiles.CodeBridgeArguments,
			"$.n: got string, want integer"},
		{"schema and two arguments", bridge("search", arguments(`{"type":"object"}`)), nil, ask("search", `[{},{}]`), "ArgumentError", profiles.CodeBridgeArguments, "exactly one"},
		{"schema and a map", bridge("search", arguments(`{"type":"object"}`)), nil,
			ask("search", `[{"a":{"$ringd":"map","value":[]}}]`), "ArgumentError", profiles.CodeBridgeArguments,
			"$.a is not plain JSON (map)"},
		{"too large to record in full", bridge("search", inFull), nil, ask("search", `["`+strings.Repeat("x", binding.MaxFull)+`"]`),
			"ArgumentError", profiles.CodeBridgeArgumentsBytes, "recorded in full"},
		{"larger in the record than on the way", bridge("search", inFull), nil, ask("search", `["`+strings.Repeat("<", binding.MaxFull/5)+`"]`),
			"ArgumentError", profiles.CodeBridgeArgumentsBytes, "recorded in full"},
		{"concurrent none", bridge("search", limits(func(l *profiles.BridgeLimits) { l.Concurrent = 0 })), nil,
			ask("search", `[]`), "BudgetExceeded", profiles.CodeBridgeConcurrent, ""},
		{"calls per run", bridge("search", limits(func(l *profiles.BridgeLimits) { l.CallsPerRun = 1 })),
			[]executors.Question{ask("search", `[]`)}, ask("search", `[]`), "BudgetExceeded", profiles.CodeBridgeCalls,
			"1 times"},
		{"spawn per call, array", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[[1,2,3]]`), "BudgetExceeded", profiles.CodeBridgeSpawn, "asks for 3"},
		{"spawn per call, tasks", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[{"tasks":[1,2,3]}]`), "BudgetExceeded", profiles.CodeBridgeSpawn, ""},
		{"spawn per call, escaped", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[{"t\u0061sks":[1,2,3]}]`), "BudgetExceeded", profiles.CodeBridgeSpawn, ""},
		{"spawn per call, several arguments", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[1,2,3]`), "BudgetExceeded", profiles.CodeBridgeSpawn, "asks for 3"},
		{"spawn per call, several arguments with a space", bridge("search", spawner(2, 3, 10)), nil, ask("search", ` [1,2,3]`), "BudgetExceeded", profiles.CodeBridgeSpawn, "asks for 3"},
		{"spawn per call, tasks and more", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[{"tasks":[1,2,3]},1]`), "BudgetExceeded", profiles.CodeBridgeSpawn, "asks for 3"},
		{"tasks twice", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[{"tasks":[1,2,3],"tasks":[1]}]`), "ArgumentError", profiles.CodeBridgeArguments, "plain array"},
		{"tasks shared", bridge("search", spawner(2, 3, 10)), nil,
			ask("search", `[{"tasks":{"$ringd":"array","id":1,"value":[1,2,3]}}]`), "ArgumentError",
			profiles.CodeBridgeArguments, "plain array"},
		{"tasks by reference", bridge("search", spawner(2, 3, 10)), nil,
			ask("search", `[{"a":{"$ringd":"array","id":1,"value":[1,2,3]},"tasks":{"$ringd":"ref","id":1}}]`),
			"ArgumentError", profiles.CodeBridgeArguments, ""},
		{"first shared", bridge("search", spawner(2, 3, 10)), nil, ask("search", `[{"$ringd":"object","id":1,"value":{"tasks":[1,2,3]}}]`), "ArgumentError", profiles.CodeBridgeArguments, ""},
		{"depth", bridge("search", spawner(2, 0, 10)), nil, ask("search", `[1]`), "BudgetExceeded", profiles.CodeBridgeDepth, ""},
		{"total", bridge("search", spawner(2, 3, 3)), []executors.Question{ask("search", `[[1,2]]`)}, ask("search", `[[1,2]]`), "BudgetExceeded", profiles.CodeBridgeTotal, "its tree has 3 agents"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("rev1", test.grant))
			p, got := calls(append(test.before, test.ask)...)
			v := w.end(w.start(p))
			if len(*got) != len(test.before)+1 {
				t.Fatalf("%d answers, outcome %+v", len(*got), v.Error)
			}
			e := (*got)[len(test.before)].Error
			if e == nil || e.Name != test.error || !strings.Contains(e.Message, test.message) {
				t.Fatalf("error %+v, want %s with %q", e, test.error, test.message)
			}
			if !strings.Contains(e.Message, "(call c") {
				t.Errorf("message %q does not name the call", e.Message)
			}
			if len(v.Denials) != 1 || v.Denials[0].Code != test.code || v.Denials[0].Verdict != profiles.Deny {
				t.Errorf("denials %+v, want %s", v.Denials, test.code)
			}
			rec, ok := w.audit.find(contract.CallDecided)
			if !ok || rec.Decision.Code != test.code || rec.State != "refused" {
				t.Errorf("record %+v", rec)
			}
			if w.echo.count() != len(test.before) {
				t.Errorf("the provider was called %d times", w.echo.count())
			}
			if v.State != executors.StateDone {
				t.Errorf("a refusal that was caught ended the run: %s", v.State)
			}
		})
	}
}

// The provider gets the value that a schema has seen.
func TestProviderGetsWhatTheSchemaSaw(t *testing.T) {
	w := newWorld(t)
	w.apply(set("rev1", bridge(
		"search", arguments(`{"type":"object","properties":{"path":{"const":"/ok"}},"additionalProperties":false}`))))
	p, got := calls(
		ask("search", `[{"path":"/etc/shadow","path":"/ok"}]`),
		ask("search", `[{"path":"/ok","x":{"$ringd":"undefined"}}]`),
		ask("search", `[{"path":"/ok","path":"/etc/shadow"}]`),
	)
	w.end(w.start(p))
	for i, want := range []string{`{"path":"/ok"}`, `{"path":"/ok"}`} {
		if string((*got)[i].Value) != want {
			t.Errorf("call %d: provider got %s", i, (*got)[i].Value)
		}
	}
	if e := (*got)[2].Error; e == nil || e.Name != "ArgumentError" {
		t.Errorf("third call: %+v", (*got)[2])
	}
}

func TestHostileResults(t *testing.T) {
	big := `"` + strings.Repeat("x", 2000) + `"`
	tests := []struct {
		name   string
		schema string
		result string
		want   string // value, or the error's name
	}{
		{"plain", "", `{"a":1}`, `{"a":1}`},
		{"nothing is undefined", "", ``, ``},
		{"proto stays a key", "", `{"__proto__":{"polluted":1},"constructor":1}`, `{"__proto__":{"polluted":1},"constructor":1}`},
		{"invalid", "", `{"a":`, "BridgeError"},
		{"two values", "", `1 2`, "BridgeError"},
		{"not UTF-8", "", "\"\xff\"", "BridgeError"},
		{"deep", "", strings.Repeat("[", 400) + strings.Repeat("]", 400), "BridgeError"},
		{"deep with a tag", "", strings.Repeat("[", 450) + `{"$ringd":"undefined"}` + strings.Repeat("]", 450), "BridgeError"},
		{"large", "", big, "ResultTooLarge"},
		{"number bomb", `{"type":"integer"}`, `1e99999999`, "BridgeError"},
		{"long number", `{"type":"integer"}`, strings.Repeat("9", 900), "BridgeError"},
		{"tagged", "", `{"$ringd":"map","value":[]}`, `{"$ringd":"map","value":[]}`},
		{"tagged garbage", "", `{"$ringd":"bogus"}`, "BridgeError"},
		{"tagged garbage, escaped key", "", `{"\u0024ringd":"bogus"}`, "BridgeError"},
		{"schema", `{"type":"string"}`, `7`, "BridgeError"},
		{"schema and nothing", `{"type":"string"}`, ``, "BridgeError"},
		{"schema and a tag", `{"type":"object"}`, `{"$ringd":"map","value":[]}`, "BridgeError"},
		{"schema holds", `{"type":"string"}`, `"a<b"`, `"a<b"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, func(c *interpreter.Config) {
				c.Default = provide(func(context.Context, contract.Call) (json.RawMessage, error) {
					return json.RawMessage(test.result), nil
				})
			})
			b := bridge("get")
			if test.schema != "" {
				results(test.schema)(&b)
			}
			w.apply(set("rev1", b))
			p, got := calls(ask("get", `[]`))
			w.end(w.start(p))
			a := (*got)[0]
			if a.Error != nil {
				if a.Error.Name != test.want {
					t.Errorf("error %+v, want %s", a.Error, test.want)
				}
				return
			}
			if string(a.Value) != test.want {
				t.Errorf("value %s, want %s", a.Value, test.want)
			}
		})
	}
}

// The program never sees text of the host. The record holds it under the id of the call,
// which the message contains.
func TestHostTextStaysWithTheHost(t *testing.T) {
	secret := "open /etc/ringd/token: permission denied at provider.go:77"
	w := newWorld(t, func(c *interpreter.Config) {
		c.Default = provide(func(context.Context, contract.Call) (json.RawMessage, error) {
			return nil, errors.New(secret)
		})
	})
	w.apply(set("rev1", bridge("get")))
	p, got := calls(ask("get", `[]`))
	w.end(w.start(p))
	e := (*got)[0].Error
	if e == nil || e.Name != "BridgeError" || e.Message != "get: failed (call c1)" {
		t.Errorf("error %+v", e)
	}
	rec, _ := w.audit.find(contract.CallClosed)
	if rec.Fault != secret || rec.Call != "c1" || rec.Run != "r1" {
		t.Errorf("record %+v", rec)
	}
}

// A text of a provider for the program reaches the program. A refusal is in the outcome and
// in the record, with the rule that made it.
func TestWhatAProviderTells(t *testing.T) {
	rule := profiles.Rule{File: "p.cue", Line: 9, Path: "network.egress"}
	for _, tt := range []struct {
		err           error
		name, message string
		code          profiles.Code
		fault         string
	}{
		{fmt.Errorf("call: %w", &binding.Failure{Name: "TypeError", Text: "connection refused", Err: errors.New("dial 10.0.0.1")}), "TypeError", "get: connection refused (call c1)", "", "call: TypeError: connection refused: dial 10.0.0.1"},
		{&profiles.Denial{Capability: "egress", Decision: profiles.Decision{Verdict: profiles.Allow, Code: "egress.not_granted", Reason: "evil.example is not listed", Instead: []string{"evil.example:443"}, Rule: &rule}},
			"CapabilityDenied", "get: egress.not_granted: evil.example is not listed; ask for evil.example:443 (call c1)", "egress.not_granted", "egress denied: egress.not_granted: evil.example is not listed"},
	} {
		w := newWorld(t, func(c *interpreter.Config) {
			c.Default = provide(func(context.Context, contract.Call) (json.RawMessage, error) { return nil, tt.err })
		})
		w.apply(set("rev1", bridge("get")))
		p, got := calls(ask("get", `[]`))
		v := w.end(w.start(p))
		if e := (*got)[0].Error; e == nil || e.Name != tt.name || e.Message != tt.message {
			t.Errorf("error %+v", e)
		}
		rec, _ := w.audit.find(contract.CallClosed)
		if rec.Fault != tt.fault || rec.State != "failed" || (rec.Decision == nil) != (tt.code == "") ||
			len(v.Denials) != len(tt.code)/max(len(tt.code), 1) {
			t.Errorf("record %+v, denials %+v", rec, v.Denials)
		}
		if d := rec.Decision; d != nil && (d.Verdict != profiles.Deny || d.Code != tt.code || d.Rule == nil ||
			d.Rule.Line != 9 || v.Denials[0].Code != tt.code) {
			t.Errorf("decision %+v", d)
		}
	}
}

func TestRefusedBudgetEndsTheRun(t *testing.T) {
	w := newWorld(t)
	w.apply(set("rev1", bridge("search")))
	refused := 0
	v := w.end(w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i := range 1000 { // the program catches every error and tries again
			a, err := h.Ask(ctx, executors.Question{Call: "c" + string(rune('a'+i%26)) + strings.Repeat("x", i/26),
				Bridge: "post", Args: json.RawMessage(`[]`)})
			if err != nil {
				break
			}
			if a.Error != nil {
				refused++
			}
		}
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`"survived"`)}, nil
	}))
	if refused != 10 {
		t.Errorf("%d refusals were answered, want the budget of 10", refused)
	}
	if v.State != executors.StateDenied || v.Error.Name != "BudgetExceeded" || v.Value != nil {
		t.Errorf("outcome %s %+v value %s", v.State, v.Error, v.Value)
	}
	if last := v.Denials[len(v.Denials)-1]; last.Code != profiles.CodeBridgeRefused {
		t.Errorf("last denial %+v", last)
	}
}

// If the record or the journal fails, nothing happens and the run ends, closed.
func TestRecordFirst(t *testing.T) {
	kinds := []contract.Kind{contract.CallOpened, contract.CallDecided, contract.CallClosed}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("rev1", bridge("search", external)))
			w.audit.onRecord(func(r contract.Record) error {
				if r.Kind == kind {
					return errors.New("disk full")
				}
				return nil
			})
			q := ask("search", `[]`)
			if kind == contract.CallDecided {
				q = ask("post", `[]`)
			}
			p, got := calls(q, ask("search", `[]`))
			v := w.end(w.start(p))
			want, acted := executors.StateFailed, 0
			if kind == contract.CallClosed { // it happened, and its end is not recorded
				want, acted = executors.StateUnknown, 1
			}
			if v.State != want || v.Error.Name != "Closed" || strings.Contains(v.Error.Message, "disk") {
				t.Errorf("outcome %s %+v", v.State, v.Error)
			}
			if w.echo.count() != acted || len(*got) != 0 {
				t.Errorf("%d acts, %d answers", w.echo.count(), len(*got))
			}
			if rec, _ := w.audit.find(contract.RunEnded); !strings.Contains(rec.Fault, "disk full") {
				t.Errorf("the record of the end has no cause: %+v", rec)
			}
		})
	}
	for _, method := range []string{"open", "close"} {
		t.Run("journal "+method, func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("rev1", bridge("search", external)))
			w.log.fail = method
			p, got := calls(ask("search", `[]`))
			v := w.end(w.start(p))
			want, acted := executors.StateFailed, 0
			if method == "close" {
				want, acted = executors.StateUnknown, 1
			}
			if v.State != want || w.echo.count() != acted || len(*got) != 0 {
				t.Errorf("outcome %s, %d acts, %d answers", v.State, w.echo.count(), len(*got))
			}
		})
	}
	t.Run("start", func(t *testing.T) {
		w := newWorld(t)
		w.apply(set("rev1"))
		w.audit.onRecord(func(contract.Record) error { return errors.New("disk full") })
		ran := false
		_, err := w.tryStart(interpreter.StartRequest{}, func(context.Context, executors.Run, executors.Host) (
			executors.Outcome, error) {
			ran = true
			return executors.Outcome{}, nil
		})
		if err == nil || ran {
			t.Errorf("started without a record: %v", err)
		}
	})
	t.Run("end", func(t *testing.T) {
		w := newWorld(t)
		w.apply(set("rev1"))
		w.audit.onRecord(func(r contract.Record) error {
			if r.Kind == contract.RunEnded {
				return errors.New("disk full")
			}
			return nil
		})
		p, _ := calls()
		if v := w.end(w.start(p)); v.State != executors.StateFailed || v.Value != nil {
			t.Errorf("a result without a record: %s %s", v.State, v.Value)
		}
	})
}

func TestExternalPower(t *testing.T) {
	w := newWorld(t)
	var order []string
	w.audit.onRecord(func(r contract.Record) error { order = append(order, string(r.Kind)); return nil })
	w.apply(set("rev1", bridge("send", external, func(b *profiles.Bridge) { b.Audit = "full" })))
	p, got := calls(ask("send", `[{"to":"x"}]`))
	v := w.end(w.start(p))
	if v.State != executors.StateDone || (*got)[0].Error != nil {
		t.Fatalf("outcome %+v", v.Error)
	}
	want := []string{"run_started:running", "call_opened:open+synced", "call_closed:done", "run_ended:done"}
	if diff := cmp.Diff(want, w.audit.kinds("r1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`open c1 for="" executing=true`, `close c1 done {"to":"x"}`},
		w.log.entries()); diff != "" {
		t.Error(diff)
	}
	if w.echo.calls[0].Key != "key-r1-c1" {
		t.Errorf("key %q is not the journal's", w.echo.calls[0].Key)
	}
	if rec, _ := w.audit.find(contract.CallOpened); string(rec.Full) != `{"to":"x"}` {
		t.Errorf("full record %s", rec.Full)
	}
}

// inFull records the arguments, which may be large.
func inFull(b *profiles.Bridge) {
	b.Audit = "full"
	b.Limits.ArgumentBytes, b.Limits.ResultBytes = 4<<20, 4<<20
}

// Arguments that just fit are recorded whole, and the call happens.
func TestFullRecordThatFits(t *testing.T) {
	w := newWorld(t)
	w.apply(set("rev1", bridge("search", inFull)))
	text := `"` + strings.Repeat("x", binding.MaxFull-2) + `"`
	p, got := calls(ask("search", "["+text+"]"))
	w.end(w.start(p))
	if (*got)[0].Error != nil || w.echo.count() != 1 {
		t.Fatalf("%+v after %d acts", (*got)[0].Error, w.echo.count())
	}
	if rec, _ := w.audit.find(contract.CallOpened); string(rec.Full) != text {
		t.Errorf("a record of %d bytes", len(rec.Full))
	}
}

func TestStrictAuditSyncsEverything(t *testing.T) {
	w := newWorld(t)
	s := set("rev1", bridge("search"))
	a := s.Agents["default"]
	a.Audit = "strict"
	s.Agents["default"] = a
	w.apply(s)
	p, _ := calls(ask("search", `[]`), ask("post", `[]`))
	w.end(w.start(p))
	for _, k := range w.audit.kinds("r1") {
		if !strings.HasSuffix(k, "+synced") {
			t.Errorf("%s was not synced", k)
		}
	}
}

func TestProtocolViolationEndsTheRun(t *testing.T) {
	for name, ids := range map[string][]string{
		"repeated": {"c1", "c1"}, "empty": {""}, "long": {strings.Repeat("c", 100)}, "text": {"c1\nforged record"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(set("rev1", bridge("search")))
			v := w.end(w.start(func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
				for _, id := range ids {
					_, _ = h.Ask(ctx, executors.Question{Call: id, Bridge: "search", Args: json.RawMessage(`[]`)})
				}
				return executors.Outcome{State: executors.StateDone}, nil
			}))
			if v.State != executors.StateFailed || w.echo.count() != len(ids)-1 {
				t.Errorf("outcome %s, %d acts", v.State, w.echo.count())
			}
		})
	}
}

func TestNoProvider(t *testing.T) {
	w := newWorld(t, func(c *interpreter.Config) { c.Default = nil })
	w.apply(set("rev1", bridge("search")))
	p, got := calls(ask("search", `[]`))
	v := w.end(w.start(p))
	if e := (*got)[0].Error; e == nil || e.Name != "BridgeError" ||
		v.Denials[0].Code != profiles.CodeBridgeUnavailable {
		t.Errorf("answer %+v denials %+v", (*got)[0], v.Denials)
	}
}

// A panic of a provider ends its run, closed, and no other.
func TestPanicEndsTheRun(t *testing.T) {
	w := newWorld(t, func(c *interpreter.Config) {
		c.Providers["boom"] = provide(func(context.Context, contract.Call) (json.RawMessage, error) { panic("boom") })
	})
	w.apply(set("rev1", bridge("boom", external), bridge("search")))
	p, _ := calls(ask("boom", `[]`))
	v := w.end(w.start(p))
	if v.State != executors.StateUnknown || v.Error.Name != "Closed" {
		t.Errorf("outcome %s %+v", v.State, v.Error)
	}
	p, _ = calls(ask("search", `[]`))
	if v := w.end(w.start(p)); v.State != executors.StateDone {
		t.Errorf("the neighbour: %s %+v", v.State, v.Error)
	}
}
