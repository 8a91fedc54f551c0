package daemon

import (
	"context"
	"encoding/json"

	"github.com/ringd/ringd/rings/interpreter"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/pause"
	"github.com/ringd/ringd/rings/interpreter/run"
)

// starter is the part of the interpreter ring that the daemon uses; see [FromRing].
type starter interface {
	// Start binds a run to the generation in force and starts it. The run ends
	// when ctx does.
	Start(ctx context.Context, r interpreter.StartRequest) (Live, error)
	// Resume continues a waiting run under its id.
	Resume(ctx context.Context, p pause.Record, s []contract.Settlement) (Live, error)
	// Hold lets a waiting run be the parent of subagents, without a guest.
	Hold(ctx context.Context, p pause.Record) (heldRun, error)
	// Held returns a run that is live or held, or nil.
	Held(id string) heldRun
	// CheckReply checks a harness's answer to a call of a waiting run.
	CheckReply(agent, executor, bridge string, value json.RawMessage) error
}

// heldRun is a waiting run whose calls have subagents.
type heldRun interface {
	Spawned() contract.Spawned
	Cancel(ctx context.Context, by, reason string)
	// Revoke takes grants from its subagents.
	Revoke(ctx context.Context, grants []string) error
	// Release ends the hold once no subagent lives.
	Release()
}

// Live is a run that has started.
type Live interface {
	View() contract.View
	Done() <-chan struct{}
	runTalker
	runHandle
}

// runHandle is the part of Live for approvals and revocations.
type runHandle interface {
	Approved(ctx context.Context, s contract.Settlement) error
	Revoke(ctx context.Context, grants []string) error
	// Err returns why a resume did not begin. It is set once Done is closed.
	Err() error
}

// runTalker is the part of Live for callers of the API.
type runTalker interface {
	Settled(ctx context.Context) (contract.View, error)
	Events(ctx context.Context, after int64) ([]run.Event, error)
	Answer(ctx context.Context, a contract.Reply) error
	Cancel(ctx context.Context, by, reason string)
}

// FromRing adapts the interpreter ring to the daemon.
func FromRing(r *interpreter.Ring) starter { return ringStarter{r} }

type ringStarter struct{ *interpreter.Ring }

func (s ringStarter) Start(ctx context.Context, r interpreter.StartRequest) (Live, error) {
	run, err := s.Ring.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return run, nil
}

func (s ringStarter) Resume(ctx context.Context, p pause.Record, set []contract.Settlement) (Live, error) {
	run, err := s.Ring.Resume(ctx, p, set)
	if err != nil {
		return nil, err
	}
	return run, nil
}

func (s ringStarter) Hold(ctx context.Context, p pause.Record) (heldRun, error) {
	run, err := s.Ring.Hold(ctx, p)
	if err != nil {
		return nil, err
	}
	return run, nil
}

func (s ringStarter) Held(id string) heldRun {
	if run, ok := s.Ring.Run(id); ok {
		return run
	}
	return nil
}
