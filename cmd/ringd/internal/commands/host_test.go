package commands // what a host lacks is no part of what the package offers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
)

// TestAround: each layer that an agent needs and a host does not have is an error with a
// remedy, and nothing else is.
func TestAround(t *testing.T) {
	host := func(tier profiles.Tier, lacks ...string) cli.Health {
		h := cli.Health{Tier: string(tier)}
		for _, name := range []string{"engine", "process", "namespaces", "egress", "seccomp", "cgroups", "python",
			"python_wasm"} {
			l := cli.Layer{Name: name, State: cli.LayerEnforced, Required: name == "engine" || name == "process"}
			for _, no := range lacks {
				if no == name {
					l.State, l.Reason, l.Fix = cli.LayerUnavailable, "no "+name, "get "+name
				}
			}
			h.Layers = append(h.Layers, l)
		}
		return h
	}
	js := profiles.Agent{MinTier: profiles.TierWasm, JS: &profiles.JS{}}
	strong := js
	strong.MinTier = profiles.TierOS
	above := js
	above.MinTier = profiles.TierMicroVM
	shell := profiles.Agent{MinTier: profiles.TierProcess, Shell: &profiles.Shell{}}
	python := profiles.Agent{MinTier: profiles.TierProcess, Python: &profiles.Python{}}
	wasm := profiles.Agent{MinTier: profiles.TierWasm, Python: &profiles.Python{Engine: "wasm"}}
	open := js
	open.Egress = profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{{Host: "a.example"}}}
	for _, tt := range []struct {
		name  string
		agent profiles.Agent
		host  cli.Health
		want  []string // executor and layer
	}{
		{"all there", strong, host(profiles.TierOS, "cgroups", "python", "python_wasm"), nil},
		{"wasm is enough", js, host(profiles.TierWasm, "namespaces", "seccomp", "egress"), nil},
		{"no engine", js, host(profiles.TierOS, "engine"), []string{"js engine: no engine, get engine"}},
		{"the first layer", strong, host(profiles.TierWasm, "namespaces", "seccomp"), []string{"js namespaces: no namespaces, get namespaces"}},
		{"nobody knows why", strong, host(profiles.TierWasm), []string{"js minTier: os-sandbox is required, and this host provides wasm, run it on a host that has it"}},
		{"more than there is", above, host(profiles.TierOS), []string{"js minTier: microvm is required, and this version of ringd provides at most os-sandbox, lower minTier to a tier that ringd provides"}},
		{"programs want every layer", shell, host(profiles.TierWasm, "seccomp"), []string{"shell seccomp: no seccomp, get seccomp"}},
		{"no interpreter", python, host(profiles.TierOS, "python"), []string{"python python: no python, get python"}},
		{"the other engine", wasm, host(profiles.TierWasm, "python", "namespaces"), nil},
		{"no other engine", wasm, host(profiles.TierOS, "python_wasm"), []string{"python python_wasm: no python_wasm, get python_wasm"}},
		{"a network", open, host(profiles.TierOS, "egress"), []string{"js egress: no egress, get egress"}},
		{"a host that tells nothing", js, cli.Health{}, []string{"js minTier: wasm is required, and this host provides none, run it on a host that has it",
			"js engine: this host does not have it, run it on a host that has it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newHostReport(tt.agent, tt.host)
			var said []string
			for _, m := range got.Missing {
				said = append(said, m.Executor+" "+m.Layer+": "+m.Reason+", "+m.Fix)
			}
			if diff := cmp.Diff(tt.want, said); diff != "" || got.Enforceable != (len(tt.want) == 0) {
				t.Errorf("enforceable %v: %s", got.Enforceable, diff)
			}
		})
	}
}
