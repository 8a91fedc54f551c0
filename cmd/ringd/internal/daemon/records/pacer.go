package records

import (
	"context"
	"time"

	"github.com/ringd/ringd/rings/kernel/pace"
)

const (
	// CallBurst is the number of bytes that the calls of an idle agent may write to disk at once.
	CallBurst = 16 << 20
	// CallRate is the number of bytes that they may write per second in the long run.
	CallRate = 2 << 20
)

// Pacer limits the bytes that the calls of each agent write to disk. So the calls of one agent neither fill
// the disk nor block those of others. It is safe for concurrent use.
type Pacer struct{ agents *pace.Buckets[string] }

// NewPacer returns a Pacer with a full bucket for each agent.
func NewPacer(now func() time.Time) (*Pacer, error) {
	agents, err := pace.New[string](pace.Config{Now: now, Every: time.Second / CallRate, Burst: CallBurst})
	if err != nil {
		return nil, err
	}
	return &Pacer{agents}, nil
}

// Wait returns once the agent may write n more bytes. Calls of one agent wait in order. After an error, which
// is that of ctx, the bytes do not count.
func (p *Pacer) Wait(ctx context.Context, agent string, n int) error {
	return p.agents.WaitN(ctx, agent, n)
}

// Owe counts n bytes that are written in any case.
func (p *Pacer) Owe(agent string, n int) { p.agents.Owe(agent, n) }
