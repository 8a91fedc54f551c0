package streams

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/executors"
)

// waitTime is how long the launcher may take to say how a dead guest ended.
const waitTime = 5 * time.Second

// Ended is the end of a guest that is dead; what is not known of it is zero.
func Ended(ctx context.Context, s executors.Streamer) executors.Exit {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
	defer cancel()
	exit, err := s.Wait(ctx)
	if err != nil {
		return executors.Exit{}
	}
	return exit
}

// Close gives up our ends of a dead guest's streams.
func Close(g executors.Guest) error {
	s, ok := g.(executors.Streamer)
	if !ok {
		return nil
	}
	err := s.Stdin().Close()
	for _, r := range []io.Reader{s.Stdout(), s.Stderr()} {
		if c, ok := r.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// Counted is a guest whose processor time is asked for before it is killed: then
// nobody knows any more what its programs have used.
type Counted struct {
	executors.Guest
	once sync.Once
	last atomic.Int64
}

// Kill implements executors.Guest.
func (c *Counted) Kill() error {
	c.once.Do(func() {
		if used, err := c.Guest.CPU(); err == nil {
			c.last.Store(int64(used))
		}
	})
	return c.Guest.Kill()
}

// CPU implements executors.Guest.
func (c *Counted) CPU() (time.Duration, error) {
	used, err := c.Guest.CPU()
	return max(used, time.Duration(c.last.Load())), err
}
