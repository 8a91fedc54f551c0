package powers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/powers"
)

func bridge(name string, p profiles.Powers, ask *profiles.Approval) profiles.Bridge {
	return profiles.Bridge{Name: name, Powers: p, Approval: ask}
}

func bridges(all ...profiles.Bridge) map[string]profiles.Bridge {
	out := map[string]profiles.Bridge{}
	for _, b := range all {
		out[b.Name] = b
	}
	return out
}

// TestSources has what each kind of grant brings, and whether people are asked.
func TestSources(t *testing.T) {
	s, u, e := profiles.Powers{Sensitive: true}, profiles.Powers{Untrusted: true}, profiles.Powers{External: true}
	always, sometimes := &profiles.Approval{}, &profiles.Approval{When: "input.args.x"}
	list := profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{
		{Host: "a.example.com"}, {Host: "b.example.com", Methods: []string{"GET", "HEAD", "OPTIONS"}, Powers: u}},
		Gateways: []profiles.Gateway{{Name: "pay", Methods: []string{"GET", "PUT"}, Powers: s},
			{Name: "docs", Methods: []string{"GET"}}}}
	type source struct {
		What   string
		Powers profiles.Powers
		Asks   bool
	}
	for _, tt := range []struct {
		name  string
		agent profiles.Agent
		want  []source
	}{
		{"nothing", profiles.Agent{}, nil},
		{"bridges", profiles.Agent{Bridges: bridges(bridge("a", s, nil), bridge("b", e, always), bridge("c", e, sometimes), bridge("d", profiles.Powers{}, nil))},
			[]source{{"bridge:a", s, false}, {"bridge:b", e, true}, {"bridge:c", e, false}}},
		{"a network that nothing has", profiles.Agent{JS: &profiles.JS{}, Egress: list}, nil},
		{"an engine without a network", profiles.Agent{Python: &profiles.Python{Engine: profiles.PythonWasm}, Egress: list}, nil},
		{"guests with a network", profiles.Agent{Shell: &profiles.Shell{}, Egress: list},
			[]source{{"egress:a.example.com", e, false}, {"egress:b.example.com", u, false},
				{"gateway:pay", profiles.Powers{Sensitive: true, External: true}, false}}},
		{"fetch takes what can be sent, and asks", profiles.Agent{JS: &profiles.JS{}, Bridges: bridges(bridge("fetch", u, always)), Egress: list},
			[]source{{"bridge:fetch", profiles.Powers{Untrusted: true, External: true}, true},
				{"egress:a.example.com", e, true}, {"egress:b.example.com", u, true},
				{"gateway:pay", profiles.Powers{Sensitive: true, External: true}, true}}},
		{"fetch does not ask for guests", profiles.Agent{Python: &profiles.Python{}, Bridges: bridges(bridge("fetch", u, always)),
			Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: list.Allow[:1]}},
			[]source{{"bridge:fetch", profiles.Powers{Untrusted: true, External: true}, true},
				{"egress:a.example.com", e, false}}},
		{"gateways alone", profiles.Agent{Shell: &profiles.Shell{}, Egress: profiles.Egress{Mode: profiles.EgressGatewayOnly, Allow: list.Allow, Gateways: list.Gateways[:1]}},
			[]source{{"gateway:pay", profiles.Powers{Sensitive: true, External: true}, false}}},
		{"a network that is off", profiles.Agent{Shell: &profiles.Shell{}, Egress: profiles.Egress{Mode: profiles.EgressOff, Allow: list.Allow, Gateways: list.Gateways}}, nil},
		{"files", profiles.Agent{Files: profiles.Files{Read: []profiles.PathRule{{Path: "/a"}}, Write: []profiles.PathRule{{Path: "/b"}}, Powers: profiles.Powers{Sensitive: true, External: true}}},
			[]source{{"files:read", s, false}, {"files:write", e, false}}},
		{"files that are written can be read", profiles.Agent{Files: profiles.Files{Write: []profiles.PathRule{{Path: "/b"}}, Powers: profiles.Powers{Sensitive: true}}},
			[]source{{"files:read", s, false}}},
		{"files that nobody reads", profiles.Agent{Files: profiles.Files{Powers: profiles.Powers{Sensitive: true, External: true}}}, nil},
		{"inputs", profiles.Agent{Inputs: profiles.Powers{Untrusted: true, External: true}}, []source{{"inputs", u, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []source
			for _, one := range powers.Sources(tt.agent) {
				got = append(got, source{one.What, one.Powers, one.Asks})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestAccount counts the agents that one may start, which are all of the set, and no
// others.
func TestAccount(t *testing.T) {
	agents := map[string]profiles.Agent{
		"alone":  {Name: "alone", Bridges: bridges(bridge("read", profiles.Powers{Sensitive: true}, nil))},
		"starts": {Name: "starts", Bridges: map[string]profiles.Bridge{"spawn": {Name: "spawn", Powers: profiles.Powers{Untrusted: true}, Limits: profiles.BridgeLimits{SpawnPerCall: 1}}}},
		"third":  {Name: "third", Bridges: bridges(bridge("send", profiles.Powers{External: true}, nil))},
	}
	if got := powers.Of(agents, "alone"); powers.Three(got.Powers) || len(got.Starts) != 0 {
		t.Errorf("alone: %+v", got)
	}
	got := powers.Of(agents, "starts")
	if !powers.Three(got.Powers) || !cmp.Equal(got.Starts, []string{"alone", "third"}) {
		t.Errorf("starts: %+v", got)
	}
	if unapproved := powers.Names(got.Unapproved(), 4, "starts"); unapproved != "bridge:send of agent third" {
		t.Errorf("unapproved: %s", unapproved)
	}
	if got := powers.Of(agents, "nobody"); got.Powers != (profiles.Powers{}) {
		t.Errorf("nobody: %+v", got)
	}
}
