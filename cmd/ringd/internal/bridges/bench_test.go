package bridges_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// recorder writes the ring's records to the real log.
type recorder struct{ log *audit.Log }

func (r recorder) Record(ctx context.Context, rec contract.Record, d contract.Durability) error {
	durability := audit.Synced
	if d == contract.Written {
		durability = audit.Written
	}
	out := audit.Record{Kind: audit.Kind(rec.Kind), Generation: rec.Generation, Revision: rec.Revision,
		Actor: rec.Actor,
		Agent: rec.Agent, Run: rec.Run, Call: rec.Call, Capability: rec.Capability, State: rec.State,
		Digest: rec.Digest, Full: rec.Full, Detail: rec.Detail}
	if rec.Decision != nil {
		out.Decision = audit.Decided(*rec.Decision)
	}
	_, err := r.log.Append(ctx, out, durability)
	return err
}

// journal forgets: nothing here has external power.
type journal struct{}

func (journal) OpenCall(context.Context, contract.Entry) (string, error)           { return "", nil }
func (journal) ExecuteCall(context.Context, string, string) error                  { return nil }
func (journal) CloseCall(context.Context, string, string, contract.Recorded) error { return nil }

// asker is an executor whose program asks as long as the benchmark wants.
type asker struct {
	b      *testing.B
	median time.Duration
}

func (*asker) Name() string { return profiles.ExecutorJS }
func (*asker) Close() error { return nil }
func (a *asker) Run(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
	args := json.RawMessage(`[{"level":"info","text":"three findings in handler.go"}]`)
	var took []time.Duration
	i := 0
	for a.b.Loop() {
		i++
		from := time.Now()
		ans, err := h.Ask(ctx, executors.Question{Call: "c" + strconv.Itoa(i), Bridge: "log", Args: args})
		took = append(took, time.Since(from))
		if err != nil || ans.Error != nil {
			a.b.Error(err, ans.Error)
		}
	}
	slices.Sort(took)
	a.median = took[len(took)/2]
	return executors.Outcome{State: executors.StateDone}, nil
}

// BenchmarkCall is one call from the executor's question to its answer: the
// decision, both audit records in the real log, the provider, the checks.
func BenchmarkCall(b *testing.B) {
	command, err := bridges.NewCommand(bridges.CommandConfig{Argv: []string{"true"}})
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]contract.Provider{
		"log":     interpreter.Log{Logger: slog.New(slog.DiscardHandler)},
		"command": command,
	} {
		b.Run(name, func(b *testing.B) { benchmarkCall(b, p) })
	}
}

func benchmarkCall(b *testing.B, p contract.Provider) {
	dir := b.TempDir()
	key, err := audit.LoadKey(dir+"/key", rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	log, err := audit.Open(b.Context(), audit.Config{Dir: dir + "/audit", Key: key, Now: time.Now, Ticks: ticker.C})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	var wg sync.WaitGroup
	a := &asker{b: b}
	ring, err := interpreter.New(interpreter.Config{
		Executors: map[string]executors.Executor{profiles.ExecutorJS: a}, Default: p, Audit: recorder{log},
		Journal: journal{},
		Go:      func(f func()) { wg.Go(f) }, Now: time.Now, Random: rand.Reader,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer wg.Wait()
	defer ring.Close()
	n := int64(60_000)
	commit, err := ring.Prepare(b.Context(), &profiles.Set{Format: profiles.Format,
		Agents: map[string]profiles.Agent{"a": {
			Name: "a", JS: &profiles.JS{}, Limits: profiles.Limits{WallMillis: &n, OutputBytes: &n, ResultBytes: &n},
			Bridges: map[string]profiles.Bridge{"log": {Name: "log", Limits: profiles.BridgeLimits{
				Concurrent: 1, CallsPerRun: 1 << 40, ArgumentBytes: n, ResultBytes: n, TimeoutMillis: n}}},
		}}})
	if err != nil {
		b.Fatal(err)
	}
	commit()
	run, err := ring.Start(b.Context(), interpreter.StartRequest{ID: "r", Agent: "a", Executor: profiles.ExecutorJS})
	if err != nil {
		b.Fatal(err)
	}
	<-run.Done()
	b.ReportMetric(float64(a.median.Nanoseconds()), "ns/median")
}

// The largest arguments that the ring has recorded in full fit a record of the
// log, beside the longest names that it writes.
func TestFullRecordFitsTheLog(t *testing.T) {
	dir := t.TempDir()
	key, err := audit.LoadKey(dir+"/key", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), audit.Config{Dir: dir + "/audit", Key: key, Now: time.Now,
		Ticks: make(chan time.Time)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	long := strings.Repeat("<", 1000)
	for fill, want := range map[int]bool{binding.MaxFull: true, audit.MaxRecord: false} {
		err := recorder{log}.Record(t.Context(), contract.Record{
			Kind: contract.CallOpened, Actor: long, Agent: long, Run: long, Call: long, Capability: long, State: "open",
			Decision: &profiles.Decision{Verdict: profiles.Allow, Reason: long, Revision: long,
				Rule: &profiles.Rule{File: long, Path: long}},
			Full: json.RawMessage(`"` + strings.Repeat("x", fill-2) + `"`),
		}, contract.Written)
		if (err == nil) != want {
			t.Errorf("%d bytes: %v", fill, err)
		}
	}
}
