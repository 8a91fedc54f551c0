package interpreter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// program is run by the fake executor in the place of a guest.
type program func(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error)

// fakeExecutor runs the program whose name is the source text.
type fakeExecutor struct {
	name string
	mu   sync.Mutex
	list map[string]program
}

func (e *fakeExecutor) Name() string { return e.name }
func (e *fakeExecutor) Close() error { return nil }
func (e *fakeExecutor) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	e.mu.Lock()
	p := e.list[r.Program.Source]
	e.mu.Unlock()
	if p == nil {
		return executors.Outcome{}, errors.New("no such program")
	}
	return p(ctx, r, h)
}

// fakeAudit keeps records. hook runs before a record is kept and may refuse it.
type fakeAudit struct {
	mu      sync.Mutex
	records []contract.Record
	synced  []bool
	hook    func(contract.Record) error
}

func (a *fakeAudit) Record(_ context.Context, r contract.Record, d contract.Durability) error {
	a.mu.Lock()
	hook := a.hook
	a.mu.Unlock()
	if hook != nil {
		if err := hook(r); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = append(a.records, r)
	a.synced = append(a.synced, d == contract.Synced)
	return nil
}

func (a *fakeAudit) onRecord(f func(contract.Record) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hook = f
}

// kinds lists the records of a run, each as kind[:state][+synced].
func (a *fakeAudit) kinds(run string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for i, r := range a.records {
		if r.Run != run {
			continue
		}
		s := string(r.Kind)
		if r.State != "" {
			s += ":" + r.State
		}
		if a.synced[i] {
			s += "+synced"
		}
		out = append(out, s)
	}
	return out
}

func (a *fakeAudit) find(kind contract.Kind) (contract.Record, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range slices.Backward(a.records) {
		if r.Kind == kind {
			return r, true
		}
	}
	return contract.Record{}, false
}

// fakeJournal keeps the open calls, and refuses if err is set.
type fakeJournal struct {
	mu   sync.Mutex
	log  []string
	fail string // the method that fails
	open map[string]contract.Entry
}

// last returns the entry of a call.
func (j *fakeJournal) last(run, call string) contract.Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.open[run+"/"+call]
}

func (j *fakeJournal) OpenCall(_ context.Context, e contract.Entry) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail == "open" {
		return "", errors.New("disk gone: /var/lib/secret")
	}
	if j.open == nil {
		j.open = map[string]contract.Entry{}
	}
	j.open[e.Run+"/"+e.Call] = e
	j.log = append(j.log, fmt.Sprintf("open %s for=%q executing=%v", e.Call, e.For, e.Executing))
	return "key-" + e.Run + "-" + e.Call, nil
}

func (j *fakeJournal) ExecuteCall(_ context.Context, _, call string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail == "execute" {
		return errors.New("disk gone: /var/lib/secret")
	}
	j.log = append(j.log, "execute "+call)
	return nil
}

func (j *fakeJournal) CloseCall(_ context.Context, _, call string, end contract.Recorded) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail == "close" {
		return errors.New("disk gone: /var/lib/secret")
	}
	j.log = append(j.log, fmt.Sprintf("close %s %s %s", call, end.End, end.Value))
	return nil
}

func (j *fakeJournal) entries() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.log)
}

// provide is a Provider made of a function.
type provide func(ctx context.Context, c contract.Call) (json.RawMessage, error)

func (f provide) Call(ctx context.Context, c contract.Call) (json.RawMessage, error) {
	return f(ctx, c)
}

// counter counts the calls that reach it, and echoes.
type counter struct {
	mu    sync.Mutex
	calls []contract.Call
}

