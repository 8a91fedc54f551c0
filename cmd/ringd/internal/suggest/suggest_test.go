package suggest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/sources"
	"github.com/ringd/ringd/cmd/ringd/internal/suggest"
	"github.com/ringd/ringd/profiles"
)

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// state is a state folder whose log has these records.
func state(t *testing.T, records ...audit.Record) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(cli.Layout(dir).Store, 0o700); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(time.Hour)
	t.Cleanup(ticker.Stop)
	log, err := audit.Open(t.Context(), audit.Config{Dir: cli.Layout(dir).Audit, Key: ed25519.NewKeyFromSeed(make([]byte, 32)),
		Now: func() time.Time { return start }, Ticks: ticker.C})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := log.Append(t.Context(), r, audit.Written); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func ended(agent, imports string, age time.Duration) audit.Record {
	r := audit.Record{Kind: audit.RunEnded, Agent: agent, Run: "r_1", Time: start.Add(-age), State: "done", Detail: map[string]string{}}
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
			Allow: []profiles.ImportRule{{Name: "pandas", Rule: rule(3)}, {Name: "json", Rule: rule(4)}, {Name: "csv", Rule: rule(5)}}}}},
		"open": {Name: "open", Python: &profiles.Python{Imports: profiles.Imports{Default: true}}},
		"js":   {Name: "js", JS: &profiles.JS{}},
	}}
	var out bytes.Buffer
	cmd := suggest.New(suggest.Config{
		Program: &cli.Program{Out: &out}, Now: func() time.Time { return start },
		Compile: func(context.Context, string) (*profiles.Set, sources.Policy, error) {
			return set, sources.Policy{Path: filepath.Join("conf", "p.yaml")}, nil
		},
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"-p", "p.yaml"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSuggest(t *testing.T) {
	dir := state(t,
		ended("analyst", "json,pandas.io.json,requests", time.Hour),
		ended("analyst", "", time.Hour),
		ended("analyst", "json,csv", 48*time.Hour),
		ended("open", "urllib.parse,re", time.Hour),
		audit.Record{Kind: audit.RunStarted, Agent: "analyst", Detail: map[string]string{"imports": "csv"}},
	)
	got, err := run(t, "--agent", "analyst", "--state", dir, "--since", "24h")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"runs: 1\n", "allow: [json, pandas]\n", "# not used: csv, at conf/p.yaml:5", "# used, and not allowed now: requests"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got, err = run(t, "--agent", "analyst", "--state", dir, "--json"); err != nil || !strings.Contains(got, `"runs": 2`) || strings.Contains(got, `"unused"`) {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err = run(t, "--agent", "open", "--state", dir); err != nil || !strings.Contains(got, "allow: [re, urllib]") || !strings.Contains(got, "deny: [urllib.request, urllib.robotparser]") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestSuggestRefuses(t *testing.T) {
	dir := state(t, ended("other", "json", 0))
	for want, args := range map[string][]string{
		`no agent "nobody"`:       {"--agent", "nobody", "--state", dir},
		"does not grant python":   {"--agent", "js", "--state", dir},
		"no imports of agent":     {"--agent", "analyst", "--state", dir},
		"want a time":             {"--agent", "analyst", "--state", dir, "--since", "yesterday"},
		"read state folder":       {"--agent", "analyst", "--state", filepath.Join(dir, "none")},
		`unknown flag`:            {"--colour"},
		`unknown command "extra"`: {"extra"},
	} {
		if got, err := run(t, args...); err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, got)
		}
	}
}
