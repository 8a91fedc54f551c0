package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/child"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/compiler/condition"
	"github.com/ringd/ringd/compiler/guardrail"
	"github.com/ringd/ringd/profiles/modules"
	"github.com/ringd/ringd/schema"
)

// Every policy that a document shows compiles without a finding.
func TestPoliciesOfDocuments(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	n := 0
	for _, name := range []string{"../../README.md", "../../docs/POLICY.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			n++
			files := map[string][]byte{"modules/math-lite.js": []byte("export const add = (a, b) => a + b;")}
			if !strings.Contains(m[1], "math-lite") {
				files = nil
			}
			if _, found := child.Compile(t.Context(), []schema.Source{{Name: "policy.yaml", Data: []byte(m[1])}}, files); len(found) > 0 {
				t.Errorf("%s: a policy has findings:\n%v\n%s", name, found, m[1])
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d policies found in the documents", n)
	}
}

// What a document shows of the daemon's configuration is one.
func TestConfigsOfDocuments(t *testing.T) {
	block := regexp.MustCompile("(?s)```yml\n(.*?)```")
	text, err := os.ReadFile("../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	all := block.FindAllStringSubmatch(string(text), -1)
	for _, m := range all {
		if _, err := config.Read("ringd.yaml", strings.NewReader(m[1])); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
	if len(all) == 0 {
		t.Error("no configuration found")
	}
}

// The document of the policy language says how many names of Python's standard
// library are not in the default set, and which stand for them.
func TestDefaultSetOfDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)but (\d+) names which reach (.*?)The list is`).FindStringSubmatch(string(text))
	if m == nil || m[1] != strconv.Itoa(len(modules.OutsideNames())) {
		t.Fatalf("the document does not say that %d names are left out: %q", len(modules.OutsideNames()), m)
	}
	for _, name := range regexp.MustCompile("`([a-zA-Z_.]+)`").FindAllStringSubmatch(m[2], -1) {
		if !modules.Outside(name[1]) {
			t.Errorf("%s is in the default set", name[1])
		}
	}
}

// The document of the policy language lists what a condition may call, and
// nothing more.
func TestFunctionsOfConditions(t *testing.T) {
	text, err := os.ReadFile("../../docs/POLICY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "These functions are there:\n\n")
	list, _, _ := strings.Cut(after, "\n\n")
	var got []string
	for _, m := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	if want := condition.Functions(); !slices.Equal(got, want) {
		t.Errorf("the document lists %q, and a condition may call %q", got, want)
	}
}

// The example of the daemon's config file is one, also with everything that it
// only hints at.
func TestExampleConfig(t *testing.T) {
	text, err := os.ReadFile("../../docs/systemd/ringd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n") // its first line is about itself
	for _, example := range []string{body, regexp.MustCompile(`(?m)^# `).ReplaceAllString(body, "")} {
		if _, err := config.Read("ringd.yaml", strings.NewReader(example)); err != nil {
			t.Error(err)
		}
	}
}

// Links between documents lead somewhere.
func TestLinksOfDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	adrs, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(append(docs, adrs...), "../../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", doc, m[1], err)
			}
		}
	}
}

// The document of layers lists what a guardrail may call, and its test passes.
func TestGuardrailsOfDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/LAYERS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "These functions may be called:\n\n")
	list, _, _ := strings.Cut(after, "\n\n")
	var got []string
	for _, m := range regexp.MustCompile("`([a-z0-9_.]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	if want := guardrail.Functions(); !slices.Equal(got, want) {
		t.Errorf("the document lists %q, and a guardrail may call %q", got, want)
	}
	shown := 0
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "  guardrails:\n") && strings.HasPrefix(m[1], "apiVersion") {
			shown++
			if _, found := child.Compile(t.Context(), []schema.Source{{Name: "policy.yaml", Data: []byte(m[1])}}, nil); len(found) > 0 {
				t.Errorf("a policy has findings:\n%v", found)
			}
		}
	}
	if shown == 0 {
		t.Error("no policy with guardrails found")
	}
	tests := regexp.MustCompile("(?s)```rego\n(.*?)```").FindStringSubmatch(string(text))
	rule := regexp.MustCompile(`(?s)on: call\n      rego: \|\n(.*?)` + "```").FindStringSubmatch(string(text))
	if tests == nil || rule == nil {
		t.Fatal("no tests, or no guardrail on calls")
	}
	results, found := guardrail.Test(t.Context(), guardrail.OnCall, guardrail.Text{Name: "limit.rego", Text: strings.ReplaceAll(rule[1], "\n        ", "\n")[8:]},
		[]guardrail.Text{{Name: "limit_test.rego", Text: tests[1]}}, time.Now)
	if len(found) > 0 || len(results) != 2 || !results[0].Passed || !results[1].Passed {
		t.Errorf("got %+v, %v", results, found)
	}
}
