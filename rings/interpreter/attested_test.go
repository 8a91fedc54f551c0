package interpreter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// The isolation of a guest is in the outcome and in the record of the end. The isolation
// that the policy asks for is in the record of the start.
func TestAttestationIsOnRecord(t *testing.T) {
	around := executors.Attestation{Tier: profiles.TierOS, LandlockABI: 7, Profile: "sha256:abc",
		Layers: map[string]string{
			"seccomp": "enforced", "mounts": "enforced", "violations": "best-effort", "cgroups": "unavailable"}}
	for _, tt := range []struct {
		name   string
		around executors.Attestation
		want   map[string]string
	}{
		{"all of it", around, map[string]string{"tier": "os-sandbox", "landlock_abi": "7", "profile": "sha256:abc",
			"enforced": "mounts seccomp", "best-effort": "violations", "unavailable": "cgroups"}},
		{"a plain guest", executors.Attestation{Tier: profiles.TierWasm, Layers: map[string]string{"rlimits": "enforced"}},
			map[string]string{"tier": "wasm", "enforced": "rlimits"}},
		{"no guest", executors.Attestation{}, map[string]string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			s := set("rev1")
			a := s.Agents["default"]
			a.MinTier = profiles.TierWasm
			s.Agents["default"] = a
			w.apply(s)
			v := w.end(w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
				return executors.Outcome{State: executors.StateDone, Attestation: tt.around}, nil
			}))
			if d := cmp.Diff(tt.around, v.Attestation); d != "" {
				t.Error(d)
			}
			rec, _ := w.audit.find(contract.RunEnded)
			if d := cmp.Diff(tt.want, rec.Detail); d != "" {
				t.Error(d)
			}
			if rec, _ := w.audit.find(contract.RunStarted); rec.Detail["min_tier"] != "wasm" {
				t.Errorf("start %v", rec.Detail)
			}
		})
	}
}

// A refusal of a guest is among the denials of its run and in its events, and of no other
// run.
func TestGuestRefused(t *testing.T) {
	w := newWorld(t)
	w.apply(set("rev1"))
	d := profiles.Decision{Verdict: profiles.Deny, Code: profiles.CodeGuestRefused,
		Reason: "seccomp refused socket AF_NETLINK"}
	started := w.start(func(context.Context, executors.Run, executors.Host) (executors.Outcome, error) {
		w.ring.Refused("another", d)
		w.ring.Refused("r1", d)
		return executors.Outcome{State: executors.StateDone}, nil
	})
	v := w.end(started)
	if diff := cmp.Diff([]profiles.Decision{d}, v.Denials); diff != "" || v.State != executors.StateDone {
		t.Errorf("%s %s", v.State, diff)
	}
	events, err := started.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range events {
		if e.Kind == run.EventDecision && e.Decision.Code == d.Code {
			seen++
		}
	}
	if seen != 1 {
		t.Errorf("%d events of it", seen)
	}
	w.ring.Refused("r1", d) // the run is over: nothing changes
	if v := w.end(started); len(v.Denials) != 1 {
		t.Errorf("denials after the end: %v", v.Denials)
	}
}

// A tier that this host does not give is refused with the layer and the remedy.
func TestTierNamesWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lacks func() (string, string)
		why   string
		first string
	}{
		{"known", func() (string, string) { return "layer landlock: no Landlock", "use Linux 6.12" }, "wasm on this host: layer landlock: no Landlock", "use Linux 6.12"},
		{"not known", func() (string, string) { return "", "" }, "has wasm on this host", "run it on a host that has it"},
		{"nobody knows", nil, "has wasm on this host", "run it on a host that has it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, func(c *interpreter.Config) { c.Lacks = tt.lacks })
			w.apply(agentOf(set("rev1"), func(a *profiles.Agent) { a.MinTier = profiles.TierOS }))
			_, err := w.ring.Start(t.Context(), interpreter.StartRequest{ID: "r1", Agent: "default", Executor: "js"})
			var d *profiles.Denial
			if !errors.As(err, &d) || d.Decision.Code != profiles.CodeTierUnavailable ||
				!strings.HasSuffix(d.Decision.Reason, tt.why) ||
				!strings.HasPrefix(d.Decision.Instead[0], tt.first) {
				t.Errorf("%v: %+v", err, d)
			}
		})
	}
}
