//go:build linux

package main

// In the package for TestMain, which makes this binary ringd.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/schema/wire"
)

const waitPolicy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: a, revision: 1, owner: "user:a"}
spec:
  agents: [{match: a}]
  executors: {allowed: [js], minTier: process}
  bridges:
    - {name: ask, powers: {sensitive: false, untrusted: false, external: false}, limits: {callsPerRun: 10000}}
`

// waitHost is a host whose runs wait for their harness.
func waitHost(t *testing.T, more string) *host {
	t.Helper()
	h := newHost(t, false)
	h.write("sync/p.yaml", waitPolicy)
	h.write("ringd.yaml", h.waitConfig(h.dir, more))
	return h
}

func (h *host) waitConfig(dir, more string) string {
	return fmt.Sprintf("sync: %s/sync\nstate: %s/state\nsocket: %[1]s/run/s\nbridges:\n  ask: {provider: harness}\n"+
		"limits: {drain: 5s, runs: 100, runsPerActor: 100}\n%[3]s", h.dir, dir, more)
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.tail())
	}
}

// paused starts a program and returns it when it waits.
func (h *host) paused(source string) wire.Run {
	h.t.Helper()
	run, err := h.client.Run(h.t.Context(), wire.RunRequest{
		Agent: "a", Executor: "js", Program: wire.Program{Name: "p.js", Source: source}})
	h.must(err)
	if run.State != "paused" || len(run.Pending) != 1 {
		h.t.Fatalf("run is %s: %+v", run.State, run.Error)
	}
	return run
}

// say answers the one call that a run waits on, and returns it at its next pause
// or end.
func (h *host) say(run wire.Run, value string) wire.Run {
	h.t.Helper()
	out, err := h.client.Answer(h.t.Context(), run.ID, wire.Answer{
		Call: run.Pending[0].ID, Value: json.RawMessage(value)})
	h.must(err)
	return out
}

// metric reads one number of the daemon.
func (h *host) metric(name string) float64 {
	h.t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.dir, "run", "s"))
		}}}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://ringd/metrics", nil)
	h.must(err)
	resp, err := web.Do(req)
	h.must(err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(text, 64)
			h.must(err)
			return v
		}
	}
	h.t.Fatalf("the daemon has no metric %s", name)
	return 0
}

// guests counts the processes that the daemon has started and not ended.
func (h *host) guests() int {
	h.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.cmd.Process.Pid))
	h.must(err)
	n := 0
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		n += len(strings.Fields(string(b)))
	}
	return n
}

// Runs that wait cost no goroutine, no process and no memory of the daemon.
func TestPausedRunsCostNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	n, before := 100, 30
	if os.Getenv("RINGD_LONG") != "" {
		n = 1000
	}
	h := waitHost(t, "")
	h.start("", 0)
	const program = `const keep = Array.from({length: 2000}, (_, i) => "row " + i); const v = await ask("go"); keep.length + v`
	for range before { // what the daemon needs to do this at all
		h.paused(program)
	}
	goroutines, memory, guests := h.metric("go_goroutines"), h.metric("process_resident_memory_bytes"), h.guests()
	runs := make([]wire.Run, 0, n)
	for range n {
		runs = append(runs, h.paused(program))
	}
	st, err := h.client.Status(t.Context())
	h.must(err)
	if st.Runs.Live != 0 || st.Runs.Paused != n+before {
		t.Errorf("%d live and %d paused runs, want 0 and %d", st.Runs.Live, st.Runs.Paused, n+before)
	}
	if now := h.metric("go_goroutines"); now > goroutines+20 {
		t.Errorf("%v goroutines, %v before %d runs paused", now, goroutines, n)
	}
	if now := h.guests(); now > guests+2 {
		t.Errorf("%d guests, %d before %d runs paused", now, guests, n)
	}
	// A run keeps 2,000 strings: a tenth of it in memory would be far above this.
	if now := h.metric("process_resident_memory_bytes"); now > memory+48<<20 {
		t.Errorf("%.0f MiB, %.0f MiB before %d runs paused", now/(1<<20), memory/(1<<20), n)
	}
	for _, run := range []wire.Run{runs[0], runs[n/2], runs[n-1]} {
		if got := h.say(run, "7"); string(got.Value) != "2007" {
			t.Errorf("resumed: %s, value %s, %+v", got.State, got.Value, got.Error)
		}
	}
}

// A program that stops three hundred times stays as small as it was.
func TestHopsKeepTheirSize(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	hops := 60
	if os.Getenv("RINGD_LONG") != "" {
		hops = 300
	}
	h := waitHost(t, "")
	h.start("", 0)
	run := h.paused(fmt.Sprintf(
		`const seen = new Map(); let sum = 0; for (let i = 0; i < %d; i++) { const v = await ask(i); seen.set("last", v); sum += v } [sum, seen.size]`, hops))
	size := func(sum float64) float64 { return h.metric("ringd_pause_sealed_bytes_sum") - sum }
	first := size(0)
	var last float64
	for i := 1; i < hops; i++ {
		sum := h.metric("ringd_pause_sealed_bytes_sum")
		if run = h.say(run, strconv.Itoa(i)); run.State != "paused" {
			t.Fatalf("hop %d: %s: %+v", i, run.State, run.Error)
		}
		last = size(sum)
	}
	run = h.say(run, strconv.Itoa(hops))
	if want := fmt.Sprintf("[%d,1]", hops*(hops+1)/2); string(run.Value) != want {
		t.Errorf("value %s, want %s", run.Value, want)
	}
	if last > 1.5*first || last == 0 {
		t.Errorf("the first record has %.0f bytes, the last %.0f", first, last)
	}
}

// A run goes on in a daemon that has only a copy of the folder, and not without
// the key that sealed it.
func TestResumeOnACopy(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	h := waitHost(t, "")
	h.start("", 0)
	run := h.paused(`const secret = {n: 41}; const v = await ask("go"); secret.n + v`)
	h.kill()
	other := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "cp", "-Rp", filepath.Join(h.dir, "state"), other).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.must(os.RemoveAll(filepath.Join(h.dir, "state")))

	key := filepath.Join(other, "state", "snapshot.key")
	good, err := os.ReadFile(key)
	h.must(err)
	h.must(os.Remove(key))
	h.write("ringd.yaml", h.waitConfig(other, ""))
	h.start("", 0) // with a key of its own
	stuck, err := h.client.GetRun(t.Context(), run.ID, 0)
	h.must(err)
	if stuck.State != "paused" || len(stuck.Pending) != 0 || stuck.Error == nil ||
		stuck.Error.Name != wire.CodeKeyUnknown {
		t.Fatalf("without its key: %s, %+v", stuck.State, stuck.Error)
	}
	h.kill()
	h.must(os.WriteFile(key, good, 0o600))
	h.start("", 0)
	if got := h.await(run.ID, "1"); string(got.Value) != "42" {
		t.Errorf("on the copy: %s, value %s, %+v", got.State, got.Value, got.Error)
	}
}

// await answers the one call of a run and returns the run when the daemon is done
// with it.
func (h *host) await(id, value string) wire.Run {
	h.t.Helper()
	run, err := h.client.GetRun(h.t.Context(), id, 0)
	h.must(err)
	return h.say(run, value)
}

// ended waits for the end of a run that the daemon goes on with by itself.
func (h *host) ended(id string) wire.Run {
	h.t.Helper()
	return h.when(id, func(run wire.Run) bool { return run.State != "running" && run.State != "paused" })
}

// when waits until a run is as it should be.
func (h *host) when(id string, is func(wire.Run) bool) wire.Run {
	h.t.Helper()
	ctx, stop := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer stop()
	for {
		run, err := h.client.GetRun(ctx, id, time.Second)
		if ctx.Err() != nil {
			h.t.Fatalf("run %s does not become what it should\n%s", id, h.tail())
		}
		h.must(err)
		if is(run) {
			return run
		}
	}
}

// A record of an older engine is refused with its digest named, and goes on when
// the older binary is configured as a guest.
func TestOlderEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another ringd")
	}
	old := olderRingd(t)
	h := waitHost(t, "")
	h.binary = old
	h.start("", 0)
	run := h.paused(`const keep = new Map([["n", 41]]); const v = await ask("go"); keep.get("n") + v`)
	h.kill()

	h.binary = ""
	h.start("", 0)
	stuck := h.await(run.ID, "1")
	if stuck.State != "paused" || stuck.Error == nil || stuck.Error.Name != wire.CodeEngineUnknown {
		t.Fatalf("without its engine: %s, %+v", stuck.State, stuck.Error)
	}
	_, digest, ok := strings.Cut(stuck.Error.Message, "sha256:")
	if !ok || len(digest) < 64 {
		t.Fatalf("the digest is not named: %s", stuck.Error.Message)
	}
	h.kill()

	h.write("ringd.yaml", h.waitConfig(h.dir, fmt.Sprintf("snapshots: {engines: {'sha256:%s': [%s, js-guest]}}\n",
		digest[:64], old)))
	h.start("", 0)
	if got := h.ended(run.ID); string(got.Value) != "42" {
		t.Errorf("with its engine: %s, value %s, %+v", got.State, got.Value, got.Error)
	}
}

// olderRingd builds a ringd whose engine is another: its prelude has one more
// line.
func olderRingd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	parts, err := filepath.Glob("../../executors/js/engine/prelude/*.js")
	if err != nil || len(parts) == 0 {
		t.Fatal("no prelude", err)
	}
	part, err := filepath.Abs(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, "prelude.js")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {part: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{changed: append([]byte("// the engine of an older release\n"), text...),
		filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "ringd-old")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o",
		bin, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// A key is changed while runs wait: the old one opens what it sealed, the new one
// seals, and without the old one nothing of it is loaded.
func TestKeyIsChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	h := waitHost(t, "")
	keys := map[string]string{"old": strings.Repeat("0f1e2d3c", 8), "new": strings.Repeat("4b5a6978", 8)}
	for name, text := range keys {
		h.write(name, text+"\n")
	}
	use := func(rest string) {
		h.kill()
		h.write("ringd.yaml", h.waitConfig(h.dir, "snapshots: {"+rest+"}\n"))
		h.start("", 0)
	}
	old, now := fmt.Sprintf("{file: %s/old}", h.dir), fmt.Sprintf("{file: %s/new}", h.dir)
	const program = `const n = 41; const v = await ask("go"); const w = await ask("on"); n + v + w`
	use("key: " + old)
	if _, err := os.Stat(filepath.Join(h.dir, "state", "snapshot.key")); err == nil {
		t.Error("a key was made where one is named")
	}
	run := h.paused(program)

	use("key: " + now)
	stuck, err := h.client.GetRun(t.Context(), run.ID, 0)
	h.must(err)
	if len(stuck.Pending) != 0 || stuck.Error == nil || stuck.Error.Name != wire.CodeKeyUnknown {
		t.Fatalf("without the old key: %s, %+v", stuck.State, stuck.Error)
	}
	use("key: " + now + ", previous: [" + old + "]")
	h.await(run.ID, "1")
	h.when(run.ID, func(r wire.Run) bool { return r.State == "paused" && r.Error == nil && len(r.Pending) == 1 })
	use("key: " + now) // its second pause is sealed by the new one
	if got := h.await(run.ID, "0"); string(got.Value) != "42" {
		t.Errorf("with the new key: %s, value %s, %+v", got.State, got.Value, got.Error)
	}
}
