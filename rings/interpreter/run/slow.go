package run

import (
	"context"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// slow has an admitted call wait until its agent may bring as much on disk. The call ends
// at once when the run does, or when it is no longer granted: then nothing of it is on
// disk. An error says that its context has ended.
func (r *Run) slow(ctx context.Context, c *call, waits bool) (*binding.Refusal, error) {
	if c.Taken != nil {
		defer c.Taken()
	}
	n := r.brings(c, waits)
	if r.host.Pacer == nil || n == 0 {
		return nil, nil
	}
	turn, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	if r.ended {
		cancel(errRun)
	}
	c.Cancel = cancel
	r.mu.Unlock()
	err := r.host.Pacer.Wait(turn, r.agentName, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Cancel = nil
	return r.stillLocked(c), err
}

// brings is how many bytes the arguments of a call have on disk.
func (r *Run) brings(c *call, waits bool) (n int) {
	if r.journals(c, waits) {
		n += len(c.Args)
	}
	if c.Full {
		n += len(c.Args)
	}
	return n
}

// journals reports whether a call is committed before it happens.
func (r *Run) journals(c *call, waits bool) bool {
	return c.External || waits || r.parent != nil && c.Agents > 0 || r.goesOnBy(c)
}

// owe has the next calls of the agent wait for what one has brought on disk already.
func (r *Run) owe(n int) {
	if r.host.Pacer != nil && n > 0 {
		r.host.Pacer.Owe(r.agentName, n)
	}
}

// unopened ends an admitted call that nothing is on disk of.
func (r *Run) unopened(c *call, no *binding.Refusal) (executors.Answer, error) {
	if no != nil {
		return r.unrun(c, no, nil)
	}
	return r.finish(c, callResult{Name: profiles.ErrorBridge, Text: "was interrupted", Cut: true, End: contract.CallUnrun})
}
