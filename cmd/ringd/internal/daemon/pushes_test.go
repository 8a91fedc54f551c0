package daemon_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema"
)

// childCompiler compiles for real, in a killable child of this binary.
type childCompiler struct {
	cfg   worker.CompileConfig
	count atomic.Int64
}

func (c *childCompiler) Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	c.count.Add(1)
	r, err := worker.Compile(ctx, c.cfg, worker.CompileRequest{Sources: p.Sources})
	return r.Set, r.Diagnostics, err
}

// policyText is one whole policy of that number: its name and its module say it.
func policyText(n int) string {
	name := fmt.Sprintf("p%d", n)
	return `apiVersion: ringd/v1
kind: AgentPolicy
metadata: {name: ` + name + `, owner: "user:me", revision: 1}
spec:
  agents: [{match: default}]
  executors:
    allowed: [js]
    js: {imports: {allow: [m]}}
  modules:
    m: {source: "export default ` + hex.EncodeToString([]byte(name)) + `"}
`
}

// writer changes a sync folder in every way that is not the proper one, and in
// the proper one.
type writer struct {
	t    *testing.T
	root string // holds the folder and, beside it, what it is swapped with
	dir  string // the sync folder
	dice *rand.Rand
}

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
}

// write makes policy n the content of the folder.
func (w *writer) write(n int) {
	text := []byte(policyText(n))
	path := filepath.Join(w.dir, "policy.yaml")
	w.must(os.MkdirAll(w.dir, 0o700))
	switch w.dice.IntN(6) {
	case 0, 1: // over the old one, in pieces
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		w.must(err)
		for len(text) > 0 {
			k := min(len(text), 1+w.dice.IntN(200))
			_, err := f.Write(text[:k])
			w.must(err)
			text = text[k:]
		}
		w.must(f.Close())
	case 2: // beside it, then renamed
		fresh := filepath.Join(w.root, "fresh")
		w.must(os.WriteFile(fresh, text, 0o600))
		w.must(os.Rename(fresh, path))
	case 3: // a link inside the folder, swapped
		data := filepath.Join(w.dir, fmt.Sprintf("..data%d", n))
		w.must(os.Mkdir(data, 0o700))
		w.must(os.WriteFile(filepath.Join(data, "policy.yaml"), text, 0o600))
		link := filepath.Join(w.dir, "..link")
		w.must(os.RemoveAll(link))
		w.must(os.Symlink(filepath.Join(filepath.Base(data), "policy.yaml"), link))
		w.must(os.Rename(link, path))
	case 4: // the whole folder, replaced
		fresh := filepath.Join(w.root, "dir")
		w.must(os.RemoveAll(fresh))
		w.must(os.Mkdir(fresh, 0o700))
		w.must(os.WriteFile(filepath.Join(fresh, "policy.yaml"), text, 0o600))
		w.must(os.RemoveAll(w.dir))
		w.must(os.Rename(fresh, w.dir))
	case 5: // removed, made again, with a typo first
		w.must(os.RemoveAll(w.dir))
		w.must(os.MkdirAll(w.dir, 0o700))
		w.must(os.WriteFile(path, []byte(strings.Replace(string(text), "spec:", "sepc:", 1)), 0o600))
		w.must(os.WriteFile(path, text, 0o600))
	}
}

// TestPushesFromAFolder is the whole way of a push: a folder that is written to
// carelessly, the real syncer, the real compiler in its child, and runs that go
// on meanwhile. The last policy of every burst comes in force, and no run saw a
// mixture. RINGD_LONG=1 writes 10,000 times.
func TestPushesFromAFolder(t *testing.T) {
	writes, burst := 300, 30
	switch {
	case os.Getenv(envLong) == "1":
		writes, burst = 10_000, 8
	case testing.Short():
		writes = 60
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	compiler := &childCompiler{
		cfg: worker.CompileConfig{Path: self, Args: []string{verbCompile}, Wall: 20 * time.Second}}
	s := daemontest.New(t, daemontest.Config{Compiler: compiler})
	root := t.TempDir()
	w := &writer{t: t, root: root, dir: filepath.Join(root, "sync"), dice: rand.New(rand.NewPCG(3, 4))}
	w.write(0)
	watch, err := syncer.Start(t.Context(), syncer.Config{Dir: w.dir, Sink: s.Daemon.Sink(),
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	waitPolicy(t, s, 0)
	stop, ran := hammer(t, s)
	var took, worst time.Duration
	for n, left := 1, 0; n <= writes; n++ {
		w.write(n)
		if left--; left > 0 && n < writes {
			continue
		}
		wrote := time.Now()
		waitPolicy(t, s, n)
		took = time.Since(wrote)
		worst = max(worst, took)
		left = 1 + w.dice.IntN(burst)
	}
	stop()
	if ran() == 0 {
		t.Error("no run took place")
	}
	t.Logf("%d writes, %d compilations, %d runs; in force %v after the last write, %v at worst",
		writes, compiler.count.Load(), ran(), took, worst)
}

// waitPolicy waits until policy n is in force.
func waitPolicy(t *testing.T, s *daemontest.Stack, n int) {
	t.Helper()
	for {
		p, err := s.Daemon.Profile("default", "js")
		if err == nil && p.Policy == fmt.Sprintf("p%d", n) {
			return
		}
		if _, err := s.Daemon.Turned(t.Context(), p.Revision, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

// hammer runs programs until stop, and fails the test when one saw a mixture.
func hammer(t *testing.T, s *daemontest.Stack) (stop func(), ran func() int64) {
	t.Helper()
	over := make(chan struct{})
	var count atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				r, err := run(t, s, "mixture")
				if code(err) != "" {
					continue // closed for a moment: refused, not mixed
				}
				var value string
				if err != nil || r.State != "done" || json.Unmarshal(r.Value, &value) != nil ||
					!strings.HasSuffix(value, " "+r.Attestation.Revision) {
					t.Errorf("a run is %q with %s, %+v, %v", r.State, r.Value, r.Error, err)
					return
				}
				count.Add(1)
			}
		})
	}
	return func() { close(over); wg.Wait() }, count.Load
}
