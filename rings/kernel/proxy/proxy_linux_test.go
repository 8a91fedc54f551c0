package proxy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// A tunnel carries bytes both ways, those behind the request included; what was
// decided is on record before it, and its end behind it.
func TestConnect(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("db.example", 5432)})
	r.Name("db.example", "93.184.216.34")
	r.echo("93.184.216.34:5432")
	c := r.tunnel("db.example:5432", []byte("early ")...)
	hears(t, c, "early ")
	says(t, c, "hello")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Fatalf("behind the end: %q, %v", rest, err)
	}
	end := r.ends(1)[0]
	log := r.log()
	if len(log) != 2 {
		t.Fatalf("%d events, want 2: %+v", len(log), log)
	}
	if first := log[0]; first.End != "" || first.Listener != proxy.ListenerConnect ||
		first.Decision.Verdict != profiles.Allow ||
		first.Dial.String() != "93.184.216.34:5432" || len(first.Answers) != 1 || first.Connection != end.Connection ||
		first.Connection == "" ||
		first.Agent != "a" || first.Executor != "python" || first.Run != "run" || first.Generation != 1 {
		t.Errorf("decided: %+v", first)
	}
	if end.End != proxy.EndEOF || end.Up != 11 || end.Down != 11 || end.Dial.String() != "93.184.216.34:5432" {
		t.Errorf("ended: %+v", end)
	}
	if got := r.Lookups(); len(got) != 1 || got[0] != "db.example." {
		t.Errorf("looked up %q", got)
	}
}

// What is not listed is answered with what to know about it, is on record, and is
// never looked up.
func TestConnectRefused(t *testing.T) {
	r := newRig(t, []profiles.EgressRule{host("db.example", 5432)})
	r.Name("evil.example", "93.184.216.34")
	r.Sink("", 443, 5432)
	res, _ := r.connect("evil.example:5432")
	if res.StatusCode != http.StatusForbidden || res.Header.Get("X-Ringd-Deny") != "egress.not_granted" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	var body struct{ Code, Reason, Note string }
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if body.Code != "egress.not_granted" || body.Reason == "" ||
		!strings.Contains(body.Note, "another way will be refused too") {
		t.Errorf("%+v", body)
	}
	log := r.log()
	if len(log) != 1 || log[0].Decision.Verdict != profiles.Deny || log[0].End != "" {
		t.Errorf("on record: %+v", log)
	}
	if got := r.Lookups(); len(got) > 0 {
		t.Errorf("looked up %q", got)
	}
	if got := r.Arrivals(); len(got) > 0 {
		t.Errorf("arrived: %+v", got)
	}
}
