package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/rowmac"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// callStore stores the open calls of runs.
type callStore interface {
	OpenCall(ctx context.Context, c store.Call) (store.Call, error)
	Execute(ctx context.Context, run, call string, audit store.Head) (store.Call, error)
	CloseCall(ctx context.Context, run, call string, to store.CallState, result []byte, audit store.Head) error
}

// errNotExpected: no run with this id is live.
var errNotExpected = errors.New("no live run has this id")

// Journal commits calls to the store for the interpreter ring. If the start of a run is not on disk yet, its
// calls wait for it. It is safe for concurrent use.
type Journal struct {
	calls callStore
	marks rowmac.Marker

	mu    sync.Mutex
	gates map[string]*Gate // by run
}

// Gate opens when the start of a run is on disk, or could not be stored.
type Gate struct {
	open  chan struct{}
	err   error         // set before open is closed
	asked chan struct{} // closed once a caller waits for the gate
	once  sync.Once
}

// Pass asks for the gate to open and waits for it.
func (g *Gate) Pass(ctx context.Context) error {
	g.once.Do(func() { close(g.asked) })
	select {
	case <-g.open:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Asked returns a channel that is closed once a caller waits for the gate.
func (g *Gate) Asked() <-chan struct{} { return g.asked }

// Open opens the gate, once. err is why the start could not be stored.
func (g *Gate) Open(err error) {
	g.err = err
	close(g.open)
}

// NewJournal returns a journal over a store. marks makes the MACs of its rows.
func NewJournal(calls callStore, marks rowmac.Marker) *Journal {
	return &Journal{calls: calls, marks: marks, gates: map[string]*Gate{}}
}

// OpenCall commits e once its run is on disk.
func (j *Journal) OpenCall(ctx context.Context, e contract.Entry) (string, error) {
	if err := j.Wait(ctx, e.Run); err != nil {
		return "", err
	}
	c := store.Call{Run: e.Run, ID: e.Call, Bridge: e.Bridge, For: store.ByHost,
		State: store.CallPending, Args: e.Args, ArgsDigest: e.Digest, Tree: e.Tree, Spawned: e.Spawned}
	switch e.For {
	case string(store.ByHarness):
		c.For = store.ByHarness
	case string(store.ByApprover):
		c.For, c.From, c.Needs, c.Expires, c.Acts = store.ByApprover, e.From, e.Count, e.Expires, store.ByHost
		if e.Harness {
			c.Acts = store.ByHarness
		}
	}
	if e.Executing {
		c.State = store.CallExecuting
	}
	c.Mark = rowmac.Call(j.marks, c)
	c, err := j.calls.OpenCall(ctx, c)
	if full, ok := errors.AsType[*store.QueueError](err); ok {
		return "", queueFullError(full)
	}
	if err != nil {
		return "", fmt.Errorf("keep call %s of run %s: %w", e.Call, e.Run, err)
	}
	return c.Key, nil
}

// queueFullError adds a remedy to a full queue.
func queueFullError(full *store.QueueError) error {
	setting := "limits.waitingBytes"
	if full.Calls >= full.Most.Calls {
		setting = "limits.waitingCalls"
	}
	return &contract.QueueError{Reason: full.Error() +
		": decide some of them (ringd approvals), cancel their runs (ringd cancel), or raise " + setting +
		" of this host"}
}

// ExecuteCall commits that an approved call is being performed.
func (j *Journal) ExecuteCall(ctx context.Context, run, call string) error {
	if err := j.waitStart(ctx, run); err != nil {
		return err
	}
	if _, err := j.calls.Execute(ctx, run, call, store.Head{}); err != nil {
		return fmt.Errorf("keep the beginning of call %s of run %s: %w", call, run, err)
	}
	return nil
}

// CloseCall commits the end of a call. The result is end as JSON, so that it can be replayed.
func (j *Journal) CloseCall(ctx context.Context, run, call string, end contract.Recorded) error {
	if err := j.waitStart(ctx, run); err != nil {
		return err
	}
	to := store.CallUnknown
	var result []byte
	switch end.End {
	case contract.CallDone, contract.CallFailed, contract.CallUnrun:
		to = store.CallClosed
		var err error
		if result, err = json.Marshal(end); err == nil {
			result, err = rowmac.Result(j.marks, run, call, result)
		}
		if err != nil {
			return fmt.Errorf("keep the end of call %s of run %s: %w", call, run, err)
		}
	case contract.CallUnknown:
	default:
	}
	if err := j.calls.CloseCall(ctx, run, call, to, result, store.Head{}); err != nil {
		return fmt.Errorf("keep the end of call %s of run %s: %w", call, run, err)
	}
	return nil
}

// waitStart waits until the start of a run is on disk, if it is not yet.
func (j *Journal) waitStart(ctx context.Context, run string) error {
	err := j.Wait(ctx, run)
	if errors.Is(err, errNotExpected) {
		return nil
	}
	return err
}

// Expect makes the calls of run wait until the returned gate is opened. Forget ends it.
func (j *Journal) Expect(run string) *Gate {
	g := &Gate{open: make(chan struct{}), asked: make(chan struct{})}
	j.mu.Lock()
	j.gates[run] = g
	j.mu.Unlock()
	return g
}

// Forget ends Expect.
func (j *Journal) Forget(run string) {
	j.mu.Lock()
	delete(j.gates, run)
	j.mu.Unlock()
}

// Wait returns once the start of a run is on disk. Its error is why the start could not be stored, that of
// ctx, or errNotExpected.
func (j *Journal) Wait(ctx context.Context, run string) error {
	j.mu.Lock()
	g := j.gates[run]
	j.mu.Unlock()
	if g == nil {
		return fmt.Errorf("run %s: %w", run, errNotExpected)
	}
	return g.Pass(ctx)
}

// Record writes a record of the interpreter ring.
func (r *Recorder) Record(ctx context.Context, rec contract.Record, d contract.Durability) error {
	out := audit.Record{
		Kind: audit.Kind(rec.Kind), Generation: rec.Generation, Revision: rec.Revision, Actor: rec.Actor,
		Agent: rec.Agent, Run: rec.Run, Call: rec.Call, Capability: rec.Capability, State: rec.State,
		Digest: rec.Digest, Full: rec.Full, Detail: rec.Detail, Placed: rec.Placed,
	}
	if rec.Decision != nil {
		out.Decision = audit.Decided(*rec.Decision)
	}
	if rec.Fault != "" {
		id := rec.Run
		if rec.Call != "" {
			id += "/" + rec.Call
		}
		out.Fault = &audit.Fault{ID: id, Text: rec.Fault}
	}
	durability := audit.Synced
	if d == contract.Written {
		durability = audit.Written
	}
	if _, err := r.Append(ctx, out, durability); err != nil {
		return err
	}
	r.callBeside(ctx, out, rec.Action)
	switch rec.Kind {
	case contract.CallOpened:
		r.metrics.CallOpened(rec.Run, rec.Call)
	case contract.CallClosed:
		r.metrics.CallClosed(rec.Run, rec.Call, rec.State)
	case contract.ExecDecided, contract.FileDecided, contract.VariableDecided:
		if rec.Decision != nil {
			r.metrics.Acted(rec.Detail["executor"], string(rec.Kind), rec.Decision.Verdict.String())
		}
	case contract.RunStarted, contract.RunPaused, contract.RunResumed, contract.RunCancelled,
		contract.RunEnded, contract.ImportDecided, contract.EgressDecided, contract.GuestRefused,
		contract.RefusalsCounted, contract.CallDecided, contract.CallQueued, contract.CallBegun, contract.CallAnswered:
	}
	return nil
}
