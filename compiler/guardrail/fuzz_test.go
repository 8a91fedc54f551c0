package guardrail_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ringd/ringd/compiler/guardrail"
)

// FuzzGuardrail: whatever text is a guardrail, reading it says what is wrong, and asking
// it gives reasons or an error.
func FuzzGuardrail(f *testing.F) {
	for _, body := range []string{
		"deny contains \"x\" if { some i; input.args.l[i].v == 3 }", "f(x) := x\ndeny contains \"x\" if f(input.args).typo == 1",
		"args := input.args\ndeny contains \"x\" if data.ringd.calls.args.typo == 1", "import data.ringd.calls as me\ndeny contains me.a.b if me.a\na := input.args",
		"by[input.args.k] := 1 if input.agent == \"a\"\ndeny contains \"x\" if by[_] == 1", "deny contains \"x\" if { every v in input.args.l { v.t == 1 } }",
		"deny contains n if some {\"name\": n} in input.effective.bridges", "deny contains \"x\" if [a | a := input.args][0].t == 1 else := 2",
	} {
		f.Add("package ringd.calls\n" + body)
		f.Add(head + body)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var found guardrail.Findings
		if g, err := guardrail.Compile(guardrail.OnCall, text); err == nil {
			_, _ = g.DenyCall(t.Context(), guardrail.Call{Agent: "a", Bridge: "b", Executor: "js",
				Args: json.RawMessage(`{"l": [{"v": 3}], "k": "a"}`)})
		} else if !errors.As(err, &found) || len(found) == 0 {
			t.Errorf("refused with %v", err)
		}
		if g, err := guardrail.Compile(guardrail.OnPolicy, text); err == nil {
			_, _ = g.Deny(t.Context(), input())
		} else if !errors.As(err, &found) || len(found) == 0 {
			t.Errorf("refused with %v", err)
		}
	})
}
