package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
)

// found is what a syncer told its sink.
type found struct {
	what   string // apply, current, reject, lost
	push   syncer.Push
	digest string
	err    error
}

// sink keeps what it is told; wait takes from it.
type sink struct {
	mu     sync.Mutex
	list   []found
	wake   chan struct{}
	answer func(syncer.Push) error
}

func newSink() *sink { return &sink{wake: make(chan struct{}, 1)} }

func (s *sink) put(f found) {
	s.mu.Lock()
	s.list = append(s.list, f)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sink) Apply(_ context.Context, p syncer.Push) error {
	s.put(found{what: "apply", push: p, digest: p.Digest})
	if s.answer != nil {
		return s.answer(p)
	}
	return nil
}
func (s *sink) Current(_ context.Context, digest string) {
	s.put(found{what: "current", digest: digest})
}
func (s *sink) Reject(_ context.Context, err error) { s.put(found{what: "reject", err: err}) }
func (s *sink) Lost(_ context.Context, err error)   { s.put(found{what: "lost", err: err}) }

// until waits for something that fits, and forgets what came before it.
func (s *sink) until(t *testing.T, fits func(found) bool) found {
	t.Helper()
	for {
		s.mu.Lock()
		for i, f := range s.list {
			if fits(f) {
				s.list = s.list[i+1:]
				s.mu.Unlock()
				return f
			}
		}
		seen := len(s.list)
		s.list = nil
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-t.Context().Done():
			t.Fatalf("never came; %d others did", seen)
		}
	}
}

func is(what string) func(found) bool { return func(f found) bool { return f.what == what } }

// holds fits an applied push whose file has this content.
func holds(name, content string) func(found) bool {
	return func(f found) bool {
		for _, src := range f.push.Sources {
			if src.Name == name {
				return string(src.Data) == content
			}
		}
		return false
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// swap points a link elsewhere, at once, as Kubernetes does.
func swap(t *testing.T, target, link string) {
	t.Helper()
	_ = os.Remove(link + ".new")
	must(t, os.Symlink(target, link+".new"), os.Rename(link+".new", link))
}

func start(t *testing.T, dir string, change ...func(*syncer.Config)) (*sink, *syncer.Syncer) {
	t.Helper()
	sk := newSink()
	cfg := syncer.Config{Dir: dir, Sink: sk, Quiet: 2 * time.Millisecond, Patience: 20 * time.Millisecond,
		Rescan: time.Hour, Poll: time.Hour}
	for _, f := range change {
		f(&cfg)
	}
	s, err := syncer.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, s.Close(), s.Close()) })
	return sk, s
}

// Each row is a way in which a new revision comes; only events, no timer.
func TestNewRevisions(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		file   string // "p.yaml" unless set
	}{
		{"written in place", func(t *testing.T, dir string) { write(t, dir+"/p.yaml", "new") }, ""},
		{"written in pieces", func(t *testing.T, dir string) {
			f, err := os.Create(dir + "/p.yaml")
			must(t, err)
			for _, c := range "new" {
				_, err := f.WriteString(string(c))
				must(t, err, f.Sync())
			}
			must(t, f.Close())
		}, ""},
		{"renamed over", func(t *testing.T, dir string) {
			write(t, dir+"/.p.yaml.swp", "new")
			must(t, os.Rename(dir+"/.p.yaml.swp", dir+"/p.yaml"))
		}, ""},
		{"removed and made", func(t *testing.T, dir string) { must(t, os.Remove(dir+"/p.yaml")); write(t, dir+"/p.yaml", "new") }, ""},
		{"a module below", func(t *testing.T, dir string) { write(t, dir+"/modules/a/m.js", "new") }, "modules/a/m.js"},
		{"directory replaced", func(t *testing.T, dir string) {
			write(t, dir+".next/p.yaml", "new")
			must(t, os.Rename(dir, dir+".old"), os.Rename(dir+".next", dir))
		}, ""},
		{"directory removed and made", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			write(t, dir+"/p.yaml", "new")
		}, ""},
		{"link inside, swapped", func(t *testing.T, dir string) {
			write(t, dir+"/..2/p.yaml", "new")
			swap(t, "..2", dir+"/..data")
			must(t, os.Remove(dir+"/p.yaml"), os.Symlink("..data/p.yaml", dir+"/p.yaml"))
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sync")
			write(t, dir+"/p.yaml", "old")
			sk, _ := start(t, dir)
			sk.until(t, holds("p.yaml", "old"))
			test.change(t, dir)
			file := test.file
			if file == "" {
				file = "p.yaml"
			}
			sk.until(t, holds(file, "new"))
			write(t, dir+"/later.yaml", "later") // it still listens
			sk.until(t, holds("later.yaml", "later"))
		})
	}
}

