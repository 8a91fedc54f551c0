package egress_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/clienthello"
)

func dest(t testing.TB, text string) egress.Dest {
	t.Helper()
	d, r := egress.ParseAuthority(text)
	if r != nil {
		t.Fatal(r)
	}
	return d
}

// reasons gives the code of what a list says to each target, "" for allowed.
func reasons(t *testing.T, l *egress.List, at time.Time, want map[string]egress.Code) {
	t.Helper()
	for target, code := range want {
		d := l.Decide(dest(t, target), at)
		var got egress.Code
		m, r := d.Match(), d.Refusal()
		if r != nil {
			got = r.Code
			if m.Entries != nil || m.Virtual != 0 || d.Allowed() {
				t.Errorf("%s is refused, and covered by %+v", target, m)
			}
		}
		if got != code {
			t.Errorf("%s: %q (%v), want %q", target, got, r, code)
		}
	}
}

func TestListModes(t *testing.T) {
	virtual := []egress.Virtual{{Name: "gateway"}, {Name: "old", Expires: time.Unix(1e9-1, 0)}}
	some := entry(t, "a.example.com", "*.corp.internal:*", "*.ringd.internal:80")
	for _, l := range []*egress.List{nil, {}, egress.NewList(egress.Closed, some, nil, virtual),
		egress.NewList(9, some, nil, virtual),
		egress.NewList(egress.Allowlist, append(some, egress.Entry{Host: "*"}), nil, virtual),
		egress.NewList(egress.Allowlist, some, []egress.Entry{{Host: "A.example.com"}}, virtual),
		egress.NewList(egress.Allowlist, append(some, egress.Entry{Host: "b.example.com", Ports: []int{0}}), nil,
			virtual), egress.NewList(egress.Allowlist, some, nil, []egress.Virtual{{Name: "a.b"}}),
		egress.NewList(egress.Allowlist, some, nil, []egress.Virtual{{Name: ""}}),
		egress.NewList(egress.Gateway, some, nil, []egress.Virtual{{Name: "*"}}),
	} {
		reasons(t, l, now(), map[string]egress.Code{"a.example.com:443": egress.Off,
			"gateway.ringd.internal:80": egress.Off, "127.0.0.1:443": egress.Off})
		if ports, any := l.Ports(); ports != nil || any || l.Listed("a.example.com", now()) ||
			l.Listed("gateway.ringd.internal", now()) {
			t.Errorf("a closed list has ports %v, %v, or lists names", ports, any)
		}
		if r := l.Dialable(netip.MustParseAddrPort("93.184.215.14:443"), now()); r == nil {
			t.Error("a closed list dials")
		}
	}
	l := egress.NewList(egress.Gateway, some, nil, virtual)
	reasons(t, l, now(), map[string]egress.Code{
		"gateway.ringd.internal:80": "", "gateway.ringd.internal:443": egress.Port, "old.ringd.internal:80": egress.Expired, "x.ringd.internal:80": egress.NotGranted,
		"a.example.com:443": egress.NotGranted, "a.corp.internal:80": egress.NotGranted, "ringd.internal:80": egress.NotGranted,
	})
	if ports, any := l.Ports(); !slices.Equal(ports, []uint16{80}) || any {
		t.Errorf("a gateway is on %v, %v", ports, any)
	}
	// No entry covers what is below the domain of virtual hosts, however wide.
	l = egress.NewList(egress.Allowlist, some, nil, virtual)
	reasons(t, l, now(), map[string]egress.Code{
		"a.example.com:443": "", "a.corp.internal:99": "", "gateway.ringd.internal:80": "", "x.ringd.internal:80": egress.NotGranted, "a.gateway.ringd.internal:80": egress.NotGranted,
		"ringd.internal:80": egress.NotGranted, "gateway.ringd.internal:99": egress.Port,
	})
	if l.Listed("x.ringd.internal", now()) || l.Listed("old.ringd.internal", now()) ||
		!l.Listed("gateway.ringd.internal", now()) {
		t.Error("which virtual hosts have an address is wrong")
	}
	reasons(t, l, time.Time{}, map[string]egress.Code{"old.ringd.internal:80": egress.Expired,
		"gateway.ringd.internal:80": ""})
}

