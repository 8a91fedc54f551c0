package records_test

import (
	"errors"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
	target "github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

func TestEgress(t *testing.T) {
	log := &memory{}
	recorder := records.NewRecorder(log, metrics.New())
	type told struct {
		Run  string
		Code profiles.Code
	}
	var tells []told
	var lacking []string
	var e records.Egress
	dest := target.Dest{Name: "api.example.com", Port: 443}
	if err := e.Record(t.Context(), proxy.Event{Run: "r1", Dest: dest}); err == nil {
		t.Error("a connection went nowhere on record, and is dialed")
	}
	e.Attach(recorder, func(agent, run string) bool { return agent == "strict" || run == "r7" },
		func(run string, d profiles.Decision) { tells = append(tells, told{run, d.Code}) },
		func(target, why string) { lacking = append(lacking, target+": "+why) })
	allowed := profiles.Decision{Verdict: profiles.Allow, Code: profiles.CodeAllowed, Revision: "sha256:1"}
	refused := profiles.Decision{Code: profiles.Code(target.NotGranted), Reason: "no entry covers it",
		Revision: "sha256:1"}
	lost := profiles.Decision{Code: profiles.CodeEgressNoAddress, Reason: "api.example.com has no address",
		Revision: "sha256:1"}
	dial := netip.MustParseAddrPort("203.0.113.9:443")
	events := []proxy.Event{
		{Agent: "a", Executor: "js", Run: "r1", Generation: 3, Connection: "x1", Listener: proxy.ListenerFetch, Dest: dest, Method: "GET", Path: "/v1",
			Decision: allowed, Answers: []netip.Addr{dial.Addr(), netip.MustParseAddr("2001:db8::9")}, Dial: dial,
			Credential: "KEY"},
		{Agent: "a", Executor: "js", Run: "r1", Generation: 4, Before: 3, Connection: "x1", Listener: proxy.ListenerFetch, Dest: dest, SNI: "api.example.com",
			Decision: refused, End: proxy.EndCut, Up: 5, Down: 0, Took: 1500 * time.Millisecond},
		{Agent: "strict", Executor: "shell", Run: "r2", Listener: proxy.ListenerDNS, Dest: dest, Decision: refused},
		{Agent: "a", Executor: "shell", Run: "r7", Listener: proxy.ListenerSOCKS, Dest: dest, Decision: refused, Count: 40},
		{Agent: "a", Run: "r2", Listener: proxy.ListenerConnect, Dest: dest, Decision: allowed, End: proxy.EndEOF, Up: 1, Down: 2},
		{Agent: "a", Run: "r3", Listener: proxy.ListenerConnect, Dest: dest, Decision: refused, End: proxy.EndRefused},
		{Agent: "a", Listener: proxy.ListenerConnect, Dest: dest, Decision: refused},
		{Agent: "a", Run: "r4", Listener: proxy.ListenerFetch, Dest: dest, Decision: refused},
		{Agent: "a", Run: "r8", Listener: proxy.ListenerConnect, Dest: dest, Decision: lost},
		{Agent: "a", Listener: proxy.ListenerDNS, Dest: dest, Decision: lost},
	}
	for _, v := range events {
		if err := e.Record(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	const on = "egress:api.example.com:443"
	ended := func(more map[string]string, up, down, took string) map[string]string {
		more["up"], more["down"], more["took_ms"] = up, down, took
		return more
	}
	no := audit.Decided(refused)
	want := []audit.Record{
		{Kind: audit.EgressDecided, Agent: "a", Run: "r1", Generation: 3, Revision: "sha256:1", Capability: on, Decision: audit.Decided(allowed),
			Detail: map[string]string{"executor": "js", "door": "fetch", "connection": "x1", "method": "GET",
				"path":    "/v1",
				"answers": "203.0.113.9 2001:db8::9", "dial": "203.0.113.9:443", "credential": "KEY"}},
		{Kind: audit.EgressClosed, Agent: "a", Run: "r1", Generation: 4, Revision: "sha256:1", Capability: on, State: "cut", Decision: no,
			Detail: ended(map[string]string{"executor": "js", "door": "fetch", "connection": "x1",
				"sni": "api.example.com", "before": "3"}, "5", "0", "1500")},
		{Kind: audit.EgressDecided, Agent: "strict", Run: "r2", Revision: "sha256:1", Capability: on, Decision: no,
			Detail: map[string]string{"executor": "shell", "door": "dns"}},
		{Kind: audit.EgressCounted, Agent: "a", Run: "r7", Revision: "sha256:1", Capability: on, Decision: no,
			Detail: map[string]string{"executor": "shell", "door": "socks5", "count": "40"}},
		{Kind: audit.EgressClosed, Agent: "a", Run: "r2", Revision: "sha256:1", Capability: on, State: "eof",
			Detail: ended(map[string]string{"door": "connect"}, "1", "2", "0")},
		{Kind: audit.EgressClosed, Agent: "a", Run: "r3", Revision: "sha256:1", Capability: on, State: "refused", Decision: no,
			Detail: ended(map[string]string{"door": "connect"}, "0", "0", "0")},
		{Kind: audit.EgressDecided, Agent: "a", Revision: "sha256:1", Capability: on, Decision: no, Detail: map[string]string{"door": "connect"}},
		{Kind: audit.EgressDecided, Agent: "a", Run: "r4", Revision: "sha256:1", Capability: on, Decision: no, Detail: map[string]string{"door": "fetch"}},
		{Kind: audit.EgressDecided, Agent: "a", Run: "r8", Revision: "sha256:1", Capability: on, Fault: &audit.Fault{ID: "r8", Text: "egress.no_address: api.example.com has no address"},
			Detail: map[string]string{"door": "connect"}},
		{Kind: audit.EgressDecided, Agent: "a", Revision: "sha256:1", Capability: on, Fault: &audit.Fault{ID: "egress", Text: "egress.no_address: api.example.com has no address"},
			Detail: map[string]string{"door": "dns"}},
	}
	if d := cmp.Diff(want, log.records); d != "" {
		t.Error(d)
	}
	w, s := audit.Written, audit.Synced
	if d := cmp.Diff([]audit.Durability{w, w, s, s, w, w, w, w, w, w}, log.durability); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]told{{"r2", refused.Code}, {"r3", refused.Code}}, tells); d != "" {
		t.Error(d)
	}
	for _, k := range log.records {
		if !k.Kind.Known() {
			t.Errorf("the log would refuse %s", k.Kind)
		}
	}
	if d := cmp.Diff([]string{"api.example.com:443: api.example.com has no address"}, lacking); d != "" {
		t.Errorf("told of names without an address (-want +got):\n%s", d)
	}
	// What cannot be recorded must not happen, and nobody is told of it.
	log.fail = errors.New("no space")
	if err := e.Record(t.Context(), events[2]); !errors.Is(err, records.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if len(tells) != 2 {
		t.Errorf("told %v", tells)
	}
}

// What an Egress tells has a label of its own: nothing is counted as "other".
func TestEgressFigures(t *testing.T) {
	m := metrics.New()
	codes := []target.Code{target.Off, target.NotGranted, target.Port, target.Denied, target.Expired, target.Target,
		target.Address,
		target.NoAddress, target.NotTLS, target.SNI, target.ECH, target.Request, target.Method, target.Path,
		target.Redirect, target.Opaque,
		target.Budget, target.Gateways, target.Code(profiles.CodeAllowed)}
	for _, door := range []string{proxy.ListenerConnect, proxy.ListenerHTTP, proxy.ListenerSOCKS,
		proxy.ListenerTransparent, proxy.ListenerDNS, proxy.ListenerFetch} {
		for _, c := range codes {
			m.Egress(metrics.Egress{Listener: door, Verdict: "deny", Code: string(c), Open: 1})
		}
		for _, end := range []string{proxy.EndEOF, proxy.EndCut, proxy.EndBudget, proxy.EndRefused, proxy.EndError,
			proxy.EndClosed} {
			m.Egress(metrics.Egress{Listener: door, End: end, Up: 10, Down: 20, Dialed: time.Millisecond})
		}
	}
	page := func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		return w.Body.String()
	}
	got := page()
	if strings.Contains(got, `"other"`) {
		t.Error("a figure is counted as other")
	}
	for _, line := range []string{
		`ringd_egress_decisions_total{code="egress.sni",door="socks5",verdict="deny"} 1`,
		`ringd_egress_ends_total{door="dns",end="cut"} 1`,
		`ringd_egress_connections 114`,
		`ringd_egress_bytes_total{direction="up"} 360`,
		`ringd_egress_bytes_total{direction="down"} 720`,
		`ringd_egress_dial_seconds_count 36`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	// A label that a host could make up is no label.
	m.Egress(metrics.Egress{Listener: "evil.example", Verdict: "evil.example", Code: "evil.example"})
	m.Egress(metrics.Egress{Listener: "evil.example", End: "evil.example"})
	if got := page(); strings.Contains(got, "evil") || !strings.Contains(
		got, `ringd_egress_ends_total{door="other",end="other"} 1`) {
		t.Error("a label of any text")
	}
	var nobody *metrics.Metrics
	nobody.Egress(metrics.Egress{Open: 1})
}
