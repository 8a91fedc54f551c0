package commands_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/audit/audittest"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/compiler/lint"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

var now = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func ended(agent, imports string) audit.Record {
	return audit.Record{Kind: audit.RunEnded, Agent: agent, Run: "r_" + agent, Time: now, State: "done",
		Detail: map[string]string{"imports": imports}}
}

const shared = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: shared, revision: 1, owner: "group:x"}
spec:
  agents: [{match: one}, {match: two}]
  executors:
    allowed: [python]
    python:
      imports:
        allow:
          - json
          - csv
          - re # ringd:lint-ignore unused-grant for the end of the year
`

// verb runs one of the verbs over a policy, which is compiled in this process.
func verb(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &cli.Program{Out: &out, Err: &errs}
	cfg := commands.PolicyConfig{Program: p, Now: func() time.Time { return now },
		Lint: func(_ context.Context, files cli.Policy, _ lint.Options) (*profiles.Set, schema.Diagnostics, error) {
			set, found := worker.CompileHere(t.Context(), files.Sources, nil)
			return &set, found, nil
		}}
	root := &cobra.Command{Use: "ringd", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(commands.NewPolicy(cfg)...)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String() + errs.String(), err
}

// What no run on record used is told once for all agents of a policy, and only where
// none of those that ran used it.
func TestLintUnused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(shared), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		records []audit.Record
		want    []string // lines of what is told
		err     string
	}{
		{"one ran", []audit.Record{ended("one", "json")}, []string{"12:13: unused-grant"}, "exit 1"},
		{"each used one", []audit.Record{ended("one", "json"), ended("two", "csv,re")}, []string{"13:16: unused-lint-ignore"}, "exit 1"},
		{"both used the same", []audit.Record{ended("one", "json"), ended("two", "json")}, []string{"12:13: unused-grant"}, "exit 1"},
		{"nobody ran", []audit.Record{ended("other", "json")}, nil, "it has no runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := verb(t, "lint", "-p", path, "--log", audittest.State(t, now, tt.records...))
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, path+":"+want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if n := strings.Count(out, path+":"); n != len(tt.want) {
				t.Errorf("%d findings:\n%s", n, out)
			}
		})
	}
}
