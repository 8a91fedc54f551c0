package worker_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/schema"
)

// rules makes a policy of n rules: imports, bridges, paths, patterns and hosts.
func rules(n int) string {
	var imports, bridges, paths, hosts strings.Builder
	each := n / 4
	for i := range each {
		fmt.Fprintf(&imports, "          - package%d.module%d\n", i%97, i)
		fmt.Fprintf(&bridges, "    - name: tools.call%d\n      powers: {sensitive: false, untrusted: true, external: "+
			"false}\n      limits: {callsPerRun: %d, timeout: 10s}\n", i, i+1)
		fmt.Fprintf(&paths, "      - /data/project%d/input%d\n", i%53, i)
		fmt.Fprintf(&hosts, "      - {host: h%d.example.com, ports: [80], methods: [GET]}\n", i)
	}
	return `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: large, revision: 1, owner: "team:x@y"}
spec:
  executors:
    allowed: [js, python]
    python:
      imports:
        allow:
` + imports.String() + "  bridges:\n" + bridges.String() + "  filesystem:\n    read:\n" + paths.String() +
		"  network:\n    mode: allowlist\n    egress:\n" + hosts.String()
}

// patient is a config for tests that are not about time, on a busy machine.
func patientConfig(t testing.TB) worker.CompileConfig {
	cfg := compileConfig(t)
	cfg.Wall = 30 * time.Second
	return cfg
}

// TestLargePolicies: what the limits of a child were chosen for fits in them.
func TestLargePolicies(t *testing.T) {
	for _, n := range []int{1_000, 10_000} {
		got, err := worker.Compile(t.Context(), patientConfig(t), oneSource("large.yaml", rules(n)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Set == nil || len(got.Diagnostics) > 0 {
			t.Fatalf("%d rules: %.500v", n, got.Diagnostics)
		}
		a := got.Set.Agents["large"]
		if have := len(a.Bridges) + len(a.Python.Imports.Allow) + len(a.Files.Read) + len(a.Egress.Allow); have != n {
			t.Errorf("%d rules compiled to %d", n, have)
		}
		t.Logf("%d rules: cpu %v, peak %d MiB, set %d KiB", n, got.Usage.CPU, got.Usage.PeakBytes>>20,
			len(got.Encoded)>>10)
	}
}

// TestManyHostsBesideAnException: long lists of two layers fit in those limits too, where
// an exception has each grant asked about.
func TestManyHostsBesideAnException(t *testing.T) {
	layer := func(kind, name, parent, host string, n int) schema.Source {
		var out strings.Builder
		fmt.Fprintf(&out, `apiVersion: ringd/v1
kind: %s
metadata: {name: %s, revision: 1, owner: "group:sec@acme.example"%s}
spec:
  executors: {allowed: [python]}
  network:
    mode: allowlist
    egress:
`, kind, name, parent)
		for i := range n {
			fmt.Fprintf(&out, "      - {host: %q}\n", fmt.Sprintf(host, i))
		}
		return schema.Source{Name: name + ".yaml", Data: []byte(out.String())}
	}
	const n = 10_000
	agent := layer("AgentPolicy", "agent", ", parent: acme", "api.h%d.example.com", n)
	agent.Data = append(agent.Data, `  exceptions:
    - {id: EXC-1, owner: "user:ana@acme.example", approvedBy: ["group:sec@acme.example"], expires: "2027-03-01", reason: trial,
       grants: {egress: [{host: other.example.org, ports: [443]}]}}
`...)
	req := worker.CompileRequest{Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
		Sources: []schema.Source{layer("OrgPolicy", "acme", "", "*.h%d.example.com", n), agent}}
	got, err := worker.Compile(t.Context(), patientConfig(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if got.Set == nil || len(got.Set.Agents["agent"].Egress.Allow) != n+1 {
		t.Fatalf("%.500v", got.Diagnostics)
	}
	t.Logf("cpu %v", got.Usage.CPU)
}

// TestReloads: compiling again and again leaves nothing in the parent.
// RINGD_RELOADS sets how often; the default keeps the test short.
func TestReloads(t *testing.T) {
	reloads := 60
	if text := os.Getenv("RINGD_RELOADS"); text != "" {
		var err error
		if reloads, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		reloads = 10
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	run := func(i int) {
		// Other names every time: a compiler that kept them would grow.
		text := strings.ReplaceAll(rules(400), "tools.call", fmt.Sprintf("tools.call%dx", i))
		got, err := worker.Compile(t.Context(), patientConfig(t),
			worker.CompileRequest{Sources: []schema.Source{{Name: "p.yaml", Data: []byte(text)}}})
		if err != nil || got.Set == nil {
			t.Fatalf("reload %d: %v, %.300v", i, err, got.Diagnostics)
		}
	}
	for i := range 5 {
		run(i)
	}
	before := heap()
	for i := range reloads {
		run(1000 + i)
	}
	grown := heap() - before
	if grown > 5<<20 {
		t.Errorf("%d reloads left %d KiB", reloads, grown>>10)
	}
	t.Logf("%d reloads left %d KiB", reloads, grown>>10)
}

func BenchmarkRun(b *testing.B) {
	for _, n := range []int{4, 1_000, 10_000} {
		text := rules(n)
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			peak := int64(0)
			for b.Loop() {
				got, err := worker.Compile(b.Context(), patientConfig(b), oneSource("large.yaml", text))
				if err != nil || got.Set == nil {
					b.Fatalf("%v, %.300v", err, got.Diagnostics)
				}
				peak = max(peak, got.Usage.PeakBytes)
			}
			b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
		})
	}
}
