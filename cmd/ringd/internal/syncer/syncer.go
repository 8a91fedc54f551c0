package syncer

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Config is what a Syncer needs. Dir and Sink are required.
type Config struct {
	Dir    string
	Sink   Sink
	Limits Limits
	// Quiet is how long a folder must be without events before a look; default
	// 25 ms. Patience bounds the wait while events keep coming; default 200 ms.
	// Rescan is the time between looks without any event; default 30 s.
	Quiet, Patience, Rescan time.Duration
	// Watch opens a watcher; nil takes the system's. After is time.After's
	// sibling that can be stopped; nil takes the system's timers.
	Watch  func() (Watcher, error)
	After  func(time.Duration) (c <-chan time.Time, stop func())
	Logger *slog.Logger // nil discards
}

// Watcher gives hints. The channels are those of fsnotify.Watcher.
type Watcher interface {
	Add(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// Syncer watches a folder. Close ends it.
type Syncer struct{}

// Start looks at once and then whenever something may have changed, until Close
// or the end of ctx. The first look is made before any event is waited for; it
// is not an error when the folder is missing.
func Start(ctx context.Context, cfg Config) (*Syncer, error) { return nil, ErrTorn }

// Look asks for a look as soon as possible.
func (s *Syncer) Look() {}

// Close ends the watching and waits for it. Twice is no error.
func (s *Syncer) Close() error { return nil }