// A folder that was removed and made again often has the inode of the old one;
// its watch is gone all the same.
func TestReplacedFolderWithTheSameInode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "0")
	sk, _ := start(t, dir)
	sk.until(t, holds("p.yaml", "0"))
	for i := range 20 {
		must(t, os.RemoveAll(dir))
		write(t, dir+"/p.yaml", fmt.Sprint("made ", i))
		sk.until(t, holds("p.yaml", fmt.Sprint("made ", i)))
		write(t, dir+"/p.yaml", fmt.Sprint("over ", i))
		sk.until(t, holds("p.yaml", fmt.Sprint("over ", i)))
	}
}

// Kubernetes mounts a volume as links through ..data; each update swaps that
// one link and removes the old folder. No push is a mixture.
func TestLinkSwaps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	revision := func(n int) string {
		name := fmt.Sprintf("..rev%d", n)
		for _, f := range []string{"a.yaml", "b.yaml", "modules/m.js"} {
			write(t, filepath.Join(dir, name, f), fmt.Sprint(n))
		}
		return name
	}
	swap(t, revision(0), filepath.Join(dir, "..data"))
	must(t, os.Symlink("..data/a.yaml", dir+"/a.yaml"), os.Symlink("..data/b.yaml", dir+"/b.yaml"),
		os.Symlink("..data/modules", dir+"/modules"))
	sk, _ := start(t, dir)
	const last = 200
	for n := 1; n <= last; n++ {
		swap(t, revision(n), filepath.Join(dir, "..data"))
		must(t, os.RemoveAll(fmt.Sprintf("%s/..rev%d", dir, n-1)))
	}
	applied := 0
	sk.until(t, func(f found) bool {
		if f.what != "apply" {
			return false
		}
		applied++
		if len(f.push.Sources) != 3 {
			t.Errorf("%d sources", len(f.push.Sources))
		}
		for _, src := range f.push.Sources {
			if string(src.Data) != string(f.push.Sources[0].Data) {
				t.Errorf("a mixture: %s holds %s, the first %s", src.Name, src.Data, f.push.Sources[0].Data)
			}
		}
		return holds("modules/m.js", fmt.Sprint(last))(f)
	})
	t.Logf("%d swaps, %d pushes", last, applied)
}

// The sync directory may itself be a link that a deployment swaps.
func TestDirectoryIsALink(t *testing.T) {
	base := t.TempDir()
	write(t, base+"/r1/p.yaml", "old")
	write(t, base+"/r2/p.yaml", "new")
	swap(t, "r1", base+"/current")
	sk, _ := start(t, base+"/current")
	sk.until(t, holds("p.yaml", "old"))
	swap(t, "r2", base+"/current")
	sk.until(t, holds("p.yaml", "new"))
	write(t, base+"/r2/p.yaml", "newer")
	sk.until(t, holds("p.yaml", "newer"))
}

func TestLostAndFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	sk, _ := start(t, dir)
	if f := sk.until(t, is("lost")); !errors.Is(f.err, fs.ErrNotExist) {
		t.Errorf("lost: %v", f.err)
	}
	write(t, dir+"/p.yaml", "one")
	sk.until(t, holds("p.yaml", "one"))
	must(t, os.Rename(dir, dir+".away"))
	sk.until(t, is("lost"))
	must(t, os.Rename(dir+".away", dir))
	if f := sk.until(t, func(f found) bool { return f.what == "current" || f.what == "apply" }); f.what != "current" {
		t.Errorf("the same content came back as %s", f.what)
	}
	must(t, os.RemoveAll(dir))
	write(t, dir, "a file")
	sk.until(t, func(f found) bool { return f.what == "lost" && !errors.Is(f.err, fs.ErrNotExist) })
}

