package kernel_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// same gives the same bytes for ever, so that a test knows the token of a guest.
type same []byte

func (s same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = s[i%len(s)]
	}
	return len(p), nil
}

// refusing is egress that nobody's profile lets anything out of.
func refusing(t *testing.T, work func(func())) *proxy.Egress {
	t.Helper()
	e, err := proxy.New(proxy.Config{
		Go: work, Now: time.Now,
		Record: func(ev proxy.Event) error {
			if ev.Decision.Verdict == profiles.Allow || ev.Dial.IsValid() {
				t.Errorf("on record: %+v", ev)
			}
			return nil
		},
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			t.Errorf("%s is looked up", name)
			return nil, errors.New("no")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// probeRing is a ring whose guests all have one token. The network of guests leads
// nowhere.
func probeRing(t *testing.T) (r *kernel.Ring, token string) {
	t.Helper()
	r, token = probeRingOf(t, false)
	needKernel(t, r)
	return r, token
}

// probeRingOf is probeRing; with leads, networks lead to egress that refuses all.
func probeRingOf(t *testing.T, leads bool) (r *kernel.Ring, token string) {
	t.Helper()
	b := []byte("probes of a ring")
	var wg sync.WaitGroup
	c := kernel.Config{Go: wg.Go, Token: same(b)}
	if leads {
		c.Egress = refusing(t, wg.Go)
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
	return r, hex.EncodeToString(b)
}

// off is what a JavaScript guest is started with, before it seals itself: no
// files, no network, no other processes.
func off(argv []string) executors.Spec {
	return executors.Spec{
		Executor: profiles.ExecutorShell, Argv: argv, MinTier: profiles.TierOS, Streams: true, Seals: true,
		CPU: 10 * time.Second, MemoryBytes: 512 << 20,
		Kernel: profiles.Kernel{
			Executor: profiles.ExecutorShell, Network: profiles.NetworkOff, CPUMillis: 10_000, MemoryBytes: 512 << 20,
			Processes: 32, Files: 64, OutputBytes: 1 << 20,
		},
	}
}

// ownLayers is what a shell would be started with: a workspace, a file to read, one
// program, a folder of libraries, a network of its own and processes.
func ownLayers(s stage, argv []string) executors.Spec {
	path := func(p ...string) []profiles.PathRule {
		var all []profiles.PathRule
		for _, p := range p {
			all = append(all, profiles.PathRule{Path: p})
		}
		return all
	}
	return executors.Spec{
		Executor: profiles.ExecutorShell, Argv: argv, MinTier: profiles.TierOS, Streams: true,
		CPU: 10 * time.Second, MemoryBytes: 512 << 20, FileBytes: 32 << 20, Dir: s.args["ws"],
		Kernel: profiles.Kernel{
			Executor: profiles.ExecutorShell, Network: profiles.NetworkOwn, CPUMillis: 10_000, WallMillis: 60_000,
			MemoryBytes: 512 << 20,
			Read:        path(s.args["ws"], filepath.Dir(s.args["lib"])), Write: path(s.args["ws"]),
			Deny: path(s.args["denied"]),
			Exec: path(s.args["bash"]), Libraries: path(s.args["libs"]),
			Processes: 48, Files: 64, FileBytes: 32 << 20, TempBytes: 16 << 20, OutputBytes: 1 << 20,
		},
	}
}

// inGuest runs probes in a guest, see outcomes.
func inGuest(t *testing.T, r *kernel.Ring, s executors.Spec, ids ...string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	g, err := r.Launch(ctx, s)
	if err != nil {
		t.Errorf("%v: %v", ids, err)
		return nil
	}
	defer g.Conn().Close()
	st := g.(executors.Streamer)
	if err := st.Stdin().Close(); err != nil {
		t.Error(err)
	}
	var out, bad bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&bad, st.Stderr()) })
	_, _ = io.Copy(&out, st.Stdout())
	wg.Wait()
	if s.Seals { // nobody waits for one that has not sealed itself
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
	}
	e, err := st.Wait(ctx)
	if err != nil {
		t.Errorf("%v: %v", ids, errors.Join(err, g.Kill()))
	}
	if bad.Len() > 0 {
		t.Logf("%v: %s", ids, clipped(bad.String()))
	}
	return outcomes(ids, out.Bytes(), syscall.Signal(e.Signal), e.Code)
}

// TestProbes runs every probe of the table in both guests.
func TestProbes(t *testing.T) {
	p, h := built(t, "probe"), atHost(t)
	r, token := probeRing(t)
	leads, _ := probeRingOf(t, true)
	base := t.TempDir()
	openUp(t, base)
	// The race detector's own memory is over every limit.
	unlimited := raceBuild(r.Attestation(t.Context(), profiles.ExecutorShell))
	began := time.Now()
	all := map[string]map[string]string{"off": {}, "own": {}}
	var mu sync.Mutex
	for where, got := range all {
		want := func(w row) string {
			if w.id == "k_groups" && hasGroups(t) {
				return "[unmapped]"
			}
			if where == "off" {
				return w.off
			}
			return w.own
		}
		ran := func(w row) string {
			if want(w) == "-" || unlimited && (w.id == "l_memory" || w.id == "k_rlimit_as") {
				return "-"
			}
			return where
		}
		each(t, rows(t), ran, func(_ string, ws []row) (bad []string) {
			s := onStage(t, filepath.Join(base, where+ws[0].id), h)
			if strings.HasPrefix(ws[0].id, "u_") {
				s.listens(t)
			}
			argv := s.argv(p["probe"], token, strings.Join(names(ws), ","), "")
			argv = append(argv, fmt.Sprintf("uid=%d", guestID()), fmt.Sprintf("gid=%d", guestGroup()))
			spec := ownLayers(s, argv)
			if where == "off" {
				spec = off(argv)
			}
			if ws[0].id == "l_cpu" {
				spec.CPU, spec.Kernel.CPUMillis = time.Second, 1000
			}
			in := r
			if where == "own" && strings.HasPrefix(ws[0].id, "e_") {
				in = leads
			}
			results := inGuest(t, in, spec, names(ws)...)
			mu.Lock()
			defer mu.Unlock()
			for _, w := range ws {
				got[w.id] = results[w.id]
				if !agrees(want(w), got[w.id]) {
					bad = append(bad, fmt.Sprintf("%s in %s: %s, want %s (%s)", w.id, where, got[w.id], want(w),
						w.what))
				}
			}
			return bad
		})
	}
	if t.Failed() {
		return // the rows that are wrong would be lost in 500 lines
	}
	var lines []string
	for _, w := range rows(t) {
		lines = append(lines, fmt.Sprintf("%-4.4s %-24s off %-18s own %-18s  %s", w.design, w.id, all["off"][w.id],
			all["own"][w.id], w.layer))
	}
	t.Logf("\n%s\n%d probes in a guest without network, %d in one with its own, %v", strings.Join(lines, "\n"),
		len(all["off"]), len(all["own"]), time.Since(began))
}

// openUp lets the user of the guests through a folder of a test.
func openUp(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// hasGroups tells whether this is an ordinary user who has groups beside the own:
// only root can give them up, and guests of others keep them, without a name.
func hasGroups(t *testing.T) bool {
	t.Helper()
	all, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	return os.Getuid() != 0 && slices.ContainsFunc(all, func(g int) bool { return g != os.Getgid() })
}

func guestID() int {
	if id := os.Getuid(); id != 0 {
		return id
	}
	return kernel.DefaultGuestID + 1 // that of guests which no agent has
}

func guestGroup() int {
	if os.Getuid() != 0 {
		return os.Getgid()
	}
	return kernel.DefaultGuestID
}

// TestProbeTable: every probe that a guest is refused says what it does without
// the layer, or why it cannot; and the table names every probe there is.
func TestProbeTable(t *testing.T) {
	seen := map[string]bool{}
	design := map[string]bool{}
	for _, w := range rows(t) {
		if seen[w.id] {
			t.Errorf("%s stands twice", w.id)
		}
		seen[w.id] = true
		for d := range strings.SplitSeq(w.design, " ") {
			design[d] = true
		}
		if w.what == "" || w.layer == "" || w.without == "" {
			t.Errorf("%s: a cell is empty", w.id)
		}
		if w.off == "-" && w.own == "-" {
			t.Errorf("%s runs nowhere", w.id)
		}
	}
	for n := 1; n <= 134; n++ {
		if !design[fmt.Sprint(n)] {
			t.Errorf("probe %d of the list is not in the table", n)
		}
	}
	added := 0
	for _, w := range rows(t) {
		if w.design == "+" {
			added++
		}
	}
	t.Logf("%d probes, %d of them beyond the list", len(seen), added)
	p := built(t, "probe", "lab")
	s := onStage(t, filepath.Join(t.TempDir(), "list"), atHost(t))
	var left []string
	for id := range strings.FieldsSeq(inLab(t, p, s, "", "list")["list"]) {
		switch id {
		case "wait", "ex_ran", "i_sleep", "i_sees", "i_pids", "i_inflight", "i_sends", "l_doublefork":
			// parts of other tests
			continue
		}
		if !seen[id] && !strings.HasPrefix(id, "m_") { // see TestMemoryOfEveryKind
			left = append(left, id)
		}
	}
	slices.Sort(left)
	if len(left) > 0 {
		t.Errorf("not in the table: %v", left)
	}
}
