package js_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/executors/js/jsguest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// verb makes this test binary a guest.
const verb = "js-guest"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == verb {
		os.Exit(jsguest.Main(context.Background(), jsguest.Config{Now: time.Now}))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], wrong) {
		os.Exit(playWrong(strings.TrimPrefix(os.Args[1], wrong)))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], broken) {
		os.Exit(playBroken(strings.TrimPrefix(os.Args[1], broken)))
	}
	os.Exit(inCache(m))
}

// cacheDir holds compiled code for every guest of this test binary.
var cacheDir string

func inCache(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ringd-js-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	cacheDir = dir
	return m.Run()
}

// launcher is the real one, closed with the test.
func launcher(t testing.TB) *kernel.Ring {
	t.Helper()
	return launcherOf(t, nil)
}

func launcherOf(t testing.TB, change func(*kernel.Config)) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	c := kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader, Executors: []string{"js"}}
	if change != nil {
		change(&c)
	}
	r, err := kernel.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return r
}

// enclosed skips a test where the host does not give the layers.
func enclosed(t *testing.T, r *kernel.Ring) {
	t.Helper()
	a := r.Attestation(t.Context(), "js")
	if a.Layers["mounts"] == "enforced" {
		return
	}
	if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" {
		t.Fatalf("this host gives no kernel ring: %v", a.Layers)
	}
	t.Skipf("this host gives no kernel ring: %v", a.Layers)
}

// executor is a js executor over real guests, closed with the test.
func executor(t testing.TB, change func(*js.Config)) *js.Executor {
	t.Helper()
	var wg sync.WaitGroup
	c := js.Config{
		Launcher: launcher(t), Argv: []string{"/proc/self/exe", verb}, CacheDir: cacheDir,
		Go: func(f func()) { wg.Go(f) }, Now: time.Now, Idle: 4, PerKey: 2, Reuse: 1 << 20,
	}
	if change != nil {
		change(&c)
	}
	e, err := js.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return e
}

func ptr(n int64) *int64 { return &n }

// limits are generous: what a test is about it sets itself.
func limits() profiles.Limits {
	return profiles.Limits{CPUMillis: ptr(5000), WallMillis: ptr(20000), MemoryBytes: ptr(32 << 20),
		OutputBytes: ptr(64 << 10), ResultBytes: ptr(1 << 20), StackBytes: ptr(256 << 10), RefusedCalls: ptr(64)}
}

// agent grants the js executor and these bridges.
func agent(bridges ...string) *profiles.Agent {
	a := &profiles.Agent{Name: "default", MinTier: profiles.TierWasm, JS: &profiles.JS{},
		Bridges: map[string]profiles.Bridge{}, Limits: limits()}
	for _, b := range bridges {
		a.Bridges[b] = profiles.Bridge{Name: b}
	}
	return a
}

func program(source string, bridges ...string) executors.Run {
	return executors.Run{ID: "r1", Actor: "me", Agent: agent(bridges...), Revision: "sha256:1",
		Program: executors.Program{Name: "plan.js", Source: source}, Limits: limits()}
}

// host answers every call with ask, or with its arguments.
type host struct {
	ask func(context.Context, executors.Question) (executors.Answer, error)
}

func (h host) Ask(ctx context.Context, q executors.Question) (executors.Answer, error) {
	if h.ask == nil {
		return executors.Answer{Value: q.Args}, nil
	}
	return h.ask(ctx, q)
}
func (host) Console(executors.ConsoleEntry) {}
func (host) Idle([]string)                  {}
