package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// A record of egress reads from left to right: who, by which door, where to, and
// what was said to that.
func TestRecordsOfEgress(t *testing.T) {
	at := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)
	var b strings.Builder
	p := cli.Page{W: &b}
	no := &audit.Decision{Code: "egress.not_granted", Reason: "no entry covers it"}
	for i, r := range []audit.Record{
		{Kind: audit.EgressDecided, Run: "r1", Capability: "egress:[2001:db8::9]:443", Decision: &audit.Decision{Verdict: profiles.Allow, Code: "allowed"},
			Detail: map[string]string{"door": "connect", "dial": "[2001:db8::9]:443", "connection": "x-1"}},
		{Kind: audit.EgressDecided, Run: "r1", Capability: "egress:evil.example:443", Decision: no, Detail: map[string]string{"door": "fetch", "path": "/\x1b[2J"}},
		{Kind: audit.EgressClosed, Run: "r1", Capability: "egress:a.example:443", State: "cut", Decision: no,
			Detail: map[string]string{"door": "socks5", "up": "1", "down": "2", "before": "3"}},
		{Kind: audit.EgressCounted, Capability: "egress:b.example:80", Decision: no, Detail: map[string]string{"door": "dns", "count": "400"}},
	} {
		r.Time = at
		if err := p.Record(audit.Entry{Head: audit.Head{Seq: int64(i + 1)}, Record: r}, false); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`     1  2026-11-21T22:00:00.000Z  egress_decided   r1  connect  [2001:db8::9]:443  allow  allowed  connection=x-1  dial=[2001:db8::9]:443`,
		`     2  2026-11-21T22:00:00.000Z  egress_decided   r1  fetch  evil.example:443  deny  egress.not_granted  (no entry covers it)  path=/\u001b[2J`,
		`     3  2026-11-21T22:00:00.000Z  egress_closed    r1  socks5  a.example:443  cut  deny  egress.not_granted  (no entry covers it)  before=3  down=2  up=1`,
		`     4  2026-11-21T22:00:00.000Z  egress_counted   dns  b.example:80  deny  egress.not_granted  (no entry covers it)  count=400`,
	}
	if d := cmp.Diff(want, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")); d != "" {
		t.Error(d)
	}
}

func TestStatusOfEgress(t *testing.T) {
	var b strings.Builder
	cli.Page{W: &b}.Status(wire.Status{Ready: true, Egress: &wire.Network{
		Connections: 3,
		Next: []wire.EgressExpiry{
			{Agent: "a", Host: "api.example.com", At: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)}},
		Gateways: []wire.EgressGateway{{Agent: "a", Name: "gateway", State: "ready"},
			{Agent: "b", Name: "gateway", State: "unavailable", Reason: "no credential key on this host; add credentials.key to the configuration"},
			{Agent: "research", Name: "models", State: "unavailable", Reason: "credential models: read secret: /etc/ringd/models.key can be read by others (mode 0644): chmod 600 it"}},
	}})
	want := `egress: 3 connections open
  gateway gateway of a: ready
  gateway gateway of b: unavailable  no credential key on this host;
    add credentials.key to the configuration
  gateway models of research: unavailable  credential models: read secret:
    /etc/ringd/models.key can be read by others (mode 0644): chmod 600 it
  api.example.com of a expires at 2027-01-02T03:04:05Z
`
	if !strings.Contains(b.String(), want) {
		t.Error(cmp.Diff(want, b.String()))
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 81 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
}