func TestRejects(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want error
		text string // named in the error
	}{
		{"unreadable", func(t *testing.T, dir string) { write(t, dir+"/x.yaml", "x"); must(t, os.Chmod(dir+"/x.yaml", 0)) }, fs.ErrPermission, "x.yaml"},
		{"unreadable folder", func(t *testing.T, dir string) {
			write(t, dir+"/d/x.yaml", "x")
			must(t, os.Chmod(dir+"/d", 0))
			t.Cleanup(func() { must(t, os.Chmod(dir+"/d", 0o755)) })
		}, fs.ErrPermission, "d"},
		{"link out", func(t *testing.T, dir string) { must(t, os.Symlink("/etc/hostname", dir+"/x.yaml")) }, syncer.ErrLink, "x.yaml"},
		{"link out, relative", func(t *testing.T, dir string) { must(t, os.Symlink("../../../../../../etc", dir+"/modules")) }, syncer.ErrLink, "modules"},
		{"link out through a link", func(t *testing.T, dir string) {
			must(t, os.Symlink("/etc", dir+"/..data"), os.Symlink("..data/hostname", dir+"/x.yaml"))
		}, syncer.ErrLink, "x.yaml"},
		{"link to nowhere", func(t *testing.T, dir string) { must(t, os.Symlink("missing", dir+"/x.yaml")) }, syncer.ErrLink, "x.yaml"},
		{"link to itself", func(t *testing.T, dir string) { must(t, os.Symlink("x.yaml", dir+"/x.yaml")) }, syncer.ErrLink, "x.yaml"},
		{"folders in a circle", func(t *testing.T, dir string) { must(t, os.Symlink(".", dir+"/d")) }, syncer.ErrLink, "d/d"},
		{"pipe", func(t *testing.T, dir string) { clitest.NamedPipe(t, dir+"/x.yaml") }, syncer.ErrNotFile, "x.yaml"},
		{"link to a pipe", func(t *testing.T, dir string) {
			clitest.NamedPipe(t, dir+"/.pipe")
			must(t, os.Symlink(".pipe", dir+"/x.yaml"))
		}, syncer.ErrNotFile, "x.yaml"},
		{"socket", func(t *testing.T, dir string) {
			l, err := net.Listen("unix", dir+"/x.yaml")
			must(t, err)
			t.Cleanup(func() { must(t, l.Close()) })
		}, syncer.ErrNotFile, "x.yaml"},
		{"huge", func(t *testing.T, dir string) {
			write(t, dir+"/x.yaml", "")
			must(t, os.Truncate(dir+"/x.yaml", 1<<40))
		}, syncer.ErrTooLarge, "x.yaml"},
		{"large in all", func(t *testing.T, dir string) {
			for i := range 3 {
				write(t, fmt.Sprintf("%s/x%d.yaml", dir, i), strings.Repeat("x", 900))
			}
		}, syncer.ErrTooLarge, "x"},
		{"many files", func(t *testing.T, dir string) {
			for i := range 30 {
				write(t, fmt.Sprintf("%s/x%d.yaml", dir, i), "x")
			}
		}, syncer.ErrTooMany, "x"},
		{"many names", func(t *testing.T, dir string) {
			for i := range 100 {
				write(t, fmt.Sprintf("%s/.x%d", dir, i), "x")
			}
		}, syncer.ErrTooMany, "."},
		{"deep", func(t *testing.T, dir string) { write(t, dir+"/"+strings.Repeat("d/", 12)+"x.yaml", "x") }, syncer.ErrTooDeep, "d/d"},
		{"no policy left", func(t *testing.T, dir string) { must(t, os.Remove(dir+"/p.yaml")); write(t, dir+"/modules/m.js", "x") }, syncer.ErrEmpty, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if errors.Is(test.want, fs.ErrPermission) && os.Getuid() == 0 {
				t.Skip("root reads everything")
			}
			dir := filepath.Join(t.TempDir(), "sync")
			write(t, dir+"/p.yaml", "old")
			limits := syncer.Limits{FileBytes: 1000, TotalBytes: 2000, Files: 20, Entries: 60, Depth: 10}
			sk, _ := start(t, dir, func(c *syncer.Config) { c.Limits = limits })
			sk.until(t, is("apply"))
			test.make(t, dir)
			f := sk.until(t, func(f found) bool {
				if f.what == "apply" && !strings.HasPrefix(test.name, "large") &&
					!strings.HasPrefix(test.name, "many") {
					t.Errorf("applied %+v", f.push)
				}
				return f.what == "reject" && errors.Is(f.err, test.want)
			})
			if !strings.Contains(f.err.Error(), test.text) {
				t.Errorf("error %v does not name %q", f.err, test.text)
			}
			if _, err := syncer.Read(dir, limits); !errors.Is(err, test.want) {
				t.Errorf("Read: %v", err)
			}
		})
	}
}

