package cli

import (
	"context"
	"errors"
	"time"
)

// OpenWithRetry opens a resource that one process at a time may hold. While it is in use, it retries for a
// second: a daemon that was killed while it started a process leaves that process with a copy of its lock
// until the exec.
func OpenWithRetry[T any](ctx context.Context, inUse error, open func() (T, error)) (T, error) {
	const tries, pause = 50, 20 * time.Millisecond
	for n := 1; ; n++ {
		v, err := open()
		if !errors.Is(err, inUse) || n == tries {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(pause):
		}
	}
}
