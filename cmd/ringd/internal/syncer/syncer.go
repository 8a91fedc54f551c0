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

// Config configures a Syncer. Dir and Sink are required.
type Config struct {
	Dir    string
	Sink   Sink
	Limits Limits
	// Quiet is how long a folder must have no events before a look; 0 means DefaultQuiet. Patience limits
	// that wait while events continue; 0 means DefaultPatience. Rescan is the time between looks without
	// events; 0 means DefaultRescan.
	Quiet, Patience, Rescan time.Duration
	// Poll is the interval of checks of only names, sizes and times. They find changes without events: a
	// folder that cannot be watched, or is on another machine; mapped memory; a parent that is created later.
	// A changed folder is then read. A push that the sink did not accept is also passed again then. 0 means
	// DefaultPoll.
	Poll time.Duration
	// Settle is how long a file must be unchanged if the system cannot tell whether it is open for writing;
	// see [Read]. It needs Now. 0 means no wait.
	Settle time.Duration
	Now    func() time.Time
	// Watch opens a watcher; nil means the system's. After returns the channel of a timer and a function that
	// stops it; nil means the system's timers.
	Watch  func() (Watcher, error)
	After  func(time.Duration) (c <-chan time.Time, stop func())
	Logger *slog.Logger // nil discards
}

// Defaults of Config.
const (
	defaultQuiet    = 25 * time.Millisecond
	DefaultPatience = 200 * time.Millisecond
	defaultRescan   = 30 * time.Second
	defaultPoll     = time.Second
)

// maxPolls limits, in polls, the wait before a push is retried whose last attempt was costly; see
// [ErrCostly].
const maxPolls = 32

// maxFolders limits the number of watched folders. The timer finds changes in the others.
const maxFolders = 1024

// maxUnsettled is the number of consecutive looks at a changing folder before that is reported.
const maxUnsettled = 8

