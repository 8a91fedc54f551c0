package interpreter_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// lines writes each record as a line of a file, as the audit log does.
type lines struct {
	mu sync.Mutex
	f  *os.File
}

func (l *lines) Record(_ context.Context, r contract.Record, _ contract.Durability) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.f.Write(append(b, '\n'))
	return err
}

// nothing keeps no record, which leaves the time of the ring alone.
type nothing struct{}

func (nothing) Record(context.Context, contract.Record, contract.Durability) error { return nil }

func BenchmarkAsk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "audit"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	schema := arguments(`{"type":"object","properties":{"level":{"enum":["info","warn"]},"text":{"type":"string","maxLength":200}},"required":["text"]}`)
	for _, bench := range []struct {
		name  string
		audit contract.Auditor
		grant profiles.Bridge
	}{
		{"own", nothing{}, bridge("log")},
		{"own, schema", nothing{}, bridge("log", schema)},
		{"file", &lines{f: f}, bridge("log")},
	} {
		b.Run(bench.name, func(b *testing.B) { benchmarkAsk(b, bench.audit, bench.grant) })
	}
}

func benchmarkAsk(b *testing.B, audit contract.Auditor, grant profiles.Bridge) {
	grant.Limits.CallsPerRun = 1 << 40
	js := &fakeExecutor{name: "js", list: map[string]program{}}
	var wg sync.WaitGroup
	ring, err := interpreter.New(interpreter.Config{
		Executors: map[string]executors.Executor{"js": js},
		Default:   interpreter.Log{Logger: slog.New(slog.DiscardHandler)},
		Audit:     audit, Journal: &fakeJournal{}, Go: func(f func()) { wg.Go(f) },
		Now: func() time.Time { return time.Unix(0, 0) }, Random: zeros{},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer wg.Wait()
	defer ring.Close()
	commit, err := ring.Prepare(b.Context(), set("a", grant))
	if err != nil {
		b.Fatal(err)
	}
	commit()
	args := json.RawMessage(`[{"level":"info","text":"three findings in handler.go"}]`)
	js.list["p"] = func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			a, err := h.Ask(ctx, executors.Question{Call: "c" + strconv.Itoa(i), Bridge: "log", Args: args})
			if err != nil || a.Error != nil {
				b.Error(err, a.Error)
			}
		}
		return executors.Outcome{State: executors.StateDone}, nil
	}
	run, err := ring.Start(b.Context(), interpreter.StartRequest{
		ID: "r", Agent: "default", Executor: "js", Program: executors.Program{Source: "p"}})
	if err != nil {
		b.Fatal(err)
	}
	<-run.Done()
}
