package executors

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// waitTime is how long the launcher may take to report how a dead guest ended.
const waitTime = 5 * time.Second

// EndedOf returns how a dead guest ended. Fields that are not known are zero.
func EndedOf(ctx context.Context, s Streamer) Exit {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
	defer cancel()
	exit, err := s.Wait(ctx)
	if err != nil {
		return Exit{}
	}
	return exit
}

// CloseGuest closes the host's ends of a dead guest's streams.
func CloseGuest(g Guest) error {
	s, ok := g.(Streamer)
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

// leaveTime is how long a guest may take to exit after it closed its connection.
const leaveTime = time.Second

// Leaving is a guest that may end by itself. A guest that closed its connection gets time to exit before it is
// killed. Otherwise its exit status would be lost.
type Leaving struct {
	Guest
	Wait func() // returns when the program has ended
	once sync.Once
	left atomic.Bool
}

// Conn implements Guest.
func (l *Leaving) Conn() io.ReadWriteCloser {
	c := &closeWatcher{ReadWriteCloser: l.Guest.Conn(), left: &l.left}
	if w, ok := c.ReadWriteCloser.(watcher); ok {
		return &watchedOutput{c, w}
	}
	return c
}

// Kill implements Guest.
func (l *Leaving) Kill() error {
	if l.left.Load() {
		l.once.Do(func() {
			late := time.AfterFunc(leaveTime, func() { _ = l.Guest.Kill() }) // the Kill below returns its error
			defer late.Stop()
			l.Wait()
		})
	}
	return l.Guest.Kill()
}

// closeWatcher remembers that the guest closed a connection.
type closeWatcher struct {
	io.ReadWriteCloser
	left *atomic.Bool
}

func (l *closeWatcher) note(err error) {
	if errors.Is(err, io.EOF) {
		l.left.Store(true)
	}
}

func (l *closeWatcher) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	l.note(err)
	return n, err
}

// watchedOutput is a connection that also implements watcher.
type watchedOutput struct {
	*closeWatcher
	watcher
}

func (w *watchedOutput) Watch(p []byte) (int, bool, error) {
	n, ok, err := w.watcher.Watch(p)
	w.note(err)
	return n, ok, err
}

// Counted is a guest whose processor time is read before it is killed. Afterwards the usage of its programs
// could not be read any more.
type Counted struct {
	Guest
	once sync.Once
	last atomic.Int64
}

// Kill implements Guest.
func (c *Counted) Kill() error {
	c.once.Do(func() {
		if used, err := c.Guest.CPU(); err == nil {
			c.last.Store(int64(used))
		}
	})
	return c.Guest.Kill()
}

// CPU implements Guest.
func (c *Counted) CPU() (time.Duration, error) {
	used, err := c.Guest.CPU()
	return max(used, time.Duration(c.last.Load())), err
}
