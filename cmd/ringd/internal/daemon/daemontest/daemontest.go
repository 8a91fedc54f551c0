// Package daemontest builds a whole daemon for tests: a real audit log, store and interpreter ring in a
// temporary folder, with test doubles of guests, compiler and clock. Only tests of the daemon, the API and
// the clients use it.
package daemontest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/schema"
)

// Config changes the default stack.
type Config struct {
	Dir       string              // empty means a temporary folder
	Staleness time.Duration       // zero means ten minutes, Never means none
	Quota     daemon.Quota        // zero means 100 of an actor, 200 in all
	Rings     []policy.Ring       // more rings, before the interpreter's
	Clock     *Clock              // nil means one that stands at a fixed time
	Acted     func(contract.Call) // called for every act, before it returns
	Compiler  policy.Compiler     // nil means Stack.Compiler
	Paused    waiting.Quota       // zero means 10000 of an actor, 20000 in all
	Queue     store.Queue         // of calls that wait for approvers; zero means the store's default
	Key       string              // of pauses; empty means a fixed one
	Trust     *trust.Gate         // see daemon.Config
	Point     func(label string)  // see daemon.Config.Point
	Archive   daemon.Archive      // of the audit log
	Room      *daemon.Room        // see daemon.Config; if it has no Tight, that of log and store
	Heals     bool                // log and store are reopened after a fault
	Records   int64               // limit of the bytes of records of one run; zero means none
	Requests  int                 // see daemon.Config.RequestRecords
	// HasEngine: see daemon.Config. Nil means Stack.Executor.HasEngine.
	HasEngine func(executor, digest string) (own string, has bool)
}

// Never is a Staleness that closes at once.
const Never = time.Duration(-1)

// Stack is a daemon with everything below it.
type Stack struct {
	Dir      string
	Daemon   *daemon.Daemon
	Clock    *Clock
	Compiler *Compiler
	Executor *Executor
	Faults   *Faults
	Metrics  *metrics.Metrics
	Ring     *interpreter.Ring
	Logged   *buffer
	Acts     *acts
	Keeper   *waiting.Keeper
	Desk     *waiting.Desk
	Recorder *records.Recorder
	Lock     *lockdown.Lock

	log   *audit.Log
	store *store.Store
	ended bool
}

// Me is the actor of tests.
func Me() daemon.Actor { return daemon.Actor{Name: "uid:1000"} }