// A file that somebody has open for writing is not finished: half of it is
// never handed over, however long it stays like that.
func TestHalfWrittenFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "old")
	sk, _ := start(t, dir)
	sk.until(t, holds("p.yaml", "old"))
	f, err := os.Create(dir + "/p.yaml")
	must(t, err)
	_, err = f.WriteString("half")
	must(t, err)
	got := sk.until(t, func(f found) bool { return f.what == "apply" || errors.Is(f.err, syncer.ErrWriting) })
	if got.what == "apply" {
		t.Fatalf("half a file was handed over: %s", got.push.Sources[0].Data)
	}
	_, err = f.WriteString(" and whole")
	must(t, err, f.Close())
	sk.until(t, func(f found) bool {
		if f.what == "apply" && string(f.push.Sources[0].Data) != "half and whole" {
			t.Errorf("applied %s", f.push.Sources[0].Data)
		}
		return f.what == "apply"
	})
}

// While somebody writes without a pause looks still come, although it is never
// quiet: they find a content or say that there is none. Then the last content is
// handed over.
func TestWriterWithoutPause(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "0")
	sk, _ := start(t, dir, func(c *syncer.Config) { c.Quiet, c.Patience = time.Minute, 5*time.Millisecond })
	sk.until(t, is("apply"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(dir+"/.next", []byte(fmt.Sprint(n)), 0o644)
				_ = os.Rename(dir+"/.next", dir+"/p.yaml")
			}
		}
	}()
	for range 3 {
		sk.until(t, func(f found) bool {
			return f.what == "apply" || f.what == "current" || errors.Is(f.err, syncer.ErrTorn)
		})
	}
	close(stop)
	<-stopped
	write(t, dir+"/p.yaml", "last")
	sk.until(t, holds("p.yaml", "last"))
}

func TestSameContentIsNothingNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "one")
	sk, s := start(t, dir)
	first := sk.until(t, is("apply"))
	write(t, dir+"/p.yaml", "one")
	write(t, dir+"/p_test.yaml", "not a policy")
	write(t, dir+"/README.md", "not a policy")
	s.Look()
	f := sk.until(t, func(f found) bool { return f.what == "apply" || f.what == "current" })
	if f.what != "current" || f.digest != first.digest {
		t.Errorf("%s %s, first %s", f.what, f.digest, first.digest)
	}
	if p, err := syncer.Read(dir, syncer.Limits{}); err != nil || p.Digest != first.digest || len(p.Sources) != 1 {
		t.Errorf("Read: %+v %v", p, err)
	}
}

// A push that could not be taken now is handed over again.
func TestRefusedForNow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "one")
	sk := newSink()
	fail := errors.New("audit log cannot be written")
	sk.answer = func(syncer.Push) error { err := fail; fail = nil; return err }
	s, err := syncer.Start(t.Context(), syncer.Config{Dir: dir, Sink: sk, Rescan: time.Hour, Quiet: time.Millisecond})
	must(t, err)
	defer s.Close()
	sk.until(t, is("apply"))
	s.Look()
	sk.until(t, is("apply"))
	s.Look()
	sk.until(t, is("current"))
}

// fakeWatcher hands over what the test says and nothing else.
type fakeWatcher struct {
	events chan fsnotify.Event
	errors chan error
	mu     sync.Mutex
	added  []string
	once   sync.Once
}

func (w *fakeWatcher) Add(dir string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added = append(w.added, dir)
	return nil
}
func (w *fakeWatcher) Events() <-chan fsnotify.Event { return w.events }
func (w *fakeWatcher) Errors() <-chan error          { return w.errors }
func (w *fakeWatcher) Close() error {
	w.once.Do(func() { close(w.events); close(w.errors) })
	return nil
}

