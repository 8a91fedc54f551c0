package interpreter_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// script is a program that can be stopped where it waits: waves of calls, each begun once
// the one before is answered. A snapshot holds a script.
type script struct {
	Waves [][]executors.Question
	At    int                         // the wave that is open
	Got   map[string]executors.Answer // by call
	Said  []string                    // names of calls in the order of their answers
	Fail  string                      // name of the error that ends it
}

const engine = "sha256:engine"

// pauser runs scripts, and stops them when it is asked to.
type pauser struct {
	name    string // js if empty
	mu      sync.Mutex
	scripts map[string]script // by source
	runs    int               // lives of programs
	hook    func(executors.Run) error
	asked   func()                                 // called when it is asked to stop, before it does
	hasty   bool                                   // it does not wait for its questions when it stops
	stopped func(executors.Run) *executors.Outcome // instead of the snapshot
	ended   map[string]script                      // by run
	started []executors.Run
	hold    func(call string) func(bool) // of a call; nil if snapshots can be taken
	gone    []string                     // states that were forgotten
}

func (e *pauser) Forget(snapshot []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = append(e.gone, string(snapshot))
}

func (e *pauser) Living() (sessions int, bytes int64) { return 2, 3 }

func (e *pauser) Name() string { return cmp.Or(e.name, "js") }
func (e *pauser) Close() error { return nil }

func (e *pauser) Run(ctx context.Context, r executors.Run, h executors.Host) (executors.Outcome, error) {
	e.mu.Lock()
	s, hook, stopped, asked, hasty := e.scripts[r.Program.Source], e.hook, e.stopped, e.asked, e.hasty
	e.runs++
	e.started = append(e.started, r)
	e.mu.Unlock()
	if hook != nil {
		if err := hook(r); err != nil {
			return executors.Outcome{}, err
		}
	}
	var open []executors.Question
	if r.Resume != nil {
		if r.Resume.Engine != engine {
			return executors.Outcome{}, fmt.Errorf("%w: %s", executors.ErrEngine, r.Resume.Engine)
		}
		var kept script
		if err := json.Unmarshal(r.Resume.Snapshot, &kept); err != nil {
			return executors.Outcome{}, fmt.Errorf("%w: %w", executors.ErrSnapshot, err)
		}
		if r.Resume.Session {
			for id, a := range kept.Got {
				s.answer(id, a)
			}
		} else {
			s, open = kept, r.Resume.Open
		}
	}
	used := executors.Usage{CPU: 1000, Wall: 2000, PeakBytes: 7}
	for ; s.At < len(s.Waves); s.At++ {
		if open == nil {
			for _, q := range s.Waves[s.At] {
				if e.hold != nil {
					q.Hold = e.hold(q.Call)
				}
				if q.Bridge == "print" {
					h.Console(executors.ConsoleEntry{Level: "log", Text: string(q.Args)})
					continue
				}
				open = append(open, q)
			}
		}
		paused, err := s.wave(ctx, h, r.Pause, open, asked, hasty)
		switch {
		case err != nil:
			return executors.Outcome{State: executors.StateCancelled, Usage: used}, nil
		case paused && stopped != nil:
			if out := stopped(r); out != nil {
				return *out, nil
			}
			fallthrough
		case paused:
			return executors.Outcome{State: executors.StatePaused, Snapshot: s.bytes(), Engine: engine, Usage: used,
				Attestation: executors.Attestation{Tier: profiles.TierWasm}}, nil
		}
		open = nil
	}
	e.mu.Lock()
	e.ended[r.ID] = s
	e.mu.Unlock()
	out := executors.Outcome{State: executors.StateDone, Value: json.RawMessage(`"ok"`), Usage: used, Engine: engine}
	if s.Fail != "" {
		out.State, out.Value, out.Error = executors.StateFailed, nil, &executors.ProgramError{Name: s.Fail}
	}
	if r.Session {
		out.Snapshot = s.bytes()
	}
	return out, nil
}

func (s *script) bytes() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return b
}

func (s *script) answer(id string, a executors.Answer) {
	if s.Got == nil {
		s.Got = map[string]executors.Answer{}
	}
	s.Got[id] = a
	s.Said = append(s.Said, id)
}

// wave asks all questions at once. It is paused if it was asked to stop before one of them
// was answered.
func (s *script) wave(ctx context.Context, h executors.Host, pause <-chan struct{}, open []executors.Question,
	asked func(), hasty bool) (paused bool, err error) {
	asks, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type answered struct {
		id  string
		ans executors.Answer
		err error
	}
	back := make(chan answered, len(open))
	var wg sync.WaitGroup
	left := map[string]bool{}
	for _, q := range open {
		left[q.Call] = true
		wg.Go(func() {
			a, err := h.Ask(asks, q)
			back <- answered{q.Call, a, err}
		})
	}
	defer func() {
		if !hasty {
			wg.Wait()
		}
	}()
	for len(left) > 0 {
		var ids []string
		for id := range left {
			ids = append(ids, id)
		}
		h.Idle(ids)
		select {
		case a := <-back:
			if a.err != nil {
				cancel(nil)
				return false, a.err
			}
			delete(left, a.id)
			s.answer(a.id, a.ans)
		case <-pause:
			if asked != nil {
				asked()
			}
			cancel(executors.ErrPaused)
			if hasty {
				return true, nil
			}
			wg.Wait()
			for range left {
				if a := <-back; !errors.Is(a.err, executors.ErrPaused) {
					return false, fmt.Errorf("a call did not stay open: %+v %w", a.ans,
						errors.Join(a.err, errors.New("end")))
				}
			}
			return true, nil
		}
	}
	return false, nil
}

