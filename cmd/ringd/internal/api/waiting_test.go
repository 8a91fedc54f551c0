package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/wire"
)

// paused starts a run of an actor that waits, beneath the API.
func (f *fixture) paused(actor daemon.Actor, program string) wire.Run {
	f.t.Helper()
	r, err := f.Daemon.StartRun(f.t.Context(), actor, wire.RunRequest{
		Executor: "js", Program: wire.Program{Source: program}, WaitMillis: 60000})
	if err != nil || r.State != "paused" {
		f.t.Fatalf("%+v, %v", r, err)
	}
	return r
}

func approvers(owners ...string) func(*api.Config) {
	return func(c *api.Config) {
		c.Approvers = map[string][]string{}
		for _, o := range owners {
			c.Approvers[o] = []string{fmt.Sprintf("uid:%d", os.Getuid())}
		}
	}
}

func word(verdict, digest, as, reason string) string {
	return fmt.Sprintf(`{"verdict":%q,"digest":%q,"as":%q,"reason":%q}`, verdict, digest, as, reason)
}

func TestApproveThroughTheAPI(t *testing.T) {
	f := serve(t, options{roles: mine("approver"), config: approvers("group:leads", "user:eve")})
	f.Apply(t, "one pay!1@group:leads ask")
	r := f.paused(daemontest.Me(), "steps pay,pay")
	mine := f.paused(daemon.Actor{Name: fmt.Sprintf("uid:%d", os.Getuid())}, "steps pay")
	got := f.ask("GET", "/v1/approvals", "")
	var list wire.Approvals
	if err := json.Unmarshal(got.body, &list); err != nil || len(list.Approvals) != 3 {
		t.Fatalf("%s, %v", got.body, err)
	}
	digest := map[string]string{}
	for _, a := range list.Approvals {
		digest[a.Run+"/"+a.Pending.ID] = a.Pending.Digest
	}
	c1, c2 := r.ID+"/c1", r.ID+"/c2"
	for _, tc := range []struct {
		name, path, body, code string
	}{
		{"no digest", c1, `{"verdict":"allow"}`, wire.CodeRequestInvalid},
		{"no reason", c1, word("deny", digest[c1], "", ""), wire.CodeRequestInvalid},
		{"unknown field", c1, `{"verdict":"allow","digest":"x","force":true}`, wire.CodeRequestInvalid},
		{"the other call's digest", c1, word("allow", digest[c2], "", ""), wire.CodeDigestMismatch},
		{"not one that it waits for", c1, word("allow", digest[c1], "user:eve", ""), wire.CodeNotAnApprover},
		{"not one that the caller stands for", c1, word("allow", digest[c1], "group:others", ""), wire.CodeNotAnApprover},
		{"its own", mine.ID + "/c1", word("allow", digest[mine.ID+"/c1"], "group:leads", ""), wire.CodeSelfApproval},
		{"unknown call", r.ID + "/c9", word("allow", "x", "", ""), wire.CodeNotFound},
		{"allowed", c1, word("allow", digest[c1], "group:leads", ""), ""},
		{"allowed again", c1, word("allow", digest[c1], "", ""), wire.CodeAlreadyAnswered},
		{"denied", c2, word("deny", digest[c2], "", "too dear"), ""},
	} {
		got := f.ask("POST", "/v1/approvals/"+tc.path, tc.body)
		if got.code() != tc.code {
			t.Errorf("%s gives %d %q, want %q", tc.name, got.status, got.code(), tc.code)
		}
		if tc.code == wire.CodeNotAnApprover && !strings.Contains(
			string(got.body), fmt.Sprintf("uid:%d may answer as group:leads, user:eve; see approvers in",
				os.Getuid())) {
			t.Errorf("%s says %s", tc.name, got.body)
		}
	}
	end, err := f.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute)
	if err != nil || end.State != "done" || string(end.Value) != `[1,"ApprovalDenied"]` {
		t.Errorf("%+v, %v", end, err)
	}
	if got := f.ask("POST", "/v1/approvals/"+c1, word("allow", digest[c1], "", "")); got.code() != wire.CodeRunEnded {
		t.Errorf("after the end: %q", got.code())
	}
	f.Clock.Advance(25 * time.Hour)
	late := f.paused(daemontest.Me(), "steps pay")
	f.Clock.Advance(24 * time.Hour)
	if got := f.ask("POST", "/v1/approvals/"+late.ID+"/c1", word(
		"allow", late.Pending[0].Digest, "", "")); got.code() != wire.CodeApprovalExpired && got.code() != wire.CodeRunEnded {
		t.Errorf("too late: %q", got.code())
	}
}

