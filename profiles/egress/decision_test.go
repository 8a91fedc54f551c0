package egress_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
)

// TestEgressDecisionStaysDenied: after a denial no step allows the connection, or gives
// another reason, and nothing that covered it is left in the decision.
func TestEgressDecisionStaysDenied(t *testing.T) {
	list := append(entry(t, "a.example.com", "b.example.com:8443"),
		egress.Entry{Host: "r.example.com", Ports: []int{80}, Methods: []string{"GET"}})
	l := egress.NewList(egress.Allowlist, list, nil, []egress.Virtual{{Name: "g"}})
	public := []netip.Addr{netip.MustParseAddr("93.184.215.14")}
	hello := clienthello.Hello{Name: "a.example.com", HasName: true}
	tls := l.Decide(dest(t, "a.example.com:443"), now())
	for name, d := range map[string]egress.Decision{
		"zero":    {},
		"list":    l.Decide(dest(t, "evil.net:443"), now()),
		"name":    l.DecideName("evil.net", now()),
		"answers": tls.Addresses([]netip.Addr{netip.MustParseAddr("10.0.0.1")}, now()),
		"hello":   tls.Addresses(public, now()).Hello(clienthello.Hello{Name: "evil.net", HasName: true}, nil, now()),
		"request": l.Decide(dest(t, "r.example.com:80"), now()).Request("POST", "/", "", now()),
		"gateway": l.Decide(dest(t, "g.ringd.internal:80"), now()).Request("GET", "//", "", now()),
	} {
		why := d.Refusal()
		if d.Allowed() || why == nil || !cmp.Equal(d.Match(), egress.Match{}) || len(d.Dial()) > 0 {
			t.Fatalf("%s: %+v", name, d)
		}
		for step, next := range map[string]egress.Decision{
			"addresses": d.Addresses(public, now()),
			"hello":     d.Hello(hello, nil, now()),
			"request":   d.Request("GET", "/", "", now()),
		} {
			if next.Allowed() || !cmp.Equal(next.Refusal(), why) || len(next.Dial()) > 0 {
				t.Errorf("%s, then %s: %+v, %v; want %v", name, step, next, next.Refusal(), why)
			}
		}
		if got := d.Dialable(netip.MustParseAddrPort("93.184.215.14:443"), now()); !cmp.Equal(got, why) {
			t.Errorf("%s, then an address: %v; want %v", name, got, why)
		}
	}
}

// TestEgressDecisionIsImmutable: a step leaves its receiver as it is, so that requests of one
// connection do not decide about each other.
func TestEgressDecisionIsImmutable(t *testing.T) {
	list := []egress.Entry{
		{Host: "r.example.com", Ports: []int{80}, Methods: []string{"GET"}}, {Host: "r.example.com", Ports: []int{80}, Methods: []string{"POST"}},
	}
	l := egress.NewList(egress.Allowlist, list, nil, nil)
	d := l.Decide(dest(t, "r.example.com:80"), now())
	if d.Request("PUT", "/", "", now()).Allowed() {
		t.Fatal("PUT is granted")
	}
	post := d.Addresses([]netip.Addr{netip.MustParseAddr("93.184.215.14")}, now()).Request("POST", "/", "", now())
	if !post.Allowed() || post.Match().Entries[0] != 1 || len(post.Dial()) != 1 {
		t.Errorf("POST: %+v", post)
	}
	if !d.Request("GET", "/", "", now()).Allowed() || d.Match().Entries[0] != 0 || len(d.Dial()) != 0 {
		t.Errorf("the connection: %+v", d)
	}
}
