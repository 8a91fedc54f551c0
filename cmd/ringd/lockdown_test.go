//go:build linux

package main

// In the package for TestMain, which makes this binary ringd.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

// busyPolicy grants everything that a lockdown has to end; what the network reaches is
// put in.
const busyPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors:
    allowed: [js, python, shell]
    minTier: os-sandbox
    python: {imports: {allow: [socket, time, ringd]}}
    shell: {binaries: [{path: /bin/sleep}, {path: /usr/bin/sleep}]}
  sessions: {maxAge: 1h, maxSize: 8MiB}
  bridges:
    - {name: fetch, powers: {sensitive: false, untrusted: true, external: true}}
    - {name: ask, powers: {sensitive: false, untrusted: false, external: false}}
    - {name: pay, powers: {sensitive: false, untrusted: false, external: true}, approval: {required: true, hold: 10m}}
  network: {%s}
`

// busyHost is a daemon whose runs may be of all kinds.
func busyHost(t testing.TB, network string) *host {
	t.Helper()
	h := newHost(t, false)
	h.write("sync/p.yaml", fmt.Sprintf(busyPolicy, network))
	h.write("ringd.yaml", fmt.Sprintf("sync: %s/sync\nstate: %[1]s/state\nsocket: %[1]s/run/s\nroles: {approver: "+
		"['uid:%d']}\n"+
		"limits: {drain: 5s, runs: 200, runsPerActor: 200}\npython: {sessions: 4, idle: 10m}\n"+
		"bridges: {ask: {provider: harness}, pay: {provider: command, command: [/bin/cat]}}\n", h.dir, approverUID))
	h.start("", 0)
	return h
}

// starts starts a program of an executor, and does not wait for it.
func (h *host) starts(executor, session, source string) wire.Run {
	h.t.Helper()
	name := map[string]string{"js": "p.js", "python": "p.py", "shell": "p.sh"}[executor]
	run, err := h.client.StartRun(h.t.Context(), wire.RunRequest{
		Agent: "a", Executor: executor, Session: session, Program: wire.Program{Name: name, Source: source}})
	h.must(err)
	return run
}

// order begins or lifts a lockdown.
func (h *host) order(state string) wire.Lockdown {
	h.t.Helper()
	out, err := h.client.SetLockdown(h.t.Context(), wire.LockdownOrder{State: state, Reason: "leaked token"})
	h.must(err)
	return out
}

// streaming is a server that answers without end, and says when so much has gone to
// one client that it must be reading, and when a client was lost.
type streaming struct {
	*httptest.Server
	flows, lost chan struct{}
}

func stream(t *testing.T) *streaming {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &streaming{flows: make(chan struct{}, 64), lost: make(chan struct{}, 64)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		block, sent := make([]byte, 256<<10), 0
		for {
			n, err := w.Write(block)
			if err != nil {
				s.lost <- struct{}{}
				return
			}
			if sent += n; sent-n < 64<<20 && sent >= 64<<20 { // more than all buffers between
				s.flows <- struct{}{}
			}
		}
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Server.Close)
	return s
}

// A lockdown ends everything that lives, of every executor and in every state, cuts
// what is being transferred, and starts nothing; what waits on disk goes on after it.
func TestLockdownEndsAll(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	if ok, err := kernelRing(t); err != nil || !ok {
		t.Skipf("this host has not every layer: %v", err)
	}
	flow, hung := stream(t), hang(t)
	h := busyHost(t, listed(entry(flow.Server, ""), entry(hung.Server, "")))
	addr := flow.Listener.Addr().(*net.TCPAddr)

	var live, waiting []string
	fetches := map[string]bool{}
	add := func(to *[]string, run wire.Run) { *to = append(*to, run.ID) }
	add(&waiting, h.paused(`await ask("go on?")`))
	add(&waiting, h.paused(`await ask("go on?")`))
	add(&waiting, h.paused(`await pay(5)`))
	for _, session := range []string{"one", "two"} { // their guests wait for the next run
		if run := h.ended(h.starts("python", session, "x = 1").ID); run.State != "done" {
			t.Fatalf("%+v", run.Error)
		}
	}
	const reads = "import socket\ns = socket.create_connection((%q, %d))\ns.sendall(b'GET / HTTP/1.1\\r\\nHost: " +
		"%s\\r\\n\\r\\n')\nwhile s.recv(1 << 20): pass"
	for range 2 {
		add(&live, h.starts("js", "", fmt.Sprintf(tryFetch, hung.URL)))
		fetches[live[len(live)-1]] = true
		add(&live, h.starts("python", "", fmt.Sprintf(reads, addr.IP, addr.Port, addr)))
		add(&live, h.starts("shell", "", "sleep 3600"))
	}
	add(&live, h.starts("python", "", "import ringd\nringd.call('pay', 5)"))
	for range 2 {
		soon(t, "a request", hung.came)
		soon(t, "a transfer", flow.flows)
	}
	held := h.when(live[len(live)-1], func(r wire.Run) bool { return len(r.Pending) == 1 })
	if st, err := h.client.Status(t.Context()); err != nil || st.Egress == nil || st.Egress.Connections != 4 {
		t.Errorf("status: %+v, %v", st.Egress, err)
	}

	out := h.order(wire.LockdownBegin)
	if out.State != wire.LockdownLocked || out.Unrecorded != "" {
		t.Fatalf("%+v", out)
	}
	for range 2 {
		soon(t, "the end of a request", hung.lost)
		soon(t, "the end of a transfer", flow.lost)
	}
	for out.Live > 0 { // a busy host ends them later, and they may do nothing meanwhile
		var err error
		out, err = h.client.Lockdown(t.Context())
		h.must(err)
	}
	for _, id := range live {
		// Unknown: of a call that was under way nobody knows how far it got.
		if run := h.ended(id); run.Error == nil || run.Error.Name != "Cancelled" || run.State != "cancelled" &&
			(run.State != "unknown" || !fetches[id]) {
			t.Errorf("run %s is %s: %+v", id, run.State, run.Error)
		}
	}
	h.closed(t, waiting, held)
	h.cutOnRecord(t, flow.Server, hung.Server)

	h.order(wire.LockdownLift)
	run, err := h.client.Run(t.Context(), h.request("1 + 1"))
	if err != nil || run.State != "done" {
		t.Errorf("after the lift: %+v, %v", run, err)
	}
	for _, id := range waiting[:2] {
		if run := h.await(id, `"yes"`); run.State != "done" {
			t.Errorf("a run that waited: %s, %+v", run.State, run.Error)
		}
	}
	paid, err := h.client.GetRun(t.Context(), waiting[2], 0)
	h.must(err)
	h.must(h.approve(paid.ID, paid.Pending[0]))
	if run := h.ended(paid.ID); run.State != "done" {
		t.Errorf("a run that waited for a person: %s, %+v", run.State, run.Error)
	}
}

// closed asks for everything that a lockdown refuses.
func (h *host) closed(t *testing.T, waiting []string, held wire.Run) {
	t.Helper()
	ctx := t.Context()
	refused := func(what string, err error) {
		t.Helper()
		var told *client.Error
		if !errors.As(err, &told) || told.Code != string(profiles.CodeLockdown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, executor := range []string{"js", "python", "shell"} {
		_, err := h.client.StartRun(ctx, wire.RunRequest{Agent: "a", Executor: executor,
			Program: wire.Program{Name: "p", Source: "1"}})
		refused("a new run of "+executor, err)
	}
	for _, id := range waiting[:2] {
		run, err := h.client.GetRun(ctx, id, 0)
		h.must(err)
		if run.State != "paused" {
			t.Errorf("run %s is %s", id, run.State)
		}
		_, err = h.client.Answer(ctx, id, wire.Answer{Call: "c1", Value: json.RawMessage(`"yes"`)})
		refused("an answer", err)
	}
	_, err := h.client.StartRun(ctx, wire.RunRequest{Agent: "a", Executor: "python", Session: "one",
		Program: wire.Program{Name: "p.py", Source: "x"}})
	refused("a run of a session", err)
	if err := h.approve(held.ID, held.Pending[0]); err == nil {
		t.Error("a call of a run that was ended is approved")
	}
	list, err := h.client.Runs(ctx, client.Filter{States: []string{"running"}})
	if err != nil || len(list.Runs) != 0 {
		t.Errorf("%+v, %v", list.Runs, err)
	}
	if n := h.metric("ringd_egress_connections"); n != 0 {
		t.Errorf("%v connections are open", n)
	}
}

// cutOnRecord looks at what the log says of the connections to some servers.
func (h *host) cutOnRecord(t *testing.T, servers ...*httptest.Server) {
	t.Helper()
	if begun := h.records(audit.LockdownBegun); len(begun) != 1 || begun[0].Detail["reason"] != "leaked token" {
		t.Errorf("%+v", begun)
	}
	var ends []audit.Record
	over := time.After(60 * time.Second)
	for _, s := range servers {
		for {
			if ends = of(s, h.records(audit.EgressClosed)); len(ends) >= 2 {
				break
			}
			select {
			case <-over:
				t.Fatalf("no end of a connection on record: %+v", ends)
			case <-time.After(20 * time.Millisecond):
			}
		}
		for _, r := range ends {
			// Cut, or its guest was gone before: with bytes unread, which is an error.
			if !slices.Contains([]string{"cut", "closed", "eof", "error"}, r.State) || r.State == "cut" &&
				(r.Decision == nil || r.Decision.Verdict != profiles.Deny) {
				t.Errorf("%+v %+v", r, r.Decision)
			}
		}
	}
}

// BenchmarkLockdown is the time from the order to its answer, when no run lives any
// more: a third of the runs of each executor, each in an endless loop. The promise is
// one second.
func BenchmarkLockdown(b *testing.B) {
	for _, n := range []int{3, 60} {
		b.Run(fmt.Sprintf("runs=%d", n), func(b *testing.B) {
			h := busyHost(b, `mode: "off"`)
			var took []time.Duration
			live := 0
			for b.Loop() {
				b.StopTimer()
				for i := range n {
					executor := []string{"js", "python", "shell"}[i%3]
					h.starts(executor, "", map[string]string{
						"js": "for (;;) {}", "python": "while True: pass", "shell": "while true; do :; done"}[executor])
				}
				for h.metric(`ringd_runs_live`) < float64(n) {
					time.Sleep(10 * time.Millisecond)
				}
				b.StartTimer()
				began := time.Now()
				out := h.order(wire.LockdownBegin)
				took = append(took, time.Since(began))
				b.StopTimer()
				live = max(live, out.Live)
				for out.Live > 0 {
					var err error
					out, err = h.client.Lockdown(b.Context())
					h.must(err)
				}
				h.order(wire.LockdownLift)
				b.StartTimer()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "median-ms")
			b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "max-ms")
			b.ReportMetric(float64(live), "live-at-answer")
		})
	}
}
