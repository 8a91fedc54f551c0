package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
)

func calls(t testing.TB, verb string) *worker.Calls {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := worker.NewCalls(worker.CallsConfig{Path: self, Args: []string{verb}, Wall: 5 * time.Second})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func call(args string) profiles.Call {
	return profiles.Call{Agent: "a", Bridge: "pay", Executor: "js", Args: json.RawMessage(args)}
}

const atMost = "package ringd.calls\ndeny contains \"at most 100\" if { input.bridge == \"pay\"; input.args.amount > " +
	"100 }\n"

// What is asked about calls is asked in another process, and answers as it does
// here.
func TestCalls(t *testing.T) {
	c := calls(t, "calls")
	for range 3 {
		if asks, err := c.Asks(t.Context(), "input.args.amount > 100", call(`{"amount": 5}`)); asks || err != nil {
			t.Errorf("got %v, %v", asks, err)
		}
		if asks, err := c.Asks(t.Context(), "input.args.amount > 100", call(`{"amount": 500}`)); !asks || err != nil {
			t.Errorf("got %v, %v", asks, err)
		}
		if reasons, err := c.Denies(t.Context(), atMost, call(`{"amount": 5}`)); len(reasons) > 0 || err != nil {
			t.Errorf("got %v, %v", reasons, err)
		}
		if reasons, err := c.Denies(t.Context(), atMost, call(`{"amount": 500}`)); len(reasons) != 1 || err != nil {
			t.Errorf("got %v, %v", reasons, err)
		}
	}
}

// Whatever a condition or guardrail does to the process, there is an answer, and it
// asks or refuses; the next question is answered as ever.
func TestHostileCalls(t *testing.T) {
	c := calls(t, "calls")
	deny := func(body string) string { return "package ringd.calls\ndeny contains \"x\" if {\n" + body + "\n}\n" }
	doubling := "s0 := \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"\n"
	for i := range 26 {
		doubling += fmt.Sprintf("s%d := concat(\"\", [s%d, s%d])\n", i+1, i, i)
	}
	for name, rego := range map[string]string{
		"endless loops":   deny("count([1 | some i in numbers.range(1, 1000000); some j in numbers.range(1, 1000000); i == j]) == 0"),
		"doubled text":    deny(doubling + "count(s26) < 0"),
		"sprintf":         deny(`count([s | some i in numbers.range(1, 100000); s := sprintf("%999999d", [i])]) < 0`),
		"a regexp":        deny(`regex.match("((((a{0,100}){0,100}){0,100}){0,100})", input.args.s)`),
		"replaced":        deny(`a := replace(input.args.s, "a", input.args.s)` + "\n" + `b := replace(a, "a", a)` + "\n" + `count(replace(b, "a", b)) < 0`),
		"a large range":   deny("count(numbers.range(1, 1000000000)) < 0"),
		"shifted bits":    deny("bits.lsh(1, 10000000000) < 0"),
		"squares":         deny("a := 123456789123456789\nb := a*a*a*a*a*a\nc := b*b*b*b*b*b\nd := c*c*c*c*c*c\ne := d*d*d*d*d*d\nf := e*e*e*e*e*e\ng := f*f*f*f*f*f\nh := g*g*g*g*g*g\ni := h*h*h*h*h*h\nj := i*i*i*i*i*i\nj < 0"),
		"match_schema":    deny(`json.match_schema(input.args, {"$ref": "http://169.254.169.254/"})[0]`),
		"http.send":       deny(`http.send({"method": "get", "url": "http://169.254.169.254/"}).status_code == 0`),
		"opa.runtime":     deny(`opa.runtime().env.HOME == ""`),
		"render_template": deny(`strings.render_template("{{range .a}}{{.}}{{end}}", {"a": numbers.range(1, 100000000)}) == ""`),
		"not Rego":        "deny",
		"empty":           "",
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			args := fmt.Sprintf(`{"s": %q}`, strings.Repeat("a", 50_000))
			reasons, err := c.Denies(t.Context(), rego, call(args))
			t.Logf("%v: %v, %v", time.Since(begun), len(reasons), err)
			if err == nil && len(reasons) == 0 {
				t.Error("the call passes")
			}
			if asks, _ := c.Asks(t.Context(), strings.TrimPrefix(rego, "package ringd.calls\n"), call(args)); !asks {
				t.Error("the call needs no approval")
			}
			if reasons, err := c.Denies(t.Context(), atMost, call(`{"amount": 5}`)); len(reasons) > 0 || err != nil {
				t.Errorf("afterwards: %v, %v", reasons, err)
			}
		})
	}
}