func newFakeWatcher() *fakeWatcher {
	return &fakeWatcher{events: make(chan fsnotify.Event), errors: make(chan error)}
}

// A queue overflow means: look, and watch anew, since the event that was lost may
// be the end of a watched folder. It makes nothing deaf, however often it comes.
func TestOverflow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "0")
	made := make(chan *fakeWatcher, 100)
	sk, _ := start(t, dir, func(c *syncer.Config) {
		c.Watch = func() (syncer.Watcher, error) {
			w := newFakeWatcher()
			made <- w
			return w, nil
		}
	})
	sk.until(t, holds("p.yaml", "0"))
	w := <-made
	for n := 1; n <= 20; n++ {
		write(t, dir+"/p.yaml", fmt.Sprint(n))
		w.errors <- fsnotify.ErrEventOverflow
		sk.until(t, holds("p.yaml", fmt.Sprint(n)))
		w = <-made
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.added[0] != filepath.Dir(dir) || w.added[1] != dir {
		t.Errorf("watched %v", w.added)
	}
}

// Without any watcher the timer finds the change.
func TestTimerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "old")
	tick := make(chan time.Time)
	sk, _ := start(t, dir, func(c *syncer.Config) {
		c.Watch = func() (syncer.Watcher, error) { return nil, errors.New("no inotify") }
		c.After = func(d time.Duration) (<-chan time.Time, func()) {
			if d == c.Rescan {
				return tick, func() {}
			}
			return nil, func() {}
		}
	})
	sk.until(t, holds("p.yaml", "old"))
	write(t, dir+"/p.yaml", "new")
	tick <- time.Time{}
	sk.until(t, holds("p.yaml", "new"))
	must(t, os.RemoveAll(dir))
	tick <- time.Time{}
	sk.until(t, is("lost"))
	write(t, dir+"/p.yaml", "back")
	tick <- time.Time{}
	sk.until(t, holds("p.yaml", "back"))
}

// Neighbours of the sync directory are of no interest.
func TestNeighboursAreIgnored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sync")
	write(t, dir+"/p.yaml", "old")
	w := newFakeWatcher()
	sk, s := start(t, dir, func(c *syncer.Config) { c.Watch = func() (syncer.Watcher, error) { return w, nil } })
	sk.until(t, is("apply"))
	for range 100 {
		w.events <- fsnotify.Event{Name: dir + "-other", Op: fsnotify.Write}
	}
	w.events <- fsnotify.Event{Name: dir + "/p.yaml", Op: fsnotify.Write}
	sk.until(t, is("current"))
	must(t, s.Close())
	sk.mu.Lock()
	defer sk.mu.Unlock()
	if len(sk.list) > 1 {
		t.Errorf("%d looks for one event", 1+len(sk.list))
	}
}

func TestStartRefuses(t *testing.T) {
	if _, err := syncer.Start(t.Context(), syncer.Config{Dir: t.TempDir()}); err == nil {
		t.Error("no sink")
	}
	if _, err := syncer.Start(t.Context(), syncer.Config{Sink: newSink()}); err == nil {
		t.Error("no folder")
	}
}

func TestDigestTellsNamesFromContent(t *testing.T) {
	digest := func(files ...string) string {
		dir := t.TempDir()
		for i := 0; i < len(files); i += 2 {
			write(t, filepath.Join(dir, files[i]), files[i+1])
		}
		p, err := syncer.Read(dir, syncer.Limits{})
		must(t, err)
		return p.Digest
	}
	same := digest("a.yaml", "x", "b.yaml", "y")
	if digest("b.yaml", "y", "a.yaml", "x") != same {
		t.Error("the order of making counts")
	}
	for _, other := range [][]string{{"a.yaml", "y", "b.yaml", "x"}, {"a.yaml", "xb.yamly"},
		{"a.yaml", "x", "b.yaml", "y", "c.cue", ""}} {
		if digest(other...) == same {
			t.Errorf("%q has the same digest", other)
		}
	}
}