// keeper keeps pauses as bytes, like a daemon.
type keeper struct {
	mu       sync.Mutex
	pauses   map[string][]byte
	views    map[string]contract.View
	kept     int
	sessions map[string]contract.SessionState
	hook     func(pause.Record) error
	after    func(pause.Record) // called once it is kept, before the keeper returns
	noted    map[string]profiles.Powers
	deaf     bool // keeps no touched powers
}

func (k *keeper) KeepPause(_ context.Context, p pause.Record, v contract.View) error {
	k.mu.Lock()
	hook, after := k.hook, k.after
	k.mu.Unlock()
	if hook != nil {
		if err := hook(p); err != nil {
			return err
		}
	}
	b, err := p.Encode()
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.pauses[p.Run], k.views[p.Run] = b, v
	k.kept++
	k.mu.Unlock()
	if after != nil {
		after(p)
	}
	return nil
}

func (k *keeper) KeepSession(_ context.Context, s contract.SessionState) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil {
		return errors.New("disk full")
	}
	k.sessions[s.Name] = s
	return nil
}

func (k *keeper) pause(t *testing.T, run string) pause.Record {
	t.Helper()
	k.mu.Lock()
	b := k.pauses[run]
	k.mu.Unlock()
	p, err := pause.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stage is a world whose programs are scripts and whose pauses are kept.
type stage struct {
	*world
	pauser  *pauser
	keeper  *keeper
	points  sync.Map
	unready error             // why the bridge "redo" cannot begin a call
	redo    contract.Provider // of the bridge "redo"; the echo if nil
	slow    func(context.Context)
}

func newStage(t *testing.T, change ...func(*interpreter.Config)) *stage {
	t.Helper()
	s := &stage{pauser: &pauser{scripts: map[string]script{}, ended: map[string]script{}},
		keeper: &keeper{pauses: map[string][]byte{}, views: map[string]contract.View{},
			sessions: map[string]contract.SessionState{}}}
	s.world = newWorld(t, append([]func(*interpreter.Config){func(c *interpreter.Config) {
		c.Executors = map[string]executors.Executor{"js": s.pauser}
		c.Keeper = s.keeper
		c.Providers["redo"] = redone{s}
		c.Providers["slow"] = provide(func(ctx context.Context, _ contract.Call) (json.RawMessage, error) {
			s.slow(ctx)
			return nil, nil
		})
		c.Point = func(label string) { s.points.Store(label, true) }
	}}, change...)...)
	return s
}

// redone is idempotent if the stage says so.
type redone struct{ s *stage }

func (r redone) Call(ctx context.Context, c contract.Call) (json.RawMessage, error) {
	return r.s.echo.Call(ctx, c)
}
func (r redone) Idempotent() bool { return r.s.redo != nil }
func (r redone) Ready() error     { return r.s.unready }

// run starts a script.
func (s *stage) run(req interpreter.StartRequest, sc script) (*interpreter.Run, error) {
	s.world.mu.Lock()
	s.runs++
	name := fmt.Sprintf("r%d", s.runs)
	s.world.mu.Unlock()
	s.pauser.mu.Lock()
	s.pauser.scripts[name] = sc
	s.pauser.mu.Unlock()
	if req.ID == "" {
		req.ID = name
	}
	if req.Agent == "" {
		req.Agent = "default"
	}
	if req.Actor == "" {
		req.Actor = "uid:1000"
	}
	if req.Executor == "" {
		req.Executor = s.pauser.Name()
	}
	req.Program.Name, req.Program.Source = "plan.js", name
	return s.ring.Start(s.t.Context(), req)
}

// paused starts a script and waits until it is paused and kept.
func (s *stage) pausedRun(sc script) pause.Record {
	s.t.Helper()
	run, err := s.run(interpreter.StartRequest{}, sc)
	if err != nil {
		s.t.Fatal(err)
	}
	if v := s.end(run); v.State != executors.StatePaused {
		s.t.Fatalf("state %s, error %+v", v.State, v.Error)
	}
	return s.keeper.pause(s.t, run.ID())
}

// resume resumes a pause and waits for the end of that life.
func (s *stage) resume(p pause.Record, settled ...contract.Settlement) contract.View {
	s.t.Helper()
	run, err := s.ring.Resume(s.t.Context(), p, settled)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.end(run)
}

// got returns the answer that the program of a run got for a call.
func (s *stage) got(run, call string) executors.Answer {
	s.pauser.mu.Lock()
	defer s.pauser.mu.Unlock()
	return s.pauser.ended[run].Got[call]
}

func waves(list ...[]executors.Question) script { return script{Waves: list} }

func value(call, json string) contract.Settlement {
	return contract.Settlement{Call: call, Value: []byte(json), By: "uid:7"}
}

func approve(call string) contract.Settlement {
	return contract.Settlement{Call: call, Approved: true, By: "uid:7"}
}

// approval makes a bridge need an approval.
func approval(change ...func(*profiles.Approval)) func(*profiles.Bridge) {
	return func(b *profiles.Bridge) {
		b.Approval = &profiles.Approval{Count: 1, ExpiresMillis: 60_000, Rule: profiles.Rule{File: "p.yaml", Line: 9}}
		for _, f := range change {
			f(b.Approval)
		}
	}
}
