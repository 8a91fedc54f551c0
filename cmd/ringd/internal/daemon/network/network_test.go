package network_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/network"
	"github.com/ringd/ringd/profiles"
	target "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
	"github.com/ringd/ringd/schema/wire"
)

type fakeConnections struct {
	rechecked atomic.Int32
	closed    atomic.Int32
}

func (d *fakeConnections) Recheck() { d.rechecked.Add(1) }
func (d *fakeConnections) Close()   { d.closed.Add(1) }

func now() time.Time { return time.Unix(1e9, 0) }

func newRing(t *testing.T) *network.Ring {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := network.Host{
		Credentials: map[string]config.Credential{
			"key": {Secret: config.Secret{File: file}}, "gone": {Secret: config.Secret{File: file + "2"}},
			"bound": {Secret: config.Secret{File: file}, Hosts: []string{"other.example.com"}}},
		Gateways: map[string]config.Gateway{"configured": {Upstream: "https://api.example.com", Credential: "gone"}},
	}
	r, err := network.New(network.Config{Now: now, Host: host})
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
	apply(t, r, nil) // before there are connections
	d := &fakeConnections{}
	r.Attach(d)
	commit, err := r.Prepare(
		t.Context(), &profiles.Set{Agents: map[string]profiles.Agent{"a": {Audit: "strict"}, "b": {}}})
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
		Allow: []profiles.EgressRule{{Host: "gone.example", Expires: at(-1)}, {Host: "late.example", Expires: at(3)},
			{Host: "soon.example", Expires: at(1)}, {Host: "ever.example"}},
		Gateways: []profiles.Gateway{
			{Name: "whole", Upstream: "https://api.example.com", Credential: "key"}, {Name: "configured", Credential: "key"},
			{Name: "bare"}, {Name: "other", Upstream: "https://api.example.com", Credential: "other"},
			{Name: "bound", Upstream: "https://api.example.com", Credential: "bound"}, {Name: "plain", Upstream: "https://api.example.com", Expires: at(2)}}}}
	off := open
	off.Egress.Mode = profiles.EgressOff
	apply(t, r, &profiles.Set{Agents: map[string]profiles.Agent{"a": open, "off": off}})
	for _, n := range []int{1, 1, -1} {
		r.Observe(proxy.Figure{Listener: proxy.ListenerConnect, Open: n})
	}
	got, conditions := r.Egress()
	want := wire.Network{Connections: 1,
		Next: []wire.EgressExpiry{{Agent: "a", Host: "soon.example", At: at(1).UTC()},
			{Agent: "a", Host: "plain", At: at(2).UTC()}, {Agent: "a", Host: "late.example", At: at(3).UTC()}},
		Gateways: []wire.EgressGateway{
			{Agent: "a", Name: "whole", Credential: "key", State: "ready"},
			{Agent: "a", Name: "configured", Credential: "gone", State: "unavailable"},
			{Agent: "a", Name: "bare", State: "unavailable", Reason: "neither the policy nor the configuration has its upstream; add gateways.bare.upstream to the configuration"},
			{Agent: "a", Name: "other", Credential: "other", State: "unavailable", Reason: "no credential other on this host; add credentials.other to the configuration"},
			{Agent: "a", Name: "bound", Credential: "bound", State: "unavailable", Reason: "credential bound: it is not for api.example.com:443"},
			{Agent: "a", Name: "plain", State: "ready"},
		}}
	if why := got.Gateways[1].Reason; !strings.HasPrefix(why, "credential gone: ") {
		t.Errorf("a file that is not there: %q", why)
	}
	got.Gateways[1].Reason = ""
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(conditions) != 4 || conditions[2].Code != wire.ConditionGateway ||
		conditions[2].Message != "agent a: gateway other: no credential other on this host; add credentials.other to "+
			"the configuration" {
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

func TestHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sk-one\n")
	h := network.HostOf(config.File{
		Credentials: map[string]config.Credential{"key": {Secret: config.Secret{File: file}}},
		Gateways: map[string]config.Gateway{
			"gateway": {Upstream: "https://10.0.0.9/v1", Addresses: []string{"10.0.1.0/24"}, Credential: "key"}},
		Egress: config.Egress{Resolver: []string{"10.0.0.2:53"}},
		Listen: []config.Listener{{TCP: "0.0.0.0:7443"}, {TCP: "[::]:7444"}, {TCP: "10.0.0.5:7445"}},
	}, config.Environment{})
	to := target.Dest{Name: "api.example.com", Port: 443}
	got, err := h.Secret(t.Context(), "key", to)
	if d := cmp.Diff(proxy.Secret{Header: "Authorization", Value: "Bearer sk-one"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	write("sk-two") // replaced: it counts from the next request
	if got, err := h.Secret(t.Context(), "key", to); got.Value != "Bearer sk-two" || err != nil {
		t.Error(got.Value, err)
	}
	if got, err := h.Secret(t.Context(), "none", to); err == nil || got != (proxy.Secret{}) {
		t.Error("a credential that is not there")
	}
	want := proxy.Upstream{URL: "https://10.0.0.9/v1", Addresses: []string{"10.0.1.0/24", "10.0.0.9"},
		Credential: "key"}
	if d := cmp.Diff(want, h.Upstream("gateway")); d != "" {
		t.Error(d)
	}
	if got := h.Upstream("none"); got.URL != "" {
		t.Error(got)
	}
	own, err := h.Own()
	if len(own) != 3 || own[0] != netip.AddrPortFrom(netip.Addr{}, 7443) ||
		own[1] != netip.AddrPortFrom(netip.Addr{}, 7444) || own[2] != netip.MustParseAddrPort("10.0.0.5:7445") ||
		err != nil {
		t.Error(own, err)
	}
	if s, err := h.Servers(); len(s) != 1 || s[0] != netip.MustParseAddrPort("10.0.0.2:53") || err != nil {
		t.Error(s, err)
	}
	for roots, want := range map[string]bool{file: false, file + "2": false, rootsOf(t): true} {
		if pool, err := (network.Host{Roots: roots}).Trusted(); (pool != nil) != want || (err == nil) != want {
			t.Errorf("%s: %v", roots, err)
		}
	}
	if pool, err := h.Trusted(); pool != nil || err != nil {
		t.Error("those of the host are asked for by none", err)
	}
	if cfg, err := (network.Host{Resolver: []string{"127.0.0.1:53"}}).Egress(
		t.Context(), newRing(t), nil, func(f func()) { f() }); err != nil || cfg.Most <= 0 {
		t.Errorf("guests may have %d connections in all, %v", cfg.Most, err)
	}
	for _, bad := range []network.Host{{Resolver: []string{"localhost"}}, {Listen: []string{"nowhere:1"}},
		{Roots: file}} {
		r := newRing(t)
		if _, err := bad.Egress(t.Context(), r, nil, func(f func()) { f() }); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// rootsOf is a file with a certificate.
func rootsOf(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