// Watcher reports events, which are only hints. The channels are those of fsnotify.Watcher.
type Watcher interface {
	Add(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// Syncer watches a folder. Close ends it.
type Syncer struct {
	cfg  Config
	hint chan struct{} // one token: look again
	stop context.CancelFunc
	wg   sync.WaitGroup
	// A watched folder was removed, created or renamed. The inode does not show it, because a file system
	// reuses the number of a removed folder.
	moved atomic.Bool

	// Used by the looking goroutine.
	watcher       Watcher
	watched       string // key of the watched folders
	accepted      string // digest that the sink accepted last
	beside        string // its Push.Beside
	unsettled     int
	unsettledFile bool // a file must stay unchanged for some time yet
	stamp         string
	tries         int // number of consecutive refusals of the sink
	costly        bool
	since         map[string]firstSeen
}

// firstSeen is when the current version of a file was first seen.
type firstSeen struct {
	stamp string
	at    time.Time
}

// Start looks at once, and then whenever something may have changed, until Close or the end of ctx. A missing
// folder is no error.
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
	s := &Syncer{cfg: cfg, hint: make(chan struct{}, 1), since: map[string]firstSeen{}}
	if cfg.Settle > 0 {
		s.cfg.Limits.fresh = s.isFresh
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.wg.Add(1)
	go s.loop(ctx)
	return s, nil
}

// Look requests a look as soon as possible, and does not wait for it.
func (s *Syncer) Look() {
	select {
	case s.hint <- struct{}{}:
	default: // one is requested already
	}
}

// Close stops the syncer and waits for it. A second Close is no error.
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

// wait returns when a look is due: some time after the last of several events, or after too many events, or
// at the timer.
func (s *Syncer) wait(ctx context.Context) {
	rescan, stop := s.cfg.After(s.cfg.Rescan)
	defer stop()
	for polls, hinted := 1, false; !hinted; polls++ {
		poll, stop := s.cfg.After(s.cfg.Poll)
		select {
		case <-s.hint:
			hinted = true
		case <-poll:
			if s.needsLook(polls) {
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
	if s.unsettledFile { // no event will report that it has been unchanged long enough
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

// needsLook reports whether the n-th poll since the last look requires a look: the sink may accept a refused push
// now, or names, sizes and times have changed.
func (s *Syncer) needsLook(n int) bool {
	if s.tries > 0 && (!s.costly || n >= min(1<<min(s.tries, 16), maxPolls)) {
		return true
	}
	return stampFolder(s.cfg.Dir, s.cfg.Limits) != s.stamp
}

// isFresh reports whether a file has not been unchanged for long enough. Its inode time shows that at once. If
// that time is not usable (the clock of another machine), the time since the file was first seen counts.
func (s *Syncer) isFresh(name, stamp string, changed time.Time) bool {
	now := s.cfg.Now()
	if age := now.Sub(changed); age >= s.cfg.Settle {
		return false
	}
	seen, ok := s.since[name]
	if !ok || seen.stamp != stamp {
		seen = firstSeen{stamp, now}
		s.since[name] = seen
	}
	return now.Sub(seen.at) < s.cfg.Settle
}

// look reads the folder once and calls the sink. It reports whether another look is needed soon.
func (s *Syncer) look(ctx context.Context) (again bool) {
	s.stamp = stampFolder(s.cfg.Dir, s.cfg.Limits) // before the read, so that a change during the read is found
	r, err := read(s.cfg.Dir, s.cfg.Limits)
	if isLost(r, err) || s.watcher == nil || s.moved.Load() || foldersKey(r.folders) != s.watched {
		// The folder may have changed between the read and the start of the watch.
		if s.watch(r.folders) {
			r, err = read(s.cfg.Dir, s.cfg.Limits)
			again = foldersKey(r.folders) != s.watched
		}
	}
	if s.unsettledFile = errors.Is(err, ErrFresh); !s.unsettledFile {
		clear(s.since)
	}
	switch {
	case isLost(r, err) && errors.Is(err, errShort):
		s.cfg.Sink.Reject(ctx, err) // it may exist
	case isLost(r, err):
		s.unsettled = 0
		s.cfg.Sink.Lost(ctx, err)
	case err != nil && isChanging(err):
		// No event reports the end of a write: only a look finds it.
		again = true
		if s.unsettled++; s.unsettled%maxUnsettled == 0 {
			s.cfg.Sink.Reject(ctx, err)
		}
	case err != nil:
		s.unsettled = 0
		s.cfg.Sink.Reject(ctx, err)
	case r.Digest == s.accepted && r.Beside == s.beside:
		s.unsettled = 0
		s.cfg.Sink.Current(ctx, r.Digest)
	default:
		s.unsettled, s.accepted, s.beside = 0, r.Digest, r.Beside
		err := s.cfg.Sink.Apply(ctx, r.Push)
		if err == nil {
			s.tries = 0
			break
		}
		s.accepted, s.costly = "", errors.Is(err, ErrCostly)
		s.tries++
	}
	return again
}

// isLost reports whether a read failed because the folder itself is missing.
func isLost(r reading, err error) bool { return err != nil && r.folders == nil }

// foldersKey returns a key of a set of folders with their inodes.
func foldersKey(folders []folder) string {
	var b strings.Builder
	for _, f := range folders {
		fmt.Fprintf(&b, "%q %s\n", f.path, f.id)
	}
	return b.String()
}

// watch replaces the watcher by one for these folders and the parent. A replaced folder keeps its path but
// loses its watch, which a watcher does not report. A new watcher has no old state. It reports whether there
// is a watcher.
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
	// Either may be missing. The next look tries again.
	_ = w.Add(parent)
	names := map[string]bool{s.cfg.Dir: true}
	for _, f := range folders[:min(len(folders), maxFolders)] {
		name := filepath.Join(s.cfg.Dir, f.path)
		names[name] = true
		if err := w.Add(name); err != nil {
			s.cfg.Logger.Debug("cannot watch a folder", "folder", f.path, "error", err)
		}
	}
	s.watcher, s.watched = w, foldersKey(folders)
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

// drain converts events and errors to hints until the watcher is closed. If errors were not drained, the
// watcher would report nothing more. names are the watched folders.
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
				continue // another file in the parent
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
			s.moved.Store(true) // possibly
			s.Look()
		}
	}
}

// systemTimer is a timer of the system.
func systemTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// systemWatch is the system's watcher.
type systemWatch struct{ w *fsnotify.Watcher }

func systemWatcher() (Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return systemWatch{w}, nil
}

func (s systemWatch) Add(dir string) error          { return s.w.Add(dir) }
func (s systemWatch) Events() <-chan fsnotify.Event { return s.w.Events }
func (s systemWatch) Errors() <-chan error          { return s.w.Errors }
func (s systemWatch) Close() error                  { return s.w.Close() }