// A Dest that no parser made is held to the canonical form as well.
func TestMatchForm(t *testing.T) {
	l := allow(t, "*.example.com:*", "93.184.0.0/16:*", "[2606:4700::]/32:*")
	for _, d := range []egress.Dest{
		{}, {Name: "a.example.com"}, {Name: "A.example.com", Port: 443}, {Name: "a.example.com.", Port: 443}, {Name: "a..example.com", Port: 443}, {Name: ".example.com", Port: 443},
		{Name: "evil.net\x00.example.com", Port: 443}, {Name: "a/.example.com", Port: 443}, {Name: "ä.example.com", Port: 443}, {Name: "127.0.0.1", Port: 443},
		{Name: "a.example.com", Addr: netip.MustParseAddr("93.184.1.1"), Port: 443}, {Addr: netip.MustParseAddr("::ffff:93.184.1.1"), Port: 443}, {Addr: netip.MustParseAddr("2606:4700::1%eth0"), Port: 443},
		{Name: strings.Repeat("a", 64) + ".example.com", Port: 443},
	} {
		if r := l.Decide(d, now()).Refusal(); r == nil || r.Code != egress.Target {
			t.Errorf("%+v: %v", d, r)
		}
	}
}

func TestDenyWins(t *testing.T) {
	l := egress.NewList(egress.Allowlist, entry(t, "*.example.com:*", "93.184.0.0/16:*", "10.0.0.0/8:443",
		"api.example.net", "b.example.net"),
		entry(t, "bad.example.com", "*.bad.example.com", "half.example.com:22", "93.184.215.0/24", "10.9.0.0/16",
			"8.8.8.8", "api.example.net"), nil)
	reasons(t, l, now(), map[string]egress.Code{
		"a.example.com:443": "", "bad.example.com:443": egress.Denied, "bad.example.com:9": egress.Denied, "x.bad.example.com:443": egress.Denied, "half.example.com:22": egress.Denied, "half.example.com:443": "",
		"93.184.1.1:22": "", "93.184.215.14:22": egress.Denied, "api.example.net:443": egress.Denied, "10.8.0.1:443": "", "10.9.0.1:443": egress.Denied,
	})
	for name, want := range map[string]bool{"a.example.com": true, "bad.example.com": false, "x.bad.example.com": false,
		"half.example.com": true, "api.example.net": false, "b.example.net": true, "example.net": false} {
		if got := l.Listed(name, now()); got != want {
			t.Errorf("%s is listed: %v", name, got)
		}
	}
	// A denied address is dropped from the answers for a name, in each of its forms.
	d := l.Decide(dest(t, "a.example.com:443"), now())
	if !d.Allowed() {
		t.Fatal(d.Refusal())
	}
	var answers []netip.Addr
	for _, text := range []string{"93.184.215.14", "10.9.0.1", "8.8.8.8", "64:ff9b::8.8.8.8", "::ffff:93.184.215.14",
		"64:ff9b:1::8.8.8.8", "1.1.1.1", "10.8.0.1"} {
		answers = append(answers, netip.MustParseAddr(text))
	}
	kept := d.Addresses(answers, now())
	if !kept.Allowed() || !slices.Equal(kept.Dial(), []netip.Addr{
		netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("10.8.0.1")}) {
		t.Errorf("dialed %v, %v", kept.Dial(), kept.Refusal())
	}
	if r := d.Addresses(answers[:6], now()).Refusal(); r == nil || r.Code != egress.Address ||
		strings.Contains(r.Error(), "93.") {
		t.Errorf("only denied answers: %v", r)
	}
	if egress.Forged(l, d.Target(), egress.Match{}).Addresses(answers, now()).Allowed() {
		t.Error("a Match that covers nothing has addresses")
	}
}

