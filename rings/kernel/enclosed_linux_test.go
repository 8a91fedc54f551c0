package kernel_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// needKernel skips where this host does not give the layers, unless it has to.
func needKernel(t testing.TB, r *kernel.Ring) {
	t.Helper()
	report, err := r.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Failed == "" {
		return
	}
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		t.Fatalf("this host does not give layer %s: %+v", report.Failed, report)
	}
	t.Skipf("this host does not give layer %s: %s", report.Failed, report.Reason)
}

// program is a spec of a program with streams and no grants.
func program(argv ...string) executors.Spec {
	return executors.Spec{
		Executor: profiles.ExecutorShell, Argv: argv, MinTier: profiles.TierOS, Streams: true,
		Kernel: profiles.Kernel{
			Executor: profiles.ExecutorShell, Network: profiles.NetworkOff, CPUMillis: 20_000, WallMillis: 60_000,
			MemoryBytes: 256 << 20, Processes: 32, Files: 64, OutputBytes: 1 << 16,
		},
	}
}

// end is what a program wrote and how it ended.
func end(t testing.TB, g executors.Guest) (string, executors.Exit) {
	t.Helper()
	s, ok := g.(executors.Streamer)
	if !ok {
		t.Fatalf("%T has no streams", g)
	}
	if err := s.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(s.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(out), e
}

func TestProgramInAllLayers(t *testing.T) {
	r := ring(t)
	needKernel(t, r)
	for range 3 {
		began := time.Now()
		g := launch(t, r, program("/usr/bin/true"))
		out, e := end(t, g.Guest)
		t.Log(time.Since(began), out, e)
		if e.Code != 0 || e.Signal != 0 || out != "" {
			t.Errorf("%q %+v", out, e)
		}
		a := g.Attestation()
		if a.Tier != profiles.TierOS || a.LandlockABI == 0 {
			t.Errorf("%+v", a)
		}
	}
}