func TestApproversAreChecked(t *testing.T) {
	for _, who := range []string{"1000", "uid:", "uid:-1", "gid:x", "user:ann"} {
		_, err := api.New(config(t, func(c *api.Config) { c.Approvers = map[string][]string{"group:leads": {who}} }))
		if err == nil || !strings.Contains(err.Error(), "group:leads") {
			t.Errorf("%q gives %v", who, err)
		}
	}
}

func TestResumeAndRevokeThroughTheAPI(t *testing.T) {
	f := serve(t, options{roles: mine("operator")})
	f.Apply(t, "one ask act")
	r := f.paused(daemontest.Me(), "steps ask act")
	for _, tc := range []struct {
		path, body, code string
	}{
		{"/v1/runs/" + r.ID + "/resume", "", wire.CodeNotWaiting},
		{"/v1/runs/r1/resume", "", wire.CodeNotFound},
		{"/v1/runs/" + r.ID + "/revoke", `{"grants":[]}`, wire.CodeRequestInvalid},
		{"/v1/runs/" + r.ID + "/revoke", `{"grants":["everything"]}`, wire.CodeRequestInvalid},
		{"/v1/runs/r1/revoke", `{"grants":["bridge:act"]}`, wire.CodeNotFound},
		{"/v1/runs/" + r.ID + "/revoke", `{"grants":["bridge:act"]}`, ""},
	} {
		if got := f.ask("POST", tc.path, tc.body); got.code() != tc.code {
			t.Errorf("%s %s gives %d %q, want %q", tc.path, tc.body, got.status, got.code(), tc.code)
		}
	}
	end, err := f.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{WaitMillis: 60000,
		Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}})
	if err != nil || end.State != "done" || string(end.Value) != `[1,"CapabilityRevoked"]` || len(f.Acts.Calls()) != 0 {
		t.Errorf("%+v, %v", end, err)
	}
	for _, what := range []string{"resume", "revoke"} {
		body := ""
		if what == "revoke" {
			body = `{"grants":["bridge:act"]}`
		}
		if got := f.ask("POST", "/v1/runs/"+r.ID+"/"+what, body); got.code() != wire.CodeRunEnded {
			t.Errorf("%s after the end: %q", what, got.code())
		}
	}
}

// TestStuckThroughTheAPI shows why a run does not go on, and tries again.
func TestStuckThroughTheAPI(t *testing.T) {
	f := serve(t, options{roles: mine("operator")})
	f.Apply(t, "one ask")
	r := f.paused(daemontest.Me(), "steps ask")
	f.Executor.SetEngine("sha256:" + strings.Repeat("0", 64))
	stuck, err := f.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID, wire.Answers{WaitMillis: 60000,
		Answers: []wire.Answer{{Call: "c1", Value: json.RawMessage("1")}}})
	if err != nil || stuck.Error == nil || stuck.Error.Name != wire.CodeEngineUnknown {
		t.Fatalf("%+v, %v", stuck, err)
	}
	got := f.ask("POST", "/v1/runs/"+r.ID+"/resume", "")
	if got.code() != wire.CodeEngineUnknown || !strings.Contains(string(got.body), daemontest.Engine) {
		t.Errorf("%d %s", got.status, got.body)
	}
	f.Executor.SetEngine("")
	if got := f.ask("POST", "/v1/runs/"+r.ID+"/resume", ""); got.code() != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if end, err := f.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute); err != nil || end.State != "done" {
		t.Errorf("%+v, %v", end, err)
	}
}