func TestExpiry(t *testing.T) {
	list := entry(t, "a.example.com", "b.example.com", "10.0.0.1:443", "b.example.com:8443")
	list[0].Expires, list[2].Expires, list[3].Expires = time.Unix(1e9+10, 0), time.Unix(1e9+20, 0), time.Unix(1e9-5, 0)
	l := egress.NewList(egress.Allowlist, list, nil, []egress.Virtual{{Name: "g", Expires: time.Unix(1e9+15, 0)}})
	at := func(s int64) time.Time { return time.Unix(1e9+s, 0) }
	reasons(t, l, at(9), map[string]egress.Code{"a.example.com:443": "", "b.example.com:443": "", "10.0.0.1:443": "",
		"b.example.com:8443": egress.Expired})
	reasons(t, l, at(10), map[string]egress.Code{"a.example.com:443": egress.Expired, "b.example.com:443": "",
		"g.ringd.internal:80": ""})
	reasons(t, l, at(20), map[string]egress.Code{"10.0.0.1:443": egress.Expired, "g.ringd.internal:80": egress.Expired})
	reasons(t, l, time.Time{}, map[string]egress.Code{"a.example.com:443": egress.Expired, "b.example.com:443": "",
		"10.0.0.1:443": egress.Expired})
	if l.Listed("a.example.com", at(10)) || !l.Listed("a.example.com", at(9)) ||
		l.Listed("a.example.com", time.Time{}) {
		t.Error("a name is listed beyond its expiry")
	}
	// What an entry opens for a name ends with it.
	d := l.Decide(dest(t, "b.example.com:443"), at(0))
	answers := []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	if kept := d.Addresses(answers, at(19)); !kept.Allowed() || len(kept.Dial()) != 1 {
		t.Errorf("before: %v, %v", kept.Dial(), kept.Refusal())
	}
	if kept := d.Addresses(answers, at(20)); kept.Allowed() {
		t.Errorf("after: %v", kept.Dial())
	}
	var times []int64
	for next, ok := l.NextExpiry(at(0)); ok; next, ok = l.NextExpiry(next) {
		times = append(times, next.Unix()-1e9)
	}
	if !slices.Equal(times, []int64{10, 15, 20}) {
		t.Errorf("expires at %v", times)
	}
	if _, ok := (*egress.List)(nil).NextExpiry(at(0)); ok {
		t.Error("a nil list expires")
	}
}

func TestPorts(t *testing.T) {
	l := egress.NewList(egress.Allowlist, entry(t, "a.example.com:22", "b.example.com", "c.example.com:8443",
		"d.example.com"), nil, []egress.Virtual{{Name: "g"}})
	if ports, any := l.Ports(); !slices.Equal(ports, []uint16{22, 80, 443, 8443}) || any {
		t.Errorf("%v, %v", ports, any)
	}
	if ports, any := allow(t, "a.example.com:*", "b.example.com:22").Ports(); !slices.Equal(ports, []uint16{22}) ||
		!any {
		t.Errorf("%v, %v", ports, any)
	}
	r := l.Decide(dest(t, "a.example.com:443"), now()).Refusal()
	if r == nil || r.Code != egress.Port || !slices.Equal(r.Instead, []string{"a.example.com:22"}) || r.Entry != 0 {
		t.Errorf("%+v", r)
	}
}

// The most specific entry is named, one that passes the connection as it is
// before one that needs requests read.
func TestMatchOrder(t *testing.T) {
	list := entry(t, "*.example.com:80", "*.b.example.com:80", "a.b.example.com:80", "93.0.0.0/8:80",
		"93.184.0.0/16:80")
	list = append(list, egress.Entry{Host: "a.b.example.com", Ports: []int{80}, Methods: []string{"GET"}},
		egress.Entry{Host: "r.example.net", Ports: []int{80, 443}, Methods: []string{"GET"}},
		egress.Entry{Host: "r.example.net", Ports: []int{80}, Paths: []string{"/v1"}})
	l := egress.NewList(egress.Allowlist, list, nil, nil)
	for target, want := range map[string]egress.Match{
		"a.b.example.com:80": {Entries: []int{2, 1, 0, 5}}, "c.b.example.com:80": {Entries: []int{1, 0}}, "c.example.com:80": {Entries: []int{0}},
		"93.184.1.1:80": {Entries: []int{4, 3}}, "r.example.net:80": {Entries: []int{6, 7}, Reads: true},
	} {
		got := l.Decide(dest(t, target), now())
		if diff := cmp.Diff(want, got.Match()); diff != "" || !got.Allowed() {
			t.Errorf("%s: %v\n%s", target, got.Refusal(), diff)
		}
	}
	reasons(t, l, now(), map[string]egress.Code{"r.example.net:443": egress.Opaque})
}

