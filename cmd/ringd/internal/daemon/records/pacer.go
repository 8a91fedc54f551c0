package records

import (
	"context"
	"time"

	"github.com/ringd/ringd/rings/kernel/pace"
)

const (
	// CallBurst is how many bytes the calls of an agent that brought none may bring on disk
	// at once.
	CallBurst = 16 << 20
	// CallRate is how many they may bring in a second, in the long run.
	CallRate = 2 << 20
)

// Pacer bounds what the calls of each agent bring on disk, so that those of one agent
// neither fill the disk nor keep the others from it. It is safe for concurrent use.
type Pacer struct{ agents *pace.Buckets[string] }

// NewPacer has a full bucket for each agent.
func NewPacer(now func() time.Time) (*Pacer, error) {
	agents, err := pace.New[string](pace.Config{Now: now, Every: time.Second / CallRate, Burst: CallBurst})
	if err != nil {
		return nil, err
	}
	return &Pacer{agents}, nil
}

// Wait returns once the agent may bring n bytes more, after its calls that wait already.
// The error is ctx's; then the bytes count no more.
func (p *Pacer) Wait(ctx context.Context, agent string, n int) error {
	return p.agents.WaitN(ctx, agent, n)
}

// Owe counts n bytes that come in any case.
func (p *Pacer) Owe(agent string, n int) { p.agents.Owe(agent, n) }
