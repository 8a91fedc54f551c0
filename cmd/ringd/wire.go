package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/bridges"
	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/commands"
	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/lockdown"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/metrics"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/network"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/policy"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/records"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/cmd/ringd/internal/notify"
	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/cmd/ringd/internal/worker"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/executors/js"
	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/executors/js/jsguest"
	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/environment"
	"github.com/ringd/ringd/executors/python/wasm/place"
	"github.com/ringd/ringd/executors/python/wasm/wasmguest"
	"github.com/ringd/ringd/executors/shell"
	"github.com/ringd/ringd/executors/shell/shellguest"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/kernel"
	"github.com/ringd/ringd/schema/wire"
)

// The hidden verbs: what this binary is when it starts itself.
const (
	verbCompile = "compile-child"
	verbGuest   = "js-guest"
	verbShell   = "shell-guest"
	verbWasm    = "python-wasm-guest"
)

// syncEvery is how long a record that is only written waits for the disk.
const syncEvery = 100 * time.Millisecond

// hiddenVerb returns what a child process of ringd does. It is looked up before
// anything else is set up, since every guest pays for the way here.
func hiddenVerb(name string) (func(ctx context.Context, in io.Reader, out, stderr io.Writer) int, bool) {
	switch name {
	case verbCompile:
		return func(ctx context.Context, in io.Reader, out, stderr io.Writer) int {
			return worker.CompileMain(ctx, time.Now, in, out, stderr)
		}, true
	case verbScripts:
		return func(_ context.Context, in io.Reader, out, stderr io.Writer) int {
			return worker.ScriptMain(in, out, stderr, readScript)
		}, true
	case verbCalls:
		return worker.CallsMain, true
	case verbGuest:
		return func(ctx context.Context, _ io.Reader, _, _ io.Writer) int {
			return jsguest.Main(ctx, jsguest.Config{Now: time.Now})
		}, true
	case verbShell:
		return func(ctx context.Context, _ io.Reader, _, _ io.Writer) int {
			return shellguest.Main(ctx, shellguest.Config{Now: time.Now, Go: (&daemon.Group{}).Go, Env: config.OfGuest()})
		}, true
	case verbWasm:
		return func(ctx context.Context, _ io.Reader, _, _ io.Writer) int {
			return wasmguest.Main(ctx, wasmguest.Config{Now: time.Now, Sleep: time.Sleep}) //nolint:forbidigo // what the programs of a guest ask for
		}, true
	default:
		return nil, false
	}
}

func (p *program) compiler() childCompiler {
	return childCompiler{cfg: worker.CompileConfig{Path: p.Self, Args: []string{verbCompile}}, pythonWasm: place.There(p.wasmDir())}
}

// stackConfig says how the parts are joined: for one program, or for a daemon.
type stackConfig struct {
	group          *daemon.Group             // owns every goroutine; Close of the stack waits for it
	state          string                    // folder of audit log, store and key
	policyPath     string                    // as it was given, for a hint; "": none
	workspace      func(agent string) string // what $WORKSPACE stands for; nil: nothing
	private        []string                  // what no guest may have, the state folder among it
	strict         bool                      // sync every record
	archive        daemon.Archive            // of the audit log
	segment        int64                     // size of a segment of it; 0: a default
	point          func(label string)        // is told where an archive stands on disk; nil: nobody
	compiler       policy.Compiler
	providers      map[string]contract.Provider
	staleness      time.Duration
	retention      time.Duration
	quota          daemon.Quota
	paused         waiting.Quota
	keys           []seal.Key                                              // of pauses: the first one seals
	ownKey         bool                                                    // before them, one in the state folder, which is made when it is not there
	engines        map[string][]string                                     // guests of other engines, by digest
	teller         notify.Teller                                           // of calls that wait; nil: nobody is told
	guardrails     func(context.Context, *trust.Push, *profiles.Set) error // of signed sets
	trust          *config.Trust                                           // who signs pushes; nil: they are sources
	requestRecords int                                                     // of one caller in a second; 0: the default
	queue          store.Queue                                             // of calls that wait for approvers
	records        int64                                                   // bytes of the log that one run may cause; 0: a default
	floor          uint64                                                  // what has to be free on the disk of state; 0: a default
	still          bool                                                    // nothing is resumed but on request
	pool           poolConfig
	host           network.Host  // what its configuration says of egress
	python         python.Config // what is kept of its guests
	interpreter    string        // of Python; "": what the host has
	probes         bool          // a set that breaks a package of Python is refused
	guests         config.Guests // their users when ringd is root
	shadow         bool          // a candidate decides beside the policy
	groups         bool          // each guest gets a control group where they are delegated
	warm           bool          // start a first guest at once
	metrics        *metrics.Metrics
	lost           func(target, why string) // hears of names without an address; nil: nobody does
	logger         *slog.Logger
	given          func(*profiles.Agent) // of canaries: what a broken ring would give a guest; for tests
}

