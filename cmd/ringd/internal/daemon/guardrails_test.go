package daemon_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

// guarding compiles for real and asks the guardrails for real, as the daemon does.
type guarding struct{ cfg worker.CompileConfig }

func (g guarding) Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	r, err := worker.Compile(ctx, g.cfg, worker.CompileRequest{Sources: p.Sources, Unguarded: true})
	return r.Set, r.Diagnostics, err
}

func (g guarding) Check(ctx context.Context, set, previous *profiles.Set) (schema.Diagnostics, error) {
	return worker.CheckGuardrails(ctx, g.cfg, worker.CheckRequest{Set: set, Previous: previous})
}

func guardingChild(t testing.TB) guarding {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return guarding{worker.CompileConfig{Path: self, Args: []string{verbCompile}, Wall: 30 * time.Second}}
}

// guardedPolicy grants bridges, and has a guardrail with this condition.
func guardedPolicy(condition string, bridges ...string) string {
	text := `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: p, owner: "user:me", revision: 1}
spec:
  agents: [{match: default}]
  executors: {allowed: [js]}
  guardrails:
    - name: g
      rego: |
        package ringd.guardrails
        deny contains "not on this host" if {
          ` + condition + `
        }
  bridges:
`
	for _, b := range bridges {
		text += "    - {name: " + b + ", powers: {sensitive: false, untrusted: false, external: false}}\n"
	}
	return text
}

// wider holds of a policy with more bridges than the one before.
const wider = `input.previous != null; count(input.effective.bridges) > count(input.previous.bridges)`

// TestGuardrailRefusesAPush: what a guardrail refuses does not come in force, with the
// finding in the status; what was in force stays, over a restart too. Its twin passes.
func TestGuardrailRefusesAPush(t *testing.T) {
	cfg := daemontest.Config{Dir: t.TempDir(), Compiler: guardingChild(t)}
	s := daemontest.New(t, cfg)
	s.Apply(t, guardedPolicy(wider, "log"))
	before := s.Daemon.Set().Revision
	for _, text := range []string{guardedPolicy(wider, "log", "pay"), guardedPolicy(`input.target == "host"`, "log")} {
		if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push(text)); !errors.Is(err, policy.ErrRejected) {
			t.Fatalf("applied: %v", err)
		}
		push := s.Daemon.Status(t.Context()).LastPush
		if push == nil || push.Result != wire.PushRejected || push.Message != "a guardrail refuses the policy" ||
			len(push.Findings) != 1 {
			t.Fatalf("push %+v", push)
		}
		if f := push.Findings[0]; f.Code != "guardrail-denied" || f.Line != 8 || f.File != "policy.yaml" ||
			!strings.HasSuffix(f.Message, "not on this host") {
			t.Errorf("finding %+v", f)
		}
		if s.Daemon.Set().Revision != before {
			t.Error("another set is in force")
		}
	}
	s.Apply(t, guardedPolicy(wider, "pay")) // no wider: the twin
	in := s.Daemon.Set().Revision
	s.Close(t)
	s = daemontest.New(t, cfg)
	if set := s.Daemon.Set(); set == nil || set.Revision != in || in == before {
		t.Fatalf("after a restart: %+v", set)
	}
	s.Close(t)

	// A restart asks again: where nobody can be asked, nothing is in force.
	for name, compiler := range map[string]policy.Compiler{
		"a host that cannot ask": guarding{worker.CompileConfig{Path: "/nonexistent", Args: []string{verbCompile}}}, "nobody asks": &daemontest.Compiler{},
	} {
		cfg.Compiler = compiler
		s = daemontest.New(t, cfg)
		if set := s.Daemon.Set(); set != nil {
			t.Errorf("%s: %s is in force", name, set.Revision)
		}
		s.Close(t)
	}
}

// TestGuardrailComparesWithWhatWasLast: after a restart a set stands beside itself, and
// once a generation is closed the next push stands beside that, whoever kept the source
// away. A daemon that never had a policy knows nothing to compare with.
func TestGuardrailComparesWithWhatWasLast(t *testing.T) {
	const alone = `input.previous == null; count(input.effective.bridges) > 1`
	clock := daemontest.NewClock()
	cfg := daemontest.Config{Dir: t.TempDir(), Compiler: guardingChild(t), Clock: clock}
	s := daemontest.New(t, cfg)
	if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push(guardedPolicy(alone, "log", "pay"))); !errors.Is(
		err, policy.ErrRejected) {
		t.Fatalf("compared with what never was: %v", err)
	}
	s.Apply(t, guardedPolicy(alone, "log"))
	s.Apply(t, guardedPolicy(alone, "log", "pay"))
	in := s.Daemon.Set().Revision
	s.Close(t)
	s = daemontest.New(t, cfg)
	if set := s.Daemon.Set(); set == nil || set.Revision != in {
		t.Fatalf("after a restart: %+v", set)
	}

	s.Apply(t, guardedPolicy(wider, "log"))
	for _, later := range []time.Duration{0, 1000 * time.Hour} {
		clock.Advance(later)
		if err := s.Daemon.RejectPush(t.Context(), "", nil, "torn"); !errors.Is(err, policy.ErrRejected) {
			t.Fatal(err)
		}
	}
	if s.Daemon.Set() != nil {
		t.Fatal("stale, and in force")
	}
	for range 2 { // and after a restart, which takes nothing up
		if err := s.Daemon.ApplyPush(t.Context(), daemontest.Push(guardedPolicy(wider, "log", "pay"))); !errors.Is(
			err, policy.ErrRejected) || s.Daemon.Set() != nil {
			t.Fatalf("the push came in force: %v", err)
		}
		s.Close(t)
		s = daemontest.New(t, cfg)
	}
	s.Apply(t, guardedPolicy(wider, "pay")) // no wider: the twin
	s.Close(t)
}
