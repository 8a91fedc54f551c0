package worker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// guarded is a policy with one bridge and one guardrail, whose text begins on line 15.
func guarded(rego string) string {
	return `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:x@y"}
spec:
  executors: {allowed: [js]}
  bridges:
    - name: send
      powers: {sensitive: true, untrusted: false, external: true}
  guardrails:
    - name: two
      rego: |
` + indent(rego)
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("        " + line)
	}
	return b.String()
}

const refuseTwo = `package ringd.guardrails
deny contains msg if {
  some b in input.effective.bridges
  b.powers.sensitive
  b.powers.external
  msg := sprintf("bridge %s has two powers", [b.name])
}
`

// TestGuardrailsRefuse: what a guardrail refuses does not compile, and what is wrong
// with one is found where it stands in the policy.
func TestGuardrailsRefuse(t *testing.T) {
	file := strings.Replace(guarded(""), "rego: |", "file: guardrails/two.rego", 1)
	for _, tt := range []struct {
		name, policy string
		files        map[string]string
		want         string
	}{
		{"denied", guarded(refuseTwo), nil, "p.yaml:10:7: guardrail-denied: guardrail two, agent a: bridge send has two powers"},
		{"denied by a file", file, map[string]string{"guardrails/two.rego": refuseTwo}, "p.yaml:10:7: guardrail-denied"},
		{"no file", file, map[string]string{"guardrails/tow.rego": refuseTwo}, "p.yaml:11:13: guardrail-invalid: spec.guardrails[0].file: there is no file"},
		{"a typo, in the block", guarded(strings.Replace(refuseTwo, "effective.bridges", "effective.brigdes", 1)), nil, "p.yaml:14:21: guardrail-invalid: guardrail two: undefined ref: input.effective.brigdes"},
		{"a typo, in the file", file, map[string]string{"guardrails/two.rego": strings.Replace(refuseTwo, "b.powers.external", "b.power.external", 1)}, "guardrails/two.rego:5:3: guardrail-invalid"},
		{"a typo, on one line", strings.Replace(guarded(""), "rego: |", `rego: "package ringd.guardrails; deny contains 1 if input.x"`, 1), nil, "p.yaml:11:"},
		{"it cannot tell", guarded("package ringd.guardrails\ndeny contains \"x\" if input.now < \"2\"\n"), nil, "p.yaml:10:7: guardrail-invalid: guardrail two, agent a: cannot be evaluated: null does not compare with text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := oneSource("p.yaml", tt.policy)
			req.Files = map[string][]byte{}
			for name, text := range tt.files {
				req.Files[name] = []byte(text)
			}
			got, err := worker.Compile(t.Context(), patientConfig(t), req)
			if err != nil {
				t.Fatal(err)
			}
			if got.Set != nil || !got.Diagnostics.Refused() {
				t.Fatal("it compiled")
			}
			if have := fmt.Sprint(got.Diagnostics[0].Pos, ": ", got.Diagnostics[0].Code, ": ",
				got.Diagnostics[0].Msg); !strings.HasPrefix(have, tt.want) {
				t.Errorf("got %s, want %s", have, tt.want)
			}
		})
	}
}

// compiled is the set of a policy whose guardrails were not asked.
func compiled(t *testing.T, policy string) *profiles.Set {
	t.Helper()
	req := oneSource("p.yaml", policy)
	req.Unguarded = true
	got, err := worker.Compile(t.Context(), patientConfig(t), req)
	if err != nil || got.Set == nil {
		t.Fatal(err, got.Diagnostics)
	}
	return got.Set
}