// newShadow makes what is told of each decision and reports what would have been decided
// otherwise. It returns what tells of a candidate; nil: none is looked for.
func (s *stack) newShadow(c stackConfig, env profiles.Environment) func() *wire.Shadow {
	told := daemon.NewShadow(daemon.ShadowConfig{Compiler: c.compiler, Log: s.recorder, Now: time.Now, Logger: c.logger, Environment: env, Workspace: c.workspace,
		InForce:  func() *profiles.Set { return s.daemon.Set() },
		Enforced: func(agent string) *profiles.Decider { return s.daemon.Enforced(agent) }})
	s.recorder.Beside(told.Decided)
	if !c.shadow {
		return nil
	}
	s.shadow = told
	return told.Status
}

// checkValue checks a value whose size the ring has bounded.
func checkValue(v json.RawMessage) error {
	return value.Check(v, value.Limits{Bytes: int64(len(v)), Nodes: len(v)})
}

// poolConfig says how many guests are kept; see js.Config, and shell.Config of scripts.
type poolConfig struct {
	blank, idle, perKey, reuse int
	scripts                    int
	once                       bool
}

// stack is the running whole. Close ends it in the reverse order.
type stack struct {
	daemon *daemon.Daemon
	kernel *kernel.Ring
	js     *js.Executor
	shell  *shell.Executor
	python *python.Executor
	shadow *daemon.Shadow // nil: no candidate is looked for
	group  *daemon.Group

	environments *environment.Finder // of Python
	probe        commands.PackagesProbe
	tried        *python.Executor // of canaries
	warmed       chan struct{}    // closed when the first guest is there, or cannot be
	cold         error            // why it cannot be; read once warmed is closed
	guests       *guests
	closes       []func() error

	recorder *records.Recorder
	pacer    *records.Pacer // of what calls bring on disk
	lock     *lockdown.Lock
	orders   *lockdown.OrderDesk        // nil: nobody may sign one
	gate     *trust.Gate                // nil: pushes are sources
	noticed  func(records.Notice) error // puts on record what a policy meant to a guest
}

func (s *stack) onClose(f func() error) { s.closes = append(s.closes, f) }

// Close ends the daemon, then closes store and audit log.
func (s *stack) Close() error {
	var errs []error
	for i := len(s.closes) - 1; i >= 0; i-- {
		errs = append(errs, s.closes[i]())
	}
	s.closes = nil
	return errors.Join(errs...)
}