// TestRefusalsOfRequestsNameTheTarget: an outcome shows the reason of a refusal alone, so the reason
// says where to; what is granted has none.
func TestRefusalsOfRequestsNameTheTarget(t *testing.T) {
	list := []egress.Entry{{Host: "a.example.com", Ports: []int{80}, Methods: []string{"GET"}, Paths: []string{"/v1"},
		Expires: time.Unix(1e9+10, 0)}}
	l := egress.NewList(egress.Allowlist, list, nil, []egress.Virtual{{Name: "g", Methods: []string{"POST"}}})
	for _, host := range []string{"a.example.com:80", "g.ringd.internal:80"} {
		d := l.Decide(dest(t, host), now())
		if !d.Allowed() {
			t.Fatal(d.Refusal())
		}
		for _, ask := range []struct {
			method, path string
			at           time.Time
		}{{"PUT", "/v1", now()}, {"GET", "/v2", now()}, {"GET", "/v1", time.Unix(1e9+11, 0)}, {"GET", "/v1", now()},
			{"POST", "/v1", now()}} {
			if r := d.Request(ask.method, ask.path, "", ask.at).Refusal(); r != nil && !strings.Contains(r.Why, host) {
				t.Errorf("%s %s %s: %s does not name it: %s", ask.method, host, ask.path, r.Code, r.Why)
			} else if granted := ask.at.Equal(now()) && (host[0] == 'a' && ask.method == "GET" && ask.path == "/v1" ||
				host[0] == 'g' && ask.method == "POST"); granted != (r == nil) {
				t.Errorf("%s %s %s: %v", ask.method, host, ask.path, r)
			}
		}
		if host[0] != 'a' {
			continue
		}
		if r := d.Addresses([]netip.Addr{netip.MustParseAddr("10.0.0.1")}, now()).Refusal(); r == nil ||
			!strings.Contains(r.Why, "a.example.com") {
			t.Errorf("the refusal of an address does not name the host: %v", r)
		}
	}
}

