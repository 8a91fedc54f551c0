package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

const program = `{"executor":"js","program":{"source":"%s"},"wait_ms":60000}`

func body(source string) string { return fmt.Sprintf(program, source) }

func TestEveryRoute(t *testing.T) {
	f := serve(t, options{roles: mine("harness", "operator")})
	f.Apply(t, "one log ask")

	started := f.ask("POST", "/v1/runs", body("console a b"))
	run := into[wire.Run](t, started)
	if started.status != http.StatusCreated || run.State != "done" || len(run.Console) != 2 ||
		started.header.Get("Location") != "/v1/runs/"+run.ID {
		t.Errorf("start: %d %+v", started.status, run)
	}
	if got := into[wire.Run](t, f.ask("GET", "/v1/runs/"+run.ID, "")); got.State != "done" {
		t.Errorf("get: %+v", got)
	}
	if got := into[wire.RunList](t, f.ask("GET", "/v1/runs?state=done&agent=default&limit=10", "")); len(
		got.Runs) != 1 {
		t.Errorf("list: %+v", got)
	}
	paused := into[wire.Run](t, f.ask("POST", "/v1/runs", body("wave ask")))
	if paused.State != "paused" || len(paused.Pending) != 1 {
		t.Fatalf("paused: %+v", paused)
	}
	answer := fmt.Sprintf(`{"answers":[{"call":"c1","digest":%q,"value":{"ok":true}}],"wait_ms":60000}`,
		paused.Pending[0].Digest)
	if got := into[wire.Run](t, f.ask("POST", "/v1/runs/"+paused.ID+"/answers", answer)); got.State != "done" ||
		string(got.Value) != `[{"ok":true}]` {
		t.Errorf("answer: %+v", got)
	}
	spinning := into[wire.Run](t, f.ask("POST", "/v1/runs", strings.Replace(body("spin"), "60000", "0", 1)))
	if got := into[wire.Run](t, f.ask("POST", "/v1/runs/"+spinning.ID+"/cancel", "")); got.State != "cancelled" {
		t.Errorf("cancel: %+v", got)
	}
	if got := into[wire.Approvals](t, f.ask("GET", "/v1/approvals", "")); got.Approvals == nil ||
		len(got.Approvals) != 0 {
		t.Errorf("approvals: %+v", got)
	}
	if got := into[wire.Profile](t, f.ask("GET", "/v1/agents/default/profiles/js",
		"")); got.Bridges["log"].Name != "log" {
		t.Errorf("profile: %+v", got)
	}
	types := f.ask("GET", "/v1/agents/default/types.d.ts", "")
	if !strings.Contains(string(types.body), "declare function log(input: LogInput): Promise<unknown>;") {
		t.Errorf("types: %s", types.body)
	}
	one := into[profiles.Decision](t, f.ask("POST", "/v1/decide", `{"bridge":{"name":"log"}}`))
	two := into[[]profiles.Decision](t, f.ask("POST", "/v1/decide?agent=default",
		`[{"bridge":{"name":"log"}},{"colour":1}]`))
	if one.Verdict != profiles.Allow || len(two) != 2 || two[1].Code != profiles.CodeActionMalformed {
		t.Errorf("decide: %+v, %+v", one, two)
	}
	if got := into[wire.Status](t, f.ask("GET", "/v1/status", "")); !got.Ready || got.Generation != 1 ||
		got.LastPush == nil {
		t.Errorf("status: %+v", got)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := into[wire.Health](t, f.ask("GET", path, "")); got.Status != "ok" {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := f.ask("GET", "/metrics", ""); !strings.Contains(
		string(got.body), `ringd_requests_total{route="POST /v1/runs",status="201"} 3`) {
		t.Errorf("metrics: %s", got.body)
	}
	served, err := os.ReadFile("../../../../docs/openapi.json")
	if err != nil || string(f.ask("GET", "/openapi.json", "").body) != string(served) {
		t.Errorf("the document that is served is not docs/openapi.json, %v", err)
	}
}

func TestRefusals(t *testing.T) {
	f := serve(t, options{roles: mine("harness", "operator"), config: func(c *api.Config) { c.BodyBytes = 10_000 }})
	f.Apply(t, "one log ask")
	ended := into[wire.Run](t, f.ask("POST", "/v1/runs", body("1+1"))).ID
	paused := into[wire.Run](t, f.ask("POST", "/v1/runs", body("wave ask"))).ID
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     string
	}{
		{"unknown path", "GET", "/v2/runs", "", nil, 404, wire.CodePathUnknown},
		{"root", "GET", "/", "", nil, 404, wire.CodePathUnknown},
		{"path that is not clean", "POST", "//v1/runs", body("1+1"), nil, 404, wire.CodePathUnknown},
		{"trailing slash", "GET", "/v1/status/", "", nil, 404, wire.CodePathUnknown},
		{"method", "DELETE", "/v1/runs", "", nil, 405, wire.CodeMethodNotAllowed},
		{"method of one run", "PUT", "/v1/runs/" + ended, "", nil, 405, wire.CodeMethodNotAllowed},
		{"no media type", "POST", "/v1/runs", body("1+1"), []string{"Content-Type", ""}, 415, wire.CodeMediaType},
		{"form", "POST", "/v1/runs", body("1+1"), []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, wire.CodeMediaType},
		{"charset", "POST", "/v1/runs", body("1+1"), []string{"Content-Type", "application/json; charset=latin1"}, 415, wire.CodeMediaType},
		{"encoded", "POST", "/v1/runs", body("1+1"), []string{"Content-Encoding", "gzip"}, 415, wire.CodeMediaType},
		{"empty", "POST", "/v1/runs", " ", nil, 400, wire.CodeRequestInvalid},
		{"not JSON", "POST", "/v1/runs", "{", nil, 400, wire.CodeRequestInvalid},
		{"grants that are null", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1"},"grants":null}`, nil, 400, wire.CodeRequestInvalid},
		{"a parent that is null", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1"},"parent": null}`, nil, 400, wire.CodeRequestInvalid},
		{"null inside", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1","name":null}}`, nil, 400, wire.CodeRequestInvalid},
		{"null", "POST", "/v1/runs", ` null`, nil, 400, wire.CodeRequestInvalid},
		{"unknown field", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1"},"colour":1}`, nil, 400, wire.CodeRequestInvalid},
		{"unknown field inside", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1","colour":1}}`, nil, 400, wire.CodeRequestInvalid},
		{"other case", "POST", "/v1/runs", `{"executor":"js","program":{"Source":"1+1"}}`, nil, 400, wire.CodeRequestInvalid},
		{"repeated field", "POST", "/v1/runs", `{"executor":"js","executor":"shell","program":{"source":"1"}}`, nil, 400, wire.CodeRequestInvalid},
		{"repeated field inside", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1"},"inputs":{"a":{"b":1,"b":2}}}`, nil, 400, wire.CodeRequestInvalid},
		{"trailing data", "POST", "/v1/runs", body("1+1") + `{}`, nil, 400, wire.CodeRequestInvalid},
		{"deep", "POST", "/v1/runs", `{"executor":"js","program":{"source":"1"},"inputs":{"a":` + deep + `}}`, nil, 400, wire.CodeRequestInvalid},
		{"not UTF-8", "POST", "/v1/runs", body("\xff"), nil, 400, wire.CodeRequestInvalid},
		{"wrong type", "POST", "/v1/runs", `{"executor":7,"program":{"source":"1"}}`, nil, 400, wire.CodeRequestInvalid},
		{"null", "POST", "/v1/runs", `null`, nil, 400, wire.CodeRequestInvalid},
		{"too large", "POST", "/v1/runs", body(strings.Repeat("x", 10_000)), nil, 413, wire.CodeTooLarge},
		{"wait", "POST", "/v1/runs", strings.Replace(body("1+1"), "60000", "60001", 1), nil, 400, wire.CodeRequestInvalid},
		{"executor not granted", "POST", "/v1/runs", strings.Replace(body("1+1"), "js", "shell", 1), nil, 403, string(profiles.CodeExecutorNotGranted)},
		{"unknown agent", "POST", "/v1/runs", `{"agent":"x","executor":"js","program":{"source":"1"}}`, nil, 403, string(profiles.CodeUnknownAgent)},
		{"no such run", "GET", "/v1/runs/r1", "", nil, 404, wire.CodeNotFound},
		{"no such run to cancel", "POST", "/v1/runs/r1/cancel", "", nil, 404, wire.CodeNotFound},
		{"no events", "GET", "/v1/runs/r1/events", "", nil, 404, wire.CodeNotFound},
		{"wait of a run", "GET", "/v1/runs/" + ended + "?wait_ms=x", "", nil, 400, wire.CodeRequestInvalid},
		{"cancel ended", "POST", "/v1/runs/" + ended + "/cancel", "", nil, 409, wire.CodeRunEnded},
		{"answer ended", "POST", "/v1/runs/" + ended + "/answers", `{"answers":[{"call":"c1","value":1}]}`, nil, 409, wire.CodeRunEnded},
		{"answer of other arguments", "POST", "/v1/runs/" + paused + "/answers", `{"answers":[{"call":"c1","value":1,"digest":"sha256:0"}]}`, nil, 409, wire.CodeDigestMismatch},
		{"answer of no call", "POST", "/v1/runs/" + paused + "/answers", `{"answers":[{"call":"c7","value":1}]}`, nil, 404, wire.CodeNotFound},
		{"answer of nothing", "POST", "/v1/runs/" + paused + "/answers", `{"answers":[]}`, nil, 400, wire.CodeRequestInvalid},
		{"events after nonsense", "GET", "/v1/runs/" + paused + "/events", "", []string{"Last-Event-ID", "-4"}, 400, wire.CodeRequestInvalid},
		{"list of no state", "GET", "/v1/runs?state=happy", "", nil, 400, wire.CodeRequestInvalid},
		{"list limit", "GET", "/v1/runs?limit=0", "", nil, 400, wire.CodeRequestInvalid},
		{"list before", "GET", "/v1/runs?before=yesterday", "", nil, 400, wire.CodeRequestInvalid},
		{"list unknown", "GET", "/v1/runs?colour=red", "", nil, 400, wire.CodeRequestInvalid},
		{"profile of no agent", "GET", "/v1/agents/x/profiles/js", "", nil, 404, wire.CodeNotFound},
		{"profile of no executor", "GET", "/v1/agents/default/profiles/wasi", "", nil, 404, wire.CodeNotFound},
		{"profile wait", "GET", "/v1/agents/default/profiles/js?wait=forever", "", nil, 400, wire.CodeRequestInvalid},
		{"types of no agent", "GET", "/v1/agents/x/types.d.ts", "", nil, 404, wire.CodeNotFound},
		{"decide nothing", "POST", "/v1/decide", `[]`, nil, 400, wire.CodeRequestInvalid},
		{"decide twice the same name", "POST", "/v1/decide", `{"bridge":{"name":"a","name":"log"}}`, nil, 400, wire.CodeRequestInvalid},
		{"approve as harness", "POST", "/v1/approvals/" + paused + "/c1", `{"verdict":"allow","digest":"x"}`, nil, 403, wire.CodeForbidden},
		{"a role that is not held", "GET", "/v1/status", "", []string{"Ringd-Role", "approver"}, 403, wire.CodeForbidden},
		{"a role that does not exist", "GET", "/v1/status", "", []string{"Ringd-Role", "root"}, 403, wire.CodeForbidden},
		{"the narrower role", "POST", "/v1/runs", body("1+1"), []string{"Ringd-Role", "operator"}, 403, wire.CodeForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := *f
			f.t = t
			got := f.ask(tc.method, tc.path, tc.body, tc.header...)
			if got.status != tc.status || got.code() != tc.code {
				t.Errorf("got %d %s, want %d %s\n%s", got.status, got.code(), tc.status, tc.code, got.body)
			}
			var e wire.ErrorBody
			if err := json.Unmarshal(got.body, &e); err != nil || e.Error.RequestID == "" ||
				e.Error.RequestID != got.header.Get("X-Request-Id") || e.Error.Message == "" {
				t.Errorf("error body: %s", got.body)
			}
		})
	}
	if got := f.ask("PATCH", "/v1/runs", ""); got.header.Get("Allow") != "GET, POST" {
		t.Errorf("Allow is %q", got.header.Get("Allow"))
	}
}

// table is what each role may do, written out so that a change of the route
// table shows.
func TestRolesOfRoutes(t *testing.T) {
	want := map[string]string{
		"POST /v1/runs": "harness", "GET /v1/runs": "harness approver operator viewer", "GET /v1/runs/{id}": "harness approver operator viewer",
		"GET /v1/runs/{id}/calls/{call}": "harness approver operator viewer",
		"GET /v1/runs/{id}/events":       "harness approver operator viewer", "POST /v1/runs/{id}/answers": "harness",
		"GET /v1/lockdown": "harness approver operator viewer", "POST /v1/lockdown": "operator", "POST /v1/audit/archive": "operator", "POST /v1/clock": "operator",
		"POST /v1/runs/{id}/cancel": "harness operator", "GET /v1/approvals": "approver operator viewer",
		"POST /v1/runs/{id}/resume": "harness operator approver", "POST /v1/runs/{id}/revoke": "harness operator approver",
		"GET /v1/sessions": "harness approver operator viewer", "DELETE /v1/sessions/{name}": "harness operator",
		"POST /v1/approvals/{run}/{call}": "approver", "GET /v1/agents/{agent}/profiles/{executor}": "harness approver operator viewer",
		"GET /v1/agents/{agent}/types.d.ts": "harness approver operator viewer", "POST /v1/decide": "harness approver operator viewer",
		"GET /v1/status": "harness approver operator viewer", "GET /healthz": "", "GET /readyz": "", "GET /metrics": "operator viewer", "GET /openapi.json": "",
	}
	got := map[string]string{}
	for _, r := range api.Routes() {
		var roles []string
		for _, role := range r.Roles {
			roles = append(roles, string(role))
		}
		got[r.Method+" "+r.Path] = strings.Join(roles, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, role := range []api.Role{api.Harness, api.Approver, api.Operator, api.Viewer, ""} {
		t.Run("as "+string(role), func(t *testing.T) {
			roles := mine(string(role))
			if role == "" { // this process holds nothing, though it is root or the daemon's own
				roles = api.Roles{Viewer: []string{"uid:4294967294"}}
			}
			f := serve(t, options{roles: roles, config: func(c *api.Config) {
				if role == "" {
					c.Roles.Viewer = []string{"gid:4294967294"}
				}
			}})
			for pattern, who := range want {
				method, path, _ := strings.Cut(pattern, " ")
				allowed := who == "" || slices.Contains(strings.Fields(who), string(role))
				if role == "" { // the default of root and the daemon's own uid
					allowed = who == "" || strings.Contains(who, "harness") || strings.Contains(who, "operator")
				}
				path = strings.NewReplacer("{id}", "r1", "{run}", "r1", "{call}", "c1", "{agent}", "a", "{executor}",
					"js").Replace(path)
				text := ""
				if method == "POST" {
					text = "{}"
				}
				got := f.ask(method, path, text)
				if (got.code() == wire.CodeForbidden) == allowed {
					t.Errorf("%s gives %d %s; allowed: %v", pattern, got.status, got.code(), allowed)
				}
			}
		})
	}
}

// TestForbiddenLeavesNoRecord: a caller without the role cannot fill the audit log with
// what it may not, a lockdown first of all; one with the role is on record.
func TestForbiddenLeavesNoRecord(t *testing.T) {
	begin := `{"state":"begin","reason":"r"}`
	for _, tc := range []struct {
		role   string
		status int
		locks  int
	}{{"harness", http.StatusForbidden, 0}, {"operator", http.StatusOK, 1}} {
		f := serve(t, options{roles: mine(tc.role), lock: true})
		before := len(f.Records(t))
		for range 20 {
			if got := f.ask("POST", "/v1/lockdown", begin); got.status != tc.status {
				t.Errorf("a lockdown as %s: %d %s", tc.role, got.status, got.code())
			}
			if got := f.ask("POST", "/v1/approvals/r1/c1",
				`{"verdict":"allow","digest":"x"}`); got.code() != wire.CodeForbidden {
				t.Errorf("an approval as %s: %d %s", tc.role, got.status, got.code())
			}
		}
		if n := len(f.Records(t, audit.LockdownBegun)); n != tc.locks || len(f.Records(t)) != before+tc.locks {
			t.Errorf("as %s: %d lockdowns and %d new records, want %d", tc.role, n, len(f.Records(t))-before, tc.locks)
		}
	}
}

func TestHarnessNeverApproves(t *testing.T) {
	both := mine("harness", "approver")
	if _, err := api.New(config(t, func(c *api.Config) { c.Roles = both })); err == nil ||
		!strings.Contains(err.Error(), "a harness can never approve") {
		t.Errorf("a uid with both roles: %v", err)
	}
	// One role from the uid, the other from the gid.
	split := mine("harness")
	split.Approver = []string{fmt.Sprintf("gid:%d", os.Getgid())}
	f := serve(t, options{roles: split})
	if got := f.ask("POST", "/v1/approvals/r1/c1",
		`{"verdict":"allow","digest":"x"}`); got.code() != wire.CodeForbidden {
		t.Errorf("a harness whose group approves: %d %s", got.status, got.code())
	}
	if got := f.ask("POST", "/v1/approvals/r1/c1", `{"verdict":"allow","digest":"x"}`, "Ringd-Role",
		"approver"); got.code() != wire.CodeForbidden {
		t.Errorf("the same, naming the role: %d %s", got.status, got.code())
	}
	// Root without a line is harness and operator, and no approver.
	bare := serve(t, options{})
	if got := bare.ask("POST", "/v1/approvals/r1/c1",
		`{"verdict":"allow","digest":"x"}`); got.code() != wire.CodeForbidden {
		t.Errorf("the default roles approve: %d %s", got.status, got.code())
	}
}

func TestApprover(t *testing.T) {
	f := serve(t, options{roles: mine("approver")})
	f.Apply(t, "one ask")
	r, err := f.Daemon.StartRun(t.Context(), daemontest.Me(),
		wire.RunRequest{Executor: "js", Program: wire.Program{Source: "wave ask"}, WaitMillis: 60000})
	if err != nil || r.State != "paused" {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, tc := range []struct {
		path, body, code string
	}{
		{"/v1/approvals/" + r.ID + "/c1", `{"verdict":"allow","digest":"x"}`, wire.CodeNotWaiting},
		{"/v1/approvals/" + r.ID + "/c2", `{"verdict":"deny","digest":"x","reason":"no"}`, wire.CodeNotFound},
		{"/v1/approvals/r1/c1", `{"verdict":"deny","digest":"x","reason":"no"}`, wire.CodeNotFound},
		{"/v1/approvals/" + r.ID + "/c1", `{"verdict":"perhaps","digest":"x"}`, wire.CodeRequestInvalid},
	} {
		if got := f.ask("POST", tc.path, tc.body); got.code() != tc.code {
			t.Errorf("%s %s gives %s, want %s", tc.path, tc.body, got.code(), tc.code)
		}
	}
}

func config(t *testing.T, change func(*api.Config)) api.Config {
	t.Helper()
	s := daemontest.New(t, daemontest.Config{})
	cfg := api.Config{Daemon: s.Daemon, Now: time.Now,
		Logger: discard()}
	change(&cfg)
	return cfg
}

func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.Config)
		want   string
	}{
		"no daemon": {func(c *api.Config) { c.Daemon = nil }, "Daemon is missing"},
		"no clock":  {func(c *api.Config) { c.Now = nil }, "Now is missing"},
		"no logger": {func(c *api.Config) { c.Logger = nil }, "Logger is missing"},
		"role":      {func(c *api.Config) { c.Roles.Viewer = []string{"root"} }, "want uid:NUMBER"},
		"role kind": {func(c *api.Config) { c.Roles.Viewer = []string{"pid:1"} }, "want uid:NUMBER"},
	} {
		if _, err := api.New(config(t, tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := api.New(config(t, func(*api.Config) {})); err != nil {
		t.Errorf("a good config: %v", err)
	}
}

// failing makes every method fail with err, or panic.
type failing struct {
	api.Daemon
	err error
}

func (r failing) StartRun(context.Context, daemon.Actor, wire.RunRequest) (wire.Run, error) {
	if r.err == nil {
		panic("secret")
	}
	return wire.Run{}, r.err
}

func TestErrorsOfTheDaemon(t *testing.T) {
	denial := &profiles.Denial{Capability: "executor:js", Decision: profiles.Decision{
		Code: profiles.CodeTierUnavailable, Reason: "no landlock"}}
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{records.ErrUnavailable, 503, wire.CodeAuditUnavailable},
		{daemon.ErrDraining, 503, wire.CodeDraining},
		{daemon.ErrQuota, 429, wire.CodeQuota},
		{&daemon.TooFastError{After: time.Second}, 429, wire.CodeQuota},
		{daemon.ErrRole, 403, wire.CodeWrongRole},
		{daemon.ErrAnswered, 409, wire.CodeAlreadyAnswered},
		{denial, 403, string(profiles.CodeTierUnavailable)},
		{errors.Join(denial, fmt.Errorf("%w: disk", records.ErrUnavailable)), 503, wire.CodeAuditUnavailable},
		{&policy.InvalidError{Field: "agent", Text: "is bad"}, 400, wire.CodeRequestInvalid},
		{fmt.Errorf("open /var/lib/ringd/secret: %w", os.ErrPermission), 500, wire.CodeInternal},
		{context.Canceled, 499, wire.CodeCancelled},
		{nil, 500, wire.CodeInternal}, // a panic
	} {
		err := tc.err
		if err != nil && !errors.As(err, new(*profiles.Denial)) && !errors.As(err, new(*policy.InvalidError)) {
			err = fmt.Errorf("at /var/lib/ringd/secret: %w", err)
		}
		f := serve(t, options{runs: failing{err: err}})
		got := f.ask("POST", "/v1/runs", body("1+1"))
		if got.status != tc.status || got.code() != tc.code {
			t.Errorf("%v gives %d %s, want %d %s", tc.err, got.status, got.code(), tc.status, tc.code)
		}
		if strings.Contains(string(got.body), "secret") {
			t.Errorf("%v: the answer tells of the host: %s", tc.err, got.body)
		}
		if tc.code == wire.CodeInternal && !strings.Contains(f.Logged.String(), got.header.Get("X-Request-Id")) {
			t.Errorf("%v: the log does not have the request: %s", tc.err, f.Logged.String())
		}
	}
}

func TestReadyz(t *testing.T) {
	f := serve(t, options{})
	got := f.ask("GET", "/readyz", "")
	if got.code() != wire.CodeNotReady || got.status != 503 ||
		!strings.Contains(string(got.body), wire.ConditionNoPolicy) {
		t.Errorf("readyz: %d %s", got.status, got.body)
	}
	if got := f.ask("GET", "/healthz", ""); got.status != 200 {
		t.Errorf("healthz: %d", got.status)
	}
}

func TestProfileLongPoll(t *testing.T) {
	f := serve(t, options{})
	f.Apply(t, "one log")
	const path = "/v1/agents/default/profiles/js"
	first := f.ask("GET", path, "")
	tag := first.header.Get("ETag")
	if got := f.ask("GET", path, "", "If-None-Match", tag); got.status != 304 || got.header.Get("ETag") != tag {
		t.Errorf("the same revision gives %d", got.status)
	}
	if got := f.ask("GET", path, "", "If-None-Match", `"other"`); got.status != 200 {
		t.Errorf("another tag gives %d", got.status)
	}
	if got := f.ask("GET", path+"?wait=0s", "", "If-None-Match", tag); got.status != 304 {
		t.Errorf("a wait of nothing gives %d", got.status)
	}
	for _, path := range []string{path, "/v1/agents/default/types.d.ts"} {
		tag := f.ask("GET", path, "").header.Get("ETag")
		done := make(chan reply, 1)
		go func() { done <- f.ask("GET", path+"?wait=60s", "", "If-None-Match", tag) }()
		f.Apply(t, "two log "+strings.Repeat("x", len(path)))
		got := <-done
		if got.status != 200 || got.header.Get("ETag") == tag {
			t.Errorf("%s: the next revision gives %d %s", path, got.status, got.header.Get("ETag"))
		}
	}
}

func TestEventStream(t *testing.T) {
	f := serve(t, options{config: func(c *api.Config) { c.Heartbeat = 5 * time.Millisecond }})
	f.Apply(t, "one act")
	release := f.Acts.Hold()
	run := into[wire.Run](t, f.ask("POST", "/v1/runs", strings.Replace(body("call act"), "60000", "0", 1)))
	resp, err := f.http.Get("http://ringd/v1/runs/" + run.ID + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("media type %q", got)
	}
	var lines []string
	beats := 0
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		line := in.Text()
		if strings.HasPrefix(line, ": ") {
			if beats++; beats == 2 {
				release()
			}
			continue
		}
		if strings.HasPrefix(line, "event: ") || strings.HasPrefix(line, "id: ") {
			lines = append(lines, line)
		}
	}
	want := []string{"id: 1", "event: state", "id: 2", "event: call", "id: 3", "event: call", "id: 4", "event: state"}
	if diff := cmp.Diff(want, lines); diff != "" || in.Err() != nil {
		t.Errorf("%s, %v", diff, in.Err())
	}
	if beats < 2 {
		t.Errorf("%d heartbeats", beats)
	}
	rest := f.ask("GET", "/v1/runs/"+run.ID+"/events", "", "Last-Event-ID", "2")
	if !strings.HasPrefix(string(rest.body), "id: 3\nevent: gap\n") ||
		!strings.Contains(string(rest.body), `"state":"done"`) {
		t.Errorf("taken up again: %s", rest.body)
	}
}

func TestCloseEndsWaitingRequests(t *testing.T) {
	f := serve(t, options{})
	f.Apply(t, "one log")
	run := into[wire.Run](t, f.ask("POST", "/v1/runs", strings.Replace(body("spin"), "60000", "0", 1)))
	resp, err := f.http.Get("http://ringd/v1/runs/" + run.ID + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.server.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := os.Stat(f.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestSlowSenderIsCutOff(t *testing.T) {
	f := serve(t, options{config: func(c *api.Config) { c.ReadTimeout = 20 * time.Millisecond }})
	c, err := net.Dial("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
		"Content-Length: 100\r\n\r\n{")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("a body that never comes gives %d", resp.StatusCode)
	}
}

func TestHugeHeaderIsRefused(t *testing.T) {
	f := serve(t, options{})
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://ringd/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	resp, err := f.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// The daemon asks itself however many connections its user has: else a harness of that
// user could have systemd take it for dead.
func TestOwnConnectionsAreNotCounted(t *testing.T) {
	f := serve(t, options{config: func(c *api.Config) { c.PerPeer, c.PID = 1, os.Getpid() }})
	for range 3 {
		c, err := net.Dial("unix", f.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v", err)
		}
	}
}

// short is a listener of a host that is short of something, now and then.
type short struct {
	net.Listener
	left []error
}

func (s *short) Accept() (net.Conn, error) {
	if len(s.left) == 0 {
		return s.Listener.Accept()
	}
	err := s.left[0]
	s.left = s.left[1:]
	return nil, &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", err)}
}

// The API is there again after a shortage of any kind, and has not ended meanwhile.
func TestAcceptErrorsEndNothing(t *testing.T) {
	s := &short{left: []error{syscall.ENOSPC, syscall.ENOMEM, syscall.ENOBUFS, syscall.EMFILE, syscall.ENFILE,
		syscall.EINVAL, syscall.EPERM}}
	f := serve(t, options{listener: func(l net.Listener) net.Listener { s.Listener = l; return s }})
	if got := f.ask("GET", "/healthz", ""); got.status != 200 {
		t.Errorf("healthz: %d", got.status)
	}
	select {
	case <-f.server.Lost():
		t.Error("a listener ended")
	default:
	}
	if out := f.Logged.String(); strings.Count(out, "cannot be accepted") != 1 {
		t.Errorf("want one line for the burst:\n%s", out)
	}
}

func TestConnectionsOfOnePeerAreBounded(t *testing.T) {
	f := serve(t, options{config: func(c *api.Config) { c.PerPeer = 2 }})
	var open []net.Conn
	for range 2 {
		c, err := net.Dial("unix", f.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v", err)
		}
		open = append(open, c)
	}
	third, err := net.Dial("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if n, err := third.Read(make([]byte, 1)); err == nil {
		t.Errorf("a third connection was served: %d", n)
	}
	open[0].Close()
	for { // the place is free once the server has seen the close
		c, err := net.Dial("unix", f.socket)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
		resp, rerr := http.ReadResponse(bufio.NewReader(c), nil)
		c.Close()
		if err == nil && rerr == nil && resp.StatusCode == 200 {
			break
		}
	}
}
