package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/schema/wire"
)

// What this test binary is when it starts itself.
const (
	verbCompile = "compile-child"
	envCrash    = "RINGD_TEST_CRASH" // folder of the daemon that is to be killed
	envLong     = "RINGD_LONG"       // 1: the numbers of docs/BENCHMARKS.md
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == verbCompile {
		os.Exit(worker.CompileMain(context.Background(), time.Now, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestKilledDaemon is the daemon that TestKill kills: it runs programs as fast
// as it can and prints a line for everything it has acknowledged.
func TestKilledDaemon(t *testing.T) {
	dir := os.Getenv(envCrash)
	if dir == "" {
		t.Skip("TestKill starts it")
	}
	acts, err := os.OpenFile(filepath.Join(dir, "acts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	say := func(f *os.File, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(f, format+"\n", args...)
	}
	s := daemontest.New(t, daemontest.Config{Dir: dir, Acted: func(c contract.Call) {
		say(acts, "%s %s", c.Run, c.ID)
	}})
	s.Apply(t, "one log act ask")
	say(os.Stdout, "ready")
	var wg sync.WaitGroup
	for w, program := range []string{"1+1", "call act", "wave ask act", "spin"} {
		wg.Go(func() {
			for n := 0; ; n++ {
				wait := int64(wire.MaxWaitMillis)
				if program == "spin" {
					wait = 0
				}
				r, err := s.Daemon.StartRun(t.Context(), daemontest.Me(), request(program, wait))
				if err != nil {
					say(os.Stdout, "failed %v", err)
					return
				}
				say(os.Stdout, "ack %s %s", r.ID, r.State)
				if r.State == "paused" {
					r, err = s.Daemon.AnswerRun(t.Context(), daemontest.Me(), r.ID,
						wire.Answers{WaitMillis: wire.MaxWaitMillis,
							Answers: []wire.Answer{{Call: r.Pending[0].ID, Value: json.RawMessage("1")}}})
				} else if program == "spin" {
					r, err = s.Daemon.CancelRun(t.Context(), daemontest.Me(), r.ID)
				}
				if err != nil {
					say(os.Stdout, "failed %v", err)
					return
				}
				say(os.Stdout, "ack %s %s", r.ID, r.State)
				if w == 0 && n%5 == 4 {
					if err := s.Daemon.ApplyPush(t.Context(),
						daemontest.Push(fmt.Sprintf("p%d log act ask", n))); err != nil {
						say(os.Stdout, "failed %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestKill kills a busy daemon at random moments. After each kill the audit log
// verifies, every acknowledged run is there in the state that was acknowledged
// or a later one, no act lacks its record, and the daemon starts by itself.
func TestKill(t *testing.T) {
	rounds := 5
	switch {
	case os.Getenv(envLong) == "1":
		rounds = 100
	case testing.Short():
		rounds = 2
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	moments := rand.New(rand.NewPCG(1, 2))
	acked := map[string]string{}
	for round := range rounds {
		after := 1 + moments.IntN(60)
		kill(t, self, dir, after, acked)
		check(t, dir, acked, round)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d acknowledged runs", rounds, len(acked))
	if len(acked) < rounds {
		t.Errorf("only %d runs were acknowledged in %d rounds", len(acked), rounds)
	}
}

// kill starts a daemon on dir and kills it once it has printed so many lines.
func kill(t *testing.T, self, dir string, after int, acked map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestKilledDaemon$")
	cmd.Env = append(os.Environ(), envCrash+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); {
		switch word, rest, _ := strings.Cut(lines.Text(), " "); word {
		case "ack":
			id, state, _ := strings.Cut(rest, " ")
			acked[id] = state
		case "ready":
		default:
			if n < after {
				t.Errorf("the daemon says %q", lines.Text())
			}
		}
		if n++; n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
}

// check opens what a kill left behind.
func check(t *testing.T, dir string, acked map[string]string, round int) {
	t.Helper()
	if rep, err := audit.Verify(t.Context(), filepath.Join(dir, "audit"), audit.Check{}); err != nil ||
		rep.Tampered != nil {
		t.Fatalf("round %d: the log does not verify: %+v, %v", round, rep, err)
	}
	s, err := daemontest.Open(t, daemontest.Config{Dir: dir})
	if err != nil {
		t.Fatalf("round %d: the daemon does not start: %v", round, err)
	}
	defer s.Close(t)
	for id, state := range acked {
		got, err := s.Daemon.GetRun(t.Context(), daemontest.Me(), id, 0)
		switch {
		case err != nil:
			t.Errorf("round %d: acknowledged run %s is lost: %v", round, id, err)
		case state == "paused": // it waits, or goes on
		case state == "running":
			if got.State == "paused" || got.State == "running" {
				t.Errorf("round %d: run %s is still %s", round, id, got.State)
			}
		case got.State != state:
			t.Errorf("round %d: run %s was %s and is %s", round, id, state, got.State)
		}
		acked[id] = got.State
		if got.State == "running" { // answered before the kill: it may be anything next
			acked[id] = "paused"
		}
	}
	recorded := map[string]bool{}
	for _, rec := range s.Records(t, audit.CallOpened) {
		recorded[rec.Run+" "+rec.Call] = true
	}
	acts, err := os.ReadFile(filepath.Join(dir, "acts"))
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for line := range strings.Lines(string(acts)) {
		act := strings.TrimSpace(line)
		if !recorded[act] {
			t.Errorf("round %d: act %q has no record", round, act)
		}
		if done[act] {
			t.Errorf("round %d: act %q happened twice", round, act)
		}
		done[act] = true
	}
	if r, err := run(t, s, "1+1"); err != nil || r.State != "done" {
		t.Errorf("round %d: after the restart a run gives %q, %v", round, r.State, err)
	}
}
