package layers_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/compiler"
	"github.com/ringd/ringd/compiler/layers"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

func entry(host string, connections int64) schema.Egress {
	e := schema.Egress{Host: host}
	if connections > 0 {
		e.Limits = &schema.EgressLimits{Connections: &connections}
	}
	return e
}

func network(list ...schema.Egress) schema.Spec {
	return schema.Spec{Executors: &schema.Executors{Allowed: []string{"python"}},
		Network: &schema.Network{Mode: "allowlist", Egress: list}}
}

// What lies within an entry above with limits counts against it together: entries,
// gateways, and parts that have limits of their own; each layer by itself.
func TestShared(t *testing.T) {
	gateway := func(name, upstream string) schema.Gateway { return schema.Gateway{Name: name, Upstream: upstream} }
	gateways := func(s schema.Spec, list ...schema.Gateway) schema.Spec {
		s.Network.Gateways = list
		return s
	}
	for _, tt := range []struct {
		name             string
		org, team, agent schema.Spec
		want             map[string][]string // of an entry or gateway: what it counts against
	}{
		{"two names", network(entry("*.a.test", 2)), schema.Spec{}, network(entry("x.a.test", 0), entry("y.a.test", 1)),
			map[string][]string{"x.a.test": {"OrgPolicy org *.a.test 2"}, "y.a.test": {"OrgPolicy org *.a.test 2"}}},
		{"org and team", network(entry("*.a.test", 4), entry("b.test", 3)), network(entry("*.x.a.test", 2), entry("y.a.test", 0), entry("b.test", 3)),
			network(entry("1.x.a.test", 0), entry("y.a.test", 0), entry("b.test", 1)),
			map[string][]string{"1.x.a.test": {"OrgPolicy org *.a.test 4", "TeamPolicy team *.x.a.test 2"},
				"y.a.test": {"OrgPolicy org *.a.test 4"}, "b.test": {"OrgPolicy org b.test 3"}}},
		{"a part above has limits by itself", network(entry("*.a.test", 0), entry("x.a.test", 2)), schema.Spec{}, network(entry("*.a.test", 2), entry("x.a.test", 0)),
			map[string][]string{"*.a.test": nil, "x.a.test": {"OrgPolicy org x.a.test 2"}}},
		{"a part above without an entry below", network(entry("*.a.test", 0), entry("*.x.a.test", 2)), schema.Spec{}, network(entry("*.a.test", 2), entry("1.x.a.test", 1)),
			map[string][]string{"*.a.test": {"OrgPolicy org *.x.a.test 2"},
				"1.x.a.test": {"OrgPolicy org *.x.a.test 2"}}},
		{"gateways", network(entry("*.a.test", 2)), schema.Spec{}, gateways(network(entry("x.a.test", 0)), gateway("one", "https://x.a.test"), gateway("two", "https://y.a.test/v1")),
			map[string][]string{"x.a.test": {"OrgPolicy org *.a.test 2"}, "one": {"OrgPolicy org *.a.test 2"},
				"two": {"OrgPolicy org *.a.test 2"}}},
		{"gateways of a team", network(entry("*.a.test", 2)), gateways(network(entry("x.a.test", 0)), gateway("one", "https://x.a.test")), gateways(network(), schema.Gateway{Name: "one"}),
			map[string][]string{"one": {"OrgPolicy org *.a.test 2"}}},
		{"no limits", network(entry("*.a.test", 0)), schema.Spec{}, network(entry("x.a.test", 2)), map[string][]string{"x.a.test": nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs := []schema.Policy{document("OrgPolicy", "org", "", tt.org),
				document("TeamPolicy", "team", "org", tt.team), document("AgentPolicy", "agent", "team", tt.agent)}
			for _, d := range docs { // as decoding gives them: who inherits a list has its places
				if d.Spec.Network != nil {
					for i := range d.Spec.Network.Egress {
						d.Origins[fmt.Sprintf("spec.network.egress[%d]", i)] = schema.Origin{
							Pos: schema.Pos{File: d.File, Line: 10 + i, Column: 1}}
					}
				}
			}
			merged := layers.Merge(layers.Config{Policies: docs})
			if len(merged.Found) > 0 {
				t.Fatal(merged.Found)
			}
			set, found := compiler.Compile(compiler.Config{Policies: docs})
			a, ok := set.Agents["agent"]
			if !ok {
				t.Fatal(found)
			}
			got := map[string][]string{}
			show := func(list []profiles.Budget) (out []string) {
				for _, b := range list {
					out = append(out, b.Rule.Layer+" "+b.Host+" "+string(rune('0'+b.Limits.Connections)))
				}
				return out
			}
			for _, r := range a.Egress.Allow {
				got[r.Host] = show(r.Under)
			}
			for _, g := range a.Egress.Gateways {
				got[g.Name] = show(g.Under)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBelow: a path remembers those of the layers above that it lies below, but not
// itself, and not the root, which holds everything.
func TestBelow(t *testing.T) {
	files := func(read ...string) schema.Spec {
		return schema.Spec{Executors: &schema.Executors{Allowed: []string{"python"}},
			Filesystem: &schema.Filesystem{Read: read}}
	}
	for _, tt := range []struct {
		name             string
		org, team, agent schema.Spec
		want             map[string][]string
	}{
		{"each layer", files("/data"), files("/data/a"), files("/data/a/b"), map[string][]string{"/data/a/b": {"/data", "/data/a"}}},
		{"a silent team", files("/data"), schema.Spec{}, files("/data/a"), map[string][]string{"/data/a": {"/data"}}},
		{"as the team has it", files("/data"), files("/data/a"), files("/data/a"), map[string][]string{"/data/a": {"/data"}}},
		{"the closest one", files("/data", "/data/a"), schema.Spec{}, files("/data/a/b", "/data/c"), map[string][]string{"/data/a/b": {"/data/a"}, "/data/c": {"/data"}}},
		{"as they have it", files("/data"), files("/data"), files("/data"), nil},
		{"the root", files("/"), files("/"), files("/data"), nil},
		{"no list above", schema.Spec{}, schema.Spec{}, files("/data/a"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs := []schema.Policy{document("OrgPolicy", "org", "", tt.org),
				document("TeamPolicy", "team", "org", tt.team), document("AgentPolicy", "agent", "team", tt.agent)}
			out := layers.Merge(layers.Config{Policies: docs})
			if len(out.Found) > 0 {
				t.Fatal(out.Found)
			}
			if diff := cmp.Diff(tt.want, out.Effective[0].Spec.Filesystem.Under.Read); diff != "" {
				t.Error(diff)
			}
			a, ok := alone(out.Effective[0])
			if !ok {
				t.Fatal("it does not compile")
			}
			for _, r := range a.Files.Read {
				if diff := cmp.Diff(tt.want[r.Path], r.Within); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestHelpersBelow: so does a helper of a program.
func TestHelpersBelow(t *testing.T) {
	program := func(helpers ...string) schema.Spec {
		return schema.Spec{Executors: &schema.Executors{Allowed: []string{"shell"},
			Shell: &schema.Shell{Binaries: []schema.Binary{{Path: "/usr/bin/git", Helpers: helpers}}}}}
	}
	docs := []schema.Policy{document("OrgPolicy", "org", "", program("/core", "/more/one")),
		document("AgentPolicy", "agent", "org", program("/core/git", "/more/one"))}
	out := layers.Merge(layers.Config{Policies: docs})
	if len(out.Found) > 0 {
		t.Fatal(out.Found)
	}
	a, ok := alone(out.Effective[0])
	if !ok {
		t.Fatal("it does not compile")
	}
	got := map[string][]string{}
	for _, h := range a.Shell.Binaries[0].Helpers {
		got[h.Path] = h.Within
	}
	if diff := cmp.Diff(map[string][]string{"/core/git": {"/core"}, "/more/one": nil}, got); diff != "" {
		t.Error(diff)
	}
}