// newStack constructs and joins everything that runs programs. What it refuses
// is unavailable on this host: nothing ran.
func (p *program) newStack(ctx context.Context, c stackConfig) (*stack, error) {
	s := &stack{group: c.group}
	c.point = p.point
	if err := p.buildStack(ctx, c, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (p *program) buildStack(ctx context.Context, c stackConfig, s *stack) (err error) {
	var refusals records.Refusals
	private := slices.Clip(c.private)
	if p.Env.Cache != "" { // whoever writes it writes the code of every guest
		_ = os.MkdirAll(p.Env.Cache, 0o700) // the start of a guest says why it cannot be made
		private = append(private, p.Env.Cache)
	}
	lasting := context.WithoutCancel(ctx) // what a guest tries while the daemon ends is on record as well
	s.noticed = func(n records.Notice) error { return refusals.Notice(lasting, n) }
	out, err := network.Join(lasting, network.JoinConfig{Host: c.host, Go: s.group.Go, Now: time.Now, Metrics: c.metrics, Logger: c.logger, Lost: c.lost})
	if err != nil {
		return cli.Failed(cli.Misused, err)
	}
	s.kernel, err = kernel.New(kernel.Config{
		Go: s.group.Go, Token: rand.Reader, GuestID: c.guests.UID, GuestCount: c.guests.Count, Processors: c.guests.Processors, Groups: c.groups, Spare: c.pool.blank > 0,
		Executors: []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell}, Home: p.Env.Home, Private: private,
		Report: func(v kernel.Violation) error { return refusals.Record(lasting, refusal(v)) },
		Egress: out.Egress, Generation: out.Ring.Generation, Runs: out.Deciders,
	})
	if err != nil {
		return cli.Failed(cli.Unavailable, err)
	}
	// Until the daemon owns the rings, an error on the way closes them here.
	owned := false
	s.onClose(func() error {
		if owned {
			return nil
		}
		err := errors.Join(s.kernel.Close(), out.Ring.Close())
		s.group.Wait()
		return err
	})
	if err := p.newExecutors(ctx, c, s); err != nil {
		return err
	}
	st, err := openRecords(ctx, c, s)
	if err != nil {
		return err
	}
	keys, err := keyring(c)
	if err != nil {
		return err
	}
	recorder, journal := s.recorder, records.NewJournal(st, keys)
	s.guests = &guests{js: s.js, shell: s.shell, python: s.python, group: s.group}
	c.metrics.Living(profiles.ExecutorPython, s.python.Living)
	asked := worker.NewCalls(p.calls())
	s.onClose(asked.Close)
	keeper, desk, err := p.newDesk(c, st, keys, recorder, journal)
	if err != nil {
		return err
	}
	ring, err := interpreter.New(interpreter.Config{
		Executors: map[string]executors.Executor{profiles.ExecutorJS: s.js, profiles.ExecutorPython: s.python, profiles.ExecutorShell: s.shell},
		Tier: func(ctx context.Context, executor string) profiles.Tier {
			return s.kernel.Attestation(ctx, executor).Tier
		},
		Lacks:     s.kernel.Lacks,
		Providers: withShell(out.Providers(c.providers), s.shell), Audit: recorder, Journal: journal, Pacer: s.pacer, Conditions: asked,
		Go: s.group.Go, Now: time.Now, Random: rand.Reader, Generation: recorder.Generation,
		Keeper: keeper, Point: p.point, Narrowed: out.Ring.Recheck, Places: binding.Places{Home: p.Env.Home},
		CheckValue: checkValue,
	})
	if err != nil {
		return err
	}
	s.guests.ring = ring
	s.boundRecords(c, ring)
	refusals.Attach(recorder, ring.Refused)
	out.Attach(recorder, ring)
	rings, err := s.rings(c, ring, out.Ring, lasting)
	if err != nil {
		return errors.Join(err, ring.Close())
	}
	scripts, err := worker.NewScripts(p.scripts())
	if err != nil {
		return errors.Join(err, ring.Close())
	}
	s.onClose(scripts.Close)
	outbox, err := newOutbox(c, st, s.group)
	if err != nil {
		return errors.Join(err, ring.Close())
	}
	env := profiles.Environment{Home: p.Env.Home, Condition: asked.Condition(lasting), Guardrail: asked.Guardrail(lasting), Script: scripts.Decide(lasting)}
	s.daemon, err = daemon.New(ctx, daemon.Config{
		Version: buildVersion().Version, Interpreter: daemon.FromRing(ring), Rings: rings, Compiler: c.compiler,
		Runs: st, Generations: st, Pauses: st, Calls: st, Records: st, Sessions: st,
		Keeper: keeper, Desk: desk, Outbox: outbox, Recorder: recorder, Journal: journal,
		Lock: s.lock, Trust: s.gate, Still: c.still, Point: p.point, HasEngine: s.hasEngine(c.engines), Forget: ring.Forget,
		Group: s.group, Clock: systemClock{}, Random: rand.Reader, Logger: c.logger, Metrics: c.metrics,
		Environment: env, Workspace: c.workspace, Shadow: s.newShadow(c, env),
		Staleness: c.staleness, Retention: c.retention, Quota: c.quota, RequestRecords: c.requestRecords, Reopen: s.reopen(c, st), Room: p.room(c, s, st), Archive: c.archive,
	})
	if err != nil {
		return errors.Join(unavailable(c.state, "start", err), ring.Close())
	}
	owned = true
	s.onClose(s.daemon.Close)
	return nil
}

// boundRecords ends runs that put too much on record.
func (s *stack) boundRecords(c stackConfig, ring *interpreter.Ring) {
	most := cmp.Or(c.records, defaultRecords)
	s.recorder.Bound(most, func(run string) {
		ring.Exceed(run, fmt.Sprintf("the run put more than %d KiB on record (limits.recordsPerRun)", most>>10))
	})
}

// newExecutors makes the executors, and warms that of JavaScript aside.
func (p *program) newExecutors(ctx context.Context, c stackConfig, s *stack) (err error) {
	s.js, err = js.New(js.Config{
		Launcher: records.CountGuests(s.kernel, c.metrics), Argv: []string{p.Self, verbGuest}, CacheDir: p.Env.Cache,
		Go: s.group.Go, Now: time.Now, Engines: c.engines,
		Blank: c.pool.blank, Idle: c.pool.idle, PerKey: c.pool.perKey, Reuse: c.pool.reuse, Once: c.pool.once,
	})
	if err != nil {
		return err
	}
	s.shell, err = shell.New(shell.Config{
		Launcher: records.CountGuests(s.kernel, c.metrics), Argv: []string{p.Self, verbShell},
		Go: s.group.Go, Now: time.Now, Home: p.Env.Home, Blank: c.pool.scripts,
	})
	if err != nil {
		return err
	}
	if s.python, err = p.newPython(c, s); err != nil {
		return err
	}
	s.warmed = make(chan struct{})
	s.group.Go(func() {
		defer close(s.warmed)
		if c.warm {
			s.cold = s.js.Warm(ctx)
		}
	})
	return nil
}

func refusal(v kernel.Violation) records.Refusal {
	return records.Refusal{Run: v.Run, Agent: v.Agent, Executor: v.Executor,
		Layer: v.Layer, Call: v.Call, Detail: v.Detail, PID: v.PID, Count: v.Count, Ends: v.End}
}

// openRecords opens what must outlive the process: the store, then the log,
// which is held against the newest record the store knows of, and the lock.
func openRecords(ctx context.Context, c stackConfig, s *stack) (*store.Store, error) {
	if err := os.MkdirAll(c.state, 0o700); err != nil {
		return nil, cli.Usage("make state folder: %w", cli.Bare(err))
	}
	if err := config.Own(c.state); err != nil {
		return nil, cli.Usage("state folder: %w", cli.Bare(err))
	}
	at := cli.Layout(c.state)
	var open atomic.Pointer[audit.Log]
	head := func() (known store.Head) {
		if log := open.Load(); log != nil {
			h := log.SyncedHead()
			known = store.Head{Seq: h.Seq, Hash: h.Hash.String()}
		}
		return known
	}
	st, err := cli.AfterTheDead(ctx, store.ErrInUse, func() (*store.Store, error) {
		return store.Open(ctx, store.Config{Dir: at.Store, Now: time.Now, Idempotent: idempotent(c.providers), Head: head, Queue: c.queue})
	})
	if err != nil {
		return nil, unavailable(c.state, "open store", err)
	}
	s.onClose(st.Close)
	if s.gate, err = commands.TrustGate(c.trust, at.Pushes, c.guardrails); err != nil {
		return nil, cli.Failed(cli.Misused, err)
	}
	known, err := st.AuditHead(ctx)
	if err != nil {
		return nil, unavailable(c.state, "open store", err)
	}
	least := audit.Head{Seq: known.Seq}
	if known.Seq > 0 {
		if err := least.Hash.UnmarshalText([]byte(known.Hash)); err != nil {
			return nil, unavailable(c.state, "open store", err)
		}
	}
	key, err := audit.LoadKey(at.Key, rand.Reader)
	if err != nil {
		return nil, unavailable(c.state, "load host key", err)
	}
	ticker := time.NewTicker(syncEvery)
	log, err := cli.AfterTheDead(ctx, audit.ErrInUse, func() (*audit.Log, error) {
		return audit.Open(ctx, audit.Config{Dir: at.Audit, Key: key, Now: time.Now, Ticks: ticker.C, Strict: c.strict, Least: least, Point: c.point, SegmentBytes: c.segment})
	})
	if err != nil {
		ticker.Stop()
		return nil, unavailable(c.state, "open audit log", err)
	}
	open.Store(log)
	s.onClose(func() error {
		defer ticker.Stop()
		return log.Close()
	})
	s.recorder = records.NewRecorder(log, c.metrics)
	if s.pacer, err = records.NewPacer(time.Now); err != nil {
		return nil, err
	}
	s.lock, err = lockdown.Open(lockdown.Config{File: at.Lockdown, Recorder: s.recorder, Now: time.Now, Metrics: c.metrics,
		Begun: func() (bool, error) { return lockdownBegun(ctx, at.Audit) }})
	if err != nil {
		return nil, unavailable(c.state, "start", err)
	}
	if s.orders, err = commands.TrustOrders(c.trust, lockdown.OrdersConfig{Lock: s.lock, Recorder: s.recorder, Now: time.Now, Logger: c.logger}); err != nil {
		return nil, cli.Failed(cli.Misused, err)
	}
	return st, nil
}

// reopen takes store and log up again where their disk has room. One for a single
// program ends with it.
func (s *stack) reopen(c stackConfig, st *store.Store) func(context.Context) error {
	if c.still {
		return nil
	}
	return func(ctx context.Context) error {
		if cli.Full(c.state, nil) {
			return fmt.Errorf("%w: no room for %s", audit.ErrDiskFull, c.state)
		}
		if err := st.Reopen(ctx); err != nil {
			return err
		}
		return s.recorder.Reopen(ctx)
	}
}

// room says how the disk of the state folder stands; nil for a single program.
func (p *program) room(c stackConfig, s *stack, st *store.Store) *daemon.Room {
	if c.still {
		return nil
	}
	return &daemon.Room{
		Free:   func() (uint64, bool) { return cli.Room(c.state) },
		Floor:  cli.Floor(c.state, c.floor),
		Tight:  func() bool { return st.Tight() || s.recorder.Tight() },
		Shares: func(path string) bool { return cli.Shares(c.state, p.Env.Home, path) },
	}
}

// unavailable says that audit or store, without which nothing runs, are not to
// be had, and what to do about it.
func unavailable(state, what string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, audit.ErrInUse), errors.Is(err, store.ErrInUse):
		remedy = "; another ringd uses this state folder: stop it, or name another with --state"
	case cli.Full(state, err):
		remedy = "; " + cli.FullRemedy(state)
	case errors.Is(err, audit.ErrTampered):
		remedy = "; see `ringd audit verify`; keep the folder as evidence and start with another"
	case errors.Is(err, store.ErrCorrupt):
		remedy = "; restore the folder from a backup, or start with another"
	case errors.Is(err, os.ErrPermission):
		remedy = "; the state folder must belong to this user"
	}
	return cli.Failed(cli.Unavailable, fmt.Errorf("%s: %w%s", what, err, remedy))
}

