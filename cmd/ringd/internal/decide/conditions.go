package decide

import (
	"context"

	"github.com/ringd/ringd/compiler/condition"
	"github.com/ringd/ringd/profiles"
)

// Conditions tells whether calls need their approvals. The zero value is ready.
type Conditions struct{ cache condition.Cache }

// Asks is what the interpreter ring asks before a call.
func (c *Conditions) Asks(ctx context.Context, when string, call profiles.Call) (bool, error) {
	return c.cache.Ask(ctx, when, call)
}

// Decide is what a decision without a run asks. Once ctx has ended, every call
// needs its approval.
func (c *Conditions) Decide(ctx context.Context) func(when string, call profiles.Call) (bool, error) {
	return func(when string, call profiles.Call) (bool, error) { return c.cache.Ask(ctx, when, call) }
}
