package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/schema/wire"
)

// defaultWithin limits the time of all canary guests of one set.
const defaultWithin = 30 * time.Second

// recorder writes to the audit log.
type recorder interface {
	Append(ctx context.Context, r audit.Record, d audit.Durability) (audit.Head, error)
}

// CanaryConfig configures the ring. All fields but Within, Locked and Given are required.
type CanaryConfig struct {
	Executors map[string]executors.Executor // executors that canaries start guests of
	Recorder  recorder
	Go        func(func())
	Now       func() time.Time
	Random    io.Reader
	Within    time.Duration // zero means 30 s
	// Locked reports whether a lockdown holds. Nil means never. A set that is prepared during a lockdown gets
	// the result "pending".
	Locked func() bool
	// Given changes the profile of a guest, as a broken ring would, for tests. It may be nil.
	Given func(a *profiles.Agent)
}

// canaryRing starts real guests that try actions which a set denies, before the set comes into force. Each
// executor that the set grants tries a module, a host and a program. If a guest is not refused or does not
// answer, the set is rejected for its executor, as if the executor could not take its profile.
//
// The canaries do not ask a decider. Their guests have the profile of an agent of the new set, with its
// mounts, programs and filters. They belong to no agent, because their set is not in force yet. The host that
// they must not reach is a listener on loopback, so a guest in the host's network namespace would reach it.
// The daemon commits a set only after this ring has prepared it. It is safe for concurrent use.
type canaryRing struct {
	cfg CanaryConfig
	now atomic.Pointer[map[string]wire.Canary] // by executor
}

// NewCanary checks cfg. It starts no guest.
func NewCanary(cfg CanaryConfig) (*canaryRing, error) {
	if len(cfg.Executors) == 0 || cfg.Recorder == nil || cfg.Go == nil || cfg.Now == nil || cfg.Random == nil {
		return nil, errors.New("daemon.CanaryConfig: Executors, Recorder, Go, Now and Random are required")
	}
	if cfg.Within == 0 {
		cfg.Within = defaultWithin
	}
	r := &canaryRing{cfg: cfg}
	r.now.Store(&map[string]wire.Canary{})
	return r, nil
}

// Name is "canary".
func (*canaryRing) Name() string { return "canary" }

// Close does nothing: a Prepare ends with its context.
func (*canaryRing) Close() error { return nil }

// Loaded returns the canary result of an executor for the set in force, or for the set that it rejected last.
func (r *canaryRing) Loaded(executor string) (wire.Canary, bool) {
	c, ok := (*r.now.Load())[executor]
	return c, ok
}

// failure rejects the profile of one executor.
type failure struct {
	executor string
	error
}

// Executor returns the name of the executor that rejects its profile; see policy.Ring.
func (f *failure) Executor() string { return f.executor }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.error }

