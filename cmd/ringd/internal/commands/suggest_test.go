package commands_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/audit/audittest"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
)

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func suggestEnded(agent, imports string, age time.Duration) audit.Record {
	r := audit.Record{Kind: audit.RunEnded, Agent: agent, Run: "r_1", Time: start.Add(-age), State: "done",
		Detail: map[string]string{}}
	if imports != "" {
		r.Detail["imports"] = imports
	}
	return r
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	rule := func(line int) profiles.Rule { return profiles.Rule{File: "p.yaml", Line: line, Column: 1} }
	set := &profiles.Set{Agents: map[string]profiles.Agent{
		"analyst": {Name: "analyst", Python: &profiles.Python{Imports: profiles.Imports{
			Allow: []profiles.ImportRule{{Name: "pandas", Rule: rule(3)}, {Name: "json", Rule: rule(4)},
				{Name: "csv", Rule: rule(5)}}}},
			Bridges: map[string]profiles.Bridge{
				"search": {Limits: profiles.BridgeLimits{CallsPerRun: 9}, Rule: rule(6)}, "idle": {Rule: rule(7)}},
			Shell: &profiles.Shell{Binaries: []profiles.Binary{
				{Path: "/usr/bin/git", Rule: rule(8)}, {Path: "/usr/bin/jq", Rule: profiles.Rule{File: "p.yaml", Line: 9, Layer: "OrgPolicy acme"}}}},
			Egress: profiles.Egress{Mode: profiles.EgressAllowlist,
				Allow: []profiles.EgressRule{{Host: "*.example.com", Ports: []int{443}, Rule: rule(10)}}}},
		"open": {Name: "open", Python: &profiles.Python{Imports: profiles.Imports{Default: true}}},
		"js":   {Name: "js", JS: &profiles.JS{}},
	}}
	var out bytes.Buffer
	cmd := commands.NewSuggest(commands.SuggestConfig{
		Program: &cli.Program{Out: &out}, Now: func() time.Time { return start },
		Compile: func(context.Context, string) (*profiles.Set, cli.Policy, error) {
			return set, cli.Policy{Path: filepath.Join("conf", "p.yaml")}, nil
		},
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"-p", "p.yaml"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSuggest(t *testing.T) {
	dir := audittest.State(t, start,
		suggestEnded("analyst", "json,pandas.io.json,requests", time.Hour),
		suggestEnded("analyst", "", time.Hour),
		suggestEnded("analyst", "json,csv", 48*time.Hour),
		suggestEnded("open", "urllib.parse,re", time.Hour),
		audit.Record{Kind: audit.RunStarted, Agent: "analyst", Run: "r_1", Detail: map[string]string{"imports": "csv"}},
		audit.Record{Kind: audit.CallOpened, Agent: "analyst", Run: "r_1", Call: "c1", Capability: "bridge:search",
			Decision: &audit.Decision{Verdict: profiles.Allow}},
		audit.Record{Kind: audit.CallOpened, Agent: "analyst", Run: "r_1", Call: "c2", Capability: "bridge:search",
			Decision: &audit.Decision{Verdict: profiles.Ask}},
		audit.Record{Kind: audit.CallBegun, Agent: "analyst", Run: "r_1", Call: "c2", Capability: "bridge:search"},
		audit.Record{Kind: audit.CallDecided, Agent: "analyst", Run: "r_1", Call: "c3", Capability: "bridge:idle",
			Decision: &audit.Decision{}},
		audit.Record{Kind: audit.ExecDecided, Agent: "analyst", Run: "r_1", Capability: "exec:/usr/bin/git",
			Decision: &audit.Decision{Verdict: profiles.Allow}},
		audit.Record{Kind: audit.EgressDecided, Agent: "analyst", Run: "r_1",
			Capability: records.GrantHost + "www.example.com:443", Decision: &audit.Decision{Verdict: profiles.Allow}},
	)
	got, err := run(t, "--agent", "analyst", "--state", dir, "--since", "24h")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"runs: 1\n", "allow: [json, pandas]\n", "# not used: import csv, at conf/p.yaml:5\n",
		"# used, and not allowed now: import requests\n",
		"# could be narrower: bridge search, at conf/p.yaml:6\n#     callsPerRun: 2\n", "# not used: bridge idle, at conf/p.yaml:7\n",
		"# not used: program /usr/bin/jq, at conf/p.yaml:9, of OrgPolicy acme\n", "# could be narrower: host *.example.com, at conf/p.yaml:10\n#     www.example.com:443\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got, err = run(t, "--agent", "analyst", "--state", dir, "--json"); err != nil ||
		!strings.Contains(got, `"runs": 1`) || !strings.Contains(got, `"remove"`) {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = run(t, "--agent", "open", "--state", dir); err != nil ||
		!strings.Contains(got, "allow: [re, urllib]") || !strings.Contains(
		got, "deny: [urllib.request, urllib.robotparser]") {
		t.Errorf("%v\n%s", err, got)
	}
}

// A program chooses names that are on record; none of them is a line of the policy that
// is suggested.
func TestSuggestStaysAComment(t *testing.T) {
	const lines = "/usr/bin/x\nimports:\n  allow: [os]\r\u2028\u0085"
	dir := audittest.State(t, start,
		suggestEnded("analyst", "json", time.Hour),
		audit.Record{Kind: audit.ExecDecided, Agent: "analyst", Run: "r_1", Capability: "exec:" + lines,
			Decision: &audit.Decision{Verdict: profiles.Allow}},
		audit.Record{Kind: audit.CallOpened, Agent: "analyst", Run: "r_1", Call: "c1", Capability: "bridge:" + lines,
			Decision: &audit.Decision{Verdict: profiles.Allow}},
		audit.Record{Kind: audit.CallBegun, Agent: "analyst", Run: "r_1", Call: "c1", Capability: "bridge:" + lines},
		audit.Record{Kind: audit.EgressDecided, Agent: "analyst", Run: "r_1",
			Capability: records.GrantHost + lines + ":443", Decision: &audit.Decision{Verdict: profiles.Allow}},
	)
	got, err := run(t, "--agent", "analyst", "--state", dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "not allowed now: program /usr/bin/x\\u000aimports:") ||
		strings.ContainsAny(got, "\r\u2028\u0085") {
		t.Errorf("%q", got)
	}
	for line := range strings.Lines(got) {
		if line != "imports:\n" && line != "  allow: [json]\n" && !strings.HasPrefix(line, "#") {
			t.Errorf("%q is no comment in\n%s", line, got)
		}
	}
}

func TestSuggestRefuses(t *testing.T) {
	dir := audittest.State(t, start, suggestEnded("other", "json", 0))
	for want, args := range map[string][]string{
		`no agent "nobody"`:    {"--agent", "nobody", "--state", dir},
		"no runs of agent":     {"--agent", "analyst", "--state", dir},
		"want a time":          {"--agent", "analyst", "--state", dir, "--since", "yesterday"},
		"read state folder":    {"--agent", "analyst", "--state", filepath.Join(dir, "none")},
		`unknown flag`:         {"--colour"},
		"name the policy once": {"extra"},
	} {
		if got, err := run(t, args...); err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, got)
		}
	}
}
