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

// Hidden commands, with which this binary starts itself.
const (
	verbCompile = "compile-child"
	verbGuest   = "js-guest"
	verbShell   = "shell-guest"
	verbWasm    = "python-wasm-guest"
)

// syncEvery is the maximum time until a record that is only written is synced.
const syncEvery = 100 * time.Millisecond

// hiddenVerb returns the function of a child process of ringd. It is looked up before anything else is set
// up, because the start of every guest passes here.
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
			return shellguest.Main(
				ctx,
				shellguest.Config{Now: time.Now, Go: (&daemon.Group{}).Go, Env: config.OfGuest()},
			)
		}, true
	case verbWasm:
		return func(ctx context.Context, _ io.Reader, _, _ io.Writer) int {
			sleep := time.Sleep //nolint:forbidigo // programs of a guest call it
			return wasmguest.Main(ctx, wasmguest.Config{Now: time.Now, Sleep: sleep})
		}, true
	default:
		return nil, false
	}
}

func (p *program) compiler() childCompiler {
	return childCompiler{
		cfg:        worker.CompileConfig{Path: p.Self, Args: []string{verbCompile}},
		pythonWasm: place.There(p.wasmDir()),
	}
}

// stackConfig configures a stack, for one program or for a daemon.
type stackConfig struct {
	group     *daemon.Group // owns every goroutine; Close of the stack waits for it
	logger    *slog.Logger
	metrics   *metrics.Metrics
	state     stateConfig
	policy    policyConfig
	limits    limitsConfig
	guests    guestsConfig
	providers map[string]contract.Provider // of bridges
	private   []string                     // paths that no guest may have, including the state folder
	teller    notify.Teller                // of waiting calls; nil if nobody is notified
	still     bool                         // runs are resumed only on request
}

// stateConfig configures the state folder: audit log, store and keys.
type stateConfig struct {
	folder  string
	strict  bool           // sync every record
	archive daemon.Archive // of the audit log
	segment int64          // bytes of a segment of the audit log; 0 means a default
	records int64          // limit of the bytes of audit records of one run; 0 means a default
	floor   uint64         // bytes that must be free on the disk; 0 means a default
	queue   store.Queue    // of calls that wait for approvers
	keys    []seal.Key     // of pauses: the first one seals
	ownKey  bool           // before keys, use one in the state folder, which is created if it is missing
}

// policyConfig configures the source of policy.
type policyConfig struct {
	compiler   policy.Compiler
	path       string                                                  // as the user gave it, for a hint; may be empty
	workspace  func(agent string) string                               // value of $WORKSPACE; nil if it has none
	trust      *config.Trust                                           // signers of pushes; nil: pushes are sources
	guardrails func(context.Context, *trust.Push, *profiles.Set) error // of signed sets
	shadow     bool                                                    // decide with a candidate in parallel
	staleness  time.Duration
}

// limitsConfig limits runs and requests.
type limitsConfig struct {
	quota          daemon.Quota
	paused         waiting.Quota
	retention      time.Duration
	requestRecords int // of one caller in a second; 0 means a default
}

// guestsConfig configures guests.
type guestsConfig struct {
	pool        poolConfig
	users       config.Guests                // of guests if ringd is root
	groups      bool                         // each guest gets a control group if they are delegated
	warm        bool                         // start a first guest at once
	host        network.Host                 // the configuration of egress
	lost        func(target, why string)     // callback for names without an address; may be nil
	engines     map[string][]string          // guests of other engines, by digest
	python      python.Config                // limits of the pool of Python
	interpreter string                       // of Python; empty means the host's
	probes      bool                         // try canaries and packages of Python before a set is in force
	given       func(canary *profiles.Agent) // changes canaries as a broken ring would; only for tests
}