// New builds a stack and closes it when the test ends.
func New(t testing.TB, cfg Config) *Stack {
	t.Helper()
	s, err := Open(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (cfg Config) withDefaults(t testing.TB) Config {
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	switch cfg.Staleness {
	case 0:
		cfg.Staleness = 10 * time.Minute
	case Never:
		cfg.Staleness = 0
	}
	if cfg.Quota == (daemon.Quota{}) {
		cfg.Quota = daemon.Quota{PerActor: 100, Total: 200}
	}
	if cfg.Paused == (waiting.Quota{}) {
		cfg.Paused = waiting.Quota{PerActor: 10_000, Total: 20_000, Bytes: 1 << 40}
	}
	if cfg.Clock == nil {
		cfg.Clock = NewClock()
	}
	return cfg
}

// Open is New for daemons that may fail to start.
func Open(t testing.TB, cfg Config) (*Stack, error) {
	t.Helper()
	cfg = cfg.withDefaults(t)
	s := &Stack{Dir: cfg.Dir, Clock: cfg.Clock, Compiler: &Compiler{}, Faults: &Faults{}, Metrics: metrics.New(),
		Logged: &buffer{}, Acts: &acts{acted: cfg.Acted}, Executor: &Executor{}}
	if cfg.Compiler == nil {
		cfg.Compiler = s.Compiler
	}
	var err error
	if s.log, err = openLog(t.Context(), s); err != nil {
		return nil, err
	}
	if s.store, err = openStore(t.Context(), s, cfg.Queue); err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(s.Logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	group := &daemon.Group{Logger: logger}
	recorder := records.NewRecorder(&faultyLog{s.log, s.Faults}, s.Metrics)
	s.Recorder = recorder
	lock := lockdown.Config{File: filepath.Join(cfg.Dir, "lockdown.json"), Recorder: recorder, Now: s.Clock.Now}
	if s.Lock, err = lockdown.Open(lock); err != nil {
		return nil, err
	}
	keyring, err := keyring(cfg.Key)
	if err != nil {
		return nil, err
	}
	journal := records.NewJournal(s.store, keyring)
	faulty := &faultyStore{s.store, s.Faults}
	s.Keeper, err = waiting.NewKeeper(waiting.KeeperConfig{Store: faulty, Sealer: keyring, Gate: journal,
		Now: s.Clock.Now, Quota: cfg.Paused, Metrics: s.Metrics, Point: cfg.Point})
	if err != nil {
		return nil, err
	}
	s.Desk, err = waiting.NewDesk(waiting.DeskConfig{Store: faulty, Recorder: recorder, Marks: keyring,
		Now: s.Clock.Now, Metrics: s.Metrics, Point: cfg.Point})
	if err != nil {
		return nil, err
	}
	s.Ring, err = interpreter.New(interpreter.Config{
		Executors: map[string]executors.Executor{"js": s.Executor, "shell": scripts{s.Executor}},
		Tier:      func(context.Context, string) profiles.Tier { return profiles.TierWasm },
		Providers: map[string]contract.Provider{"ask": contract.Harness{}, "sign": contract.Harness{},
			"act": s.Acts, "log": s.Acts, "pay": s.Acts, "again": idempotent{s.Acts}},
		Audit: recorder, Journal: journal, Go: group.Go, Now: s.Clock.Now, Random: rand.Reader,
		Generation: recorder.Generation, Keeper: s.Keeper, Point: cfg.Point,
	})
	if err != nil {
		return nil, err
	}
	recorder.Bound(cfg.Records, func(run string) {
		s.Ring.Exceed(run, "the run put too much on record")
	})
	if cfg.HasEngine == nil {
		cfg.HasEngine = s.Executor.hasEngine
	}
	if cfg.Room != nil && cfg.Room.Tight == nil {
		cfg.Room.Tight = func() bool { return s.store.Tight() || s.log.Tight() }
	}
	var reopen func(context.Context) error
	if cfg.Heals {
		reopen = func(ctx context.Context) error { return errors.Join(s.store.Reopen(ctx), recorder.Reopen(ctx)) }
	}
	s.Daemon, err = daemon.New(t.Context(), daemon.Config{
		Version: "test", Interpreter: daemon.FromRing(s.Ring), Store: faulty,
		Policy: daemon.Policy{Rings: append(cfg.Rings, policy.Ring(s.Ring)), Compiler: cfg.Compiler, Trust: cfg.Trust,
			Staleness: cfg.Staleness},
		Waiting:   daemon.Waiting{Keeper: s.Keeper, Desk: s.Desk},
		Limits:    daemon.Limits{Quota: cfg.Quota, RequestRecords: cfg.Requests},
		Disk:      daemon.Disk{Reopen: reopen, Room: cfg.Room, Archive: cfg.Archive},
		HasEngine: cfg.HasEngine, Point: cfg.Point, Forget: s.Ring.Forget,
		Recorder: recorder, Journal: journal, Group: group, Clock: s.Clock, Random: rand.Reader, Logger: logger,
		Metrics: s.Metrics, Lock: s.Lock,
	})
	if err != nil {
		return nil, errors.Join(err, s.log.Close(), s.store.Close())
	}
	t.Cleanup(func() { s.Close(t) })
	return s, nil
}

func openStore(ctx context.Context, s *Stack, queue store.Queue) (*store.Store, error) {
	return store.Open(ctx, store.Config{Dir: filepath.Join(s.Dir, "store"), Now: s.Clock.Now, Queue: queue,
		Idempotent: func(bridge string) bool { return bridge == "again" || pause.IsAct(bridge) }})
}

func openLog(ctx context.Context, s *Stack) (*audit.Log, error) {
	seed := sha256.Sum256([]byte("daemontest"))
	return audit.Open(ctx, audit.Config{Dir: filepath.Join(s.Dir, "audit"), Key: ed25519.NewKeyFromSeed(seed[:]),
		Now: s.Clock.Now, Ticks: make(chan time.Time)})
}

// Close closes everything and keeps the folder. A second Close does nothing.
func (s *Stack) Close(t testing.TB) {
	t.Helper()
	if s.ended {
		return
	}
	s.ended = true
	if err := errors.Join(s.Daemon.Close(), s.store.Close(), s.log.Close()); err != nil && s.Faults.unused() {
		t.Errorf("close: %v", err)
	}
}

// Records returns the records of the audit log, of these kinds or of all.
func (s *Stack) Records(t testing.TB, kinds ...audit.Kind) []audit.Record {
	t.Helper()
	var out []audit.Record
	for e, err := range audit.Query(context.WithoutCancel(t.Context()), filepath.Join(s.Dir, "audit"),
		audit.Filter{Kinds: kinds}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Record)
	}
	return out
}

// Push returns a push of one text. See Compiler for the language of the text.
func Push(text string) syncer.Push {
	sum := sha256.Sum256([]byte(text))
	return syncer.Push{Digest: "sha256:" + hex.EncodeToString(sum[:]),
		Sources: []schema.Source{{Name: "policy.yaml", Data: []byte(text)}}}
}

// Apply applies a push and fails the test if it is refused.
func (s *Stack) Apply(t testing.TB, text string) {
	t.Helper()
	if err := s.Daemon.ApplyPush(t.Context(), Push(text)); err != nil {
		t.Fatal(err)
	}
}

// Compiler compiles texts: "NAME bridge bridge…" grants agent default the executor js and these bridges, in a
// policy called NAME. A text that begins with "broken" is refused with two findings. One that begins with
// "hang" waits for the end of its context.
type Compiler struct {
	mu     sync.Mutex
	count  int
	before func(text string) error
}

// Before sets a callback before every compilation. Its error is that of a compiler that could not be run, or
// Diagnostics as findings.
func (c *Compiler) Before(f func(text string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = f
}

// Count returns how often Compile was called.
func (c *Compiler) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Compile compiles the first source.
func (c *Compiler) Compile(ctx context.Context, p syncer.Push) (*profiles.Set, schema.Diagnostics, error) {
	text := string(p.Sources[0].Data)
	c.mu.Lock()
	c.count++
	before := c.before
	c.mu.Unlock()
	if before != nil {
		err := before(text)
		var found schema.Diagnostics
		if errors.As(err, &found) {
			return nil, found, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if strings.HasPrefix(text, "hang") {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	if strings.HasPrefix(text, "broken") {
		at := schema.Pos{File: p.Sources[0].Name, Line: 3, Column: 5}
		return nil, schema.Diagnostics{
			{Pos: at, Code: "unknown_field", Msg: "spec.netwrok: no such field", Hint: `did you mean "network"?`},
			{Pos: at, Code: "yaml_11", Msg: "off", Severity: schema.Warning}}, nil
	}
	set, err := Set(text)
	return set, nil, err
}

// Set returns the set of a text: the policy's name and its bridges, each NAME or
// NAME/AGENTS-OF-A-CALL/DEPTH/AGENTS-IN-ALL. NAME! needs an approval that expires after a day,
// NAME!COUNT@OWNER@OWNER as many from these owners. $PROGRAM lists a program for scripts, +FOLDER a writable
// folder, and $PROGRAM!WORD asks for an approval of that word of it. A pause lasts two days, a session one
// hour and 64 bytes.
func Set(text string) (*profiles.Set, error) {
	name, bridges, _ := strings.Cut(text, " ")
	ms := func(n int64) *int64 { return &n }
	limits := profiles.Limits{
		CPUMillis:   ms(5000),
		MemoryBytes: ms(64 << 20),
		WallMillis:  ms(600_000),
		OutputBytes: ms(1 << 18),
		ResultBytes: ms(
			1 << 20,
		),
		StackBytes:   ms(1 << 18),
		PauseMillis:  ms(48 * 3_600_000),
		Processes:    ms(1),
		Files:        ms(1),
		RefusedCalls: ms(8),
	}
	a := profiles.Agent{Name: "default", Policy: name, Limits: limits, JS: &profiles.JS{Limits: limits},
		Bridges: map[string]profiles.Bridge{}, Sessions: &profiles.Sessions{AgeMillis: 3_600_000, Bytes: 64}}
	for _, b := range strings.Fields(bridges) {
		if path, is := strings.CutPrefix(b, "+"); is {
			a.Files.Write = append(
				a.Files.Write,
				profiles.PathRule{Path: path, Rule: profiles.Rule{File: "policy.yaml", Line: 3}},
			)
			continue
		}
		if program, is := strings.CutPrefix(b, "$"); is {
			a.Shell = addProgram(a.Shell, program, limits)
			continue
		}
		spawn := [3]int64{1, 1, 1 << 40} // agents of a call, depth, agents in all
		b, numbers, _ := strings.Cut(b, "/")
		if numbers != "" {
			if _, err := fmt.Sscanf(numbers, "%d/%d/%d", &spawn[0], &spawn[1], &spawn[2]); err != nil {
				return nil, fmt.Errorf("limits of bridge %s: %w", b, err)
			}
		}
		b, terms, asks := strings.Cut(b, "!")
		a.Bridges[b] = profiles.Bridge{
			Approval:  approval(asks, terms),
			Name:      b,
			Powers:    profiles.Powers{External: b == "act"},
			Audit:     "metadata",
			Arguments: json.RawMessage(`{"type":"object"}`),
			Limits: profiles.BridgeLimits{
				Concurrent:    16,
				CallsPerRun:   1 << 40,
				SpawnPerCall:  spawn[0],
				Depth:         spawn[1],
				TotalSpawn:    spawn[2],
				ArgumentBytes: 1 << 20,
				ResultBytes:   1 << 20,
				TimeoutMillis: 600_000,
			},
			Rule: profiles.Rule{File: "policy.yaml", Line: 1, Column: 1, Path: b},
		}
	}
	source := "export default " + hex.EncodeToString([]byte(name))
	set, _, err := profiles.Set{Agents: map[string]profiles.Agent{"default": a},
		Modules: map[string]profiles.Module{"m": {Source: source, Digest: profiles.Digest([]byte(source))}}}.Seal()
	return &set, err
}

// addProgram adds a program of /usr/bin to a shell: git, or git!push, which needs an approval and is held for a
// minute at most.
func addProgram(s *profiles.Shell, program string, limits profiles.Limits) *profiles.Shell {
	if s == nil {
		s = &profiles.Shell{Pipes: true, Redirects: true, Substitution: true, Limits: limits}
	}
	program, word, asks := strings.Cut(program, "!")
	b := profiles.Binary{Path: "/usr/bin/" + program, Rule: profiles.Rule{File: "policy.yaml", Line: 2}}
	if asks {
		a := approval(true, "")
		a.HoldMillis = 60_000
		b.Ask = []profiles.AskRule{{Pattern: profiles.Pattern{Words: []string{word}, Text: word}, Approval: *a}}
	}
	s.Binaries = append(s.Binaries, b)
	return s
}

func approval(asks bool, terms string) *profiles.Approval {
	if !asks {
		return nil
	}
	out := &profiles.Approval{
		Count:         1,
		ExpiresMillis: 24 * 3_600_000,
		Rule:          profiles.Rule{File: "policy.yaml", Line: 1, Column: 1, Path: "approval"},
	}
	count, owners, _ := strings.Cut(terms, "@")
	if count != "" {
		_, _ = fmt.Sscanf(count, "%d", &out.Count)
	}
	if owners != "" {
		out.From = strings.Split(owners, "@")
	}
	return out
}

// buffer is a log in memory.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns everything written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// acts performs the bridges act and log, and counts the calls.
type acts struct {
	mu    sync.Mutex
	calls []contract.Call
	gate  chan struct{}
	acted func(contract.Call)
	gone  error
}

// Break makes err the reason why no call can begin. Nil lets calls begin.
func (a *acts) Break(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = err
}

// Ready returns the error of Break.
func (a *acts) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// Hold makes calls wait until the returned function is called.
func (a *acts) Hold() (release func()) {
	gate := make(chan struct{})
	a.mu.Lock()
	a.gate = gate
	a.mu.Unlock()
	return sync.OnceFunc(func() { close(gate) })
}

// Calls returns the calls performed so far.
func (a *acts) Calls() []contract.Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]contract.Call(nil), a.calls...)
}

// Call performs c and returns the number of calls so far.
func (a *acts) Call(ctx context.Context, c contract.Call) (json.RawMessage, error) {
	a.mu.Lock()
	a.calls = append(a.calls, c)
	n, gate := len(a.calls), a.gate
	a.mu.Unlock()
	if a.acted != nil {
		a.acted(c)
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return json.RawMessage(fmt.Sprint(n)), nil
}

// Store returns the stack's store, for tests that look beneath the daemon.
func (s *Stack) Store() *store.Store { return s.store }
