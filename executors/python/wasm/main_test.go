package wasm_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/python/wasm"
	"github.com/ringd/ringd/executors/python/wasm/wasmguest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
)

// verb makes this test binary a guest.
const verb = "python-wasm-guest"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == verb {
		os.Exit(wasmguest.Main(context.Background(), wasmguest.Config{Now: time.Now, Sleep: time.Sleep}))
	}
	os.Exit(inCache(m))
}

// cacheDir holds compiled code for every guest of this test binary.
var cacheDir string

// inCache compiles in a folder that stays, since that takes seconds: what lies there is
// named by its content.
func inCache(m *testing.M) int {
	base, err := os.UserCacheDir()
	if err != nil {
		if base, err = os.MkdirTemp("", "ringd-python-wasm-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		defer os.RemoveAll(base)
	}
	cacheDir = filepath.Join(base, "ringd-python-wasm-test")
	if err := os.MkdirAll(cacheDir, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return m.Run()
}

// engineDir is where `make python-wasm` places the engine. A test without it fails.
func engineDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("place/npm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "python-3.11.3.wasm")); err != nil {
		t.Fatalf("the engine is not there: run `make python-wasm`: %v", err)
	}
	return dir
}

// launcher is the real one, closed with the test.
func launcher(t testing.TB) *kernel.Ring {
	t.Helper()
	var wg sync.WaitGroup
	r, err := kernel.New(kernel.Config{Go: func(f func()) { wg.Go(f) }, Token: rand.Reader,
		Executors: []string{"python"}})
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

// executor is one over real guests, closed with the test.
func executor(t testing.TB, change func(*wasm.Config)) *wasm.Executor {
	t.Helper()
	var wg sync.WaitGroup
	c := wasm.Config{
		Launcher: launcher(t), Argv: []string{"/proc/self/exe", verb}, Dir: engineDir(t), CacheDir: cacheDir,
		Go: func(f func()) { wg.Go(f) }, Now: time.Now,
	}
	if change != nil {
		change(&c)
	}
	e, err := wasm.New(c)
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

func ptr[T any](v T) *T { return &v }

// run is a program with limits for an agent whose imports are the default set.
func run(source string) executors.Run {
	return executors.Run{
		ID: "r1", Revision: "rev", Program: executors.Program{Name: "main.py", Language: "python", Source: source},
		Agent: agent(profiles.Imports{Default: true}),
		Limits: profiles.Limits{CPUMillis: ptr[int64](20_000), WallMillis: ptr[int64](60_000),
			MemoryBytes: ptr[int64](128 << 20),
			OutputBytes: ptr[int64](1 << 20), ResultBytes: ptr[int64](1 << 20)},
	}
}

func agent(imports profiles.Imports) *profiles.Agent {
	return &profiles.Agent{Name: "a", MinTier: profiles.TierWasm, Python: &profiles.Python{Imports: imports}}
}
