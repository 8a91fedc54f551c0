//go:build linux

package main

// In the package for TestMain, which makes this binary ringd.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/schema/wire"
)

// reachPolicy grants fetch; what it reaches is put in.
const reachPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors: {allowed: [js], minTier: process}
  bridges:
    - {name: fetch, powers: {sensitive: false, untrusted: true, external: true}%s}
  network: {%s}
`

// listed is a network of these entries.
func listed(entries ...string) string {
	return "mode: allowlist, egress: [" + strings.Join(entries, ", ") + "]"
}

// entry lists a server of this host, with more of the rule.
func entry(s *httptest.Server, more string) string {
	addr := s.Listener.Addr().(*net.TCPAddr)
	return fmt.Sprintf("{host: %s, ports: [%d]%s}", addr.IP, addr.Port, more)
}

// reachHost is a host whose runs may fetch.
func reachHost(t *testing.T, network, config string) *host {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	h := newHost(t, false)
	h.write("sync/p.yaml", fmt.Sprintf(reachPolicy, "", network))
	h.write("ringd.yaml", h.reachConfig(config))
	return h
}

func (h *host) reachConfig(more string) string {
	return fmt.Sprintf("sync: %s/sync\nstate: %[1]s/state\nsocket: %[1]s/run/s\nroles: {approver: ['uid:%d']}\n"+
		"limits: {drain: 5s}\n%s", h.dir, approverUID, more)
}

// push puts a policy in force.
func (h *host) push(text string) {
	h.t.Helper()
	before, err := h.client.Status(h.t.Context())
	h.must(err)
	h.write("sync/p.yaml", text)
	over := time.After(30 * time.Second)
	for {
		st, err := h.client.Status(h.t.Context())
		h.must(err)
		if st.Generation > before.Generation {
			return
		}
		select {
		case <-over:
			h.t.Fatalf("the push is not in force: %+v", st.LastPush)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// begin starts a program and does not wait for it.
func (h *host) program(source string) wire.Run {
	h.t.Helper()
	run, err := h.client.StartRun(h.t.Context(), h.request(source))
	h.must(err)
	return run
}

func (h *host) request(source string) wire.RunRequest {
	return wire.RunRequest{Agent: "a", Executor: "js", Program: wire.Program{Name: "p.js", Source: source}}
}

// records are those of the audit log, of these kinds.
func (h *host) records(kinds ...audit.Kind) (out []audit.Record) {
	h.t.Helper()
	for e, err := range audit.Query(h.t.Context(), filepath.Join(h.dir, "state", "audit"), audit.Filter{Kinds: kinds}) {
		h.must(err)
		out = append(out, e.Record)
	}
	return out
}

// of are the records about one server.
func of(s *httptest.Server, all []audit.Record) []audit.Record {
	return slices.DeleteFunc(slices.Clone(all), func(r audit.Record) bool {
		return r.Capability != "egress:"+s.Listener.Addr().String()
	})
}

// hanging is a server that answers a request once told to, and says when a
// request came and when its connection was lost before.
type hanging struct {
	*httptest.Server
	came, lost chan struct{}
	answer     chan struct{}
}

func hang(t *testing.T) *hanging { return hangAt(t, "127.0.0.1") }

func hangAt(t *testing.T, ip string) *hanging {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hanging{came: make(chan struct{}, 8), lost: make(chan struct{}, 8), answer: make(chan struct{})}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.came <- struct{}{}
		select {
		case <-r.Context().Done():
			h.lost <- struct{}{}
		case <-h.answer:
			_, _ = io.WriteString(w, "answered")
		}
	}))
	_ = h.Listener.Close()
	h.Listener = l
	h.Start()
	t.Cleanup(h.Server.Close)
	return h
}

// soon waits for what the other side does.
func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(60 * time.Second):
		t.Fatalf("%s: not yet", what)
	}
}

const tryFetch = `let said; try { const r = await fetch(%q); said = r.status + " " + await r.text() } catch (e) { said = e.name + ": " + e.message } said`

// value is the text that a run ended with.
func (h *host) value(run wire.Run) string {
	h.t.Helper()
	var s string
	if run.State != "done" || json.Unmarshal(run.Value, &s) != nil {
		h.t.Fatalf("run is %s with %s: %+v\n%s", run.State, run.Value, run.Error, h.tail())
	}
	return s
}

// A push that takes a host away ends the connections to it, and no other; both
// generations are on record.
func TestPushCutsWhatItTakesAway(t *testing.T) {
	gone, stays := hangAt(t, "127.0.0.2"), hang(t)
	h := reachHost(t, listed(entry(gone.Server, ""), entry(stays.Server, "")), "")
	h.start("", 0)
	first, second := h.program(fmt.Sprintf(tryFetch, gone.URL)), h.program(fmt.Sprintf(tryFetch, stays.URL))
	soon(t, "the first request", gone.came)
	soon(t, "the second request", stays.came)
	if st, err := h.client.Status(t.Context()); err != nil || st.Egress == nil || st.Egress.Connections != 2 {
		t.Errorf("status: %+v, %v", st.Egress, err)
	}
	h.push(fmt.Sprintf(reachPolicy, "", listed(entry(stays.Server, ""))))
	soon(t, "the end of the connection", gone.lost)
	run := h.ended(first.ID)
	if said := h.value(run); !strings.Contains(said, "egress.not_granted") {
		t.Errorf("the program was told %q", said)
	}
	close(stays.answer)
	if said := h.value(h.ended(second.ID)); said != "200 answered" {
		t.Errorf("a connection that the policy still allows: %q", said)
	}
	all := h.records(audit.EgressDecided, audit.EgressClosed)
	about := of(gone.Server, all)
	if len(about) != 2 {
		t.Fatalf("%d records about the connection that was cut: %+v", len(about), about)
	}
	allowed, cut := about[0], about[1]
	if allowed.Kind != audit.EgressDecided || allowed.Generation != 1 || allowed.Run != first.ID ||
		allowed.Detail["door"] != "fetch" || allowed.Detail["dial"] != gone.Listener.Addr().String() {
		t.Errorf("allowed: %+v", allowed)
	}
	if cut.Kind != audit.EgressClosed || cut.State != "cut" || cut.Generation != 2 || cut.Detail["before"] != "1" ||
		cut.Detail["connection"] != allowed.Detail["connection"] ||
		cut.Decision == nil || cut.Decision.Code != "egress.not_granted" || cut.Detail["up"] == "0" {
		t.Errorf("cut: %+v %+v", cut, cut.Decision)
	}
	for _, r := range of(stays.Server, all) {
		if r.State == "cut" {
			t.Errorf("cut as well: %+v", r)
		}
	}
	if len(run.Denials) != 1 || run.Denials[0].Code != "egress.not_granted" {
		t.Errorf("denials %+v", run.Denials)
	}
	if n := h.metric(`ringd_egress_ends_total{door="fetch",end="cut"}`); n != 1 {
		t.Errorf("%v connections counted as cut", n)
	}
	if n := h.metric(`ringd_egress_connections`); n != 0 {
		t.Errorf("%v connections open at the end", n)
	}
}

// A host that is taken from one run is cut for that run alone.
func TestRevokeCuts(t *testing.T) {
	s := hang(t)
	h := reachHost(t, listed(entry(s.Server, "")), "")
	h.start("", 0)
	first := h.program(fmt.Sprintf(tryFetch, s.URL))
	soon(t, "the first request", s.came)
	second := h.program(fmt.Sprintf(tryFetch, s.URL))
	soon(t, "the second request", s.came)
	_, err := h.client.Revoke(t.Context(), first.ID, "host:127.0.0.1")
	h.must(err)
	soon(t, "the end of the connection", s.lost)
	if said := h.value(h.ended(first.ID)); !strings.Contains(
		said, "egress.denied: 127.0.0.1 is denied: it was taken from the run") {
		t.Errorf("the program was told %q", said)
	}
	close(s.answer)
	if said := h.value(h.ended(second.ID)); said != "200 answered" {
		t.Errorf("the other run: %q", said)
	}
	if _, err := h.client.Revoke(t.Context(), second.ID, "host:127.0.0.1:443"); err == nil {
		t.Error("a name that is no host was taken")
	}
}

// A rule that expires cuts what it let in, and grants nothing afterwards; status
// says beforehand.
func TestExpiryCuts(t *testing.T) {
	s := hang(t)
	at := time.Now().Add(4 * time.Second).UTC().Truncate(time.Second)
	h := reachHost(t, listed(entry(s.Server, fmt.Sprintf(", expires: %q", at.Format(time.RFC3339)))), "")
	h.start("", 0)
	run := h.program(fmt.Sprintf(`%s; const first = said; %s; first + " | " + said`, fmt.Sprintf(tryFetch, s.URL),
		strings.Replace(fmt.Sprintf(tryFetch, s.URL), "let said; ", "", 1)))
	soon(t, "the request", s.came)
	if st, err := h.client.Status(t.Context()); err != nil || len(st.Egress.Next) != 1 ||
		!st.Egress.Next[0].At.Equal(at) {
		t.Errorf("status: %+v, %v", st.Egress, err)
	}
	soon(t, "the end of the connection", s.lost)
	if said := h.value(h.ended(run.ID)); strings.Count(said, "egress.expired") != 2 {
		t.Errorf("the program was told %q", said)
	}
	if cut := h.records(audit.EgressClosed); len(cut) != 1 || cut[0].State != "cut" {
		t.Errorf("%+v", cut)
	}
}

// What a rule allows in bytes ends the connection that uses it up.
func TestBudgetEnds(t *testing.T) {
	s := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }))
	defer s.Close()
	h := reachHost(t, listed(entry(s, ", limits: {down: 64KiB}")), "")
	h.start("", 0)
	run, err := h.client.Run(t.Context(), h.request(fmt.Sprintf(tryFetch, s.URL)))
	h.must(err)
	if said := h.value(run); !strings.Contains(said, "egress.budget") {
		t.Errorf("the program was told %q", said)
	}
	if ends := h.records(audit.EgressClosed); len(ends) != 1 || ends[0].State != "budget" {
		t.Errorf("%+v", ends)
	}
}

// What is refused is among the run's denials, on record, and nothing is dialed.
func TestRefusedFetch(t *testing.T) {
	s := hang(t)
	h := reachHost(t, listed("{host: api.example.com}"), "")
	h.start("", 0)
	run, err := h.client.Run(t.Context(), h.request(fmt.Sprintf(tryFetch, s.URL)))
	h.must(err)
	if said := h.value(run); !strings.HasPrefix(said, "CapabilityDenied") ||
		!strings.Contains(said, "egress.not_granted") {
		t.Errorf("the program was told %q", said)
	}
	if len(run.Denials) != 1 || run.Denials[0].Code != "egress.not_granted" {
		t.Errorf("denials %+v", run.Denials)
	}
	out, err := exec.CommandContext(t.Context(), "ringd", "audit", "query", "--state", filepath.Join(h.dir, "state"),
		"--kind", "egress_decided").CombinedOutput()
	if want := "egress_decided   " + run.ID + "  fetch  " + s.Listener.Addr().String() +
		"  deny  egress.not_granted  ("; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, want %q in %s", err, want, out)
	}
	select {
	case <-s.came:
		t.Error("it was dialed")
	default:
	}
}

// A fetch that people have to approve pauses the run; approved, it goes on and is
// made once.
func TestFetchIsApproved(t *testing.T) {
	s := hang(t)
	close(s.answer)
	h := reachHost(t, `mode: "off"`, "")
	h.write("sync/p.yaml", fmt.Sprintf(reachPolicy, ", approval: {required: true}", listed(entry(s.Server, ""))))
	h.start("", 0)
	run := h.paused(fmt.Sprintf(tryFetch, s.URL))
	select {
	case <-s.came:
		t.Fatal("it was made before anybody approved it")
	default:
	}
	h.must(h.approve(run.ID, run.Pending[0]))
	if said := h.value(h.ended(run.ID)); said != "200 answered" {
		t.Errorf("the program was told %q", said)
	}
	if n := len(s.came); n != 1 {
		t.Errorf("made %d times", n)
	}
	if got := of(s.Server, h.records(audit.EgressDecided)); len(got) != 1 || got[0].Run != run.ID {
		t.Errorf("%+v", got)
	}
}

// A gateway adds the credential of the host: the upstream has it, and nobody else
// does, not even when the upstream says it back in a header.
func TestGatewayKeepsItsCredential(t *testing.T) {
	const secret = "sk-9f8e7d6c5b4a39281706"
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("X-Path", r.URL.Path)
		_, _ = io.WriteString(w, "answered")
	}))
	defer s.Close()
	network := fmt.Sprintf("mode: gateway-only, gateways: [{name: gateway, upstream: %q, addresses: [127.0.0.1], "+
		"credential: key, methods: [GET], paths: [/v1], headers: [x-more]}, {name: other, upstream: %[1]q, addresses: [127.0.0.1], credential: none}]", s.URL+"/api")
	h := reachHost(t, network, "credentials: {key: {file: DIR/key}}\n")
	h.write("key", secret+"\n")
	h.write("ringd.yaml", strings.ReplaceAll(h.reachConfig("credentials: {key: {file: DIR/key}}\n"), "DIR", h.dir))
	h.start("", 0)
	st, err := h.client.Status(t.Context())
	h.must(err)
	if len(st.Conditions) != 1 || st.Conditions[0].Code != wire.ConditionGateway ||
		!strings.Contains(st.Conditions[0].Message, "add credentials.none") {
		t.Errorf("conditions %+v", st.Conditions)
	}
	const program = `const out = [];
