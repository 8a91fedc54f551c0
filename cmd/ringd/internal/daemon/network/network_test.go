package network_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/network"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/egress"
	"github.com/ringd/ringd/schema/wire"
)

type doors struct {
	rechecked atomic.Int32
	closed    atomic.Int32
}

func (d *doors) Recheck()     { d.rechecked.Add(1) }
func (d *doors) Close() error { d.closed.Add(1); return nil }

func now() time.Time { return time.Unix(1e9, 0) }

func newRing(t *testing.T) *network.Ring {
	t.Helper()
	r, err := network.New(network.Config{
		Now: now,
		Credential: func(name string) error {
			if name != "KEY" {
				return errors.New("no credential " + name + " on this host")
			}
			return nil
		},
		Upstream: func(gateway string) string {
			if gateway == "configured" {
				return "https://api.example.com"
			}
			return ""
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func apply(t *testing.T, r *network.Ring, set *profiles.Set) {
	t.Helper()
	commit, err := r.Prepare(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	commit()
}

func TestCommitRechecks(t *testing.T) {
	r := newRing(t)
	apply(t, r, nil) // before there are doors
	d := &doors{}
	r.Attach(d)
	commit, err := r.Prepare(t.Context(), &profiles.Set{Agents: map[string]profiles.Agent{"a": {Audit: "strict"}, "b": {}}})
	if err != nil || d.rechecked.Load() != 0 || r.Strict("a") {
		t.Errorf("a push that is only prepared: %v, %d rechecks, strict %t", err, d.rechecked.Load(), r.Strict("a"))
	}
	commit()
	if d.rechecked.Load() != 1 || !r.Strict("a") || r.Strict("b") || r.Strict("c") {
		t.Errorf("%d rechecks, strict %t %t", d.rechecked.Load(), r.Strict("a"), r.Strict("b"))
	}
	if err := r.Close(); err != nil || d.closed.Load() != 1 {
		t.Errorf("%v, closed %d times", err, d.closed.Load())
	}
}

func TestStatus(t *testing.T) {
	r := newRing(t)
	at := func(hours int) *time.Time { x := now().Add(time.Duration(hours) * time.Hour); return &x }
	open := profiles.Agent{Egress: profiles.Egress{Mode: profiles.EgressAllowlist,
		Allow: []profiles.EgressRule{{Host: "gone.example", Expires: at(-1)}, {Host: "late.example", Expires: at(3)}, {Host: "soon.example", Expires: at(1)}, {Host: "ever.example"}},
		Gateways: []profiles.Gateway{
			{Name: "whole", Upstream: "https://api.example.com", Credential: "KEY"},
			{Name: "configured", Credential: "OTHER"}, {Name: "bare"}, {Name: "plain", Upstream: "https://api.example.com", Expires: at(2)}}}}
	off := open
	off.Egress.Mode = profiles.EgressOff
	apply(t, r, &profiles.Set{Agents: map[string]profiles.Agent{"a": open, "off": off}})
	for _, n := range []int{1, 1, -1} {
		r.Observe(egress.Figure{Door: egress.DoorConnect, Open: n})
	}
	got, conditions := r.Egress()
	want := wire.Network{Connections: 1,
		Next: []wire.EgressExpiry{{Agent: "a", Host: "soon.example", At: at(1).UTC()}, {Agent: "a", Host: "plain", At: at(2).UTC()}, {Agent: "a", Host: "late.example", At: at(3).UTC()}},
		Gateways: []wire.EgressGateway{
			{Agent: "a", Name: "whole", Credential: "KEY", State: "ready"},
			{Agent: "a", Name: "configured", Credential: "OTHER", State: "unavailable", Reason: "no credential OTHER on this host"},
			{Agent: "a", Name: "bare", State: "unavailable", Reason: "neither the policy nor the configuration names its upstream; add gateways.bare.upstream to the configuration"},
			{Agent: "a", Name: "plain", State: "ready"},
		}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(conditions) != 2 || conditions[0].Code != wire.ConditionGateway || conditions[0].Message != "agent a: gateway configured: no credential OTHER on this host" {
		t.Errorf("%+v", conditions)
	}
	apply(t, r, nil)
	if got, conditions := r.Egress(); len(got.Next)+len(got.Gateways)+len(conditions) != 0 || got.Connections != 1 {
		t.Errorf("nothing is in force: %+v %+v", got, conditions)
	}
}

// answers is a name server that answers each query by what of gives: its header
// turned into an answer with one address, or a code.
type answers struct {
	address netip.AddrPort
	mu      sync.Mutex
	asked   []string
}

func serve(t *testing.T, reply func(name string, qtype byte) (addr []byte, rcode byte, silent bool)) *answers {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	a := &answers{address: netip.MustParseAddrPort(c.LocalAddr().String())}
	done := make(chan struct{})
	t.Cleanup(func() { _ = c.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			q := buf[:n]
			name, at := "", 12
			for q[at] != 0 {
				name += string(q[at+1:at+1+int(q[at])]) + "."
				at += 1 + int(q[at])
			}
			qtype := q[at+2]
			a.mu.Lock()
			a.asked = append(a.asked, name)
			a.mu.Unlock()
			addr, rcode, silent := reply(name, qtype)
			if silent {
				continue
			}
			out := append([]byte{q[0], q[1], 0x84, 0x80 | rcode, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:at+5]...)
			if addr != nil {
				out[7] = 1
				out = append(out, 0xc0, 12, 0, qtype, 0, 1, 0, 0, 0, 60, 0, byte(len(addr)))
				out = append(out, addr...)
			}
			if _, err := c.WriteToUDPAddrPort(out, from); err != nil {
				return
			}
		}
	}()
	return a
}

func TestResolver(t *testing.T) {
	const (
		a    = 1
		aaaa = 28
	)
	good := serve(t, func(name string, qtype byte) ([]byte, byte, bool) {
		switch {
		case name == "none.example.":
			return nil, 3, false
		case name == "empty.example.":
			return nil, 0, false
		case qtype == a:
			return []byte{203, 0, 113, 9}, 0, false
		case qtype == aaaa && name == "both.example.":
			return netip.MustParseAddr("2001:db8::9").AsSlice(), 0, false
		}
		return nil, 0, false
	})
	broken := serve(t, func(string, byte) ([]byte, byte, bool) { return nil, 2, false })
	resolve := network.Resolver([]netip.AddrPort{broken.address, good.address})
	for _, c := range []struct {
		name string
		want []string
	}{
		{"one.example.", []string{"203.0.113.9"}},
		{"both.example.", []string{"2001:db8::9", "203.0.113.9"}},
		{"none.example.", nil},
		{"empty.example.", nil},
	} {
		got, err := resolve(t.Context(), c.name)
		var text []string
		for _, x := range got {
			text = append(text, x.String())
		}
		slices.Sort(text)
		if diff := cmp.Diff(c.want, text); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
	good.mu.Lock()
	defer good.mu.Unlock()
	for _, name := range good.asked {
		if !strings.HasSuffix(name, ".example.") || strings.Count(name, ".") != 2 {
			t.Errorf("asked for %s: a domain of the host was put behind it", name)
		}
	}
	if _, err := resolve(t.Context(), "relative.example"); err == nil {
		t.Error("a relative name was looked up")
	}
	if _, err := network.Resolver([]netip.AddrPort{broken.address})(t.Context(), "one.example."); err == nil {
		t.Error("a server that fails is as one that knows no such name")
	}
	silent := serve(t, func(string, byte) ([]byte, byte, bool) { return nil, 0, true })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := network.Resolver([]netip.AddrPort{silent.address})(ctx, "one.example."); err == nil {
		t.Error("a lookup went on after its connection was given up")
	}
}
