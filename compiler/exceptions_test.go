package compiler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/schema"
)

// TestExceptionWithinBounds: an exception stands beside the lists of the layers, so it is
// no way to something that one of them offers within bounds, whoever approves it.
func TestExceptionWithinBounds(t *testing.T) {
	const shell, python = "executors: {allowed: [shell]", "executors: {allowed: [python]"
	git := func(more string) string {
		return shell + ", shell: {binaries: [{path: /usr/bin/git" + more + "}]}}"
	}
	host := func(entries string) string {
		return python + "}\n  network: {mode: allowlist, egress: [" + entries + "]}"
	}
	const reaches = python + "}\n  network: {mode: allowlist}"
	none, nowhere := shell+", shell: {binaries: []}}", host("")
	for _, tt := range []struct{ name, org, team, agent, grants, approver, want string }{
		{"words, approved by the agent's own", git(", args: {subcommands: [status]}"), "", shell + "}", "{binaries: [/usr/bin/git]}", "agent", "widens-parent"},
		{"words, a team in between leaves it out", git(", args: {subcommands: [status]}"), none, shell + "}", "{binaries: [/usr/bin/git]}", "team", "widens-parent"},
		{"variables", git(", env: {GIT_PAGER: cat}"), "", shell + "}", "{binaries: [/usr/bin/git]}", "agent", "widens-parent"},
		{"no bounds, a team in between leaves it out", git(""), none, shell + "}", "{binaries: [/usr/bin/git]}", "team", ""},
		{"limits", host("{host: a.example.com, limits: {up: 1KiB}}"), "", reaches, "{egress: [{host: a.example.com}]}", "agent", "widens-parent"},
		{"an end", host(`{host: a.example.com, expires: "2026-12-01"}`), "", reaches, "{egress: [{host: a.example.com}]}", "agent", "widens-parent"},
		{"powers", host("{host: '*.example.com', powers: {sensitive: true}}"), "", reaches, "{egress: [{host: a.example.com}]}", "agent", "widens-parent"},
		{"limits of a part", host("{host: '*.example.com'}, {host: a.example.com, limits: {up: 1KiB}}"), nowhere, reaches, "{egress: [{host: '*.example.com'}]}", "team", "widens-parent"},
		{"limits, listed by the agent too", host("{host: a.example.com, limits: {up: 1KiB}}"), nowhere, host("{host: a.example.com, limits: {up: 1GiB}}"), "{egress: [{host: a.example.com}]}", "team", "widens-parent"},
		{"limits of another host", host("{host: a.example.com, limits: {up: 1KiB}}, {host: b.example.com}"), nowhere, reaches, "{egress: [{host: b.example.com}]}", "team", ""},
		{"a private range of a public one", host("{host: 8.0.0.0/5}"), "", reaches, "{egress: [{host: 10.0.0.0/8}]}", "agent", "exception-approver"},
		{"a private range, approved", host("{host: 8.0.0.0/5}"), "", reaches, "{egress: [{host: 10.0.0.0/8}]}", "org", ""},
		{"a public part of a range", host("{host: 8.0.0.0/5}"), "", reaches, "{egress: [{host: 8.8.8.8}]}", "agent", ""},
		{"an encrypted ClientHello", host("{host: a.example.com}"), "", reaches, "{egress: [{host: a.example.com, ech: true}]}", "agent", "exception-approver"},
		{"an encrypted ClientHello, as above", host("{host: a.example.com, ech: true}"), "", reaches, "{egress: [{host: a.example.com, ech: true}]}", "agent", ""},
		{"a module that holds some outside of the default set", python + ", python: {imports: {allow: []}}}", "", python + "}", "{imports: [http]}", "agent", "exception-approver"},
		{"a gateway", host("{host: a.example.com}"), "", python + "}\n  network: {mode: allowlist, gateways: [{name: m, upstream: 'https://b.example.com'}]}", "{egress: [{host: b.example.com}]}", "org", "widens-parent"},
		{"a gateway to what is listed", host("{host: a.example.com}"), "", python + "}\n  network: {mode: allowlist, gateways: [{name: m, upstream: 'https://a.example.com/v1', methods: [GET]}]}", "{egress: [{host: b.example.com}]}", "org", ""},
		{"limits of another port", host("{host: a.example.com, limits: {up: 1KiB}}"), "", reaches, "{egress: [{host: a.example.com, ports: [8443]}]}", "org", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := func(kind, name, parent, spec string) schema.Source {
				if parent != "" {
					parent = ", parent: " + parent
				}
				return schema.Source{Name: name + ".yaml", Data: fmt.Appendf(
					nil, "apiVersion: ringd/v1\nkind: %s\nmetadata: {name: %s, revision: 1, owner: "+
						"\"group:%s@x.example\"%s}\nspec:\n  %s\n", kind, name, name, parent, spec)}
			}
			sources, parent := []schema.Source{doc("OrgPolicy", "org", "", tt.org)}, "org"
			if tt.team != "" {
				sources, parent = append(sources, doc("TeamPolicy", "team", "org", tt.team)), "team"
			}
			exception := fmt.Sprintf("\n  exceptions: [{id: EXC-1, owner: \"user:a@x.example\", approvedBy: "+
				"[\"group:%s@x.example\"], expires: \"2026-12-31\", reason: a job of this quarter needs it, ticket: T-1, grants: %s}]", tt.approver, tt.grants)
			policies, found := schema.Decode(append(sources, doc("AgentPolicy", "agent", parent, tt.agent+exception)))
			if !found.Refused() {
				_, found = compiler.Compile(compiler.Config{
					Policies: policies, Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)})
			}
			switch {
			case tt.want == "" && found.Refused():
				t.Errorf("refused: %v", found)
			case tt.want != "" && (!found.Refused() || found[0].Code != tt.want || len(found[0].Related) != 1):
				t.Errorf("got %v, want %s with the place above", found, tt.want)
			}
		})
	}
}
