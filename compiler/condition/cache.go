package condition

import (
	"context"
	"sync"

	"github.com/ringd/ringd/profiles"
)

// maxCached bounds the conditions of a Cache. A set holds fewer.
const maxCached = 1000

// Cache asks conditions by their text and compiles each text once. The zero
// Cache is ready, and safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[string]compiled // by text
}

type compiled struct {
	condition *Condition
	err       error
}

// Ask tells whether the condition holds for a call, as Condition.Ask does. A
// text that is no condition asks.
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