func (c *counter) Call(_ context.Context, call contract.Call) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	return call.Args, nil
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// world is a ring with everything around it.
type world struct {
	t     *testing.T
	ring  *interpreter.Ring
	js    *fakeExecutor
	audit *fakeAudit
	log   *fakeJournal
	echo  *counter
	wg    sync.WaitGroup
	runs  int
	mu    sync.Mutex // of runs, for a stage
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// tier is the tier of every executor.
func tier(t profiles.Tier) func(context.Context, string) profiles.Tier {
	return func(context.Context, string) profiles.Tier { return t }
}

func newWorld(t *testing.T, change ...func(*interpreter.Config)) *world {
	t.Helper()
	w := &world{t: t, js: &fakeExecutor{name: "js", list: map[string]program{}}, audit: &fakeAudit{},
		log: &fakeJournal{}, echo: &counter{}}
	cfg := interpreter.Config{
		Executors: map[string]executors.Executor{"js": w.js},
		Tier:      tier(profiles.TierWasm),
		Providers: map[string]contract.Provider{"ask": contract.Harness{}, "askOut": contract.Harness{}},
		Default:   w.echo,
		Audit:     w.audit,
		Journal:   w.log,
		Go: func(f func()) {
			w.wg.Go(func() {
				defer func() { _ = recover() }() // as the group of the daemon does
				f()
			})
		},
		Now:    func() time.Time { return time.Unix(1e9, 0) },
		Random: zeros{},
		CheckValue: func(v json.RawMessage) error {
			if strings.Contains(string(v), "bogus") {
				return errors.New("unknown tag bogus")
			}
			return nil
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	ring, err := interpreter.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.ring = ring
	t.Cleanup(func() {
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
		w.wg.Wait()
	})
	return w
}

// apply puts a set in force.
func (w *world) apply(s *profiles.Set) {
	w.t.Helper()
	commit, err := w.ring.Prepare(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	commit()
}

// now is the time of the world.
func (w *world) now() time.Time { return time.Unix(1e9, 0) }

// start starts a program as agent "default".
func (w *world) start(p program) *interpreter.Run {
	w.t.Helper()
	run, err := w.tryStart(interpreter.StartRequest{}, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

func (w *world) tryStart(req interpreter.StartRequest, p program) (*interpreter.Run, error) {
	w.js.mu.Lock()
	w.runs++
	name := fmt.Sprintf("r%d", w.runs)
	w.js.list[name] = p
	w.js.mu.Unlock()
	if req.ID == "" {
		req.ID = name
	}
	if req.Agent == "" {
		req.Agent = "default"
	}
	if req.Executor == "" {
		req.Executor = "js"
	}
	req.Actor = "uid:1000"
	req.Program = executors.Program{Name: "plan.js", Source: name}
	return w.ring.Start(w.t.Context(), req)
}

// end waits for the end of the run.
func (w *world) end(r *interpreter.Run) contract.View {
	w.t.Helper()
	select {
	case <-r.Done():
		return r.View()
	case <-w.t.Context().Done():
		w.t.Fatal("the run did not end")
		return contract.View{}
	}
}

// calls is a program that asks the questions one after the other. It returns where the
// answers can be read.
func calls(qs ...executors.Question) (program, *[]executors.Answer) {
	got := new([]executors.Answer)
	return func(ctx context.Context, _ executors.Run, h executors.Host) (executors.Outcome, error) {
		for i, q := range qs {
			if q.Call == "" {
				q.Call = fmt.Sprintf("c%d", i+1)
			}
			a, err := h.Ask(ctx, q)
			if err != nil {
				return executors.Outcome{State: executors.StateFailed}, nil
			}
			*got = append(*got, a)
		}
		return executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`"ok"`)}, nil
	}, got
}

func ask(bridge, args string) executors.Question {
	return executors.Question{Bridge: bridge, Args: json.RawMessage(args)}
}

func num(n int64) *int64 { return &n }

// set returns a set with one agent, default, that has the given bridges.
func set(revision string, bridges ...profiles.Bridge) *profiles.Set {
	a := profiles.Agent{Name: "default", Policy: "test", Bridges: map[string]profiles.Bridge{},
		JS: &profiles.JS{}, Rule: profiles.Rule{File: "p.yaml", Line: 1, Column: 1},
		Limits: profiles.Limits{CPUMillis: num(1000), MemoryBytes: num(1 << 20), WallMillis: num(60_000),
			OutputBytes: num(1000), ResultBytes: num(1000), StackBytes: num(1000), RefusedCalls: num(10)}}
	for _, b := range bridges {
		a.Bridges[b.Name] = b
	}
	return &profiles.Set{Format: profiles.Format, Revision: revision, Agents: map[string]profiles.Agent{"default": a}}
}

// bridge returns a grant with loose limits that the functions change.
func bridge(name string, change ...func(*profiles.Bridge)) profiles.Bridge {
	b := profiles.Bridge{Name: name, Rule: profiles.Rule{File: "p.yaml", Line: 7, Column: 3, Path: "bridges." + name},
		Limits: profiles.BridgeLimits{Concurrent: 8, CallsPerRun: 100, ArgumentBytes: 1000, ResultBytes: 1000,
			TimeoutMillis: 60_000}}
	for _, f := range change {
		f(&b)
	}
	return b
}

func external(b *profiles.Bridge) { b.Powers.External = true }

func limits(f func(*profiles.BridgeLimits)) func(*profiles.Bridge) {
	return func(b *profiles.Bridge) { f(&b.Limits) }
}

func arguments(schema string) func(*profiles.Bridge) {
	return func(b *profiles.Bridge) { b.Arguments = json.RawMessage(schema) }
}

func results(schema string) func(*profiles.Bridge) {
	return func(b *profiles.Bridge) { b.Result = json.RawMessage(schema) }
}

// spawner grants subagents.
func spawner(perCall, depth, total int64) func(*profiles.Bridge) {
	return limits(func(l *profiles.BridgeLimits) { l.SpawnPerCall, l.Depth, l.TotalSpawn = perCall, depth, total })
}
