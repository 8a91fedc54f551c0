package kernel

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
)

func agent(rules ...profiles.EgressRule) profiles.Agent {
	return profiles.Agent{Name: "a", Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: rules}}
}

func decider(rules ...profiles.EgressRule) *profiles.Decider {
	return profiles.NewDecider(agent(rules...), "r", profiles.Environment{})
}

func TestPorts(t *testing.T) {
	many := profiles.EgressRule{Host: "many.example"}
	for p := range 300 {
		many.Ports = append(many.Ports, 5000+p)
	}
	for _, tt := range []struct {
		name  string
		rules []profiles.EgressRule
		want  []uint16
	}{
		{"none", nil, []uint16{80, 443}},
		{"those that rules name, once", []profiles.EgressRule{{Host: "a.example", Ports: []int{8443, 22}}, {Host: "b.example", Ports: []int{22, 443}}}, []uint16{22, 80, 443, 8443}},
		{"any port", []profiles.EgressRule{{Host: "a.example", AnyPort: true}}, []uint16{80, 443}},
		{"that of names", []profiles.EgressRule{{Host: "a.example", Ports: []int{53, 54}}}, []uint16{54, 80, 443}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, listenedPorts(decider(tt.rules...))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff([]uint16{80, 443}, listenedPorts(nil)); diff != "" {
		t.Errorf("nobody's: %s", diff)
	}
	got := listenedPorts(decider(many))
	if len(got) != initproto.MaxPorts || !slices.Contains(got, 80) || !slices.Contains(got, 443) ||
		!slices.IsSorted(got) {
		t.Errorf("of very many ports %d stay: %v", len(got), got)
	}
}

func TestWanted(t *testing.T) {
	for _, tt := range []struct {
		ports []uint16
		proxy uint16
	}{{[]uint16{80, 443}, 3128}, {[]uint16{3128, 3129, 3131}, 3130}} {
		if got := wantedListen(tt.ports); got.Proxy != tt.proxy || !slices.Equal(got.Ports, tt.ports) {
			t.Errorf("of %v the proxy is on %d, want %d", tt.ports, got.Proxy, tt.proxy)
		}
	}
}

// A program's own variables stand, also where another program would read the one in
// the other case first, and no name is there twice: some programs take the first,
// others the last.
func TestEnvironment(t *testing.T) {
	got := proxyEnvironment([]string{"PATH=/bin", "https_proxy=http://mine", "NO_PROXY="}, 3130)
	want := []string{
		"HTTP_PROXY=http://127.0.0.1:3130", "http_proxy=http://127.0.0.1:3130", "ALL_PROXY=http://127.0.0.1:3130", "all_proxy=http://127.0.0.1:3130",
		"NODE_USE_ENV_PROXY=1", "PATH=/bin", "https_proxy=http://mine", "NO_PROXY=",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	seen := map[string]bool{}
	for _, v := range got {
		name, _, _ := strings.Cut(v, "=")
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
}

// TestDecider: what narrows an agent narrows it in each set; what cannot be read,
// or belongs to nobody, reaches nothing.
func TestDecider(t *testing.T) {
	set := &profiles.Set{Revision: "r", Agents: map[string]profiles.Agent{"a": agent(
		profiles.EgressRule{Host: "a.example", Ports: []int{443}},
		profiles.EgressRule{Host: "b.example", Ports: []int{443}})}}
	listed := func(d *profiles.Decider, name string) bool { return d.EgressList().Listed(name, time.Unix(1, 0)) }
	for _, tt := range []struct {
		name   string
		set    *profiles.Set
		agent  string
		grants []profiles.Grants
		a, b   bool
	}{
		{"whole", set, "a", nil, true, true},
		{"narrowed", set, "a", []profiles.Grants{{Hosts: []string{"b.example"}}}, false, true},
		{"narrowed twice", set, "a", []profiles.Grants{{Hosts: []string{"b.example"}}, {Hosts: []string{"a.example"}}}, false, false},
		{"grants that cannot be read", set, "a", []profiles.Grants{{Hosts: []string{"*"}}}, false, false},
		{"another agent", set, "b", nil, false, false},
		{"no set", nil, "a", nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newRunDeciders(tt.set).Of(tt.agent, tt.grants)
			if a, b := listed(d, "a.example"), listed(d, "b.example"); a != tt.a || b != tt.b {
				t.Errorf("listed %v, %v, want %v, %v", a, b, tt.a, tt.b)
			}
		})
	}
}

// TestDecidersShared: guests that nothing narrows have one index of the rules
// between them, which a policy of a thousand rules and many guests needs.
func TestDecidersShared(t *testing.T) {
	rule := profiles.EgressRule{Host: "a.example", Ports: []int{443}}
	// of one name
	set := &profiles.Set{Revision: "r", Agents: map[string]profiles.Agent{"a": agent(rule), "b": agent()}}
	all := newRunDeciders(set)
	if one, two := all.Of("a", nil), all.Of("a", nil); one != two {
		t.Error("two guests of an agent have two")
	}
	if all.Of("a", nil) == all.Of("b", nil) || all.Of("a", nil) == all.Of("a", []profiles.Grants{{}}) {
		t.Error("what may reach different hosts has the same")
	}
	if all.Of("a", nil) == newRunDeciders(set).Of("a", nil) {
		t.Error("two sets have the same: a policy that comes would not be seen as one")
	}
}

// TestSocketsAre: what was not ordered, is missing, or comes twice is not served.
func TestSocketsAre(t *testing.T) {
	o := initproto.Listen{Proxy: 3128, Ports: []uint16{80, 443}}
	whole := func() []initproto.Listener {
		return []initproto.Listener{{Kind: initproto.ListenProxy, Port: 3128}, {Kind: initproto.ListenPort, Port: 80},
			{Kind: initproto.ListenPort, Port: 443},
			{Kind: initproto.ListenDNS, Port: 53}, {Kind: initproto.ListenDNS2, Port: 53}}
	}
	for _, tt := range []struct {
		name  string
		files int
		of    func(l []initproto.Listener) []initproto.Listener
		want  bool
	}{
		{"all", 5, slices.Clip[[]initproto.Listener], true},
		{"nothing", 0, func([]initproto.Listener) []initproto.Listener { return nil }, false},
		{"a descriptor too few", 4, slices.Clip[[]initproto.Listener], false},
		{"one missing", 4, func(l []initproto.Listener) []initproto.Listener { return l[:4] }, false},
		{"one too many", 6, func(l []initproto.Listener) []initproto.Listener {
			return append(l, initproto.Listener{Kind: initproto.ListenPort, Port: 22})
		}, false},
		{"another port", 5, func(l []initproto.Listener) []initproto.Listener { l[2].Port = 22; return l }, false},
		{"one twice in the place of another", 5, func(l []initproto.Listener) []initproto.Listener { l[3] = l[0]; return l }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := listenSockets{Listeners: tt.of(whole()), Files: make([]*os.File, tt.files)}
			if got := s.Are(o); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}
