package audit_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
)

const childEnv = "RINGD_AUDIT_TEST_CHILD"

func crashConfig(dir string, ticks <-chan time.Time) audit.Config {
	return audit.Config{Dir: dir, Key: testKey(), Now: time.Now, Ticks: ticks, SegmentBytes: 32 << 10}
}

// TestChild is the process that TestKill9 kills: it appends until then, and
// prints each acknowledgement.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("only as the child of TestKill9")
	}
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	l := mustOpen(t, crashConfig(dir, ticker.C))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				h, err := l.Append(t.Context(), callRecord(i), audit.Durability((w+i)%2))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := fmt.Fprintf(os.Stdout, "ack %d %s\n", h.Seq, h.Hash); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestKill9 kills a writing process again and again. Every record it had
// acknowledged, also one that was only written, must be in the log, which must
// open without a hand.
func TestKill9(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	dir := logDir(t)
	random := rand.New(rand.NewPCG(5, 6))
	acked := map[int64]string{}
	cuts := 0
	for round := range rounds {
		runAndKill(t, dir, 1+random.IntN(400), acked)
		l, err := audit.Open(t.Context(), crashConfig(dir, make(chan time.Time)))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		mustClose(t, l)
	}
	mustVerify(t, dir, audit.Check{Key: publicKey()})
	got := map[int64]string{}
	for _, e := range all(t, dir, audit.Filter{}) {
		got[e.Seq] = e.Hash.String()
		if e.Record.Kind == audit.LogCut {
			cuts++
		}
	}
	for seq, hash := range acked {
		if got[seq] != hash {
			t.Errorf("record %d was acknowledged as %s, the log has %q", seq, hash, got[seq])
		}
	}
	if len(acked) < rounds {
		t.Errorf("only %d acknowledgements in %d rounds", len(acked), rounds)
	}
	t.Logf("%d rounds, %d acknowledged, %d in the log, %d cut", rounds, len(acked), len(got), cuts)
}

// runAndKill starts a child and kills it after n acknowledgements.
func runAndKill(t *testing.T, dir string, n int, acked map[int64]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(out), 0
	for lines.Scan() {
		var seq int64
		var hash string
		if _, err := fmt.Sscanf(lines.Text(), "ack %d %64s", &seq, &hash); err != nil || len(hash) != 64 {
			t.Logf("child: %s", lines.Text())
			continue
		}
		acked[seq] = hash
		if seen++; seen == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if seen < n {
		t.Fatalf("the child ended by itself after %d acknowledgements", seen)
	}
}
