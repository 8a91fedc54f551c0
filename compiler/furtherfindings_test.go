package compiler_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/schema"
)

// every is all findings about sources, as the compile child looks for them.
func every(sources ...schema.Source) schema.Diagnostics {
	r := schema.ReadPartly(sources)
	cfg := compiler.Config{Policies: r.Policies, Sources: sources, Now: today()}
	if len(r.Refused) > 0 {
		return append(r.Found, compiler.FurtherFindings(cfg, r.Refused)...).Sort()
	}
	_, found := compiler.Compile(cfg)
	return append(r.Found, found...).Sort()
}

// TestEveryMistakeAtOnce: mistakes that different stages find are told together, each
// once, on its line.
func TestEveryMistakeAtOnce(t *testing.T) {
	const head = "apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: one, revision: 1, owner: " +
		"team:x@acme.example}\n"
	for name, text := range map[string]string{
		"size, address bits, glob": head + "spec:\n  limits:\n    memory: 1GB # wrong\n  network:\n    mode: allowlist\n    egress:\n      - host: 10.1.2.3/8 # wrong\n  filesystem:\n    read: [\"/srv/data/**\"] # wrong\n",
		"five": head + `spec:
  executors:
    allowed: [javascript, shell] # wrong
    shell:
      binaries:
        - path: git # wrong
  limits: {wall: 1 day} # wrong
  network: {mode: allowlist, egress: [{host: "10.0.0.1/8"}]} # wrong
  bridges:
    - name: send
      powers: {sensitive: false, untrusted: false, external: true}
      approval:
        required: true
        when: "input.args.a > 1 && true" # wrong
`,
		"a typo and what is below it": head + "spec:\n  executors:\n    allowd: [js] # wrong\n    js: {limits: {memory: 64MB}} # wrong\n  filesystem: {read: [/srv/*]} # wrong\n",
		"twice and a glob":            head + "spec:\n  limits: {wall: 1m}\n  filesystem: {read: [/srv/*]} # wrong\n  limits: {wall: 2m} # wrong\n",
	} {
		t.Run(name, func(t *testing.T) {
			var want, got []string
			for i, line := range strings.Split(text, "\n") {
				if strings.Contains(line, "# wrong") {
					want = append(want, fmt.Sprint(i+1))
				}
			}
			found := every(schema.Source{Name: "a.yaml", Data: []byte(text)})
			for _, d := range found {
				got = append(got, fmt.Sprint(d.Pos.Line))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("lines %v, want %v:\n%v", got, want, found)
			}
		})
	}
}

// TestOneMistakeOfACeiling: what cannot be read of a ceiling is no reason for findings of
// the documents below it.
func TestOneMistakeOfACeiling(t *testing.T) {
	agent := schema.Source{Name: "one.yaml", Data: []byte(`apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: one, revision: 1, owner: team:x@acme.example, parent: acme}
spec: {executors: {allowed: [python]}, network: {mode: allowlist, egress: [{host: a.example.com}]}}
`)}
	for _, org := range []string{
		"metadata: {name: acme, revision: 1, owner: team:x@acme.example}\nspec: {executors: {allowed: [pyton]}, network: {egress: [{host: 'a.example.com:443:443'}]}}\n",
		"metadata: {name: acme, revision: 1}\nspec: {executors: {allowed: [python]}}\n",
		"metadata: {name: Acme!, revision: 1, owner: team:x@acme.example}\n",
		"metadata: [\n",
	} {
		found := every(schema.Source{Name: "acme.yaml", Data: []byte("apiVersion: ringd/v1\nkind: OrgPolicy\n" + org)},
			agent)
		if len(found) == 0 {
			t.Errorf("nothing is said about %s", org)
		}
		for _, d := range found {
			if d.Pos.File != "acme.yaml" {
				t.Errorf("%s: %v", org, d)
			}
		}
	}
}

// TestPartlyNeverFails: of a policy with a value of every field, each line may be anything
// or missing: there are findings or none, and never a panic.
func TestPartlyNeverFails(t *testing.T) {
	text, err := os.ReadFile("../schema/testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	value := regexp.MustCompile(`: [^{\[].*$`)
	for i := range lines {
		for _, line := range []string{"", value.ReplaceAllString(lines[i], ": [{}]"),
			value.ReplaceAllString(lines[i], ": {a: 1GB}"), value.ReplaceAllString(lines[i], ": 99999999999"),
			value.ReplaceAllString(lines[i], `: "“"`)} {
			if line == lines[i] {
				continue
			}
			broken := append(append(append([]string{}, lines[:i]...), line), lines[i+1:]...)
			every(schema.Source{Name: "a.yaml", Data: []byte(strings.Join(broken, "\n"))})
		}
	}
}