// TestCheck: the guardrails travel in the set, and a set that somebody compiled is
// asked again, with the time and with what is in force.
func TestCheck(t *testing.T) {
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	two := compiled(t, guarded(refuseTwo))
	found, err := worker.CheckGuardrails(t.Context(), patientConfig(t), worker.CheckRequest{Set: two, Now: at})
	if err != nil || len(found) != 1 || found[0].Code != guardrail.CodeDenied || len(found[0].Related) != 1 {
		t.Errorf("got %v, %v", found, err)
	}
	for text, denied := range map[string]bool{
		`input.now == "2026-11-22T00:00:00Z"`:     true,
		`input.target == "sources"`:               false,
		`input.previous == null`:                  false,
		`count(input.previous.bridges) == 1`:      true,
		`input.previous.agent != "a"`:             false,
		`input.effective.guardrails[0].on == "x"`: false,
	} {
		set := compiled(t, guarded("package ringd.guardrails\ndeny contains \"x\" if "+text+"\n"))
		found, err := worker.CheckGuardrails(t.Context(), patientConfig(t),
			worker.CheckRequest{Set: set, Previous: two, Now: at})
		if err != nil || found.Refused() != denied {
			t.Errorf("%s: got %v, %v", text, found, err)
		}
	}
	// What is in a set may not be what this compiler would put there.
	broken := compiled(t, guarded(refuseTwo))
	a := broken.Agents["a"]
	for _, g := range []profiles.Guardrail{
		{Name: "x", On: "policy", Rego: ""},
		{Name: "x", On: "other", Rego: "package ringd.guardrails\ndeny contains \"x\" if false"},
		{Name: "x", On: "policy", Rego: "package ringd.guardrails\nallow if true"},
	} {
		a.Guardrails = []profiles.Guardrail{g}
		broken.Agents["a"] = a
		if found, err := worker.CheckGuardrails(t.Context(), patientConfig(t),
			worker.CheckRequest{Set: broken}); err != nil || !found.Refused() ||
			found[0].Code != guardrail.CodeInvalid {
			t.Errorf("%+v: got %v, %v", g, found, err)
		}
	}
	if found, err := worker.CheckGuardrails(t.Context(), worker.CompileConfig{},
		worker.CheckRequest{Set: compiled(t, compactPolicy)}); err != nil || len(found) > 0 {
		t.Errorf("without guardrails: %v, %v", found, err)
	}
}

// TestRego: each test of a guardrail is told of alone, with its place.
func TestRego(t *testing.T) {
	req := worker.TestRequest{Sources: []schema.Source{{Name: "p.yaml", Data: []byte(guarded(refuseTwo))}},
		Files: map[string][]byte{"guardrails/two_test.rego": []byte(`package ringd.guardrails_test

import data.ringd.guardrails

two := {"effective": {"bridges": [{"name": "b", "powers": {"sensitive": true, "external": true, "untrusted": false}}]}}

test_two if "bridge b has two powers" in guardrails.deny with input as two

test_none if count(guardrails.deny) == 0 with input as {"effective": {"bridges": []}}

test_wrong if count(guardrails.deny) == 7 with input as two

test_error if to_number("x") == 1

test_endless if count([1 | some i in numbers.range(1, 100000); some j in numbers.range(1, 100000); i == j]) == 0
`)}}
	got, err := worker.TestRego(t.Context(), patientConfig(t), req)
	if err != nil || len(got.Diagnostics) > 0 {
		t.Fatal(err, got.Diagnostics)
	}
	want := map[string]bool{"test_two": true, "test_none": true, "test_wrong": false, "test_error": false,
		"test_endless": false}
	for _, one := range got.Tests {
		if passed, ok := want[one.Name]; !ok || passed != one.Passed || one.Passed != (one.Msg == "") ||
			one.Guardrail != "two" || one.File != "guardrails/two_test.rego" || one.Line < 7 {
			t.Errorf("got %+v", one)
		}
		delete(want, one.Name)
	}
	if len(want) > 0 {
		t.Errorf("did not run: %v", want)
	}

	for name, text := range map[string]string{
		"guardrails/other_test.rego": "package ringd.guardrails\ntest_x if true", // of no guardrail
		"guardrails/two_test.rego":   "package ringd.guardrails\nallow if true",  // no test
	} {
		req.Files = map[string][]byte{name: []byte(text)}
		if got, err := worker.TestRego(t.Context(), patientConfig(t), req); err != nil || len(got.Tests) > 0 ||
			!got.Diagnostics.Refused() || got.Diagnostics[0].Pos.File != name {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for _, text := range []string{
		"package ringd.guardrails\ndeny contains \"x\" if true\ntest_x if true", // changes what it tests
		"package ringd.guardrails\ntest_x if http.send({}).x", "package other\ntest_x if true",
		"package ringd.guardrails\ntest_x if data.secrets", "package ringd.guardrails\ndefault test_x := true",
	} {
		req.Files = map[string][]byte{"guardrails/two_test.rego": []byte(text)}
		if got, err := worker.TestRego(t.Context(), patientConfig(t), req); err != nil || len(got.Tests) > 0 ||
			!got.Diagnostics.Refused() {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}
