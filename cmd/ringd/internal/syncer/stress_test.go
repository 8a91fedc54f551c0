package syncer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
)

// lossy is the system's watcher with a queue that overflows: it drops most
// events and says so.
type lossy struct {
	w      *fsnotify.Watcher
	events chan fsnotify.Event
	errors chan error
	wg     sync.WaitGroup
}

func newLossy() (syncer.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	l := &lossy{w: w, events: make(chan fsnotify.Event), errors: make(chan error)}
	l.wg.Go(func() {
		defer close(l.events)
		defer close(l.errors)
		n := 0
		for e := range w.Events {
			if n++; n%7 != 0 {
				continue
			}
			if n%2 == 0 {
				l.errors <- fsnotify.ErrEventOverflow
			} else {
				l.events <- e
			}
		}
	})
	l.wg.Go(func() {
		for range w.Errors {
		}
	})
	return l, nil
}

func (l *lossy) Add(dir string) error          { return l.w.Add(dir) }
func (l *lossy) Events() <-chan fsnotify.Event { return l.events }
func (l *lossy) Errors() <-chan error          { return l.errors }
func (l *lossy) Close() error                  { defer l.wg.Wait(); return l.w.Close() }

// checking is a sink that checks every push: all files of one are of the same
// revision and none is torn. Latency is from the write to the sink.
type checking struct {
	t       *testing.T
	written *sync.Map // revision -> time
	applied atomic.Int64
	last    atomic.Int64
	worst   atomic.Int64
	wake    chan struct{}
}

func (c *checking) Apply(_ context.Context, p syncer.Push) error {
	c.applied.Add(1)
	var revision string
	for _, src := range p.Sources {
		text := string(src.Data)
		n, whole := strings.CutSuffix(text, " end\n")
		n, _, _ = strings.Cut(n, " ")
		if !whole {
			c.t.Errorf("%s is torn: %.40q", src.Name, text)
			return nil
		}
		if revision == "" {
			revision = n
		}
		if n != revision {
			c.t.Errorf("a mixture of %s and %s", revision, n)
		}
	}
	if at, ok := c.written.Load(revision); ok {
		d := time.Since(at.(time.Time)).Milliseconds()
		for w := c.worst.Load(); d > w && !c.worst.CompareAndSwap(w, d); w = c.worst.Load() {
		}
	}
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		c.t.Errorf("revision %q", revision)
	}
	c.last.Store(n)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}
func (c *checking) Current(context.Context, string) {}
func (c *checking) Reject(context.Context, error)   {}
func (c *checking) Lost(context.Context, error)     {}

// Pushes come in every way, fast, under a watcher that loses most events. Every
// push that is handed over is whole, and the last one is handed over.
// RINGD_LONG=1 makes 10,000 of them.
func TestStress(t *testing.T) {
	pushes := 1500
	if os.Getenv("RINGD_LONG") != "" {
		pushes = 10_000
	}
	base := t.TempDir()
	dir := filepath.Join(base, "sync")
	body := strings.Repeat("x", 8<<10)
	content := func(n int) string { return fmt.Sprintf("%d %s end\n", n, body) }
	var written sync.Map
	c := &checking{t: t, written: &written, wake: make(chan struct{}, 1)}
	// tree makes a whole revision: three files behind one link.
	tree := func(at string, n int) {
		for _, f := range []string{"a.yaml", "b.yaml", "modules/m.js"} {
			write(t, filepath.Join(at, fmt.Sprintf("..%d", n), f), content(n))
		}
		swap(t, fmt.Sprintf("..%d", n), filepath.Join(at, "..data"))
		for _, f := range []string{"a.yaml", "b.yaml", "modules"} {
			if _, err := os.Lstat(filepath.Join(at, f)); err != nil {
				must(t, os.Symlink("..data/"+f, filepath.Join(at, f)))
			}
		}
	}
	tree(dir, 0)
	s, err := syncer.Start(t.Context(), syncer.Config{Dir: dir, Sink: c, Watch: newLossy,
		Quiet: time.Millisecond, Patience: 10 * time.Millisecond, Rescan: 200 * time.Millisecond})
	must(t, err)
	defer s.Close()
	for n := 1; n <= pushes; n++ {
		written.Store(fmt.Sprint(n), time.Now())
		switch n % 50 {
		case 13: // the directory is replaced by another
			tree(dir+".next", n)
			must(t, os.Rename(dir, dir+".old"), os.Rename(dir+".next", dir), os.RemoveAll(dir+".old"))
		case 26: // the directory is removed and made anew
			must(t, os.Rename(dir, dir+".old"), os.RemoveAll(dir+".old"))
			tree(dir, n)
		case 39: // a file behind the link is written in place and in pieces; put right after
			at := filepath.Join(dir, "..data", "a.yaml")
			f, err := os.OpenFile(at, os.O_WRONLY|os.O_TRUNC, 0)
			must(t, err)
			_, err = f.WriteString(content(n)[:4<<10])
			must(t, err, f.Sync())
			_, err = f.WriteString(content(n)[4<<10:])
			must(t, err)
			tree(dir, n)
			must(t, f.Close())
		default:
			tree(dir, n)
		}
		if n%20 == 0 {
			must(t, clean(dir, n))
		}
	}
	for c.last.Load() != int64(pushes) {
		select {
		case <-c.wake:
		case <-t.Context().Done():
			t.Fatalf("the last push handed over is %d of %d", c.last.Load(), pushes)
		}
	}
	t.Logf("%d pushes, %d handed over, at most %d ms from a write to the sink", pushes, c.applied.Load(),
		c.worst.Load())
}

// clean removes the trees that no link names any more.
func clean(dir string, n int) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if old, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "..")); err == nil && old < n {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
