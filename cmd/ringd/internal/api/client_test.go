package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// TestClient is the Go SDK against a served daemon.
func TestClient(t *testing.T) {
	f := serve(t, options{stack: daemontest.Config{}})
	f.Apply(t, "one log ask act")
	c, err := client.New(client.Config{Socket: f.socket})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request := func(source string) wire.RunRequest {
		return wire.RunRequest{Executor: "js", Program: wire.Program{Source: source}}
	}

	run, err := c.Run(t.Context(), request("1+1"))
	if err != nil || run.State != "done" || string(run.Value) != "2" {
		t.Errorf("run: %+v, %v", run, err)
	}
	paused, err := c.Run(t.Context(), request("wave ask ask"))
	if err != nil || paused.State != "paused" || len(paused.Pending) != 2 {
		t.Fatalf("pause: %+v, %v", paused, err)
	}
	var answers []wire.Answer
	for _, p := range paused.Pending {
		answers = append(answers, wire.Answer{Call: p.ID, Digest: p.Digest, Value: json.RawMessage(`"` + p.ID + `"`)})
	}
	done, err := c.Answer(t.Context(), paused.ID, answers...)
	if err != nil || done.State != "done" || string(done.Value) != `["c1","c2"]` {
		t.Errorf("answer: %+v, %v", done, err)
	}
	if _, err := c.Answer(t.Context(), paused.ID, answers[0]); client.Code(err) != wire.CodeRunEnded {
		t.Errorf("an answer too late gives %v", err)
	}
	release := f.Acts.Hold()
	acting, err := c.StartRun(t.Context(), request("call act"))
	if err != nil || acting.State != "running" {
		t.Fatalf("start: %+v, %v", acting, err)
	}
	var seen []string
	for e, err := range c.Events(t.Context(), acting.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e.Type)
		if e.Call != nil && e.Call.State == "opened" {
			release()
		}
	}
	// A reader that comes back after the end is told of a gap: the events of a run are
	// kept while it lives.
	switch got := strings.Join(seen, " "); got {
	case "state call call state", "state call call gap state", "state call gap state":
	default:
		t.Errorf("events: %s", got)
	}
	if got, err := c.Wait(t.Context(), acting.ID); err != nil || got.State != "done" {
		t.Errorf("wait: %+v, %v", got, err)
	}
	spinning, err := c.StartRun(t.Context(), request("spin"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.GetRun(t.Context(), spinning.ID, time.Millisecond); err != nil || got.State != "running" {
		t.Errorf("get: %+v, %v", got, err)
	}
	if got, err := c.Cancel(t.Context(), spinning.ID); err != nil || got.State != "cancelled" {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	list, err := c.Runs(t.Context(), client.Filter{Agent: "default", States: []string{"done"}, Limit: 2})
	if err != nil || len(list.Runs) != 2 {
		t.Errorf("runs: %+v, %v", list, err)
	}
	decisions, err := c.Decide(t.Context(), "default", []wire.Action{
		json.RawMessage(`{"bridge":{"name":"log"}}`), json.RawMessage(`{"bridge":{"name":"rm"}}`)})
	if err != nil || len(decisions) != 2 || decisions[0].Verdict != profiles.Allow ||
		decisions[1].Verdict != profiles.Deny {
		t.Errorf("decide: %+v, %v", decisions, err)
	}
	if p, err := c.Profile(t.Context(), "default", "js"); err != nil || len(p.Bridges) != 3 {
		t.Errorf("profile: %+v, %v", p, err)
	}
	if text, err := c.Types(t.Context(), "default"); err != nil || !strings.Contains(text, "declare function act(") {
		t.Errorf("types: %s, %v", text, err)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Generation != 1 {
		t.Errorf("status: %+v, %v", st, err)
	}
	if _, err := c.GetRun(t.Context(), "r1", 0); !errors.Is(err, &client.Error{Code: wire.CodeNotFound}) {
		t.Errorf("no such run: %v", err)
	}
}