func TestRequest(t *testing.T) {
	list := []egress.Entry{
		{Host: "a.example.com", Ports: []int{80}, Methods: []string{"GET", "HEAD"}, Paths: []string{"/v1", "/pub/"}},
		{Host: "a.example.com", Ports: []int{80}, Methods: []string{"POST"}, Expires: time.Unix(1e9+10, 0)},
		{Host: "b.example.com", Ports: []int{80}}, {Host: "c.example.com", Ports: []int{80}, Paths: []string{"/"}},
	}
	l := egress.NewList(egress.Allowlist, list, nil, []egress.Virtual{
		{Name: "g", Methods: []string{"POST"}, Paths: []string{"/v1/messages"}, Expires: time.Unix(1e9+10, 0)}, {Name: "o"}})
	ask := func(host, method, path string, at time.Time) egress.Code {
		d := l.Decide(dest(t, host+":80"), now())
		if !d.Allowed() {
			t.Fatal(d.Refusal())
		}
		if r := d.Request(method, path, "", at).Refusal(); r != nil {
			return r.Code
		}
		return ""
	}
	for _, tt := range []struct {
		host, method, path string
		want               egress.Code
	}{
		{"a.example.com", "GET", "/v1", ""}, {"a.example.com", "HEAD", "/v1/x?y=/../..", ""}, {"a.example.com", "GET", "/pub", ""}, {"a.example.com", "GET", "/pub/x", ""}, {"a.example.com", "POST", "/anything", ""},
		{"a.example.com", "GET", "/v10", egress.Path}, {"a.example.com", "GET", "/V1", egress.Path}, {"a.example.com", "GET", "/", egress.Path}, {"a.example.com", "GET", "/x/v1", egress.Path}, {"a.example.com", "GET", "//v1", egress.Path},
		{"a.example.com", "GET", "/v1;x/y", egress.Path}, {"a.example.com", "GET", "", egress.Path}, {"a.example.com", "GET", "v1", egress.Path}, {"a.example.com", "GET", "/%76%31/x", ""},
		{"a.example.com", "GET", "/v1/../x", egress.Path}, {"a.example.com", "GET", "/v1/./x", egress.Path}, {"a.example.com", "GET", "/v1/%2e%2e/x", egress.Path}, {"a.example.com", "GET", "/v1/.%2e/x", egress.Path}, {"a.example.com", "GET", "/v1/..;/x", egress.Path},
		{"a.example.com", "GET", "/v1%2fx", egress.Path}, {"a.example.com", "GET", "/v1/%5c..", egress.Path}, {"a.example.com", "GET", "/v1\\..\\x", egress.Path}, {"a.example.com", "GET", "/v1/%252e%252e/x", egress.Path}, {"a.example.com", "GET", "/v1/%c0%af", egress.Path},
		{"a.example.com", "GET", "/v1/%00", egress.Path}, {"a.example.com", "GET", "/v1/%", egress.Path}, {"a.example.com", "GET", "/v1/%zz", egress.Path}, {"a.example.com", "GET", "/v1#/x", egress.Path}, {"a.example.com", "GET", "/v1/a\\..\\..\\x", egress.Path}, {"a.example.com", "GET", "/v1/#/x", egress.Path},
		{"a.example.com", "DELETE", "/v1", egress.Method}, {"a.example.com", "get", "/v1", egress.Method}, {"a.example.com", "TRACE", "/v1", egress.Method}, {"b.example.com", "TRACE", "/", egress.Method}, {"b.example.com", "TRACK", "/", egress.Method}, {"b.example.com", "CONNECT", "/", egress.Method}, {"b.example.com", "trace", "/", egress.Method}, {"b.example.com", "TrAcK", "/", egress.Method}, {"b.example.com", "connect", "/", egress.Method}, {"b.example.com", "TRACES", "/", ""},
		{"b.example.com", "DELETE", "/any/../thing", ""}, {"b.example.com", "", "/", egress.Request}, {"b.example.com", "GET /", "/", egress.Request}, {"c.example.com", "PUT", "/x", ""}, {"c.example.com", "PUT", "/../x", egress.Path},
		{"g.ringd.internal", "POST", "/v1/messages", ""}, {"g.ringd.internal", "GET", "/v1/messages", egress.Method}, {"g.ringd.internal", "POST", "/v1", egress.Path}, {"g.ringd.internal", "TRACE", "/v1/messages", egress.Method},
		{"g.ringd.internal", "POST", "/v1/messages//x", egress.Path}, {"o.ringd.internal", "PUT", "/x/?a=//..", ""}, {"o.ringd.internal", "PUT", "/", ""}, {"o.ringd.internal", "PUT", "/a%20b;c", ""}, {"o.ringd.internal", "PUT", "//", egress.Path}, {"o.ringd.internal", "PUT", "/x/../y", egress.Path},
		{"o.ringd.internal", "PUT", "/x//y", egress.Path}, {"o.ringd.internal", "PUT", "/x/..;/y", egress.Path}, {"o.ringd.internal", "PUT", "/%2e%2e", egress.Path}, {"o.ringd.internal", "PUT", "/x%2fy", egress.Path}, {"o.ringd.internal", "PUT", "/x%5cy", egress.Path},
		{"o.ringd.internal", "PUT", "/%25", egress.Path}, {"o.ringd.internal", "PUT", "/%00", egress.Path}, {"o.ringd.internal", "PUT", "/%c2%85", egress.Path}, {"o.ringd.internal", "PUT", "/%", egress.Path}, {"o.ringd.internal", "PUT", "", egress.Path},
	} {
		if got := ask(tt.host, tt.method, tt.path, now()); got != tt.want {
			t.Errorf("%s %s %q: %q, want %q", tt.host, tt.method, tt.path, got, tt.want)
		}
	}
	d := l.Decide(dest(t, "a.example.com:80"), now())
	for method, want := range map[string]egress.Match{"GET": {Entries: []int{0, 1}, Reads: true},
		"POST": {Entries: []int{1, 0}, Reads: true}} {
		got := d.Request(method, "/v1", "", now()).Match()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the entry that grants %s does not come first:\n%s", method, diff)
		}
	}
	if diff := cmp.Diff([]int{0, 1}, d.Match().Entries); diff != "" {
		t.Errorf("the decision on the connection has changed:\n%s", diff)
	}
	later := time.Unix(1e9+10, 0)
	if got := ask("a.example.com", "POST", "/x", later); got == "" {
		t.Error("an entry that expired since grants a request")
	}
	if got := ask("g.ringd.internal", "POST", "/v1/messages", later); got != egress.Expired {
		t.Errorf("a gateway that expired since: %q", got)
	}
	for _, m := range []egress.Match{{}, {Entries: []int{99}, Reads: true}, {Virtual: 7}} {
		if egress.Forged(l, dest(t, "a.example.com:80"), m).Request("GET", "/v1", "", now()).Allowed() {
			t.Errorf("%+v grants a request", m)
		}
	}
}