// newShadow makes the shadow, which decides with a candidate policy in parallel, and connects it to the
// recorder. It returns the function for its status, or nil if there is no candidate folder.
func (s *stack) newShadow(c stackConfig, env profiles.Environment) func() *wire.Shadow {
	shadow := daemon.NewShadow(
		daemon.ShadowConfig{
			Compiler:    c.policy.compiler,
			Log:         s.recorder,
			Now:         time.Now,
			Logger:      c.logger,
			Environment: env,
			Workspace:   c.policy.workspace,
			InForce:     func() *profiles.Set { return s.daemon.Set() },
			Enforced:    func(agent string) *profiles.Decider { return s.daemon.Enforced(agent) },
		},
	)
	s.recorder.Beside(shadow.Decided)
	if !c.policy.shadow {
		return nil
	}
	s.shadow = shadow
	return shadow.Status
}

// checkValue checks the form of a value. The ring has checked its size.
func checkValue(v json.RawMessage) error {
	return value.Check(v, value.Limits{Bytes: int64(len(v)), Nodes: len(v)})
}

// poolConfig configures the number of started guests; see js.Config and shell.Config.
type poolConfig struct {
	blank, idle, perKey, reuse int
	scripts                    int
	once                       bool
}

// stack is the whole of the running parts. Close ends them in reverse order.
type stack struct {
	daemon *daemon.Daemon
	kernel *kernel.Ring
	js     *js.Executor
	shell  *shell.Executor
	python *python.Executor
	shadow *daemon.Shadow // nil without a candidate folder
	group  *daemon.Group

	environments *environment.Finder // of Python
	probe        commands.PackagesProbe
	tried        *python.Executor // Python executor of canaries
	warmed       chan struct{}    // closed when the first guest is ready, or failed
	cold         error            // why it failed; read once warmed is closed
	guests       *guestsRing
	closes       []func() error

	recorder *records.Recorder
	pacer    *records.Pacer // limits the bytes that calls write to disk
	lock     *lockdown.Lock
	orders   *lockdown.OrderDesk        // nil if no role may sign orders
	gate     *trust.Gate                // if nil, pushes are sources
	noticed  func(records.Notice) error // records the effect of a policy on a guest
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

// newStack constructs and connects everything that runs programs. An error means that something is
// unavailable on this host, and nothing ran.
func (p stackBuilder) newStack(ctx context.Context, c stackConfig) (*stack, error) {
	s := &stack{group: c.group}
	if err := p.buildStack(ctx, c, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// buildStack constructs the parts in the order in which they start. Each stage gets the parts of the previous
// stages.
func (p stackBuilder) buildStack(ctx context.Context, c stackConfig, s *stack) error {
	k, err := p.buildRings(ctx, c, s)
	if err != nil {
		return err
	}
	if err := p.buildExecutors(ctx, c, s); err != nil {
		return err
	}
	st, err := p.openState(ctx, c, s)
	if err != nil {
		return err
	}
	i, err := p.buildInterpreter(ctx, c, s, k, st)
	if err != nil {
		return err
	}
	if err := p.buildDaemon(ctx, c, s, k, st, i); err != nil {
		return errors.Join(err, i.ring.Close())
	}
	return nil
}

// ringParts are the rings around the interpreter: the network and the kernel.
type ringParts struct {
	out      *network.Joined
	refusals *records.Refusals
	owned    *bool // the daemon owns the rings, and closes them
}

// buildRings constructs the network and the kernel ring, in which guests run.
func (p stackBuilder) buildRings(ctx context.Context, c stackConfig, s *stack) (ringParts, error) {
	k := ringParts{refusals: &records.Refusals{}, owned: new(bool)}
	private := slices.Clip(c.private)
	if p.Env.Cache != "" { // a writer of the cache could change the code of every guest
		_ = os.MkdirAll(p.Env.Cache, 0o700) // if this fails, the start of a guest reports it
		private = append(private, p.Env.Cache)
	}
	lasting := context.WithoutCancel(ctx) // acts of guests are recorded even while the daemon ends
	s.noticed = func(n records.Notice) error { return k.refusals.Notice(lasting, n) }
	var err error
	k.out, err = network.Join(lasting, network.JoinConfig{Host: c.guests.host, Go: s.group.Go, Now: time.Now,
		Metrics: c.metrics, Logger: c.logger, Lost: c.guests.lost})
	if err != nil {
		return k, cli.Failed(cli.Misused, err)
	}
	s.kernel, err = kernel.New(kernel.Config{
		Go: s.group.Go, Token: rand.Reader, GuestID: c.guests.users.UID, GuestCount: c.guests.users.Count,
		Processors: c.guests.users.Processors, Groups: c.guests.groups, Spare: c.guests.pool.blank > 0,
		Executors: []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell},
		Home:      p.Env.Home, Private: private,
		Report: func(v kernel.Violation) error { return k.refusals.Record(lasting, refusal(v)) },
		Egress: k.out.Egress, Generation: k.out.Ring.Generation, Runs: k.out.Deciders,
	})
	if err != nil {
		return k, cli.Failed(cli.Unavailable, err)
	}
	// Until the daemon owns the rings, an error closes them here.
	s.onClose(func() error {
		if *k.owned {
			return nil
		}
		err := errors.Join(s.kernel.Close(), k.out.Ring.Close())
		s.group.Wait()
		return err
	})
	return k, nil
}

// stateParts are the parts on disk, and those that write to them.
type stateParts struct {
	store   *store.Store
	journal *records.Journal
	keeper  *waiting.Keeper
	desk    *waiting.Desk
}

// openState opens the state folder.
func (p stackBuilder) openState(ctx context.Context, c stackConfig, s *stack) (out stateParts, err error) {
	if out.store, err = openRecords(ctx, c, s, p.point); err != nil {
		return out, err
	}
	keys, err := keyring(c)
	if err != nil {
		return out, err
	}
	out.journal = records.NewJournal(out.store, keys)
	out.keeper, out.desk, err = p.newDesk(c, out.store, keys, s.recorder, out.journal)
	return out, err
}

// interpreterParts are the interpreter ring, and the child processes that evaluate conditions on calls.
type interpreterParts struct {
	ring  *interpreter.Ring
	asked *worker.Calls
}

// buildInterpreter constructs the interpreter ring, which answers guests.
func (p stackBuilder) buildInterpreter(
	ctx context.Context,
	c stackConfig,
	s *stack,
	k ringParts,
	st stateParts,
) (out interpreterParts, err error) {
	s.guests = &guestsRing{js: s.js, shell: s.shell, python: s.python, group: s.group}
	c.metrics.Living(profiles.ExecutorPython, s.python.Living)
	out.asked = worker.NewCalls(p.calls())
	s.onClose(out.asked.Close)
	out.ring, err = interpreter.New(interpreter.Config{
		Executors: map[string]executors.Executor{
			profiles.ExecutorJS: s.js, profiles.ExecutorPython: s.python, profiles.ExecutorShell: s.shell,
		},
		Tier: func(ctx context.Context, executor string) profiles.Tier {
			return s.kernel.Attestation(ctx, executor).Tier
		},
		Lacks:     s.kernel.Lacks,
		Providers: withShell(k.out.Providers(c.providers), s.shell),
		Audit:     s.recorder, Journal: st.journal, Pacer: s.pacer, Conditions: out.asked,
		Go: s.group.Go, Now: time.Now, Random: rand.Reader, Generation: s.recorder.Generation,
		Keeper: st.keeper, Point: p.point, Narrowed: k.out.Ring.Recheck, Places: binding.Places{Home: p.Env.Home},
		CheckValue: checkValue,
	})
	if err != nil {
		return out, err
	}
	s.guests.ring = out.ring
	s.limitRecords(c, out.ring)
	k.refusals.Attach(s.recorder, out.ring.Refused)
	k.out.Attach(s.recorder, out.ring)
	return out, nil
}

// buildDaemon constructs the daemon, which owns the rings from then on.
func (p stackBuilder) buildDaemon(
	ctx context.Context,
	c stackConfig,
	s *stack,
	k ringParts,
	st stateParts,
	i interpreterParts,
) error {
	lasting := context.WithoutCancel(ctx)
	rings, err := s.rings(c, i.ring, k.out.Ring, lasting)
	if err != nil {
		return err
	}
	scripts, err := worker.NewScripts(p.scripts())
	if err != nil {
		return err
	}
	s.onClose(scripts.Close)
	outbox, err := newOutbox(c, st.store, s.group)
	if err != nil {
		return err
	}
	env := profiles.Environment{Home: p.Env.Home, Condition: i.asked.Condition(lasting),
		Guardrail: i.asked.Guardrail(lasting), Script: scripts.Decide(lasting)}
	s.daemon, err = daemon.New(ctx, daemon.Config{
		Version: buildVersion().Version, Interpreter: daemon.FromRing(i.ring), Store: st.store,
		Policy: daemon.Policy{Rings: rings, Compiler: c.policy.compiler, Trust: s.gate, Environment: env,
			Workspace: c.policy.workspace, Staleness: c.policy.staleness},
		Waiting: daemon.Waiting{Keeper: st.keeper, Desk: st.desk, Outbox: outbox},
		Limits: daemon.Limits{Quota: c.limits.quota, Retention: c.limits.retention,
			RequestRecords: c.limits.requestRecords},
		Disk:     daemon.Disk{Reopen: s.reopen(c, st.store), Room: p.room(c, s, st.store), Archive: c.state.archive},
		Recorder: s.recorder, Journal: st.journal, Lock: s.lock, Still: c.still, Point: p.point,
		HasEngine: s.hasEngine(c.guests.engines), Forget: i.ring.Forget, Group: s.group, Clock: systemClock{},
		Random: rand.Reader, Logger: c.logger, Metrics: c.metrics, Shadow: s.newShadow(c, env),
	})
	if err != nil {
		return stateUnavailable(c.state.folder, "start", err)
	}
	*k.owned = true
	s.onClose(s.daemon.Close)
	return nil
}

// limitRecords ends runs that cause too many audit records.
func (s *stack) limitRecords(c stackConfig, ring *interpreter.Ring) {
	most := cmp.Or(c.state.records, defaultRecords)
	s.recorder.Bound(most, func(run string) {
		ring.Exceed(run, fmt.Sprintf("the run caused more than %d KiB of audit records (limits.recordsPerRun)",
			most>>10))
	})
}

// buildExecutors constructs the executors, and starts a first JavaScript guest in the background.
func (p stackBuilder) buildExecutors(ctx context.Context, c stackConfig, s *stack) (err error) {
	s.js, err = js.New(js.Config{
		Launcher: records.CountGuests(s.kernel, c.metrics), Argv: []string{p.Self, verbGuest}, CacheDir: p.Env.Cache,
		Go: s.group.Go, Now: time.Now, Engines: c.guests.engines,
		Blank: c.guests.pool.blank, Idle: c.guests.pool.idle, PerKey: c.guests.pool.perKey,
		Reuse: c.guests.pool.reuse, Once: c.guests.pool.once,
	})
	if err != nil {
		return err
	}
	s.shell, err = shell.New(shell.Config{
		Launcher: records.CountGuests(s.kernel, c.metrics), Argv: []string{p.Self, verbShell},
		Go: s.group.Go, Now: time.Now, Home: p.Env.Home, Blank: c.guests.pool.scripts,
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
		if c.guests.warm {
			s.cold = s.js.Warm(ctx)
		}
	})
	return nil
}

func refusal(v kernel.Violation) records.Refusal {
	return records.Refusal{Run: v.Run, Agent: v.Agent, Executor: v.Executor,
		Layer: v.Layer, Call: v.Call, Detail: v.Detail, PID: v.PID, Count: v.Count, Ends: v.End}
}

// openRecords opens what outlives the process: the store, then the log, which is verified with the newest
// record that the store knows, and the lock.
func openRecords(ctx context.Context, c stackConfig, s *stack, point func(label string)) (*store.Store, error) {
	if err := os.MkdirAll(c.state.folder, 0o700); err != nil {
		return nil, cli.Usage("make state folder: %w", cli.Bare(err))
	}
	if err := config.Own(c.state.folder); err != nil {
		return nil, cli.Usage("state folder: %w", cli.Bare(err))
	}
	at := cli.Layout(c.state.folder)
	var log atomic.Pointer[audit.Log]
	st, err := openStore(ctx, c, &log)
	if err != nil {
		return nil, stateUnavailable(c.state.folder, "open store", err)
	}
	s.onClose(st.Close)
	if s.gate, err = commands.TrustGate(c.policy.trust, at.Pushes, c.policy.guardrails); err != nil {
		return nil, cli.Failed(cli.Misused, err)
	}
	if err := openLog(ctx, c, s, st, point, &log); err != nil {
		return nil, err
	}
	s.recorder = records.NewRecorder(log.Load(), c.metrics)
	if s.pacer, err = records.NewPacer(time.Now); err != nil {
		return nil, err
	}
	s.lock, err = lockdown.Open(
		lockdown.Config{File: at.Lockdown, Recorder: s.recorder, Now: time.Now, Metrics: c.metrics,
			Begun: func() (bool, error) { return lockdownBegun(ctx, at.Audit) }},
	)
	if err != nil {
		return nil, stateUnavailable(c.state.folder, "start", err)
	}
	orders := lockdown.OrdersConfig{Lock: s.lock, Recorder: s.recorder, Now: time.Now, Logger: c.logger}
	if s.orders, err = commands.TrustOrders(c.policy.trust, orders); err != nil {
		return nil, cli.Failed(cli.Misused, err)
	}
	return st, nil
}

// openStore opens the store. It records the head of the log with each commit, once the log is open.
func openStore(ctx context.Context, c stackConfig, log *atomic.Pointer[audit.Log]) (*store.Store, error) {
	head := func() (known store.Head) {
		if log := log.Load(); log != nil {
			h := log.SyncedHead()
			known = store.Head{Seq: h.Seq, Hash: h.Hash.String()}
		}
		return known
	}
	cfg := store.Config{Dir: cli.Layout(c.state.folder).Store, Now: time.Now, Idempotent: idempotent(c.providers),
		Head: head, Queue: c.state.queue}
	return cli.OpenWithRetry(ctx, store.ErrInUse, func() (*store.Store, error) { return store.Open(ctx, cfg) })
}

// openLog opens the audit log, which must contain the newest record that the store knows.
func openLog(
	ctx context.Context,
	c stackConfig,
	s *stack,
	st *store.Store,
	point func(label string),
	log *atomic.Pointer[audit.Log],
) error {
	at := cli.Layout(c.state.folder)
	known, err := st.AuditHead(ctx)
	if err != nil {
		return stateUnavailable(c.state.folder, "open store", err)
	}
	least := audit.Head{Seq: known.Seq}
	if known.Seq > 0 {
		if err := least.Hash.UnmarshalText([]byte(known.Hash)); err != nil {
			return stateUnavailable(c.state.folder, "open store", err)
		}
	}
	key, err := audit.LoadKey(at.Key, rand.Reader)
	if err != nil {
		return stateUnavailable(c.state.folder, "load host key", err)
	}
	ticker := time.NewTicker(syncEvery)
	cfg := audit.Config{Dir: at.Audit, Key: key, Now: time.Now, Ticks: ticker.C, Strict: c.state.strict, Least: least,
		Point: point, SegmentBytes: c.state.segment}
	opened, err := cli.OpenWithRetry(ctx, audit.ErrInUse, func() (*audit.Log, error) { return audit.Open(ctx, cfg) })
	if err != nil {
		ticker.Stop()
		return stateUnavailable(c.state.folder, "open audit log", err)
	}
	log.Store(opened)
	s.onClose(func() error {
		defer ticker.Stop()
		return opened.Close()
	})
	return nil
}

// reopen returns a function that reopens store and log if their disk has space. It is nil for a single
// program, which ends with them.
func (s *stack) reopen(c stackConfig, st *store.Store) func(context.Context) error {
	if c.still {
		return nil
	}
	return func(ctx context.Context) error {
		if cli.Full(c.state.folder, nil) {
			return fmt.Errorf("%w: no room for %s", audit.ErrDiskFull, c.state.folder)
		}
		if err := st.Reopen(ctx); err != nil {
			return err
		}
		return s.recorder.Reopen(ctx)
	}
}

// room reports the free space on the disk of the state folder. It is nil for a single program.
func (p stackBuilder) room(c stackConfig, s *stack, st *store.Store) *daemon.Room {
	if c.still {
		return nil
	}
	return &daemon.Room{
		Free:   func() (uint64, bool) { return cli.Room(c.state.folder) },
		Floor:  cli.Floor(c.state.folder, c.state.floor),
		Tight:  func() bool { return st.Tight() || s.recorder.Tight() },
		Shares: func(path string) bool { return cli.Shares(c.state.folder, p.Env.Home, path) },
	}
}

// stateUnavailable returns the error for an audit log or store that cannot be opened, with a remedy. Nothing runs
// without them.
func stateUnavailable(state, what string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, audit.ErrInUse), errors.Is(err, store.ErrInUse):
		remedy = "; another ringd uses this state folder: stop it, or give another folder with --state"
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

// guestsRing is the ring that keeps the executor in step with the generations. Each commit drops the used guests
// of older revisions. On a host that cannot start guests it keeps the executor closed, with the reason in the
// status.
type guestsRing struct {
	js     *js.Executor
	shell  *shell.Executor
	python *python.Executor
	ring   *interpreter.Ring
	group  *daemon.Group
	why    atomic.Pointer[string]
}

func (*guestsRing) Name() string { return "guests" }

// Prepare prepares nothing. Its commit does not wait.
func (g *guestsRing) Prepare(_ context.Context, set *profiles.Set) (func(), error) {
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
func (g *guestsRing) shut(why string) {
	g.why.Store(&why)
	g.ring.CloseExecutor(profiles.ExecutorJS, why)
}

// Close does nothing: the interpreter ring closes the executor.
func (*guestsRing) Close() error { return nil }

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// newServer connects a stack with the API. Its listeners are not open yet.
func (p stackBuilder) newServer(
	ctx context.Context,
	f config.File,
	logger *slog.Logger,
) (*stack, *api.Listeners, error) {
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
		group: &daemon.Group{Logger: logger}, logger: logger, metrics: m, private: f.Private(), providers: providers,
		teller: teller, state: stateConfigOf(f, keys), limits: limitsConfigOf(f.Limits),
		policy: policyConfig{
			workspace: f.Workspace.Of, compiler: p.compiler(), trust: f.Trust, guardrails: p.policyVerbs().guardrails,
			shadow: f.Shadow != "", staleness: orElse(f.Staleness, daemon.DefaultStaleness),
		},
		guests: guestsConfig{
			host: network.HostOf(f, p.Env), warm: true, groups: true, users: f.Guests, python: pythonPool(f.Python),
			interpreter: f.Python.Interpreter, probes: true, engines: f.Snapshots.Engines,
			pool: poolConfig{blank: 2, idle: 8, perKey: 2, reuse: 64, scripts: 1},
		},
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
		File: f, Env: p.Env, UID: uint32(os.Getuid()), Daemon: s.daemon, Lockdown: s.lock, Recorder: s.recorder,
		Metrics: m, Now: time.Now, Logger: logger,
	})
	if err != nil {
		return nil, nil, errors.Join(cli.Failed(cli.Misused, err), s.Close())
	}
	return s, server, nil
}

// stateConfigOf returns the configuration of the state folder from a config file.
func stateConfigOf(f config.File, keys []seal.Key) stateConfig {
	return stateConfig{
		folder: f.State, strict: f.Audit.Strict, segment: f.Audit.SegmentBytes(),
		archive: daemon.Archive{
			To: f.Audit.Archive, Bytes: int64(f.Audit.Keep.Bytes), Age: time.Duration(f.Audit.Keep.Age),
		},
		keys: keys, ownKey: f.Snapshots.Key == nil,
		floor: uint64(f.Limits.FreeSpace), records: int64(f.Limits.RecordsPerRun),
		queue: store.Queue{Calls: int64(f.Limits.WaitingCalls), Bytes: int64(f.Limits.WaitingBytes)},
	}
}

// limitsConfigOf returns the limits from a config file.
func limitsConfigOf(l config.Limits) limitsConfig {
	return limitsConfig{
		retention: orElse(l.Retention, defaultRetention),
		quota: daemon.Quota{
			PerActor: cmp.Or(l.RunsPerActor, defaultRunsPerActor), Total: cmp.Or(l.Runs, defaultRuns),
		},
		paused: waiting.Quota{
			PerActor: cmp.Or(l.PausedPerActor, defaultPausedPerActor),
			Total:    cmp.Or(l.Paused, defaultPaused),
			Bytes:    cmp.Or(int64(l.PausedBytesPerActor), defaultPausedBytes),
		},
		requestRecords: l.RequestRecords,
	}
}

// providers returns the providers of the bridges in a config file.
func (p stackBuilder) providers(
	given map[string]config.Bridge,
	logger *slog.Logger,
) (map[string]contract.Provider, error) {
	out := map[string]contract.Provider{}
	for name, b := range given {
		switch b.Provider {
		case "command":
			env := []string{}
			for _, k := range slices.Sorted(maps.Keys(b.Env)) {
				env = append(env, k+"="+b.Env[k])
			}
			c, err := p.commandProvider(
				bridges.CommandConfig{Argv: b.Command, Dir: b.Dir, Env: env, Idempotent: b.Idempotent,
					Failed: func(c contract.Call, reason string) {
						logger.Warn(
							"bridge failed",
							"bridge",
							c.Bridge,
							"run",
							c.Run,
							"call",
							c.ID,
							"agent",
							c.Agent,
							"reason",
							reason,
						)
					}},
			)
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

// probe examines what the kernel ring and the executors provide on this host.
func (p *program) probe(ctx context.Context, h *cli.Health) {
	group := &daemon.Group{}
	defer group.Wait()
	out, err := network.Join(
		ctx,
		network.JoinConfig{Go: group.Go, Now: time.Now},
	) // records nothing, so it reaches nothing
	var k *kernel.Ring
	if err == nil {
		defer func() { _ = out.Ring.Close() }()
		k, err = kernel.New(
			kernel.Config{
				Go:     group.Go,
				Token:  rand.Reader,
				Report: func(kernel.Violation) error { return nil },
				Egress: out.Egress,
			},
		)
	}
	if err != nil {
		h.Add(cli.Layer{Name: "engine", Required: true, State: cli.LayerUnavailable, Reason: err.Error()})
		return
	}
	defer func() { _ = k.Close() }() // the process ends next
	commands.ExamineHost(
		ctx,
		commands.DoctorConfig{
			Kernel: k,
			Engine: func(ctx context.Context) (around executors.Attestation, digest string, err error) {
				e, err := js.New(js.Config{
					Launcher: k, Argv: []string{p.Self, verbGuest}, CacheDir: p.Env.Cache,
					Go: group.Go, Now: time.Now, Blank: 1,
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
			},
		},
		h,
	)
}

// commandProvider returns a provider that runs a command of the host.
func (p stackBuilder) commandProvider(cfg bridges.CommandConfig) (contract.Provider, error) {
	cfg.Path = p.Env.Path
	return bridges.NewCommand(cfg)
}
