package main

// In the package: what joins the parts is not exported.

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
	"github.com/ringd/ringd/schema/wire"
)

const canaryPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors:
    allowed: [js, python, shell]
    minTier: os-sandbox
    python: {imports: {allow: [json, os, socket], deny: [urllib3]}}
    shell: {binaries: [{path: /usr/bin/id}], allowRedirects: true}
`

// A set comes into force once real guests of all its executors were refused what it
// denies. Each case gives a guest something else than the set says, as a ring with a
// fault would: the canary of that executor fails, the set is refused, and the
// executor is closed.
func TestCanary(t *testing.T) {
	if testing.Short() {
		t.Skip("starts guests")
	}
	if ok, err := kernelRing(t); err != nil || !ok {
		t.Skipf("this host has not every layer: %v", err)
	}
	ringd, err := exec.LookPath("ringd") // testscript.Main put the test binary there
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	for _, tt := range []struct {
		name, executor, reason string
		given                  func(*profiles.Agent)
	}{
		{name: "as it says"},
		{name: "mode audit"},
		{"a denied module", profiles.ExecutorPython, "import ctypes was not refused", func(a *profiles.Agent) {
			if a.Python != nil {
				p := *a.Python
				p.Imports.Any = &profiles.Rule{}
				p.Imports.Deny, p.Imports.Process = nil, nil
				a.Python = &p
			}
		}},
		{"a denied program", profiles.ExecutorShell, "binary /usr/bin/true was not refused", func(a *profiles.Agent) {
			if a.Shell != nil {
				s := *a.Shell
				s.Binaries = append([]profiles.Binary{{Path: "/usr/bin/true"}}, s.Binaries...)
				a.Shell = &s
			}
		}},
		{"no answer", profiles.ExecutorJS, "did not answer", func(a *profiles.Agent) { a.JS = nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &program{Program: &cli.Program{Out: t.Output(), Err: t.Output(), Self: ringd,
				Env: config.FromSystem()}}
			p.Env.Cache = cache
			state := filepath.Join(t.TempDir(), "state")
			s, err := p.stacks().newStack(t.Context(), stackConfig{
				group: &daemon.Group{}, private: []string{state}, metrics: metrics.New(),
				logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
				state:  stateConfig{folder: state, ownKey: true},
				policy: policyConfig{compiler: p.compiler(), staleness: time.Hour},
				limits: limitsConfig{quota: daemon.Quota{PerActor: 1, Total: 1}},
				guests: guestsConfig{probes: true, given: tt.given, pool: poolConfig{blank: 1, scripts: 1}, warm: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			if <-s.warmed; s.cold != nil {
				t.Fatal(s.cold)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			policy := canaryPolicy
			if tt.name == "mode audit" { // which opens every import: none can be refused, and status says so
				policy = strings.Replace(policy, "spec:\n", "spec:\n  mode: audit\n", 1)
			}
			err = s.daemon.ApplyPush(t.Context(), syncer.Push{
				Digest: "sha256:1", Sources: []schema.Source{{Name: "p.yaml", Data: []byte(policy)}}})
			st := s.daemon.Status(t.Context())
			if tt.given == nil {
				if err != nil || st.Generation != 1 || len(st.Executors) != 3 {
					t.Fatalf("%v, %+v", err, st)
				}
				for _, e := range st.Executors {
					if e.Canary == nil || e.Canary.State != wire.CanaryLoaded || len(e.Canary.Tried) < 2 ||
						e.State != wire.PartReady {
						t.Errorf("%s: %+v, %+v", e.Name, e, e.Canary)
						continue
					}
					opened := tt.name == "mode audit" && e.Name == profiles.ExecutorPython
					if opened != strings.Contains(e.Canary.Reason, "no module is denied") ||
						opened == strings.Contains(strings.Join(e.Canary.Tried, " "), "import") &&
							e.Name != profiles.ExecutorShell {
						t.Errorf("%s: %+v", e.Name, *e.Canary)
					}
					t.Logf("%s: %+v", e.Name, *e.Canary)
				}
				return
			}
			if err == nil || st.Generation != 0 || !strings.Contains(err.Error(), tt.reason) {
				t.Fatalf("%v, generation %d", err, st.Generation)
			}
			for _, e := range st.Executors {
				if e.Name == tt.executor && (e.State != wire.PartClosed || e.Canary == nil ||
					e.Canary.State != wire.CanaryFailed) {
					t.Errorf("%+v, %+v", e, e.Canary)
				}
			}
			if !recorded(t, state, audit.CanaryFailed) {
				t.Error("not on record")
			}
		})
	}
}

func recorded(t *testing.T, state string, k audit.Kind) bool {
	t.Helper()
	for e, err := range audit.Query(t.Context(), cli.Layout(state).Audit, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Record.Kind == k {
			return true
		}
	}
	return false
}

// BenchmarkPushOfMany is the time from a one-line change to force with 500 agents that
// each have all executors.
func BenchmarkPushOfMany(b *testing.B) {
	ringd, err := exec.LookPath("ringd")
	if err != nil {
		b.Fatal(err)
	}
	p := &program{Program: &cli.Program{Out: b.Output(), Err: b.Output(), Self: ringd, Env: config.FromSystem()}}
	p.Env.Cache = b.TempDir()
	state, dir := filepath.Join(b.TempDir(), "state"), b.TempDir()
	logger := slog.New(slog.DiscardHandler)
	s, err := p.stacks().newStack(b.Context(), stackConfig{
		group: &daemon.Group{}, private: []string{state}, metrics: metrics.New(), logger: logger,
		state:  stateConfig{folder: state, ownKey: true},
		policy: policyConfig{compiler: p.compiler(), staleness: time.Hour},
		limits: limitsConfig{quota: daemon.Quota{PerActor: 1, Total: 1}},
		guests: guestsConfig{probes: true, pool: poolConfig{blank: 1, scripts: 1}, warm: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if <-s.warmed; s.cold != nil {
		b.Fatal(s.cold)
	}
	const agents = 500
	put := func(n, revision int) {
		text := strings.ReplaceAll(canaryPolicy, "name: a,", fmt.Sprintf("name: agent-%d,", n))
		text = strings.ReplaceAll(text, "match: a}", fmt.Sprintf("match: agent-%d}", n))
		text = strings.ReplaceAll(text, "deny: [urllib3]", fmt.Sprintf(
			"deny: [urllib3, module%d, changed%d]", n, revision))
		next := filepath.Join(filepath.Dir(state), "next.yaml")
		if err := errors.Join(os.WriteFile(next, []byte(text), 0o600),
			os.Rename(next, filepath.Join(dir, fmt.Sprintf("p%d.yaml", n)))); err != nil {
			b.Fatal(err)
		}
	}
	for n := range agents {
		put(n, 0)
	}
	generation := func(want int64) {
		for st := s.daemon.Status(b.Context()); st.Generation < want; st = s.daemon.Status(b.Context()) {
			if st.LastPush != nil && st.LastPush.Result == wire.PushRejected {
				b.Fatalf("%+v", st.LastPush)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	began := time.Now()
	watch, err := syncer.Start(b.Context(), syncer.Config{Dir: dir, Sink: s.daemon.Sink(), Logger: logger})
	if err != nil {
		b.Fatal(err)
	}
	defer watch.Close()
	generation(1)
	first := time.Since(began)
	var took []int64
	for revision := 1; b.Loop(); revision++ {
		began := time.Now()
		put(agents/2, revision)
		generation(int64(revision) + 1)
		took = append(took, time.Since(began).Milliseconds())
	}
	slices.Sort(took)
	b.ReportMetric(float64(first.Milliseconds()), "first-ms")
	b.ReportMetric(float64(took[len(took)/2]), "median-ms")
}

// BenchmarkPushLoaded is the time from a push in the sync folder to its generation in
// force, which a set is only when its canaries were refused: of a daemon, and of one that
// tries nothing. canary-ms is what the slowest executor's canary took.
func BenchmarkPushLoaded(b *testing.B) {
	ringd, err := exec.LookPath("ringd")
	if err != nil {
		b.Fatal(err)
	}
	cache := b.TempDir()
	for _, tried := range []bool{true, false} {
		b.Run(fmt.Sprintf("canary=%v", tried), func(b *testing.B) {
			p := &program{Program: &cli.Program{Out: b.Output(), Err: b.Output(), Self: ringd,
				Env: config.FromSystem()}}
			p.Env.Cache = cache
			state, dir := filepath.Join(b.TempDir(), "state"), b.TempDir()
			logger := slog.New(slog.DiscardHandler)
			s, err := p.stacks().newStack(b.Context(), stackConfig{
				group: &daemon.Group{}, private: []string{state}, metrics: metrics.New(), logger: logger,
				state:  stateConfig{folder: state, ownKey: true},
				policy: policyConfig{compiler: p.compiler(), staleness: time.Hour},
				limits: limitsConfig{quota: daemon.Quota{PerActor: 1, Total: 1}},
				guests: guestsConfig{probes: tried, pool: poolConfig{blank: 1, scripts: 1}, warm: true},
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if <-s.warmed; s.cold != nil {
				b.Fatal(s.cold)
			}
			watch, err := syncer.Start(b.Context(), syncer.Config{Dir: dir, Sink: s.daemon.Sink(), Logger: logger})
			if err != nil {
				b.Fatal(err)
			}
			defer watch.Close()
			var took, canaries []int64
			revision := int64(0)
			for b.Loop() {
				revision++
				text := strings.Replace(canaryPolicy, "revision: 1", fmt.Sprintf("revision: %d", revision), 1)
				text = strings.Replace(text, "deny: [urllib3]", fmt.Sprintf("deny: [urllib%d]", revision), 1)
				next := filepath.Join(filepath.Dir(state), "next.yaml")
				if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if err := os.Rename(next, filepath.Join(dir, "p.yaml")); err != nil {
					b.Fatal(err)
				}
				st := s.daemon.Status(b.Context())
				for ; st.Generation < revision; st = s.daemon.Status(b.Context()) {
					if st.LastPush != nil && st.LastPush.Result == wire.PushRejected && st.LastPush.At.After(began) {
						b.Fatalf("%+v", st.LastPush)
					}
					time.Sleep(time.Millisecond)
				}
				took = append(took, time.Since(began).Milliseconds())
				longest := int64(0)
				for _, e := range st.Executors {
					if e.Canary != nil {
						longest = max(longest, e.Canary.TookMillis)
					}
				}
				canaries = append(canaries, longest)
			}
			slices.Sort(took)
			slices.Sort(canaries)
			b.ReportMetric(float64(took[len(took)/2]), "median-ms")
			b.ReportMetric(float64(took[len(took)-1]), "max-ms")
			b.ReportMetric(float64(canaries[len(canaries)/2]), "canary-ms")
		})
	}
}
