package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/schema"
)

// watch runs the tests now and whenever the folder has changed, until ctx ends or a
// signal comes. Its exit is that of the last run.
func (c TestConfig) watch(ctx context.Context, q testAsked) error {
	policy, _, err := c.read(q.path)
	if err != nil {
		return err // a typing mistake is no reason to wait
	}
	dir := policy.Path
	if !policy.Folder {
		dir = filepath.Dir(dir)
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	w := &watching{cfg: c, q: q, dir: dir}
	s, err := syncer.Start(ctx, syncer.Config{Dir: dir, Sink: w, Limits: syncer.Limits{Tests: true}})
	if err != nil {
		return cli.Failed(cli.Misused, err)
	}
	<-ctx.Done()
	if err := s.Close(); err != nil {
		return err
	}
	return w.last
}

// watching is the sink of the syncer, which calls one method at a time.
type watching struct {
	cfg  TestConfig
	q    testAsked
	dir  string            // that is watched
	seen map[string]string // the text of each file at the last run; nil: there was none
	last error

	unreadable string // why, when it was told; "": it can be read
}

// Apply runs the tests with a content that is new. Where they cannot be read, since the
// folder is gone again, the syncer brings the content again.
func (w *watching) Apply(ctx context.Context, p syncer.Push) error {
	w.changed(p.Sources)
	return w.again(ctx)
}

// again reads and runs the tests.
func (w *watching) again(ctx context.Context) error {
	policy, tests, err := w.cfg.read(w.q.path)
	if err != nil {
		if _, gone := os.Stat(w.dir); gone == nil { // else the syncer tells
			w.unread(err)
		}
		return err
	}
	w.unreadable = ""
	r, err := w.cfg.run(ctx, w.q, policy, tests)
	if err == nil {
		err = w.cfg.tell(w.q, r)
	}
	if ctx.Err() != nil {
		return nil
	}
	w.tell(err)
	return nil
}

// changed says which files differ from the run before.
func (w *watching) changed(now []schema.Source) {
	before, after := w.seen, map[string]string{}
	var names []string
	for _, src := range now {
		after[src.Name] = string(src.Data)
		if text, ok := before[src.Name]; !ok || text != after[src.Name] {
			names = append(names, src.Name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name+" (removed)")
		}
	}
	w.seen = after
	if before == nil || len(names) == 0 {
		return
	}
	slices.Sort(names)
	fmt.Fprintf(w.cfg.Out, "\nchanged: %s\n", w.cfg.Page(w.cfg.Out).Hang(
		len("changed: "), cli.Clean(strings.Join(names, ", ")), "    "))
}

// tell shows why the tests could not be run; what they found is shown.
func (w *watching) tell(err error) {
	if err != nil {
		code := w.cfg.Code(err)
		err = cli.Failed(code, nil) // it is told
	}
	w.last = err
	fmt.Fprintln(w.cfg.Out, "watching; ^C ends")
}

// Current runs the tests when what could not be read is back as it was. Else nothing has
// changed.
func (w *watching) Current(ctx context.Context, _ string) {
	if w.unreadable != "" {
		_ = w.again(ctx) // it is told
	}
}

// Reject tells what cannot be read; the next change may mend it.
func (w *watching) Reject(_ context.Context, err error) { w.unread(err) }

// Lost tells that the folder is gone; it may come back.
func (w *watching) Lost(_ context.Context, err error) { w.unread(err) }

// unread tells once why the folder cannot be read.
func (w *watching) unread(err error) {
	err = cli.Bare(err)
	if text := err.Error(); text != w.unreadable {
		w.unreadable = text
		w.tell(cli.Failed(cli.Misused, err))
	}
}