// TestUnprovidedThroughTheAPI: a call is approved whose bridge cannot begin it. The run
// waits, says why without a word on the host's files, keeps the approval and goes on once
// the bridge is there.
func TestUnprovidedThroughTheAPI(t *testing.T) {
	f := serve(t, options{roles: mine("approver", "operator"), config: approvers("group:leads")})
	f.Apply(t, "one pay!1@group:leads")
	r := f.paused(daemontest.Me(), "steps pay")
	f.Acts.Break(errors.New("/srv/secret/pay: no such file"))
	digest := r.Pending[0].Digest
	if got := f.ask("POST", "/v1/approvals/"+r.ID+"/c1", word("allow", digest, "group:leads", "")); got.code() != "" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	stuck := func() wire.Run {
		var run wire.Run
		for run.Error == nil {
			var err error
			if run, err = f.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, 0); err != nil || run.State != "paused" &&
				run.State != "running" {
				t.Fatalf("%+v, %v", run, err)
			}
		}
		return run
	}
	const text = "call c1 is approved and needs bridge pay: its command cannot be started"
	if run := stuck(); run.Error.Name != wire.CodeBridgeUnprovided || run.Error.Message != text ||
		len(run.Pending) != 0 {
		t.Errorf("%+v", run.Error)
	}
	// The daemon's own resume, which found the reason, may still have the claim of the pause.
	resume := func() (got reply) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if got = f.ask("POST", "/v1/runs/"+r.ID+"/resume", ""); got.code() != wire.CodeAlreadyResumed {
				break
			}
		}
		return got
	}
	got := resume()
	if got.status != 409 || got.code() != wire.CodeBridgeUnprovided || !strings.Contains(string(got.body), text) ||
		strings.Contains(string(got.body), "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if st := f.Daemon.Status(t.Context()); !slices.ContainsFunc(st.Conditions, func(c wire.Condition) bool {
		return c.Code == wire.ConditionRunsStuck && strings.Contains(c.Message, "add it to bridges")
	}) {
		t.Errorf("status says %+v", st.Conditions)
	}
	if n := len(f.Acts.Calls()); n != 0 {
		t.Errorf("%d acts", n)
	}
	f.Acts.Break(nil)
	if got := resume(); got.code() != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if end, err := f.Daemon.GetRun(t.Context(), daemontest.Me(), r.ID, time.Minute); err != nil ||
		end.State != "done" || len(f.Acts.Calls()) != 1 {
		t.Errorf("%+v, %v", end, err)
	}
}

func TestSessionsThroughTheAPI(t *testing.T) {
	f := serve(t, options{roles: mine("harness")})
	f.Apply(t, "one ask")
	begin := func(program, more string) reply {
		return f.ask("POST", "/v1/runs",
			fmt.Sprintf(`{"executor":"js","program":{"source":%q},"session":"s1","wait_ms":60000%s}`, program, more))
	}
	for _, want := range []string{"1", "2"} {
		var r wire.Run
		if got := begin("session", ""); json.Unmarshal(got.body, &r) != nil || string(r.Value) != want ||
			r.Session != "s1" {
			t.Errorf("%s, want %s", got.body, want)
		}
	}
	if got := begin("steps ask", ""); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := begin("session", ""); got.code() != wire.CodeSessionBusy {
		t.Errorf("a second run: %q", got.code())
	}
	if got := f.ask("DELETE", "/v1/sessions/s1", ""); got.code() != wire.CodeSessionBusy {
		t.Errorf("dropped in use: %q", got.code())
	}
	if got := f.ask("GET", "/v1/sessions", ""); !strings.Contains(string(got.body), `"name":"s1"`) {
		t.Errorf("%s", got.body)
	}
	for _, path := range []string{"/v1/sessions/none", "/v1/sessions/s1?actor=uid:7"} {
		if got := f.ask("DELETE", path, ""); got.code() != wire.CodeNotFound {
			t.Errorf("%s gives %q", path, got.code())
		}
	}
	for _, tc := range []struct{ more, code string }{
		{`,"session":"a/b"`, wire.CodeRequestInvalid}, // twice in one object
		{`,"grants":{"bridge":{}}`, wire.CodeRequestInvalid},
		{`,"grants":{"bridges":{"a b":{}}}`, wire.CodeRequestInvalid},
	} {
		if got := begin("1+1", tc.more); got.code() != tc.code {
			t.Errorf("%s gives %q", tc.more, got.code())
		}
	}
}
