package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// What stood around a guest, in 80 columns.
func TestReportAttestation(t *testing.T) {
	layers := map[string]string{"cgroups": "unavailable", "violations": "best-effort"}
	for _, l := range strings.Fields("process environment descriptors parent_death namespaces mounts exec network " +
		"rlimits no_new_privs landlock capabilities memory_wx seccomp self_test seal") {
		layers[l] = "enforced"
	}
	for _, tt := range []struct {
		name string
		at   wire.Attestation
		want string
	}{
		{"all", wire.Attestation{Tier: "os-sandbox", LandlockABI: 7, Profile: "sha256:0123456789abcdef0123", Layers: layers},
			`guest     tier os-sandbox, profile sha256:0123456789ab
          best-effort: violations
          enforced: capabilities descriptors environment exec landlock(7)
          memory_wx mounts namespaces network no_new_privs parent_death process
          rlimits seal seccomp self_test
          unavailable: cgroups
`},
		{"plain", wire.Attestation{Tier: "wasm", Layers: map[string]string{"rlimits": "enforced"}},
			"guest     tier wasm\n          enforced: rlimits\n"},
		{"none", wire.Attestation{}, "guest     none was started\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			cli.Page{W: &b}.Report(wire.Run{ID: "r1", Attestation: tt.at}, nil)
			_, got, _ := strings.Cut(b.String(), "generation 0\n")
			got, _, _ = strings.Cut(got, "cpu ")
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			for l := range strings.Lines(b.String()) {
				if len([]rune(strings.TrimSuffix(l, "\n"))) > 80 {
					t.Errorf("too wide: %q", l)
				}
			}
		})
	}
}

// The limits in a report are those of the executor that the run had.
func TestReportLimits(t *testing.T) {
	limits := func(seconds int64) profiles.Limits {
		return profiles.Limits{CPUMillis: new(seconds * 1000), WallMillis: new(seconds * 2000),
			MemoryBytes: new(seconds << 20)}
	}
	set := &profiles.Set{Agents: map[string]profiles.Agent{"a": {Name: "a",
		JS: &profiles.JS{Limits: limits(1)}, Python: &profiles.Python{Limits: limits(2)},
		Shell: &profiles.Shell{Limits: limits(3)}}}}
	for executor, want := range map[string][]string{
		"js": {" of 1.00 s", " of 1 MiB", " of 2.00 s"}, "python": {" of 2.00 s", " of 2 MiB", " of 4.00 s"},
		"shell": {" of 3.00 s", " of 3 MiB", " of 6.00 s"},
	} {
		var b bytes.Buffer
		cli.Page{W: &b}.Report(wire.Run{ID: "r1", Agent: "a", Executor: executor}, set)
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s: no %q in %s", executor, text, b.String())
			}
		}
	}
}
