package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Config is what a Syncer needs. Dir and Sink are required.
type Config struct {
	Dir    string
	Sink   Sink
	Limits Limits
	// Quiet is how long a folder must be without events before a look; 0 is
	// DefaultQuiet. Patience bounds that wait while events keep coming; 0 is
	// DefaultPatience. Rescan is the time between looks without any event; 0 is
	// DefaultRescan.
	Quiet, Patience, Rescan time.Duration
	// Poll is the time between looks at names, sizes and times alone, which show what no
	// event tells: a folder that cannot be watched, or is on another machine; memory
	// that is mapped; a parent that comes later. What has changed is then read. It is
	// also when a push that was not taken "now" is handed over again. 0 is DefaultPoll.
	Poll time.Duration
	// Settle is how long a file must have stayed as it is where nobody can tell whether
	// it is still open for writing: see Read. It needs Now. 0: no time.
	Settle time.Duration
	Now    func() time.Time
	// Watch opens a watcher; nil takes the system's. After is time.After's
	// sibling that can be stopped; nil takes the system's timers.
	Watch  func() (Watcher, error)
	After  func(time.Duration) (c <-chan time.Time, stop func())
	Logger *slog.Logger // nil discards
}

// The defaults of Config.
const (
	defaultQuiet    = 25 * time.Millisecond
	DefaultPatience = 200 * time.Millisecond
	defaultRescan   = 30 * time.Second
	defaultPoll     = time.Second
)

// maxPolls bounds, in polls, the wait for the next try of a push whose last one cost
// much; see ErrCostly.
const maxPolls = 32

// maxFolders bounds the folders that are watched; the timer sees the rest.
const maxFolders = 1024

// maxUnsettled is how many looks in a row may find the folder in motion before
// that is reported.
const maxUnsettled = 8

