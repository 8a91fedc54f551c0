package condition

import (
	"context"
	"sync"

	"github.com/ringd/ringd/profiles"
)

// maxCached is the largest number of conditions in a Cache. A set has fewer.
const maxCached = 1000

// Cache evaluates conditions by their text and compiles each text once. The zero Cache is ready for use, and
// safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[string]compiled // by text
}

type compiled struct {
	condition *Condition
	err       error
}

// Ask evaluates a condition for a call, like [Condition.Ask]. An invalid condition requires the approval.
func (c *Cache) Ask(ctx context.Context, text string, call profiles.Call) (bool, error) {
	got := c.get(text)
	if got.err != nil {
		return true, got.err
	}
	return got.condition.Ask(ctx, call)
}

func (c *Cache) get(text string) compiled {
	c.mu.Lock()
	got, ok := c.known[text]
	c.mu.Unlock()
	if ok {
		return got
	}
	got.condition, got.err = Compile(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCached {
		c.known = map[string]compiled{}
	}
	c.known[text] = got
	return got
}
