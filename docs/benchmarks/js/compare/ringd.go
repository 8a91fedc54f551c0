package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ringd/ringd/schema/client"
	"github.com/ringd/ringd/schema/wire"
)

const (
	fib   = `(function f(n){return n<2?n:f(n-1)+f(n-2)})(22)`
	loop  = `(function(){let s=0;for(let i=0;i<1e6;i++)s+=i%7;return s})()`
	calls = 200

	policy = `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: bench, revision: 1, owner: "team:bench@ringd.dev"}
spec:
  executors: {allowed: [js], minTier: wasm}
  bridges:
    - name: ping
      powers: {sensitive: false, untrusted: false, external: false}
      limits: {callsPerRun: 100000}
    - name: ask
      powers: {sensitive: false, untrusted: false, external: false}
`
	config = "bridges:\n  ping: {provider: log}\n  ask: {provider: harness}\n"
)

// ringd is a daemon with a policy in force, in a folder of its own.
type ringd struct {
	dir    string
	daemon *exec.Cmd
	client *client.Client
	first  []string

	metrics   *http.Client
	sealedSum int64
}

func startRingd(ctx context.Context, bin string) (_ *ringd, err error) {
	bin, err = filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ringd-bench-")
	if err != nil {
		return nil, err
	}
	r := &ringd{dir: dir}
	defer func() {
		if err != nil {
			r.stop()
		}
	}()
	// The daemon watches the folder above sync too: nothing else is written there.
	for _, d := range []string{"push/sync", "state", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	files := map[string]string{"push/sync/policy.yaml": policy, "config.yaml": config, "first.js": "1+1\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	r.first = []string{bin, "run", "-p", filepath.Join(dir, "push/sync"), "--agent", "bench", "--executor", "js",
		filepath.Join(dir, "first.js")}
	socket := filepath.Join(dir, "run", "ringd.sock")
	r.daemon = exec.CommandContext(ctx, bin, "serve", "--sync", filepath.Join(dir, "push/sync"), "--state",
		filepath.Join(dir, "state"),
		"--socket", socket, "--config", filepath.Join(dir, "config.yaml"))
	logged, err := os.Create(filepath.Join(dir, "daemon.log"))
	if err != nil {
		return nil, err
	}
	defer logged.Close()
	r.daemon.Stderr = logged
	ready, err := r.daemon.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.daemon.Start(); err != nil {
		return nil, err
	}
	if !bufio.NewScanner(ready).Scan() {
		return nil, errors.New("ringd serve ended before it was ready")
	}
	if r.client, err = client.New(client.Config{Socket: socket}); err != nil {
		return nil, err
	}
	r.metrics = &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
	return r, r.loaded(ctx)
}

// loaded waits until the policy runs programs.
func (r *ringd) loaded(ctx context.Context) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := r.eval(ctx, "1+1", 2)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// stop ends the daemon and removes its folder.
func (r *ringd) stop() {
	if r.daemon != nil && r.daemon.Process != nil {
		_ = r.daemon.Process.Signal(syscall.SIGTERM)
		_ = r.daemon.Wait()
	}
	_ = os.RemoveAll(r.dir)
}

// eval runs one program and returns the time from request to outcome.
func (r *ringd) eval(ctx context.Context, source string, want float64) (time.Duration, error) {
	begin := time.Now()
	run, err := r.client.StartRun(ctx, wire.RunRequest{Agent: "bench", Executor: "js",
		Program: wire.Program{Name: "bench.js", Source: source}, WaitMillis: 30_000})
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	var got float64
	if err := json.Unmarshal(run.Value, &got); run.State != "done" || err != nil || got != want {
		return 0, fmt.Errorf("state %s, value %s, want %v; error %v", run.State, run.Value, want, run.Error)
	}
	return took, nil
}

func (r *ringd) warm(ctx context.Context, runs int) (figures, error) {
	call := func(n int) string {
		return fmt.Sprintf("let n=0; for(let i=0;i<%d;i++){ await ping({i}); n++ } n", n)
	}
	f := figures{}
	for _, m := range []struct {
		name, source string
		runs         int
		want         float64
	}{
		{"start", "1+1", runs, 2},
		{"one", call(1), 5, 1},
		{"many", call(calls), 5, calls},
		{"fib", fib, 5, 17711},
		{"loop", loop, 5, 2999997},
	} {
		var times []float64
		for range m.runs {
			d, err := r.eval(ctx, m.source, m.want)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			times = append(times, millis(d))
		}
		f[m.name] = median(times)
	}
	f["call"] = (f["many"] - f["one"]) / (calls - 1)
	return f, nil
}

// pauses measures a program that stops at a call its harness answers: from the
// request to the pause on disk, and from the answer to the program's value.
func (r *ringd) pauses(ctx context.Context, runs int) (figures, error) {
	f := figures{}
	for _, m := range []struct {
		suffix string
		rows   int
	}{{"", 5}, {"Rows", 5000}} {
		var pause, resume []float64
		var kept int64
		for range runs {
			p, q, n, err := r.stopAndGo(ctx, m.rows)
			if err != nil {
				return nil, fmt.Errorf("pause with %d rows: %w", m.rows, err)
			}
			pause, resume, kept = append(pause, millis(p)), append(resume, millis(q)), n
		}
		f["pause"+m.suffix], f["resume"+m.suffix], f["bytes"+m.suffix] = median(pause), median(resume), float64(kept)
	}
	return f, nil
}

func (r *ringd) stopAndGo(ctx context.Context, rows int) (pause, resume time.Duration, kept int64, err error) {
	source := fmt.Sprintf("const rows=Array.from({length:%d},(_,i)=>({id:i,name:'row '+i})); const v=await ask('go "+
		"on'); rows.length+v", rows)
	begin := time.Now()
	run, err := r.client.Run(ctx, wire.RunRequest{Agent: "bench", Executor: "js",
		Program: wire.Program{Name: "bench.js", Source: source}})
	if err != nil {
		return 0, 0, 0, err
	}
	pause = time.Since(begin)
	if run.State != "paused" || len(run.Pending) != 1 {
		return 0, 0, 0, fmt.Errorf("state %s with %d open calls; error %v", run.State, len(run.Pending), run.Error)
	}
	kept, err = r.sealed(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	begin = time.Now()
	run, err = r.client.Answer(ctx, run.ID, wire.Answer{Call: run.Pending[0].ID, Value: json.RawMessage("7")})
	if err != nil {
		return 0, 0, 0, err
	}
	resume = time.Since(begin)
	if string(run.Value) != fmt.Sprint(rows+7) {
		return 0, 0, 0, fmt.Errorf("state %s, value %s; error %v", run.State, run.Value, run.Error)
	}
	return pause, resume, kept, nil
}

// sealed is the size of the newest sealed record, by what the daemon has counted
// since the one before.
func (r *ringd) sealed(ctx context.Context) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ringd/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := r.metrics.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	const name = "ringd_pause_sealed_bytes_sum "
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name); ok {
			sum, err := strconv.ParseFloat(text, 64)
			size := int64(sum) - r.sealedSum
			r.sealedSum = int64(sum)
			return size, err
		}
	}
	return 0, errors.Join(lines.Err(), fmt.Errorf("the daemon has no metric %s", name))
}