for (const [path, init] of [["/v1/x", {headers: {authorization: "Bearer mine", "x-more": "1", "x-other": "1"}}], ["/v2", {}], ["/v1/x", {method: "POST", body: "b"}], ["/v1/x", {headers: {"x-http-method-override": "DELETE"}}]]) {
  try { const r = await fetch("http://gateway.ringd.internal" + path, init); out.push(r.status + " " + r.headers.get("x-path") + " " + [...r.headers].join() + await r.text()) }
  catch (e) { out.push(e.name + ": " + e.message) }
}
try { out.push((await fetch("http://other.ringd.internal/")).status) } catch (e) { out.push(e.name + ": " + e.message) }
out.join("\n")`
	run, err := h.client.Run(t.Context(), h.request(program))
	h.must(err)
	lines := strings.Split(h.value(run), "\n")
	for i, want := range []string{"200 /api/v1/x", "egress.path", "egress.method", "egress.field", "egress.gateway"} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %q: %q", i, want, lines)
		}
	}
	if got.Get("Authorization") != "Bearer "+secret || got.Get("X-More") != "1" || got.Get("X-Other") != "" {
		t.Errorf("the upstream got %v", got)
	}
	if decided := h.records(audit.EgressDecided); len(decided) == 0 || decided[0].Detail["credential"] != "key" {
		t.Errorf("%+v", decided)
	}
	for _, path := range []string{"/v1/status", "/v1/runs/" + run.ID, "/v1/agents/a/profiles/js", "/metrics"} {
		if strings.Contains(h.page(path), secret) {
			t.Errorf("%s shows it", path)
		}
	}
	h.kill()
	h.must(filepath.WalkDir(h.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || path == filepath.Join(h.dir, "key") {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds it", path)
		}
		return err
	}))
}

// page is what the API answers to a GET.
func (h *host) page(path string) string {
	h.t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.dir, "run", "s"))
		}}}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://ringd"+path, nil)
	h.must(err)
	resp, err := web.Do(req)
	h.must(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	h.must(err)
	if resp.StatusCode != http.StatusOK {
		h.t.Fatalf("GET %s: %d %s", path, resp.StatusCode, b)
	}
	return string(b)
}

// A daemon that drains ends connections with the runs that hold them.
func TestDrainEndsConnections(t *testing.T) {
	s := hang(t)
	h := reachHost(t, listed(entry(s.Server, "")), "")
	h.write("ringd.yaml", strings.Replace(h.reachConfig(""), "drain: 5s", "drain: 100ms", 1))
	h.start("", 0)
	run := h.program(fmt.Sprintf(tryFetch, s.URL))
	soon(t, "the request", s.came)
	h.must(h.cmd.Process.Signal(syscall.SIGTERM))
	soon(t, "the end of the connection", s.lost)
	soon(t, "the end of the daemon", h.exited)
	ends := h.records(audit.EgressClosed)
	if len(ends) != 1 || ends[0].State != "closed" && ends[0].State != "eof" || ends[0].Run != run.ID {
		t.Errorf("%+v", ends)
	}
}

// A run of one's own has the gateways of its flags.
func TestRunWithAGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a program")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %t", r.URL.Path, r.Header.Get("X-Key") == "Key sk-of-mine")
	}))
	defer s.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p.yaml": fmt.Sprintf(reachPolicy, "", "mode: gateway-only, gateways: [{name: gateway}]"),
		"p.js":   fmt.Sprintf(tryFetch, "http://gateway.ringd.internal/v1"), "key": "sk-of-mine",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"run", "-p", "p.yaml", "--executor", "js", "--gateway", "gateway=" + s.URL + "/api,credential=key"}
	for _, tt := range []struct {
		more []string
		want string
	}{
		{[]string{"--credential", "key=file:key,header=X-Key,scheme=Key", "p.js"}, `"200 /api/v1 true"`},
		{[]string{"--credential", "key=file:none", "p.js"}, "--credential key: read secret: "},
	} {
		cmd := exec.CommandContext(t.Context(), "ringd", append(slices.Clone(args), tt.more...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+sharedCache)
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "sk-of-mine") {
			t.Errorf("%v: %v, want %s in %s", tt.more, err, tt.want, out)
		}
	}
}

// What cannot be recorded is not dialed.
func TestFullDiskDialsNothing(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	filled := make(chan error, 1)
	fill := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Create(filepath.Join(mount, "filler"))
		for err == nil {
			_, err = f.Write(make([]byte, 64<<10))
		}
		if errors.Is(err, syscall.ENOSPC) {
			err = nil
		}
		filled <- err
		_, _ = io.WriteString(w, "full")
	}))
	defer fill.Close()
	second := hang(t)
	h := reachHost(t, listed(entry(fill, ""), entry(second.Server, "")), "")
	h.write("ringd.yaml", strings.Replace(h.reachConfig(""), "state: "+h.dir+"/state", "state: "+mount+"/state", 1))
	h.start("", 0)
	run := h.program(fmt.Sprintf(`%s; %s; said`, fmt.Sprintf(tryFetch, fill.URL),
		strings.Replace(fmt.Sprintf(tryFetch, second.URL), "let said; ", "", 1)))
	if err := <-filled; err != nil {
		t.Fatal(err)
	}
	if got, err := h.client.GetRun(t.Context(), run.ID, 10*time.Second); err == nil && got.State == "done" {
		t.Errorf("the run went on without records: %s %s", got.State, got.Value)
	}
	h.must(h.cmd.Process.Signal(syscall.SIGTERM))
	soon(t, "the end of the daemon", h.exited)
	select {
	case <-second.came: // the log had room that is kept for it: then it is on record
		_, port, err := net.SplitHostPort(second.Listener.Addr().String())
		h.must(err)
		logs, err := filepath.Glob(filepath.Join(mount, "state", "audit", "*.jsonl"))
		h.must(err)
		recorded := false
		for _, name := range logs {
			text, err := os.ReadFile(name)
			h.must(err)
			recorded = recorded || strings.Contains(string(text), port)
		}
		if !recorded {
			t.Error("it was dialed without a record")
		}
	default:
	}
	h.kill()
}
