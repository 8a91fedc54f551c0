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

// watch runs the tests now and after each change of the folder, until ctx ends or a signal arrives. Its exit
// is that of the last run.
func (c TestConfig) watch(ctx context.Context, q testFlags) error {
	policy, _, err := c.read(q.path)
	if err != nil {
		return err // do not wait after a wrong argument
	}
	dir := policy.Path
	if !policy.Folder {
		dir = filepath.Dir(dir)
	}
	ctx, stop := cli.Interruptible(ctx)
	defer stop()
	w := &testWatcher{cfg: c, q: q, dir: dir}
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

// testWatcher is the sink of the syncer, which calls one method at a time.
type testWatcher struct {
	cfg  TestConfig
	q    testFlags
	dir  string            // watched folder
	seen map[string]string // text of each file at the last run; nil before the first one
	last error

	unreadable string // reported reason; empty if the folder can be read
}

// Apply runs the tests with new content. If the folder is gone again, the syncer brings the content again.
func (w *testWatcher) Apply(ctx context.Context, p syncer.Push) error {
	w.printChanged(p.Sources)
	return w.rerun(ctx)
}

// rerun reads and runs the tests.
func (w *testWatcher) rerun(ctx context.Context) error {
	policy, tests, err := w.cfg.read(w.q.path)
	if err != nil {
		if _, gone := os.Stat(w.dir); gone == nil { // otherwise the syncer reports it
			w.reportUnreadable(err)
		}
		return err
	}
	w.unreadable = ""
	r, err := w.cfg.run(ctx, w.q, policy, tests)
	if err == nil {
		err = w.cfg.report(w.q, r)
	}
	if ctx.Err() != nil {
		return nil
	}
	w.printError(err)
	return nil
}

// printChanged prints which files differ from the last run.
func (w *testWatcher) printChanged(now []schema.Source) {
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
	fmt.Fprintf(
		w.cfg.Out,
		"\nchanged: %s\n",
		w.cfg.Page(w.cfg.Out).Hang(len("changed: "), cli.Clean(strings.Join(names, ", ")), "    "),
	)
}

// printError prints why the tests could not be run. Their results are printed already.
func (w *testWatcher) printError(err error) {
	if err != nil {
		code := w.cfg.Code(err)
		err = cli.Failed(code, nil) // printed above
	}
	w.last = err
	fmt.Fprintln(w.cfg.Out, "watching; ^C ends")
}

// Current runs the tests if the folder was unreadable and is back unchanged. Otherwise nothing has changed.
func (w *testWatcher) Current(ctx context.Context, _ string) {
	if w.unreadable != "" {
		_ = w.rerun(ctx) // the error is printed
	}
}

// Reject reports an unreadable folder. The next change may repair it.
func (w *testWatcher) Reject(_ context.Context, err error) { w.reportUnreadable(err) }

// Lost reports that the folder is gone. It may come back.
func (w *testWatcher) Lost(_ context.Context, err error) { w.reportUnreadable(err) }

// reportUnreadable reports once why the folder cannot be read.
func (w *testWatcher) reportUnreadable(err error) {
	err = cli.Bare(err)
	if text := err.Error(); text != w.unreadable {
		w.unreadable = text
		w.printError(cli.Failed(cli.Misused, err))
	}
}
