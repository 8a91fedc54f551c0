package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
`
	config = "bridges:\n  ping: {provider: log}\n"
)

// ringd is a daemon with a policy in force, in a folder of its own.
type ringd struct {
	dir    string
	daemon *exec.Cmd
	client *client.Client
	first  []string
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
	r.first = []string{bin, "run", "-p", filepath.Join(dir, "push/sync"), "--agent", "bench", "--executor", "js", filepath.Join(dir, "first.js")}
	socket := filepath.Join(dir, "run", "ringd.sock")
	r.daemon = exec.CommandContext(ctx, bin, "serve", "--sync", filepath.Join(dir, "push/sync"), "--state", filepath.Join(dir, "state"),
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