// Where one file alone counts, no number of names beside it keeps it from being read,
// and what a link leads to is watched.
func TestAlone(t *testing.T) {
	dir := t.TempDir()
	limits := syncer.Limits{Only: "order.json", Others: true, Entries: 5}
	for i := range 20 {
		write(t, fmt.Sprintf("%s/junk%d", dir, i), "x")
	}
	if _, err := syncer.Read(dir, limits); !errors.Is(err, syncer.ErrEmpty) {
		t.Errorf("no file: %v", err)
	}
	write(t, dir+"/..a/order.json", "one")
	write(t, dir+"/..b/order.json", "two")
	must(t, os.Symlink("..a", dir+"/..data"))
	must(t, os.Symlink("..data/order.json", dir+"/order.json"))
	if p, err := syncer.Read(dir, limits); err != nil || len(p.Sources) != 1 || string(p.Sources[0].Data) != "one" {
		t.Errorf("through a link: %v, %v", p.Sources, err)
	}
	sk, _ := start(t, dir, func(c *syncer.Config) { c.Limits = limits })
	said := func(text string) func(found) bool {
		return func(f found) bool { return f.what == "apply" && string(f.push.Sources[0].Data) == text }
	}
	sk.until(t, said("one"))
	must(t, os.Symlink("..b", dir+"/..new"))
	must(t, os.Rename(dir+"/..new", dir+"/..data"))
	sk.until(t, said("two"))
	write(t, dir+"/..b/new", "three")
	must(t, os.Rename(dir+"/..b/new", dir+"/..b/order.json"))
	sk.until(t, said("three"))
}

// TestPolls: where no event comes, names, sizes and times tell of a change, and what has
// not changed is not read again.
func TestPolls(t *testing.T) {
	deaf := func(c *syncer.Config) {
		c.Poll = 2 * time.Millisecond
		c.Watch = func() (syncer.Watcher, error) { return nil, errors.New("no inotify") }
	}
	unheard := func(c *syncer.Config) { // as of a file system of another machine
		deaf(c)
		c.Watch = func() (syncer.Watcher, error) { return newFakeWatcher(), nil }
	}
	for name, change := range map[string]func(*syncer.Config){"no watch": deaf, "no events": unheard} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "mount", "later", "sync")
			sk, s := start(t, dir, change)
			sk.until(t, is("lost"))
			write(t, dir+"/p.yaml", "old") // the parent's parent comes now
			sk.until(t, holds("p.yaml", "old"))
			write(t, dir+"/modules/m.js", "1")
			sk.until(t, holds("modules/m.js", "1"))
			write(t, dir+"/p.yaml", "new")
			sk.until(t, holds("p.yaml", "new"))
			must(t, os.MkdirAll(dir+"/.two", 0o755), os.WriteFile(dir+"/.two/q.yaml", []byte("q1"), 0o644),
				os.Symlink(".two/q.yaml", dir+"/q.yaml"))
			sk.until(t, holds("q.yaml", "q1"))
			must(t, os.WriteFile(dir+"/.two/q.yaml", []byte("q2"), 0o644))
			sk.until(t, holds("q.yaml", "q2"))
			must(t, os.RemoveAll(root+"/mount"))
			sk.until(t, is("lost"))
			write(t, dir+"/p.yaml", "back")
			sk.until(t, holds("p.yaml", "back"))
			s.Look()
			sk.until(t, is("current"))
			time.Sleep(50 * time.Millisecond) // many polls
			sk.mu.Lock()
			defer sk.mu.Unlock()
			if len(sk.list) > 1 {
				t.Errorf("looked %d times at what did not change", len(sk.list))
			}
		})
	}
}

// TestNotNow: what the sink does not take now it is given again with the next poll, and
// at growing distances where that costs much.
func TestNotNow(t *testing.T) {
	for _, costly := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "sync")
		write(t, dir+"/p.yaml", "one")
		var polls atomic.Int64
		given, at := 0, []int64{}
		tick := make(chan time.Time)
		sk := newSink()
		sk.answer = func(syncer.Push) error {
			at = append(at, polls.Load())
			if given++; given > 4 {
				return nil
			}
			return errors.Join(errors.New("not now"), map[bool]error{true: syncer.ErrCostly}[costly])
		}
		s, err := syncer.Start(t.Context(), syncer.Config{Dir: dir, Sink: sk, Poll: 7 * time.Second,
			After: func(d time.Duration) (<-chan time.Time, func()) {
				if d == 7*time.Second {
					return tick, func() {}
				}
				return nil, func() {}
			}})
		must(t, err)
		for range 5 {
			for took := false; !took; {
				select {
				case tick <- time.Time{}:
					polls.Add(1) // what is answered after it has seen it: the next tick is taken by another wait
				case <-sk.wake:
					took = true
				}
			}
		}
		must(t, s.Close())
		if given != 5 || costly != (at[4] > 5+4) {
			t.Errorf("costly %v: given %d times, at polls %v", costly, given, at)
		}
	}
}

