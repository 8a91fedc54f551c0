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

// leaveTime is how long a guest that has closed its connection may take to be gone.
const leaveTime = time.Second

// Leaving is a guest that may end by itself. One that has closed its connection is
// not killed before it had the time to be gone: else nobody knows how it ended.
type Leaving struct {
	executors.Guest
	Wait func() // until its program has ended
	once sync.Once
	left atomic.Bool
}

// Conn implements executors.Guest.
func (l *Leaving) Conn() io.ReadWriteCloser {
	c := &leaving{ReadWriteCloser: l.Guest.Conn(), left: &l.left}
	if w, ok := c.ReadWriteCloser.(executors.Watcher); ok {
		return &watched{c, w}
	}
	return c
}

// Kill implements executors.Guest.
func (l *Leaving) Kill() error {
	if l.left.Load() {
		l.once.Do(func() {
			late := time.AfterFunc(leaveTime, func() { _ = l.Guest.Kill() }) // the one below meets its error
			defer late.Stop()
			l.Wait()
		})
	}
	return l.Guest.Kill()
}

// leaving notes that a connection was closed by the guest.
type leaving struct {
	io.ReadWriteCloser
	left *atomic.Bool
}

func (l *leaving) note(err error) {
	if errors.Is(err, io.EOF) {
		l.left.Store(true)
	}
}

func (l *leaving) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	l.note(err)
	return n, err
}

// watched is a connection that can look for bytes as well.
type watched struct {
	*leaving
	executors.Watcher
}

func (w *watched) Watch(p []byte) (int, bool, error) {
	n, ok, err := w.Watcher.Watch(p)
	w.note(err)
	return n, ok, err
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