// Watcher gives hints. The channels are those of fsnotify.Watcher.
type Watcher interface {
	Add(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// Syncer watches a folder. Close ends it.
type Syncer struct {
	cfg  Config
	hint chan struct{} // has room for one: "look again"
	stop context.CancelFunc
	wg   sync.WaitGroup
	// A watched folder was removed, made or renamed. The inode does not tell: a
	// file system gives the number of a removed folder to the next one.
	moved atomic.Bool

	// Of the goroutine that looks.
	watcher   Watcher
	watched   string // what watcher watches
	given     string // the digest that the sink took last
	beside    string // and what lay beside it
	unsettled int
	young     bool // a file has to stay as it is for a while yet
	stamp     string
	tries     int // how often in a row the sink has said "not now"
	costly    bool
	since     map[string]sighting
}

// sighting is when a file was first seen as it is.
type sighting struct {
	stamp string
	at    time.Time
}

// Start looks at once and then whenever something may have changed, until Close
// or the end of ctx. It is not an error when the folder is missing.
func Start(ctx context.Context, cfg Config) (*Syncer, error) {
	if cfg.Dir == "" || cfg.Sink == nil {
		return nil, errors.New("syncer config: Dir and Sink are required")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("sync directory %s: %w", cfg.Dir, err)
	}
	cfg.Dir = dir
	cfg.Quiet = cmp.Or(max(cfg.Quiet, 0), defaultQuiet)
	cfg.Patience = cmp.Or(max(cfg.Patience, 0), DefaultPatience)
	cfg.Rescan = cmp.Or(max(cfg.Rescan, 0), defaultRescan)
	cfg.Poll = cmp.Or(max(cfg.Poll, 0), defaultPoll)
	if cfg.Settle > 0 && cfg.Now == nil {
		return nil, errors.New("syncer config: Settle needs Now")
	}
	if cfg.Watch == nil {
		cfg.Watch = systemWatcher
	}
	if cfg.After == nil {
		cfg.After = systemTimer
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Syncer{cfg: cfg, hint: make(chan struct{}, 1), since: map[string]sighting{}}
	if cfg.Settle > 0 {
		s.cfg.Limits.fresh = s.fresh
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.wg.Add(1)
	go s.loop(ctx)
	return s, nil
}

// Look asks for a look as soon as possible. It does not wait for it.
func (s *Syncer) Look() {
	select {
	case s.hint <- struct{}{}:
	default: // one is asked for
	}
}

// Close ends the watching and waits for it. Twice is no error.
func (s *Syncer) Close() error {
	s.stop()
	s.wg.Wait()
	return nil
}

// loop looks, and waits for a reason to look again.
func (s *Syncer) loop(ctx context.Context) {
	defer s.wg.Done()
	defer s.unwatch()
	for ctx.Err() == nil {
		if again := s.look(ctx); again {
			s.Look()
		}
		s.wait(ctx)
	}
}

// wait returns when it is time for a look: after a hint, once hints have
// stopped coming for a while or kept coming for too long; or at the timer.
func (s *Syncer) wait(ctx context.Context) {
	rescan, stop := s.cfg.After(s.cfg.Rescan)
	defer stop()
	for polls, hinted := 1, false; !hinted; polls++ {
		poll, stop := s.cfg.After(s.cfg.Poll)
		select {
		case <-s.hint:
			hinted = true
		case <-poll:
			if s.due(polls) {
				return
			}
			continue
		case <-ctx.Done():
		case <-rescan:
		}
		if stop(); !hinted {
			return
		}
	}
	pace, most := s.cfg.Quiet, s.cfg.Patience
	if s.unsettled >= maxUnsettled {
		pace = s.cfg.Patience
	}
	if s.young { // and no event will tell when it has stayed so for long enough
		pace, most = max(pace, s.cfg.Settle/4), max(most, s.cfg.Settle/4)
	}
	patience, stop := s.cfg.After(most)
	defer stop()
	for {
		quiet, stop := s.cfg.After(pace)
		select {
		case <-s.hint:
			stop()
			continue
		case <-quiet:
		case <-patience:
		case <-ctx.Done():
		}
		stop()
		return
	}
}

// due reports whether a poll, the n-th since the last look, is reason for a look: the
// sink may take by now what it did not take, or names, sizes and times have changed.
func (s *Syncer) due(n int) bool {
	if s.tries > 0 && (!s.costly || n >= min(1<<min(s.tries, 16), maxPolls)) {
		return true
	}
	return stamped(s.cfg.Dir, s.cfg.Limits) != s.stamp
}

// fresh reports whether a file has not stayed as it is for long enough. The time of the
// inode tells it at once; where that cannot be (the clock of another machine), how long
// it was seen so does.
func (s *Syncer) fresh(name, stamp string, changed time.Time) bool {
	now := s.cfg.Now()
	if age := now.Sub(changed); age >= s.cfg.Settle {
		return false
	}
	seen, ok := s.since[name]
	if !ok || seen.stamp != stamp {
		seen = sighting{stamp, now}
		s.since[name] = seen
	}
	return now.Sub(seen.at) < s.cfg.Settle
}

// look reads the folder once and tells the sink. It reports whether another
// look is needed soon.
func (s *Syncer) look(ctx context.Context) (again bool) {
	s.stamp = stamped(s.cfg.Dir, s.cfg.Limits) // before it is read: what changes after that is seen
	r, err := read(s.cfg.Dir, s.cfg.Limits)
	if lost(r, err) || s.watcher == nil || s.moved.Load() || keyOf(r.folders) != s.watched {
		// What was read before the watch began may have changed unseen.
		if s.watch(r.folders) {
			r, err = read(s.cfg.Dir, s.cfg.Limits)
			again = keyOf(r.folders) != s.watched
		}
	}
	if s.young = errors.Is(err, ErrFresh); !s.young {
		clear(s.since)
	}
	switch {
	case lost(r, err) && errors.Is(err, errShort):
		s.cfg.Sink.Reject(ctx, err) // it may be there
	case lost(r, err):
		s.unsettled = 0
		s.cfg.Sink.Lost(ctx, err)
	case err != nil && unsettled(err):
		// The end of writing is no event: only looking shows it.
		again = true
		if s.unsettled++; s.unsettled%maxUnsettled == 0 {
			s.cfg.Sink.Reject(ctx, err)
		}
	case err != nil:
		s.unsettled = 0
		s.cfg.Sink.Reject(ctx, err)
	case r.Digest == s.given && r.Beside == s.beside:
		s.unsettled = 0
		s.cfg.Sink.Current(ctx, r.Digest)
	default:
		s.unsettled, s.given, s.beside = 0, r.Digest, r.Beside
		err := s.cfg.Sink.Apply(ctx, r.Push)
		if err == nil {
			s.tries = 0
			break
		}
		s.given, s.costly = "", errors.Is(err, ErrCostly)
		s.tries++
	}
	return again
}

// lost reports whether a reading failed because the folder itself is not there.
func lost(r reading, err error) bool { return err != nil && r.folders == nil }

// keyOf names a set of folders and their inodes.
func keyOf(folders []folder) string {
	var b strings.Builder
	for _, f := range folders {
		fmt.Fprintf(&b, "%q %s\n", f.path, f.id)
	}
	return b.String()
}

// watch replaces the watcher by one for these folders and the parent. A folder
// that was replaced keeps its path and loses its watch, and a watcher would not
// say so; a new one knows nothing old. It reports whether there is a watcher.
func (s *Syncer) watch(folders []folder) bool {
	w, err := s.cfg.Watch()
	if err != nil {
		s.cfg.Logger.Warn("cannot watch the sync directory: ringd polls it for changes", "every", s.cfg.Poll, "error",
			err)
		s.unwatch()
		return false
	}
	s.unwatch()
	s.moved.Store(false)
	parent := filepath.Dir(s.cfg.Dir)
	// Either may be missing; the next look tries again.
	_ = w.Add(parent)
	names := map[string]bool{s.cfg.Dir: true}
	for _, f := range folders[:min(len(folders), maxFolders)] {
		name := filepath.Join(s.cfg.Dir, f.path)
		names[name] = true
		if err := w.Add(name); err != nil {
			s.cfg.Logger.Debug("cannot watch a folder", "folder", f.path, "error", err)
		}
	}
	s.watcher, s.watched = w, keyOf(folders)
	s.wg.Add(1)
	go s.drain(w, parent, names)
	return true
}

func (s *Syncer) unwatch() {
	if s.watcher != nil {
		if err := s.watcher.Close(); err != nil {
			s.cfg.Logger.Debug("close the watcher", "error", err)
		}
	}
	s.watcher, s.watched = nil, ""
}

// drain turns events and errors into hints until the watcher is closed. Errors
// that nobody takes would make the watcher deaf. names are the watched folders.
func (s *Syncer) drain(w Watcher, parent string, names map[string]bool) {
	defer s.wg.Done()
	events, errs := w.Events(), w.Errors()
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if filepath.Dir(e.Name) == parent && filepath.Clean(e.Name) != s.cfg.Dir {
				continue // a neighbour
			}
			if e.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0 && names[filepath.Clean(e.Name)] {
				s.moved.Store(true)
			}
			s.Look()
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			s.cfg.Logger.Debug("the watcher lost events", "error", err)
			s.moved.Store(true) // perhaps
			s.Look()
		}
	}
}

// systemTimer is a timer of the system.
func systemTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// system is the system's watcher.
type system struct{ w *fsnotify.Watcher }

func systemWatcher() (Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return system{w}, nil
}

func (s system) Add(dir string) error          { return s.w.Add(dir) }
func (s system) Events() <-chan fsnotify.Event { return s.w.Events }
func (s system) Errors() <-chan error          { return s.w.Errors }
func (s system) Close() error                  { return s.w.Close() }
