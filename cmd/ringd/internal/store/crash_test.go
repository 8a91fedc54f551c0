package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

const (
	childEnv = "RINGD_STORE_TEST_CHILD"
	lifeEnv  = "RINGD_STORE_TEST_LIFE" // which life the child leads
)

func crashConfig(dir string) store.Config { return store.Config{Dir: dir, Now: time.Now} }

// TestChild is the process that TestKill9 kills. Writers run lives side by
// side and quarrel over each answer and each act; what was acknowledged is
// printed.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("only as the child of TestKill9")
	}
	s, err := store.Open(t.Context(), crashConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	lead := childLife
	if os.Getenv(lifeEnv) == "paused" {
		lead = pausedLife
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				if err := lead(t, s, fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func say(what, run, more string) {
	_, _ = fmt.Fprintf(os.Stdout, "ack %s %s %s\n", what, run, more)
}

func childLife(t *testing.T, s *store.Store, id string) error {
	ctx := t.Context()
	if err := s.Start(ctx, newRun(id)); err != nil {
		return err
	}
	say("start", id, "-")
	if _, err := s.OpenCall(ctx, pending(id, "c1", store.ByApprover)); err != nil {
		return err
	}
	say("open", id, "-")
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			by := fmt.Sprintf("uid:%d", i)
			yes := approval(by, store.Allow)
			yes.Reason = by
			if got, err := s.Approve(ctx, id, "c1", yes); err != nil {
				if !errors.Is(err, store.ErrState) { // it is executing, or over
					t.Error(err)
				}
			} else if got.First {
				say("answer", id, by)
			}
			_, err := s.Execute(ctx, id, "c1", store.Head{})
			if err == nil {
				say("execute", id, "-")
			} else if !errors.Is(err, store.ErrState) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := s.CloseCall(ctx, id, "c1", store.CallClosed, []byte("ok"), store.Head{}); err != nil {
		return err
	}
	say("close", id, "-")
	if _, err := s.Advance(ctx, id, store.Done, store.Change{Outcome: []byte("{}")}); err != nil {
		return err
	}
	say("done", id, "-")
	return nil
}

// life is what the child said about one run.
type life struct {
	seen     map[string]int
	answerer string // or claimer
}

// TestKill9 kills a process with quarrelling writers again and again. Whatever
// it acknowledged must be there, nothing may have been won twice, and a restart
// ends every live run without a hand.
func TestKill9(t *testing.T) {
	acks, unknown, failed := 0, 0, 0
	rounds := killed(t, filepath.Join(t.TempDir(), "state"), "", 25, 300, rand.NewPCG(7, 8),
		func(s *store.Store, lives map[string]*life) {
			for id, l := range lives {
				checkLife(t, s, id, l)
				for _, n := range l.seen {
					acks += n
				}
			}
			list, err := s.Recover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if r.Run.State == store.Unknown {
					unknown++
				} else {
					failed++
				}
			}
			for id := range lives {
				if st := getRun(t, s, id).State; !st.Final() {
					t.Errorf("run %s is %s after recovery", id, st)
				}
			}
		})
	if acks < rounds {
		t.Errorf("only %d acknowledgements in %d rounds", acks, rounds)
	}
	t.Logf("%d rounds, %d acknowledged, %d runs unknown, %d failed", rounds, acks, unknown, failed)
}

// killed starts a child with lives of kind on the folder dir again and again, kills it
// after up to most acknowledgements, and checks the store it left. It returns how
// often.
func killed(t *testing.T, dir, kind string, rounds, most int, seed rand.Source,
	check func(*store.Store, map[string]*life)) int {
	t.Helper()
	if testing.Short() {
		rounds = 4
	}
	random := rand.New(seed)
	for round := range rounds {
		lives := runAndKill(t, dir, kind, 1+random.IntN(most))
		s, err := store.Open(t.Context(), crashConfig(dir))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if ok, err := s.Ask(t.Context(), "pragma integrity_check"); err != nil || ok != "ok" {
			t.Fatalf("round %d: integrity %q, %v", round, ok, err)
		}
		check(s, lives)
		mustClose(t, s)
	}
	return rounds
}

func checkLife(t *testing.T, s *store.Store, id string, l *life) {
	t.Helper()
	for what, n := range l.seen {
		if n > 1 {
			t.Errorf("run %s: %q was acknowledged %d times", id, what, n)
		}
	}
	r := getRun(t, s, id) // start was acknowledged: it is the first line of a life
	if l.seen["done"] > 0 && r.State != store.Done {
		t.Errorf("run %s was done, is %s", id, r.State)
	}
	if l.seen["open"] == 0 {
		return
	}
	calls := getCalls(t, s, id)
	if len(calls) != 1 {
		t.Errorf("run %s has %d calls", id, len(calls))
		return
	}
	c := calls[0]
	if l.answerer != "" && (c.RepliedBy != l.answerer || string(c.Reply) != l.answerer) {
		t.Errorf("run %s: answered by %q, the store has %q", id, l.answerer, c.RepliedBy)
	}
	if l.seen["execute"] > 0 && c.State == store.CallPending {
		t.Errorf("run %s: the act was begun, the call is %s", id, c.State)
	}
	if l.seen["close"] > 0 && (c.State != store.CallClosed || string(c.Result) != "ok") {
		t.Errorf("run %s: the call was closed, is %s with %q", id, c.State, c.Result)
	}
}

func runAndKill(t *testing.T, dir, kind string, n int) map[string]*life {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+dir, lifeEnv+"="+kind)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lives := map[string]*life{}
	lines, seen := bufio.NewScanner(out), 0
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 4 || f[0] != "ack" {
			t.Logf("child: %s", lines.Text())
			continue
		}
		l := lives[f[2]]
		if l == nil {
			l = &life{seen: map[string]int{}}
			lives[f[2]] = l
		}
		l.seen[f[1]]++
		if f[1] == "answer" || f[1] == "claim" {
			l.answerer = f[3]
		}
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
	return lives
}

// pausedLife is a life with a pause that three claimers quarrel over; every
// fifth record lies in a file.
func pausedLife(t *testing.T, s *store.Store, id string) error {
	ctx := t.Context()
	if err := s.Start(ctx, newRun(id)); err != nil {
		return err
	}
	say("start", id, "-")
	if _, err := s.OpenCall(ctx, pending(id, "c1", store.ByApprover)); err != nil {
		return err
	}
	if _, err := s.PutPause(ctx, lifePause(id), store.Change{Outcome: []byte("{}")}); err != nil {
		return err
	}
	say("pause", id, "-")
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() {
			by := fmt.Sprintf("host:%d", i)
			if a, err := s.Approve(ctx, id, "c1", approval(by, store.Allow)); err == nil && a.First {
				say("approve", id, by)
			} else if err != nil && !errors.Is(err, store.ErrState) { // it has gone on
				errs[i] = err
				return
			}
			p, _, err := s.Claim(ctx, id, 1, by)
			var claimed *store.ClaimedError
			if err == nil && string(p.Sealed) != string(lifePause(id).Sealed) {
				err = errors.New("another record")
			}
			if err == nil {
				say("claim", id, by)
				err = goOn(t, s, id, by)
			}
			if !errors.As(err, &claimed) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func lifePause(id string) store.Pause {
	size := 2000
	if strings.HasSuffix(id, "0") || strings.HasSuffix(id, "5") {
		size = store.MaxInline + 1
	}
	return sized(id, 1, size)
}

func goOn(t *testing.T, s *store.Store, id, by string) error {
	ctx := t.Context()
	if _, err := s.Begin(ctx, id, 1, by, store.Change{}); err != nil {
		return err
	}
	say("begin", id, by)
	if _, err := s.Execute(ctx, id, "c1", store.Head{}); err != nil {
		return err
	}
	say("act", id, by)
	if err := s.CloseCall(ctx, id, "c1", store.CallClosed, []byte("ok"), store.Head{}); err != nil {
		return err
	}
	say("result", id, by)
	if _, err := s.Advance(ctx, id, store.Done, store.Change{Outcome: []byte("{}")}); err != nil {
		return err
	}
	say("done", id, by)
	return nil
}

// TestKill9Paused kills a process whose claimers quarrel over pauses. What was
// acknowledged is there, one claimer has won, an act that was begun is begun
// once or unknown, and what waits can be gone on with.
func TestKill9Paused(t *testing.T) {
	dir, after := filepath.Join(t.TempDir(), "state"), map[store.State]int{}
	rounds := killed(t, dir, "paused", 20, 250, rand.NewPCG(9, 10), func(s *store.Store, lives map[string]*life) {
		for id, l := range lives {
			checkPaused(t, s, id, l)
		}
		named, err := s.Ask(t.Context(), "select count(distinct file) from pause where file <> ''")
		if got := fmt.Sprint(len(files(t, crashConfig(dir)))); err != nil || got != named {
			t.Errorf("%s files, rows name %s (%v)", got, named, err)
		}
		if _, err := s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, l := range lives {
			after[checkRecovered(t, s, id, l)]++
		}
	})
	t.Logf("%d rounds: %v", rounds, after)
}

func checkPaused(t *testing.T, s *store.Store, id string, l *life) {
	t.Helper()
	for what, n := range l.seen {
		if n > 1 {
			t.Errorf("run %s: %q was acknowledged %d times", id, what, n)
		}
	}
	r := getRun(t, s, id)
	if l.seen["pause"] == 0 {
		return
	}
	if r.Seq != 1 {
		t.Errorf("run %s has paused, is %s at %d", id, r.State, r.Seq)
	}
	if _, _, err := s.Claim(t.Context(), id, 1, "prober"); l.answerer != "" {
		var claimed *store.ClaimedError
		if !errors.As(err, &claimed) || claimed.By != l.answerer {
			t.Errorf("run %s: claimed by %s, the store says %v", id, l.answerer, err)
		}
	}
	for what, want := range map[string]string{"act": "executing closed", "result": "closed"} {
		if st := getCalls(t, s, id)[0].State; l.seen[what] > 0 && !strings.Contains(want, string(st)) {
			t.Errorf("run %s: %s was acknowledged, the call is %s", id, what, st)
		}
	}
	if l.seen["done"] > 0 && r.State != store.Done {
		t.Errorf("run %s was done, is %s", id, r.State)
	}
}

// checkRecovered looks at a run after Recover and goes on with it when it can.
func checkRecovered(t *testing.T, s *store.Store, id string, l *life) store.State {
	t.Helper()
	r, c := getRun(t, s, id), getCalls(t, s, id)
	switch {
	case r.State == store.Unknown && c[0].State == store.CallUnknown && l.seen["result"] == 0:
	case r.State == store.Done && c[0].State == store.CallClosed:
	case r.State == store.Failed && l.seen["pause"] == 0:
	case r.State == store.Paused && l.seen["approve"] == 0, r.State == store.Answered:
		p, _, err := s.Pause(t.Context(), id)
		if err != nil || string(p.Sealed) != string(lifePause(id).Sealed) {
			t.Errorf("run %s waits, its pause has %d bytes, %v", id, len(p.Sealed), err)
		}
		if l.seen["act"] > 0 && (c[0].State != store.CallClosed || string(c[0].Result) != "ok") {
			t.Errorf("run %s would act again: %+v", id, c[0])
		}
	default:
		t.Errorf("run %s is %s after recovery: %+v, %v", id, r.State, c, l.seen)
	}
	return r.State
}
