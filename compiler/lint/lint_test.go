package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/schema"
)

// wanted reads the marks "# want CODE CODE" of a text, as LINE CODE.
func wanted(text string) (out []string) {
	for i, line := range strings.Split(text, "\n") {
		if _, codes, ok := strings.Cut(line, "# want "); ok {
			for _, code := range strings.Fields(codes) {
				out = append(out, fmt.Sprintf("%d %s", i+1, code))
			}
		}
	}
	return out
}

func got(found schema.Diagnostics) (out []string) {
	for _, d := range found {
		out = append(out, fmt.Sprintf("%d %s", d.Pos.Line, d.Code))
	}
	return out
}

func check(t *testing.T, text string) schema.Diagnostics {
	t.Helper()
	policies, found := schema.Decode([]schema.Source{{Name: "p.yaml", Data: []byte(text)}})
	if len(policies) == 0 {
		t.Fatal(found)
	}
	return lint.Check(lint.Config{Policies: policies, Options: lint.Options{
		Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Soon: 30 * 24 * time.Hour}})
}

const head = "apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: a, revision: 1, owner: " +
	"\"team:x@acme.example\"}\nspec:\n"

// Each code is found where it is meant and nowhere else: every list holds what is fine
// beside what is not.
func TestCheck(t *testing.T) {
	for name, text := range map[string]string{
		"owner": `apiVersion: ringd/v1
kind: AgentPolicy
metadata:
  name: a
  revision: 1
  owner: user:ana@acme.example # want owner-person
  reviewBy: "2026-12-01" # want review-due
spec: {}`,
		"review far away": `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "group:x", reviewBy: "2027-12-01"}
spec: {}`,
		"imports": head + `  executors:
    allowed: [python]
    python:
      imports:
        allow:
          - pandas.*
          - pandas.core # want shadowed-rule
          - pandasx
          - numpy.linalg
        deny:
          - a.b
          - a.b.c.* # want shadowed-rule
          - a.bc
        denyProcess:
          - x
          - x.y # want shadowed-rule`,
		"any import": head + `  executors:
    allowed: [python]
    python:
      imports:
        allow:
          - json # want shadowed-rule
          - "*"`,
		"files": head + `  filesystem:
    read:
      - /srv
      - /srv/a # want shadowed-rule
      - /srvx
      - /etc # want broad-file
      - /etc/ssl # want shadowed-rule
      - ~/ # want broad-file
      - $WORKSPACE
      - $WORKSPACE/a # want shadowed-rule
      - /usr
    write:
      - /usr # want broad-file
    deny:
      - /
      - /x # want shadowed-rule`,
		"hosts": head + `  network:
    mode: allowlist
    egress:
      - host: api.acme.example
      - host: "*.docs.acme.example" # want wildcard-egress
      - host: a.docs.acme.example # want shadowed-rule
      - {host: b.docs.acme.example, ports: [8443]}
      - {host: c.docs.acme.example, limits: {rate: 1/s}}
      - host: all.acme.example:* # want any-port
      - {host: all.acme.example, ports: [80, 443]} # want shadowed-rule
      - {host: plain.acme.example, ports: [80]} # want any-method
      - {host: plain2.acme.example, ports: [80], methods: [GET]}
      - {host: 10.0.0.0/16, ports: [5432]}
      - {host: 10.0.7.0/24, ports: [5432]} # want shadowed-rule
      - {host: 10.0.8.0/24, ports: [5433]}
      - {host: old.acme.example, expires: "2026-11-01"} # want expired
      - {host: soon.acme.example, expires: "2026-12-01"} # want expires-soon
      - {host: later.acme.example, expires: "2027-12-01"}
    gateways:
      - {name: models} # want any-method
      - {name: tight, methods: [POST], expires: "2026-11-23"} # want expires-soon
    deny:
      - "*.bad.example"
      - x.bad.example # want shadowed-rule
      - bad.example
      - "x.bad.example:80" # want shadowed-rule`,
		"a limited wildcard covers nothing": head + `  network:
    mode: allowlist
    egress:
      - {host: "*.a.example", ports: [80], methods: [GET]} # want wildcard-egress
      - {host: x.a.example, ports: [80], methods: [POST]}
      - {host: "*.b.example", expires: "2028-01-01"} # want wildcard-egress
      - {host: x.b.example}`,
		"approvals and bridges": head + `  bridges:
    - name: a # want bridge-no-limit
      powers: {sensitive: false, untrusted: false, external: true}
      approval: {required: true} # want no-approvers
    - name: b
      powers: {sensitive: false, untrusted: false, external: true}
      limits: {callsPerRun: 1}
      approval: {required: true, from: ["group:x"]}
    - name: c
      powers: {sensitive: false, untrusted: false, external: true}
      limits: {callsPerRun: 1}
      approval: {required: false}
  executors:
    allowed: [shell]
    shell:
      binaries:
        - path: /usr/bin/git
          args:
            ask:
              - {words: push} # want no-approvers
              - {words: tag, approval: {from: ["group:x"]}}
      denyPatterns:
        - {pattern: curl, kind: literal} # want substring-pattern
        - {pattern: rm -rf, kind: argv}`,
		"exceptions": head + `  exceptions:
    - {id: EXC-1, owner: "user:a", approvedBy: ["group:b"], expires: "2026-11-30", reason: x, grants: {imports: [a]}} # want expires-soon
    - {id: EXC-2, owner: "user:a", approvedBy: ["group:b"], expires: "2026-01-30", reason: x, grants: {imports: [b]}} # want expired
    - {id: EXC-3, owner: "user:a", approvedBy: ["group:b"], expires: "2027-11-30", reason: x, grants: {imports: [c]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			found := check(t, text)
			if diff := cmp.Diff(wanted(text), got(found)); diff != "" {
				t.Errorf("%s\n%v", diff, found)
			}
			for _, d := range found {
				if d.Severity != schema.Warning || d.Hint == "" || d.Msg == "" {
					t.Errorf("not a warning with a fix: %v", d)
				}
			}
		})
	}
}

// Without a time nothing is said of what ends.
func TestWithoutTime(t *testing.T) {
	policies, _ := schema.Decode([]schema.Source{{Name: "p.yaml", Data: []byte(head + "  network: {mode: allowlist, " +
		"egress: [{host: a.example, expires: \"2020-01-01\"}]}")}})
	if found := lint.Check(lint.Config{Policies: policies}); len(found) > 0 {
		t.Error(found)
	}
}

// A value of a ceiling that every agent below it has is told once, where it stands.
func TestLayers(t *testing.T) {
	doc := func(kind, name, parent, spec string) schema.Source {
		return schema.Source{Name: name + ".yaml", Data: []byte(
			fmt.Sprintf("apiVersion: ringd/v1\nkind: %s\nmetadata: {name: %s, revision: 1, owner: \"group:x\"%s}\n"+
				"spec:\n%s", kind, name, parent, spec))}
	}
	imports := func(s string) string { return "  executors: {allowed: [python], python: {imports: " + s + "}}\n" }
	policies, found := schema.Decode([]schema.Source{
		doc("OrgPolicy", "acme", "", imports("{allow: [json, re], deny: [a, a.b]}")+
			"  bridges: [{name: q, powers: {sensitive: true, untrusted: false, external: false}, limits: {callsPerRun: 3}}]\n"),
		doc("AgentPolicy", "one", ", parent: acme", imports("{allow: [json]}")+
			"  bridges: [{name: q, powers: {sensitive: true, untrusted: false, external: false}}]\n"),
		doc("AgentPolicy", "two", ", parent: acme", imports("{allow: [re], deny: [a.c]}")),
	})
	if found.Refused() {
		t.Fatal(found)
	}
	var where []string
	for _, d := range lint.Check(lint.Config{Policies: policies}) {
		where = append(where, fmt.Sprintf("%s:%d %s", d.Pos.File, d.Pos.Line, d.Code))
	}
	want := []string{"acme.yaml:5 shadowed-rule", "two.yaml:5 shadowed-rule"} // q has the limit of its ceiling
	if diff := cmp.Diff(want, where); diff != "" {
		t.Error(diff)
	}
}

// A comment takes back the warning that it names on its line, or on the next one that is
// no comment, and only with a reason.
func TestSuppress(t *testing.T) {
	const text = `a: 1 # ringd:lint-ignore any-port somebody says why
# ringd:lint-ignore broad-file it is empty
# a word

b: 2
c: 3 # ringd:lint-ignore any-port
d: 4 # ringd:lint-ignore
e: 5 # ringd:lint-ignore any-port another code is there
f: 6 # ringd:lint-ignore unknown-field what refuses stays
g: "x# ringd:lint-ignore any-port no comment"
`
	warn := func(line int, code string) schema.Diagnostic {
		return schema.Diagnostic{Pos: schema.Pos{File: "p.yaml", Line: line, Column: 1}, Code: code,
			Severity: schema.Warning}
	}
	refuses := warn(9, "unknown-field")
	refuses.Severity = schema.Error
	found := schema.Diagnostics{warn(1, "any-port"), warn(1, "broad-file"), warn(5, "broad-file"), warn(6, "any-port"),
		warn(8, "broad-file"), refuses, warn(10, "any-port")}
	left := got(lint.Suppress([]schema.Source{{Name: "p.yaml", Data: []byte(text)}}, found))
	want := []string{"1 broad-file", "6 any-port", "6 lint-ignore", "7 lint-ignore", "8 broad-file",
		"8 unused-lint-ignore", "9 unknown-field", "9 unused-lint-ignore", "10 any-port"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
	cue := []schema.Source{{Name: "p.cue", Data: []byte("x: 1 // ringd:lint-ignore any-port it is meant\n")}}
	if left := lint.Suppress(
		cue, schema.Diagnostics{{Pos: schema.Pos{File: "p.cue", Line: 1}, Code: "any-port", Severity: schema.Warning}}); len(left) > 0 {
		t.Error(left)
	}
	if other := lint.Suppress([]schema.Source{{Name: "q.yaml", Data: []byte(text)}},
		slices.Clone(found[:1])); !slices.Contains(got(other), "1 any-port") {
		t.Errorf("a comment of another file: %v", other)
	}
}