func TestHello(t *testing.T) {
	list := append(entry(t, "a.example.com", "*.b.example.com", "93.184.215.14", "c.example.com:8443",
		"denied.b.example.com", "e.example.com:*"),
		egress.Entry{Host: "ech.example.com", ECH: true}, egress.Entry{
			Host: "r.example.com", Ports: []int{8443}, Methods: []string{"GET"}})
	l := egress.NewList(egress.Allowlist, list, entry(t, "denied.b.example.com"), nil)
	ask := func(target string, h clienthello.Hello, err error) egress.Code {
		d := l.Decide(dest(t, target), now())
		if !d.Allowed() {
			t.Fatal(d.Refusal())
		}
		if r := d.Hello(h, err, now()).Refusal(); r != nil {
			return r.Code
		}
		return ""
	}
	names := func(name string) clienthello.Hello { return clienthello.Hello{Name: name, HasName: true} }
	for _, tt := range []struct {
		target string
		h      clienthello.Hello
		err    error
		want   egress.Code
	}{
		{"a.example.com:443", names("a.example.com"), nil, ""}, {"a.example.com:443", names("A.Example.Com"), nil, ""}, {"a.example.com:443", names("x.b.example.com"), nil, ""},
		{"a.example.com:443", names("evil.net"), nil, egress.SNI}, {"a.example.com:443", names("c.example.com"), nil, egress.SNI}, {"a.example.com:443", names("denied.b.example.com"), nil, egress.SNI},
		{"a.example.com:443", names("r.example.com"), nil, egress.SNI}, {"a.example.com:443", names("93.184.215.14"), nil, egress.SNI}, {"a.example.com:443", names("a.example.com."), nil, ""},
		{"a.example.com:443", names("x.b.example.com."), nil, ""}, {"93.184.215.14:443", names("a.example.com."), nil, ""}, {"a.example.com:443", names("a.example.com.."), nil, egress.SNI}, {"a.example.com:443", names("evil.net."), nil, egress.SNI},
		{"a.example.com:443", names("denied.b.example.com."), nil, egress.SNI}, {"a.example.com:443", names("."), nil, egress.SNI}, {"a.example.com:443", names("93.184.215.14."), nil, egress.SNI},
		{"a.example.com:443", clienthello.Hello{}, nil, egress.SNI}, {"93.184.215.14:443", clienthello.Hello{}, nil, ""}, {"93.184.215.14:443", names("a.example.com"), nil, ""}, {"93.184.215.14:443", names("evil.net"), nil, egress.SNI},
		{"a.example.com:443", clienthello.Hello{Name: "a.example.com", HasName: true, ECH: true}, nil, egress.ECH}, {"ech.example.com:443", clienthello.Hello{Name: "ech.example.com", HasName: true, ECH: true}, nil, ""},
		{"ech.example.com:443", clienthello.Hello{Name: "evil.net", HasName: true, ECH: true}, nil, egress.SNI}, {"a.example.com:443", clienthello.Hello{Name: "ech.example.com", HasName: true, ECH: true}, nil, egress.ECH},
		{"a.example.com:443", names("a.example.com"), clienthello.ErrNotTLS, egress.NotTLS}, {"a.example.com:443", names("a.example.com"), clienthello.ErrMore, egress.NotTLS}, {"a.example.com:443", names("a.example.com"), clienthello.ErrForm, egress.NotTLS},
		{"a.example.com:443", names("a.example.com"), clienthello.ErrName, egress.SNI}, {"c.example.com:8443", names("evil.net"), nil, ""}, {"c.example.com:8443", clienthello.Hello{}, clienthello.ErrNotTLS, ""}, {"e.example.com:443", clienthello.Hello{}, clienthello.ErrNotTLS, egress.NotTLS},
	} {
		if got := ask(tt.target, tt.h, tt.err); got != tt.want {
			t.Errorf("%s, %+v, %v: %q, want %q", tt.target, tt.h, tt.err, got, tt.want)
		}
	}
	// A rule that needs requests read since finds none in TLS.
	if r := egress.Forged(l, dest(t, "a.example.com:443"), egress.Match{Entries: []int{0}, Reads: true}).Hello(
		names("a.example.com"), nil, now()).Refusal(); r == nil || r.Code != egress.Opaque {
		t.Errorf("requests in TLS: %v", r)
	}
	if egress.Forged(l, dest(t, "a.example.com:443"), egress.Match{}).Hello(
		names("a.example.com"), nil, now()).Allowed() {
		t.Error("a Match that covers nothing passes a ClientHello")
	}
}