// Prepare starts one guest of each executor that set grants, all at once, and has it try what set denies. Its
// error names the first executor, by name, whose guest was not refused or did not answer. That failure is
// recorded as canary_failed. An executor that cannot run on this host is reported as unavailable, which is no
// error. If the host could not check whether the executor can run, the error has a method Later() bool.
// commit makes the results visible in the status.
func (r *canaryRing) Prepare(ctx context.Context, set *profiles.Set) (commit func(), err error) {
	results := map[string]wire.Canary{}
	commit = func() { r.now.Store(&results) }
	if set == nil || len(set.Agents) == 0 {
		return commit, nil
	}
	chosen := agentByExecutor(set)
	if r.cfg.Locked != nil && r.cfg.Locked() {
		for executor, a := range chosen {
			results[executor] = wire.Canary{
				State:  wire.CanaryPending,
				Agent:  a.Name,
				Reason: "nothing starts during a lockdown",
			}
		}
		return commit, nil
	}
	within, cancel := context.WithTimeout(ctx, r.cfg.Within)
	defer cancel()
	trap, err := newTrap(r.cfg.Go)
	if err != nil {
		return nil, fmt.Errorf("listen for canaries: %w", err)
	}
	defer trap.close()
	var mu sync.Mutex
	var short error // why the host could not check whether an executor can run
	var all sync.WaitGroup
	for executor, a := range chosen {
		all.Add(1)
		r.cfg.Go(func() {
			defer all.Done()
			c, err := r.tryExecutor(within, executor, set, a, trap.port)
			mu.Lock()
			defer mu.Unlock()
			results[executor], short = c, errors.Join(short, err)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("canary: %w", context.Cause(ctx))
	}
	if trap.met() { // the listener cannot tell which guest it was
		for executor, c := range results {
			c.State = wire.CanaryFailed
			c.Reason = "a guest reached a listener of this host that the policy does not grant"
			results[executor] = c
		}
	}
	if err := r.recordFailures(ctx, set, results); err != nil || short == nil {
		return commit, err
	}
	return nil, fmt.Errorf("canary: %w", short)
}

// recordFailures records the failures and returns the first one.
func (r *canaryRing) recordFailures(ctx context.Context, set *profiles.Set, results map[string]wire.Canary) error {
	var first error
	for _, executor := range slices.Sorted(maps.Keys(results)) {
		c := results[executor]
		if c.State != wire.CanaryFailed {
			continue
		}
		shown := maps.Clone(*r.now.Load())
		shown[executor] = c
		r.now.Store(&shown)
		rec := audit.Record{
			Kind:       audit.CanaryFailed,
			Actor:      "ringd",
			Agent:      c.Agent,
			Revision:   set.Revision,
			Capability: "executor:" + executor,
			Detail:     map[string]string{"reason": c.Reason, "tried": strings.Join(c.Tried, ", ")},
		}
		_, err := r.cfg.Recorder.Append(context.WithoutCancel(ctx), rec, audit.Synced)
		if first == nil {
			first = &failure{executor, errors.Join(fmt.Errorf("canary of %s: %s", executor, c.Reason), err)}
		}
	}
	return first
}

// agentByExecutor returns the first agent of each executor, by name.
func agentByExecutor(set *profiles.Set) map[string]profiles.Agent {
	out := map[string]profiles.Agent{}
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		for executor, granted := range map[string]bool{
			profiles.ExecutorJS: a.JS != nil, profiles.ExecutorPython: a.Python != nil,
			profiles.ExecutorShell: a.Shell != nil,
		} {
			if _, ok := out[executor]; granted && !ok {
				out[executor] = a
			}
		}
	}
	return out
}

// tryExecutor runs the canary programs of one executor. short is set if the host could not check whether they can
// run.
func (r *canaryRing) tryExecutor(
	ctx context.Context,
	executor string,
	set *profiles.Set,
	a profiles.Agent,
	port int,
) (out wire.Canary, short error) {
	began := r.cfg.Now()
	out = wire.Canary{State: wire.CanaryLoaded, Agent: a.Name, Tried: []string{}}
	defer func() { out.TookMillis = r.cfg.Now().Sub(began).Milliseconds() }()
	e := r.cfg.Executors[executor]
	if e == nil {
		out.State, out.Reason = wire.CanaryUnavailable, "this build has no such executor"
		return out, nil
	}
	var word [8]byte
	if _, err := io.ReadFull(r.cfg.Random, word[:]); err != nil {
		out.State, out.Reason = wire.CanaryFailed, "no random name: "+err.Error()
		return out, nil
	}
	a.Mode = profiles.ModeEnforce // in mode audit nothing would be refused
	decider := profiles.NewDecider(a, set.Revision, profiles.Environment{Now: began})
	given := a
	given.Name = "" // no agent: its set is not in force yet
	if r.cfg.Given != nil {
		r.cfg.Given(&given)
	}
	answers := &deciderHost{profiles.NewDecider(given, set.Revision, profiles.Environment{Now: began})}
	b := bait{randomName: fmt.Sprintf("ringd_canary_%x", word), port: port, exists: fileExists}
	for _, p := range trials(executor, decider, &a, b) {
		if executor != profiles.ExecutorShell && p.trials[0].kind != kindImport {
			out.Reason = "no module is denied: none was tried"
		}
		for _, t := range p.trials {
			out.Tried = append(out.Tried, t.kind+" "+t.what)
		}
		o, err := e.Run(
			ctx,
			executors.Run{
				ID:       "canary-" + executor,
				Actor:    "ringd",
				Agent:    &given,
				Revision: set.Revision,
				Modules:  set.Modules,
				Program: executors.Program{
					Name:     "canary",
					Language: executor,
					Source:   p.source,
				},
				Limits: canaryLimits(executor),
			},
			answers,
		)
		if why := unavailable(err); why != "" {
			out.State, out.Reason, out.Tried = wire.CanaryUnavailable, why, []string{}
			if lacks := (*executors.Unavailable)(nil); errors.As(err, &lacks) && lacks.Later() {
				return out, lacks
			}
			return out, nil
		}
		if why := checkOutcome(executor, p, o, err); why != "" {
			out.State, out.Reason = wire.CanaryFailed, why
			return out, nil
		}
	}
	return out, nil
}

// unavailable returns the reason why an executor cannot run here, or "" if it can.
func unavailable(err error) string {
	var denial *profiles.Denial
	if errors.As(err, &denial) {
		switch denial.Decision.Code {
		case profiles.CodeExecutorUnavailable, profiles.CodeTierUnavailable, profiles.CodeRingUnavailable:
			return denial.Decision.Reason
		}
	}
	var lacks *executors.Unavailable
	if errors.As(err, &lacks) {
		return lacks.Text
	}
	return ""
}

// checkOutcome returns what is wrong with the outcome of a canary program, or "" if all of its trials were
// refused.
func checkOutcome(executor string, p program, o executors.Outcome, err error) string {
	if err != nil {
		return "its guest did not answer: " + err.Error()
	}
	if executor == profiles.ExecutorShell {
		if o.State == executors.StateDenied && o.ExitCode == profiles.ExitRefused && len(o.Denials) > 0 {
			return ""
		}
		return fmt.Sprintf(
			"%s %s was not refused: %s, exit code %d",
			p.trials[0].kind,
			p.trials[0].what,
			o.State,
			o.ExitCode,
		)
	}
	var said []string
	if o.State != executors.StateDone && o.State != executors.StateDenied || json.Unmarshal(o.Value, &said) != nil ||
		len(said) != len(p.trials) {
		why := string(o.State)
		if o.Error != nil {
			why += ": " + o.Error.Name + ": " + o.Error.Message
		}
		return "its guest did not answer: " + why
	}
	for i, t := range p.trials {
		if said[i] != "refused" {
			return fmt.Sprintf("%s %s was not refused: %s", t.kind, t.what, said[i])
		}
		if t.kind == kindImport &&
			!slices.ContainsFunc(
				o.Denials,
				func(d profiles.Decision) bool { return strings.Contains(d.Reason, t.what) },
			) {
			return fmt.Sprintf("import %s was not refused by the policy", t.what)
		}
	}
	return ""
}

// canaryLimits returns small limits: a canary program does nearly nothing.
func canaryLimits(executor string) profiles.Limits {
	stack, memory := int64(8<<20), int64(256<<20)
	if executor == profiles.ExecutorJS { // no larger than what pre-started guests can have
		stack, memory = 256<<10, 64<<20
	}
	n := func(v int64) *int64 { return &v }
	return profiles.Limits{
		CPUMillis: n(
			10_000,
		), WallMillis: n(20_000), MemoryBytes: &memory, OutputBytes: n(64 << 10), ResultBytes: n(64 << 10),
		StackBytes: &stack, Processes: n(16), Files: n(256), RefusedCalls: n(16), PauseMillis: n(1),
	}
}

// fileExists reports whether a file exists on this host.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// deciderHost answers a canary guest by its profile and performs no call.
type deciderHost struct{ decider *profiles.Decider }

// Ask decides. An allowed call gets an answer as if it had been performed.
func (h *deciderHost) Ask(_ context.Context, q executors.Question) (executors.Answer, error) {
	if q.Action != nil {
		b, err := json.Marshal(h.decider.Decide(*q.Action))
		return executors.Answer{Value: b}, err
	}
	var dec profiles.Decision
	var args []json.RawMessage
	var first string
	if json.Unmarshal(q.Args, &args) == nil && len(args) > 0 && json.Unmarshal(args[0], &first) == nil {
		switch q.Bridge {
		case "fetch":
			dec = h.decider.Decide(profiles.Action{Egress: &egress.Action{Kind: "fetch", Target: first}})
		case "shell":
			dec = h.decider.Decide(profiles.Action{Shell: &profiles.ShellAction{Script: first}})
		}
	}
	if dec.Verdict == profiles.Allow {
		return executors.Answer{Value: json.RawMessage("null")}, nil
	}
	return executors.Answer{
		Error: &executors.GuestError{Name: profiles.ErrorCapabilityDenied, Message: dec.Reason},
	}, nil
}

// Console drops the output of canaries.
func (*deciderHost) Console(executors.ConsoleEntry) {}

// Idle does nothing: no call waits.
func (*deciderHost) Idle([]string) {}

// trap is a listener that the policy does not grant. A connection to it proves that a guest was not refused.
type trap struct {
	l    net.Listener
	port int
	hits atomic.Int64
	over chan struct{}
}

func newTrap(start func(func())) (*trap, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(errors.New("no port"), l.Close())
	}
	t := &trap{l: l, port: at.Port, over: make(chan struct{})}
	start(func() {
		defer close(t.over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.hits.Add(1)
			_ = c.Close() // the connection itself is the finding
		}
	})
	return t, nil
}

func (t *trap) met() bool { return t.hits.Load() > 0 }

func (t *trap) close() {
	_ = t.l.Close() // no other user of the listener
	<-t.over
}
