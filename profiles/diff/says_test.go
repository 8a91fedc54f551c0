package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ringd/ringd/profiles/diff"
)

// pair compares two specs of one agent.
func pair(t *testing.T, old, next string) diff.Report {
	t.Helper()
	const head = "apiVersion: ringd/v1\nkind: AgentPolicy\nmetadata: {name: one, revision: %d, owner: " +
		"\"team:a@example.com\"}\nspec:\n%s"
	ar := &txtar.Archive{Files: []txtar.File{{Name: "old.yaml", Data: fmt.Appendf(nil, head, 1, old)},
		{Name: "new.yaml", Data: fmt.Appendf(nil, head, 2, next)}}}
	return diff.Compare(setOf(t, ar, "old"), setOf(t, ar, "new"), diff.Config{Now: now()})
}

// TestSaysWhatIsLeft: who reads what an agent lost reads what of it is left.
func TestSaysWhatIsLeft(t *testing.T) {
	for _, tc := range []struct{ name, old, now, capability, want string }{
		{"an import", "  executors: {allowed: [python], python: {imports: {allow: [pandas]}}}\n", "  executors: {allowed: [python], python: {imports: {allow: [pandas.core, pandas.io]}}}\n",
			"import:pandas", "may no longer import pandas (Python), but for pandas.core, pandas.io"},
		{"an import that is denied below", "  executors: {allowed: [python], python: {imports: {allow: [pandas]}}}\n",
			"  executors: {allowed: [python], python: {imports: {allow: [pandas.core, json], deny: [pandas.core]}}}\n", "import:pandas", "may no longer import pandas (Python)"},
		{"the default set", "  executors: {allowed: [python]}\n", "  executors: {allowed: [python], python: {imports: {allow: [json]}}}\n",
			"import:default", "may no longer import the default set of Python, but for what is listed"},
		{"a wildcard", "  executors: {allowed: [python]}\n  network: {mode: allowlist, egress: [{host: '*.a.example'}]}\n",
			"  executors: {allowed: [python]}\n  network: {mode: allowlist, egress: [{host: x.a.example}, {host: xa.example}, {host: a.example}]}\n",
			"egress:*.a.example", "may no longer reach *.a.example:443, but for x.a.example:443"},
		{"a range", "  executors: {allowed: [python]}\n  network: {mode: allowlist, egress: [{host: 10.0.0.0/8}]}\n",
			"  executors: {allowed: [python]}\n  network: {mode: allowlist, egress: [{host: 10.1.0.0/16}, {host: 10.2.0.0/16}, {host: 10.3.0.0/16}, {host: 10.4.0.0/16}]}\n",
			"egress:10.0.0.0/8", "may no longer reach 10.0.0.0/8:443, but for 10.1.0.0/16:443, 10.2.0.0/16:443, 10.3.0.0/16:443 and 1 more"},
		{"a folder", "  executors: {allowed: [python]}\n  filesystem: {read: [/w]}\n", "  executors: {allowed: [python]}\n  filesystem: {read: [/w/a, /w/b, /wide], deny: [/w/b]}\n",
			"file.read:/w", "may no longer read /w, but for /w/a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rep := pair(t, tc.old, tc.now)
			for _, c := range rep.Changes() {
				if c.Capability == tc.capability {
					if c.Says != tc.want || c.Class != diff.Narrows {
						t.Errorf("%s: %q, want %q", c.Class, c.Says, tc.want)
					}
					return
				}
			}
			t.Errorf("nothing about %s: %+v", tc.capability, rep.Changes())
		})
	}
}

// TestNamesWhatNoEntrySays: names below a domain are told as those, and not as the domain.
func TestNamesWhatNoEntrySays(t *testing.T) {
	const list = "  executors: {allowed: [python]}\n  network: {mode: allowlist, egress: [{host: '*.a.example', " +
		"limits: {rate: 10/m}}%s]}\n"
	for _, c := range pair(t, fmt.Sprintf(list, ""), fmt.Sprintf(
		list, ", {host: x.a.example, limits: {rate: 10/m}}")).Changes() {
		if c.Capability == "egress" {
			if want := "more may be done with *.a.example:443"; c.Says != want {
				t.Errorf("%q, want %q", c.Says, want)
			}
			return
		}
	}
	t.Error("nothing about the limits together")
}

// TestDifferenceIsShown: what differs of two long texts is not cut off.
func TestDifferenceIsShown(t *testing.T) {
	long := strings.Repeat("x", 400)
	bridge := func(schema, when string) string {
		return "  executors: {allowed: [js]}\n  bridges: [{name: pay, powers: {sensitive: false, untrusted: false, " +
			"external: true}, arguments: {description: " +
			long + schema + "}, approval: {required: true, when: 'input.args.a == \"" + long + when +
			"\"'}}]\n  guardrails: [{name: g, rego: 'package ringd.guardrails\n\n    # " +
			long + "\n\n    deny contains \"" + when + "\" if input.effective.agent == \"x\"'}]\n"
	}
	seen := 0
	for _, c := range pair(t, bridge("first", "first"), bridge("second", "second")).Changes() {
		if !c.Undecided {
			continue
		}
		seen++
		if !strings.Contains(c.Old, "first") || !strings.Contains(c.New, "second") ||
			!strings.HasPrefix(strings.TrimPrefix(c.Old, "policy: "), "…") || len(c.Old) > 300 {
			t.Errorf("%s: %q and %q", c.Field, c.Old, c.New)
		}
	}
	if seen != 3 {
		t.Errorf("%d changes that are undecided", seen)
	}
}