// Without an answer, every call needs its approval and none passes a guardrail.
func TestCallsFailClosed(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var none *worker.Calls
	closed := calls(t, "calls")
	_ = closed.Close()
	for name, tt := range map[string]struct {
		ctx  context.Context
		c    *worker.Calls
		call profiles.Call
	}{
		"no process":      {t.Context(), worker.NewCalls(worker.CallsConfig{}), call(`{}`)},
		"nothing at all":  {t.Context(), none, call(`{}`)},
		"a silent one":    {t.Context(), calls(t, "silent"), call(`{}`)},
		"an ended one":    {t.Context(), closed, call(`{}`)},
		"no time":         {over, calls(t, "calls"), call(`{}`)},
		"no JSON":         {t.Context(), calls(t, "calls"), call(`{`)},
		"large arguments": {t.Context(), calls(t, "calls"), call(`"` + strings.Repeat("a", 70_000) + `"`)},
	} {
		if asks, err := tt.c.Asks(tt.ctx, "input.args.a == 1", tt.call); !asks || err == nil {
			t.Errorf("%s: %v, %v", name, asks, err)
		}
		if _, err := tt.c.Denies(tt.ctx, atMost, tt.call); err == nil {
			t.Errorf("%s: it passes", name)
		}
	}
}

// A decision without a run asks the guardrails too.
func TestDecideGuarded(t *testing.T) {
	c := calls(t, "calls")
	a := profiles.Agent{Name: "a", JS: &profiles.JS{}, Rule: profiles.Rule{File: "p.yaml", Line: 1},
		Bridges: map[string]profiles.Bridge{
			"pay": {Name: "pay", Limits: profiles.BridgeLimits{ArgumentBytes: 1000}}},
		Guardrails: []profiles.Guardrail{
			{Name: "limit", On: profiles.GuardCalls, Rego: atMost, Rule: profiles.Rule{File: "p.yaml", Line: 9}}}}
	action := func(args string) profiles.Action {
		return profiles.Action{Bridge: &profiles.BridgeAction{Name: "pay", Args: json.RawMessage(args)}}
	}
	env := profiles.Environment{Guardrail: c.Guardrail(t.Context())}
	for args, want := range map[string]profiles.Code{`{"amount": 5}`: profiles.CodeAllowed,
		`{"amount": 500}`: profiles.CodeGuardrailDenied,
		`{}`:              profiles.CodeGuardrailFailed, ``: profiles.CodeGuardrailFailed} {
		got := profiles.NewDecider(a, "r", env).Decide(action(args))
		if got.Code != want || got.Revision != "r" || want != profiles.CodeAllowed && got.Rule.Line != 9 {
			t.Errorf("%s: got %+v", args, got)
		}
	}
	if got := profiles.NewDecider(a, "r", profiles.Environment{}).Decide(
		action(`{"amount": 5}`)); got.Code != profiles.CodeGuardrailFailed {
		t.Errorf("nobody to ask: got %+v", got)
	}
}

func BenchmarkCalls(b *testing.B) {
	c := calls(b, "calls")
	for name, ask := range map[string]func() error{
		"condition": func() error {
			_, err := c.Asks(b.Context(), "input.args.amount > 100", call(`{"amount": 5}`))
			return err
		},
		"guardrail": func() error { _, err := c.Denies(b.Context(), atMost, call(`{"amount": 5}`)); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
