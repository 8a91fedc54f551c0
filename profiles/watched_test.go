package profiles_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
)

// Whoever watches is asked about all that opens, and refuses it; where requests are
// read, about the rule that grants the request and no other.
func TestWatched(t *testing.T) {
	a := profiles.Agent{Name: "a", Egress: profiles.Egress{Mode: profiles.EgressAllowlist, Allow: []profiles.EgressRule{
		{Host: "*.example.com", Ports: []int{443}}, {Host: "a.example.com", Ports: []int{443}},
		{Host: "r.example.com", Ports: []int{80}, Methods: []string{"GET"}}, {Host: "*.example.com", Ports: []int{80}, Methods: []string{"POST"}},
	}, Gateways: []profiles.Gateway{{Name: "pay"}}}}
	var asked []string
	no := &profiles.Decision{Code: profiles.CodeRuleOfTwo}
	var answer *profiles.Decision
	plain := profiles.NewDecider(a, "r", profiles.Environment{})
	d := plain.Watched(func(h *profiles.EgressRule, g *profiles.Gateway) *profiles.Decision {
		if g != nil {
			asked = append(asked, "gateway "+g.Name)
		} else {
			asked = append(asked, h.Host)
		}
		return answer
	})
	request := func(d *profiles.Decider, host string, port uint16, method string) profiles.Decision {
		c := profiles.Connect(egress.Dest{Name: host, Port: port}, time.Time{}, d)
		if method != "" {
			c = c.Request(method, "/", "", time.Time{})
		}
		return c.Decision()
	}
	for _, tt := range []struct {
		name, host, method string
		port               uint16
		want               []string
	}{
		{"every entry of a connection", "a.example.com", "", 443, []string{"a.example.com", "*.example.com"}},
		{"the entry of a request", "r.example.com", "GET", 80, []string{"r.example.com"}},
		{"the entry of another", "r.example.com", "POST", 80, []string{"*.example.com"}},
		{"a gateway", "pay.ringd.internal", "POST", 80, []string{"gateway pay"}},
		{"what is refused anyway", "other.example.org", "", 443, nil},
	} {
		asked, answer = nil, nil
		before := request(plain, tt.host, tt.port, tt.method)
		if got := request(d, tt.host, tt.port, tt.method); got.Verdict != before.Verdict ||
			!slices.Equal(asked, tt.want) {
			t.Errorf("%s: %s, asked %q", tt.name, got.Verdict, asked)
		}
		if answer = no; len(tt.want) > 0 && request(d, tt.host, tt.port, tt.method).Code != profiles.CodeRuleOfTwo {
			t.Errorf("%s: not refused", tt.name)
		}
	}
	if got := (*profiles.Decider)(nil).Watched(nil); got != nil {
		t.Error("nil became something")
	}
}