// TestSecondCopy: what a sync tool leaves beside a policy is refused by name, and so is
// the same name in another case; the twins are policies of their own.
func TestSecondCopy(t *testing.T) {
	for _, tt := range []struct {
		first, second string
		refused       bool
	}{
		{"policy.yaml", "policy.sync-conflict-20260301-120000-ABCDEFG.yaml", true},
		{"policy.yaml", "Policy.Yaml", true},
		{"policy.yaml", "policy.YAML", true},
		{"policy.yaml", "policy (ana's conflicted copy 2026-03-01).yaml", true},
		{"policy.yaml", "policy_conflict-20260301-120000.yaml", true},
		{"policy.yaml", "policy - Copy.yaml", true},
		{"policy.yaml", "policy (1).yaml", true},
		{"policy.yaml", "policy_BACKUP_1234.yaml", true},
		{"policy.yaml", "policy.bak.yaml", true},
		{"team/policy.cue", "team/policy.orig.cue", true},
		{"policy.yaml", "policy.yml", false},
		{"policy.yaml", "team/policy.yaml", false},
		{"policy.yaml", "policy-eu.yaml", false},
		{"policy.yaml", "policy_LOCAL_71.yaml", true},
		{"prod.yaml", "prod_local_hosts.yaml", false},
		{"review.yaml", "review-conflict-resolver.yaml", false},
		{"prod.yaml", "prod_base_image.yaml", false},
		{"policy.yaml", "policy.yaml.bak", false},
		{"policy.yaml", "policy.yaml~", false},
		{"policy.yaml", "photo copy.yaml", false},
		{"modules/a.js", "Policy.Yaml", false},
	} {
		t.Run(tt.second, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, tt.first), "a")
			write(t, filepath.Join(dir, tt.second), "b")
			_, err := syncer.Read(dir, syncer.Limits{})
			if errors.Is(err, syncer.ErrSecond) != tt.refused || !tt.refused && err != nil {
				t.Errorf("%v, want refused %v", err, tt.refused)
			}
			if tt.refused && !strings.Contains(err.Error(), filepath.Base(tt.second)) &&
				!strings.Contains(err.Error(), filepath.Base(tt.first)) {
				t.Errorf("not told by name: %v", err)
			}
		})
	}
}

// TestBeside: what lies beside the one file is told and keeps nothing from being read,
// however much there is.
func TestBeside(t *testing.T) {
	limits := syncer.Limits{Only: "push.json", Beside: "order.json", Entries: 50}
	dir := t.TempDir()
	write(t, dir+"/push.json", "signed")
	write(t, dir+"/order.json", "order")
	write(t, dir+"/.hidden", "x")
	if p, err := syncer.Read(dir, limits); err != nil || p.Beside != "" || len(p.Sources) != 1 {
		t.Fatalf("nothing beside it: %+v, %v", p, err)
	}
	for _, name := range []string{"push.json.bak", "push.json~", "push.json.tmp", "push.json.part",
		"push.sync-conflict-20260301-120000-ABCDEFG.json", "policy.yaml"} {
		write(t, filepath.Join(dir, name), "x")
		p, err := syncer.Read(dir, limits)
		if err != nil || len(p.Sources) != 1 || string(p.Sources[0].Data) != "signed" ||
			!strings.Contains(p.Beside, name) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	for i := range 10_000 {
		must(t, os.Symlink("nowhere", fmt.Sprintf("%s/x%d", dir, i)))
	}
	if p, err := syncer.Read(dir, limits); err != nil || len(p.Sources) != 1 || p.Beside == "" {
		t.Errorf("ten thousand names: %+v, %v", p, err)
	}
	must(t, os.Remove(dir+"/push.json"))
	if _, err := syncer.Read(dir, limits); !errors.Is(err, syncer.ErrAnother) {
		t.Errorf("without the one file: %v", err)
	}
}