// guests keeps the executor in step with the generations: at every commit it
// drops the used guests of older revisions and, on a host that cannot start any,
// keeps the executor closed with the reason in status.
type guests struct {
	js     *js.Executor
	shell  *shell.Executor
	python *python.Executor
	ring   *interpreter.Ring
	group  *daemon.Group
	why    atomic.Pointer[string]
}

// Name is "guests".
func (*guests) Name() string { return "guests" }

// Prepare has nothing to prepare; its commit does not wait.
func (g *guests) Prepare(_ context.Context, set *profiles.Set) (func(), error) {
	revision := ""
	if set != nil {
		revision = set.Revision
	}
	return func() {
		g.group.Go(func() { g.js.Drop(revision); g.shell.Drop(revision); g.python.Drop(revision) })
		if why := g.why.Load(); why != nil {
			g.ring.CloseExecutor(profiles.ExecutorJS, *why)
		}
	}, nil
}

// shut closes the executor now and in every later generation.
func (g *guests) shut(why string) {
	g.why.Store(&why)
	g.ring.CloseExecutor(profiles.ExecutorJS, why)
}

// Close leaves the executor to the interpreter ring, which closes it.
func (*guests) Close() error { return nil }

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// newServer joins a stack and the API, behind a door that is still shut.
func (p *program) newServer(ctx context.Context, f config.File, logger *slog.Logger) (*stack, *api.Listeners, error) {
	providers, err := p.providers(f.Bridges, logger)
	if err != nil {
		return nil, nil, cli.Failed(cli.Misused, err)
	}
	keys, err := p.keys(f.Snapshots)
	if err != nil {
		return nil, nil, cli.Failed(cli.Misused, err)
	}
	teller, err := p.teller(f.Notify)
	if err != nil {
		return nil, nil, cli.Failed(cli.Misused, err)
	}
	m := metrics.New()
	s, err := p.newStack(ctx, stackConfig{
		group: &daemon.Group{Logger: logger}, state: f.State, strict: f.Audit.Strict, segment: f.Audit.SegmentBytes(),
		archive:   daemon.Archive{To: f.Audit.Archive, Bytes: int64(f.Audit.Keep.Bytes), Age: time.Duration(f.Audit.Keep.Age)},
		workspace: f.Workspace.Of, private: f.Private(), host: network.HostOf(f, p.Env),
		compiler: p.compiler(), providers: providers, metrics: m, logger: logger, warm: true, groups: true,
		guests: f.Guests, python: pythonOf(f.Python), interpreter: f.Python.Interpreter, probes: true,
		trust: f.Trust, guardrails: p.guardrails, keys: keys, ownKey: f.Snapshots.Key == nil, engines: f.Snapshots.Engines, teller: teller,
		shadow: f.Shadow != "", staleness: orElse(f.Staleness, daemon.DefaultStaleness), retention: orElse(f.Limits.Retention, defaultRetention),
		floor: uint64(f.Limits.FreeSpace), records: int64(f.Limits.RecordsPerRun),
		quota: daemon.Quota{PerActor: cmp.Or(f.Limits.RunsPerActor, defaultRunsPerActor), Total: cmp.Or(f.Limits.Runs, defaultRuns)},
		paused: waiting.Quota{PerActor: cmp.Or(f.Limits.PausedPerActor, defaultPausedPerActor), Total: cmp.Or(f.Limits.Paused, defaultPaused),
			Bytes: cmp.Or(int64(f.Limits.PausedBytesPerActor), defaultPausedBytes)},
		requestRecords: f.Limits.RequestRecords,
		queue:          store.Queue{Calls: int64(f.Limits.WaitingCalls), Bytes: int64(f.Limits.WaitingBytes)},
		pool:           poolConfig{blank: 2, idle: 8, perKey: 2, reuse: 64, scripts: 1},
	})
	if err != nil {
		return nil, nil, err
	}
	<-s.warmed
	if s.cold != nil {
		logger.Error("no guest can be started: the JavaScript executor is closed", "error", s.cold)
		s.guests.shut(s.cold.Error())
	}
	server, err := api.NewListeners(api.ListenersConfig{
		File: f, Env: p.Env, UID: uint32(os.Getuid()), Daemon: s.daemon, Lockdown: s.lock, Recorder: s.recorder, Metrics: m, Now: time.Now, Logger: logger,
	})
	if err != nil {
		return nil, nil, errors.Join(cli.Failed(cli.Misused, err), s.Close())
	}
	return s, server, nil
}