func TestOpens(t *testing.T) {
	for _, tt := range []struct {
		part, whole string
		want        bool
	}{
		{"10.0.0.0/8", "8.0.0.0/5", true}, {"10.1.0.0/16", "10.0.0.0/8", false}, {"127.0.0.1/32", "127.0.0.0/8", true}, {"127.0.0.0/9", "127.0.0.0/8", false}, {"9.0.0.0/8", "8.0.0.0/5", false},
		{"10.0.0.0/8", "10.0.0.0/8", false}, {"fd00::/8", "fc00::/7", false}, {"fc00::/7", "f800::/5", true}, {"93.184.215.14/32", "93.0.0.0/8", false},
	} {
		if got := egress.Opens(netip.MustParsePrefix(tt.part), netip.MustParsePrefix(tt.whole)); got != tt.want {
			t.Errorf("%s of %s opens more: %v", tt.part, tt.whole, got)
		}
	}
}

// TestRefusalsNameTheTarget: who reads only the refusal knows what was asked for.
func TestRefusalsNameTheTarget(t *testing.T) {
	l := egress.NewList(egress.Allowlist, []egress.Entry{{Host: "a.example.com", Ports: []int{443}},
		{Host: "old.example.com", Ports: []int{443}, Expires: now().Add(-1)}}, nil, []egress.Virtual{{Name: "models"}})
	gates := egress.NewList(egress.Gateway, nil, nil, []egress.Virtual{{Name: "models"}})
	for _, tt := range []struct {
		list *egress.List
		to   string
		want string
	}{
		{l, "pastebin.com:443", "egress.not_granted: pastebin.com:443 is not listed"}, {l, "a.example.com:8443", "egress.port: a.example.com:8443 is not listed"},
		{l, "93.184.216.34:443", "egress.not_granted: 93.184.216.34:443 is not listed"}, {l, "old.example.com:443", "egress.expired: the entry for old.example.com:443 has"},
		{l, "other.ringd.internal:80", "egress.not_granted: the policy has no gateway other.ringd.internal"}, {gates, "pastebin.com:443", "egress.not_granted: pastebin.com:443 is not listed"},
	} {
		if r := tt.list.Decide(dest(t, tt.to), now()).Refusal(); r == nil || !strings.HasPrefix(r.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.to, r, tt.want)
		}
	}
}
