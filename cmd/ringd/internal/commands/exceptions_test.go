package commands_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/audit/audittest"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

var exceptionsStart = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// policy has exceptions of two agents: of programs, hosts, Python and JavaScript.
func policy() *profiles.Set {
	exception := func(id string, left time.Duration, grants profiles.Excepted) profiles.Exception {
		return profiles.Exception{ID: id, Owner: "user:ana@x", ApprovedBy: []string{"group:sec@x"},
			Reason: "a reason that is much too long for one line of eighty columns, and so it is folded here",
			Lifts:  []string{"OrgPolicy acme"}, Expires: exceptionsStart.Add(left),
			Rule: profiles.Rule{File: "p.yaml", Line: 7}, Grants: grants}
	}
	return &profiles.Set{Agents: map[string]profiles.Agent{
		"a": {Name: "a", Python: &profiles.Python{}, Exceptions: []profiles.Exception{
			exception("MODULE", 48*time.Hour, profiles.Excepted{Imports: []string{"pyarrow.*"}}),
			exception("PROGRAM", 90*24*time.Hour, profiles.Excepted{Binaries: []string{"/usr/bin/jq"}}),
			exception("HOST", 90*24*time.Hour, profiles.Excepted{Egress: []string{"db.acme.example"}}),
		}},
		"b": {Name: "b", JS: &profiles.JS{Imports: profiles.Imports{Allow: []profiles.ImportRule{{Name: "npm:x", Exception: "JS"}}}},
			Exceptions: []profiles.Exception{
				exception("JS", 90*24*time.Hour, profiles.Excepted{Imports: []string{"npm:x"}})}},
		"c": {Name: "c"},
	}}
}

func exceptionsRun(t *testing.T, set *profiles.Set, found schema.Diagnostics, args ...string) (
	out, told string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := commands.NewExceptions(commands.ExceptionsConfig{
		Program: &cli.Program{Out: &stdout, Err: &stderr, Env: config.Environment{
			State: filepath.Join(t.TempDir(), "none")}}, Now: func() time.Time { return exceptionsStart },
		Compile: func(context.Context, cli.Policy) (*profiles.Set, schema.Diagnostics, error) {
			return set, found, nil
		},
	})
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"-p", file}, args...))
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func code(err error) int {
	var exit *cli.Exit
	switch {
	case err == nil:
		return cli.Done
	case errors.As(err, &exit):
		return exit.Code
	default:
		return -1
	}
}

func TestUses(t *testing.T) {
	stands := func(kind audit.Kind, id string, v profiles.Verdict, age time.Duration) audit.Record {
		return audit.Record{Kind: kind, Agent: "a", Run: "r_1", Time: exceptionsStart.Add(-age),
			Decision: &audit.Decision{Verdict: v, Exception: id}}
	}
	ended := func(agent, imports string, age time.Duration) audit.Record {
		return audit.Record{Kind: audit.RunEnded, Agent: agent, Run: "r_1", Time: exceptionsStart.Add(-age),
			Detail: map[string]string{"imports": imports}}
	}
	dir := audittest.State(t, exceptionsStart,
		stands(audit.ExecDecided, "PROGRAM", profiles.Allow, 50*time.Hour),
		stands(audit.ExecDecided, "PROGRAM", profiles.Ask, time.Hour),
		stands(audit.EgressDecided, "HOST", profiles.Deny, time.Hour),   // no use
		stands(audit.ActionDecided, "HOST", profiles.Allow, time.Hour),  // nothing ran
		ended("a", "json,pyarrow.lib,pyarrow", 2*time.Hour),             // one use
		ended("a", "json", time.Hour), ended("b", "pyarrow", time.Hour)) // none of a
	out, _, err := exceptionsRun(t, policy(), nil, "--state", dir)
	if code(err) != cli.Done {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"MODULE           a                        2026-11-22      2     1  soon\n", "PROGRAM          a                        2027-02-18     90     2\n",
		"HOST             a                        2027-02-18     90     0  unused\n", "JS               b                        2027-02-18     90     ?\n",
		"  last use  2026-11-20T06:00:00Z\n", "  last use  2026-11-20T07:00:00Z\n", "  grants    binaries /usr/bin/jq\n", "  uses      not known",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 && !strings.HasPrefix(line, "  at ") {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if out, _, err = exceptionsRun(t, policy(), nil, "--state", dir, "--since", "24h", "--json", "--agent", "a"); code(
		err) != cli.Done ||
		strings.Count(out, `"uses": 1`) != 2 || strings.Count(out, `"uses": 0`) != 1 || strings.Contains(out, "npm:x") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestExitCodes(t *testing.T) {
	dir := audittest.State(t, exceptionsStart, audit.Record{Kind: audit.RunStarted, Agent: "a", Run: "r_1"})
	over := policy()
	a := over.Agents["a"]
	a.Exceptions[0].Expires = exceptionsStart // the first moment that it is over
	for name, tt := range map[string]struct {
		set   *profiles.Set
		found schema.Diagnostics
		args  []string
		want  int
		says  string
	}{
		"nothing has ended":        {policy(), nil, nil, cli.Done, "soon"},
		"no log, nothing unused":   {policy(), nil, []string{"--fail-on", "unused"}, cli.Done, "?"},
		"one has ended":            {over, nil, nil, cli.Refused, "-     ?  ended"},
		"soon fails":               {policy(), nil, []string{"--fail-on", "unused,soon"}, cli.Refused, "soon"},
		"soon is later":            {policy(), nil, []string{"--fail-on", "soon", "--soon", "1d"}, cli.Done, "MODULE"},
		"unused fails":             {policy(), nil, []string{"--fail-on", "unused", "--state", dir}, cli.Refused, "unused"},
		"none":                     {&profiles.Set{Agents: map[string]profiles.Agent{"c": {Name: "c"}}}, nil, nil, cli.Done, "no exceptions\n"},
		"an unknown agent":         {policy(), nil, []string{"--agent", "z"}, cli.Misused, ""},
		"an unknown flag to fail":  {policy(), nil, []string{"--fail-on", "old"}, cli.Misused, ""},
		"a folder without a log":   {policy(), nil, []string{"--state", t.TempDir()}, cli.Misused, ""},
		"since without a log":      {policy(), nil, []string{"--since", "24h"}, cli.Misused, ""},
		"soon is no time":          {policy(), nil, []string{"--soon", "-3d"}, cli.Misused, ""},
		"a refused policy":         {nil, schema.Diagnostics{{Code: "widens-parent"}}, nil, cli.Misused, ""},
		"ended, and more is wrong": {nil, schema.Diagnostics{{Code: "exception-expired", Severity: schema.Warning}, {Code: "widens-parent"}}, nil, cli.Misused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := exceptionsRun(t, tt.set, tt.found, tt.args...)
			if code(err) != tt.want || !strings.Contains(out, tt.says) || tt.want == cli.Misused && out != "" {
				t.Errorf("exit %d, want %d: %v\n%s", code(err), tt.want, err, out)
			}
		})
	}
	_, told, err := exceptionsRun(t, policy(), schema.Diagnostics{
		{Code: "exception-expired", Severity: schema.Warning}, {Code: "exception-unneeded", Severity: schema.Warning}})
	if err != nil || strings.Contains(told, "exception-expired") || !strings.Contains(told, "exception-unneeded") {
		t.Errorf("%v: told %q", err, told)
	}
}
