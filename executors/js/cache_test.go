package js_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
)

// specs is the real launcher, which keeps what was asked of it.
type specs struct {
	executors.Launcher
	noFill bool // refuse the guest that fills the cache

	mu  sync.Mutex
	all []executors.Spec
}

func (l *specs) Launch(ctx context.Context, s executors.Spec) (executors.Guest, error) {
	l.mu.Lock()
	l.all = append(l.all, s)
	l.mu.Unlock()
	if l.noFill && s.Room != "" {
		return nil, errors.New("the disk is full")
	}
	return l.Launcher.Launch(ctx, s)
}

// take names what was started: a guest with the cache, without one, or the one
// that fills it.
func (l *specs) take(t *testing.T, cache string) (out []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		switch {
		case len(s.Kernel.Write) > 0 || len(s.Kernel.Read) > 0:
			t.Errorf("a policy's grant, which nobody made: %+v", s)
		case s.Room != "" && len(s.Own) == 0 && !s.Seals:
			if filepath.Dir(filepath.Dir(s.Room)) != cache {
				t.Errorf("the guest that fills may write %s", s.Room)
			}
			out = append(out, "fills")
		case s.Room != "" || !s.Seals:
			t.Errorf("a guest for programs was started with %+v", s)
		case len(s.Own) == 1 && s.Own[0].Path == cache:
			out = append(out, "with the cache")
		case len(s.Own) == 0:
			out = append(out, "without")
		}
	}
	l.all = nil
	return out
}

// In a ring a cold cache is filled once, by a guest that runs nothing; guests for
// programs never get to write it. A cache that is damaged is filled again, and
// where it cannot be filled the guest compiles for itself.
func TestCacheInRing(t *testing.T) {
	ring := launcher(t)
	enclosed(t, ring)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "deep", "cache") // not there yet
	run := func(l *specs) []string {
		t.Helper()
		l.Launcher = ring
		e := executor(t, func(c *js.Config) { c.Launcher, c.CacheDir = l, cache })
		if out := mustRun(t, e, program("1 + 1")); string(out.Value) != "2" || out.Attestation.Tier != "os-sandbox" {
			t.Fatalf("%+v", out)
		}
		if left, err := filepath.Glob(filepath.Join(cache, "fill-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		return l.take(t, cache)
	}
	cold, warm := []string{"with the cache", "fills", "with the cache"}, []string{"with the cache"}
	check := func(what string, want, got []string) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	check("cold, and cannot be filled", []string{"with the cache", "fills", "without"}, run(&specs{noFill: true}))
	check("cold", cold, run(&specs{}))
	check("warm", warm, run(&specs{}))
	files, err := filepath.Glob(filepath.Join(cache, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v: no compiled code", files, err)
	}
	for _, f := range files {
		if err := os.Truncate(f, 1000); err != nil {
			t.Fatal(err)
		}
	}
	check("damaged", cold, run(&specs{}))
	check("mended", warm, run(&specs{}))
}

// A cache where a guest can be given nothing is as none.
func TestCacheAmongDevices(t *testing.T) {
	ring := launcher(t)
	enclosed(t, ring)
	dir, err := os.MkdirTemp("/dev/shm", "ringd-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := &specs{Launcher: ring}
	e := executor(t, func(c *js.Config) { c.Launcher, c.CacheDir = l, dir })
	if out := mustRun(t, e, program("1 + 1")); string(out.Value) != "2" || out.Attestation.Tier != "os-sandbox" {
		t.Fatalf("%+v", out)
	}
	if d := cmp.Diff([]string{"with the cache", "without"}, l.take(t, dir)); d != "" {
		t.Error(d)
	}
}