// providers performs the bridges of a config file.
func (p *program) providers(given map[string]config.Bridge, logger *slog.Logger) (map[string]contract.Provider, error) {
	out := map[string]contract.Provider{}
	for name, b := range given {
		switch b.Provider {
		case "command":
			env := []string{}
			for _, k := range slices.Sorted(maps.Keys(b.Env)) {
				env = append(env, k+"="+b.Env[k])
			}
			c, err := p.commandProvider(bridges.CommandConfig{Argv: b.Command, Dir: b.Dir, Env: env, Idempotent: b.Idempotent,
				Failed: func(c contract.Call, reason string) {
					logger.Warn("bridge failed", "bridge", c.Bridge, "run", c.Run, "call", c.ID, "agent", c.Agent, "reason", reason)
				}})
			if err != nil {
				return nil, fmt.Errorf("bridges.%s: %w", name, err)
			}
			out[name] = c
		case "harness":
			out[name] = contract.Harness{}
		case "log":
			out[name] = interpreter.Log{Logger: logger}
		default:
			return nil, fmt.Errorf("bridges.%s: no provider is called %q", name, b.Provider)
		}
	}
	return out, nil
}

// probe examines what the kernel ring and the executors give on this host.
func (p *program) probe(ctx context.Context, h *cli.Health) {
	group := &daemon.Group{}
	defer group.Wait()
	out, err := network.Join(ctx, network.JoinConfig{Go: group.Go, Now: time.Now}) // which records nothing, and so reaches nothing
	var k *kernel.Ring
	if err == nil {
		defer func() { _ = out.Ring.Close() }()
		k, err = kernel.New(kernel.Config{Go: group.Go, Token: rand.Reader, Report: func(kernel.Violation) error { return nil }, Egress: out.Egress})
	}
	if err != nil {
		h.Add(cli.Layer{Name: "engine", Required: true, State: cli.LayerUnavailable, Reason: err.Error()})
		return
	}
	defer func() { _ = k.Close() }() // the process ends next
	commands.ExamineHost(ctx, commands.DoctorConfig{Kernel: k, Engine: func(ctx context.Context) (around executors.Attestation, digest string, err error) {
		e, err := js.New(js.Config{
			Launcher: k, Argv: []string{p.Self, verbGuest}, CacheDir: p.Env.Cache, Go: group.Go, Now: time.Now, Blank: 1,
		})
		if err != nil {
			return around, "", err
		}
		if err = e.Warm(ctx); err == nil {
			for _, g := range k.Status() {
				around = g.Around
			}
		}
		return around, e.Digest(), errors.Join(err, e.Close())
	}}, h)
}

// commandProvider is a bridge performed by a command of the host.
func (p *program) commandProvider(cfg bridges.CommandConfig) (contract.Provider, error) {
	cfg.Path = p.Env.Path
	return bridges.NewCommand(cfg)
}
