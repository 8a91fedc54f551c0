package bridges_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
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
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/kernel/proxy"
)

// trail writes records of the ring and of egress to a real log.
type trail struct{ log *audit.Log }

func (l trail) Record(ctx context.Context, rec contract.Record, _ contract.Durability) error {
	out := audit.Record{Kind: audit.Kind(rec.Kind), Revision: rec.Revision, Agent: rec.Agent, Run: rec.Run,
		Call: rec.Call, Capability: rec.Capability, State: rec.State, Digest: rec.Digest}
	if rec.Decision != nil {
		out.Decision = audit.Decided(*rec.Decision)
	}
	_, err := l.log.Append(ctx, out, audit.Written)
	return err
}

func (l trail) event(ctx context.Context, ev proxy.Event) error {
	out := audit.Record{Kind: audit.EgressDecided, Agent: ev.Agent, Run: ev.Run,
		Capability: "egress:" + ev.Dest.String(), Decision: audit.Decided(ev.Decision),
		Detail: map[string]string{"door": ev.Listener, "method": ev.Method, "path": ev.Path}}
	if ev.End != "" {
		out = audit.Record{Kind: audit.EgressClosed, Agent: ev.Agent, Run: ev.Run, Capability: out.Capability,
			State: ev.End}
	}
	_, err := l.log.Append(ctx, out, audit.Written)
	return err
}

type noJournal struct{}

func (noJournal) OpenCall(context.Context, contract.Entry) (string, error)           { return "", nil }
func (noJournal) ExecuteCall(context.Context, string, string) error                  { return nil }
func (noJournal) CloseCall(context.Context, string, string, contract.Recorded) error { return nil }

// asker is an executor whose program asks as long as the benchmark wants.
type fetchAsker struct {
	b      *testing.B
	bridge string
	args   json.RawMessage
	median time.Duration
}

func (*fetchAsker) Name() string { return profiles.ExecutorJS }
func (*fetchAsker) Close() error { return nil }
func (a *fetchAsker) Run(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
	var took []time.Duration
	for i := 1; a.b.Loop(); i++ {
		from := time.Now()
		ans, err := h.Ask(ctx, executors.Question{Call: "c" + strconv.Itoa(i), Bridge: a.bridge, Args: a.args})
		took = append(took, time.Since(from))
		if err != nil || ans.Error != nil {
			a.b.Fatal(err, ans.Error)
		}
	}
	slices.Sort(took)
	a.median = took[len(took)/2]
	return executors.Outcome{State: executors.StateDone}, nil
}

// BenchmarkCall is one call from the executor's question to its answer, with every
// record in a real log: fetch of 1 KB from a server on loopback, and a line for the
// operator. Direct is the same request by net/http, with no decision and no record.
func BenchmarkFetchCall(b *testing.B) {
	s := server(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", 1024))
	})
	b.Run("fetch", func(b *testing.B) {
		fetchBenchmarkCall(b, "fetch", fmt.Sprintf(`[{"url":"%s/","method":"GET","headers":{}}]`, s.URL),
			netip.MustParseAddrPort(s.Listener.Addr().String()))
	})
	b.Run("log", func(b *testing.B) {
		fetchBenchmarkCall(b, "log", `[{"text":"three findings in handler.go"}]`, netip.AddrPort{})
	})
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			r, err := s.Client().Get(s.URL)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	})
}

func fetchBenchmarkCall(b *testing.B, bridge, args string, to netip.AddrPort) {
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
	var work sync.WaitGroup
	defer work.Wait()
	e, err := proxy.New(proxy.Config{
		Go: work.Go, Now: time.Now, Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, nil },
		Record: func(ev proxy.Event) error { return trail{log}.event(b.Context(), ev) },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	p, err := bridges.NewFetch(bridges.Config{Egress: e})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	a := &fetchAsker{b: b, bridge: bridge, args: json.RawMessage(args)}
	ring, err := interpreter.New(interpreter.Config{
		Executors: map[string]executors.Executor{profiles.ExecutorJS: a}, Audit: trail{log}, Journal: noJournal{},
		Providers: map[string]contract.Provider{"fetch": p, "log": interpreter.Log{
			Logger: slog.New(slog.DiscardHandler)}},
		Go: func(f func()) { work.Go(f) }, Now: time.Now, Random: rand.Reader,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer ring.Close()
	n := int64(60_000)
	commit, err := ring.Prepare(b.Context(), &profiles.Set{Format: profiles.Format,
		Agents: map[string]profiles.Agent{"a": {
			Name: "a", JS: &profiles.JS{}, Limits: profiles.Limits{WallMillis: &n, OutputBytes: &n, ResultBytes: &n},
			Egress: profiles.Egress{Mode: profiles.EgressAllowlist,
				Allow: []profiles.EgressRule{{Host: to.Addr().String(), Ports: []int{int(to.Port())}}}},
			Bridges: map[string]profiles.Bridge{bridge: {Name: bridge, Limits: profiles.BridgeLimits{
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
